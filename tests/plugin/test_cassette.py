"""Recorded answers: a run stores them, and another replays them without a server, a key or a cost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, Request, say
from tests.messages import assert_message

from .conftest import words
from .test_bad_input import one_line
from .test_models import RIGHT, TABLE, WRONG

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
RUN = (
    *("--recode-model=cheap", "--recode-models-file=models.yaml", "--recode-agent=one-shot"),
    *("--recode-feedback=L0", "--recode-feedback=L4", "--recode-cassette=tape"),
)
SECRET = "sk-a-secret-that-is-never-stored"


# Fails with the number that it drew, so that feedback depends on the seed of the grading.
DRAWS = """\
import random

import pytest


@pytest.mark.interface("answer.half")
def test_half(candidate):
    drawn = random.random()
    assert candidate.answer.half(drawn) == drawn / 2


@pytest.mark.interface("answer.twice")
def test_twice(candidate):
    assert candidate.answer.twice(1.5) == 3.0
"""


@pytest.fixture(autouse=True)
def _tasks(make_task: MakeTask, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        make_task(name, files={"tests/test_answer.py": DRAWS, "instruction.md": f"Write answer.py, number {name}.\n"})
    (pytester.path / "models.yaml").write_text(TABLE)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def answers(request: Request) -> Answer:
    return say(RIGHT if "Feedback on turn 2" in request.prompt else WRONG)


def records(out: Path) -> dict[str, dict[str, Any]]:
    lines = (out / "results.jsonl").read_text().splitlines()
    return {record["nodeid"]: record for record in map(json.loads, lines)}


def lasting(value: Any) -> Any:
    """A record without what a replay has of its own: times, costs, and the address of the server."""
    if isinstance(value, dict):
        other = {"seconds", "waited", "ended", "cost_usd", "api_base", "transcript"}
        return {key: lasting(each) for key, each in value.items() if key not in other}
    return [lasting(each) for each in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_a_replay_gives_the_same_records_without_server_key_or_cost(
    recode: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    with ChatServer(answers) as server:
        recorded = recode(workers, *RUN, f"--recode-api-base={server.url}", "--recode-out=first", "-k", "one")
        asked = len(server.requests)
    recorded.assert_outcomes(passed=2)
    assert asked == 1 + 2 * 2  # policies share the first turn
    monkeypatch.delenv("OPENAI_API_KEY")
    replayed = recode(workers, *RUN, "--recode-cassette-mode=replay", "--recode-out=second", "-k", "one")
    replayed.assert_outcomes(passed=2)
    first, second = records(pytester.path / "first"), records(pytester.path / "second")
    seeds = [turn["seed"] for record in first.values() for turn in record["turns"]]
    assert len(set(seeds)) > 1
    # which of two policies plays their first turn depends on the workers
    for each in (*first.values(), *second.values()):
        for turn in each["turns"]:
            turn.pop("shared")
    assert lasting(first) == lasting(second)
    assert all(record["usage"]["cost_usd"] == 0 for record in second.values())
    assert sum(record["usage"]["cost_usd"] for record in first.values()) > 0
    cost = f"{asked * 18 / 1000:.2f} USD"
    assert f"cassette: {asked} answers replayed from {pytester.path / 'tape'}, which cost {cost} to record" in words(
        replayed
    )
    command = [sys.executable, "-m", "pytest_recode.cli", "report", "--table=calls", "--format=json"]
    for out, counts in (("first", (0, 1)), ("second", (1, 0))):
        shown = subprocess.run([*command, str(pytester.path / out)], check=True, capture_output=True).stdout
        rows = json.loads(shown)["tables"][0]["rows"]
        assert sum(row["calls"] for row in rows) == asked
        assert sum(row["replayed"] for row in rows) == asked * counts[0]
        assert sum(row["cost_usd"] for row in rows) == pytest.approx(asked * 18 / 1000 * counts[1])
        assert sum(row["recorded_usd"] for row in rows) == pytest.approx(asked * 18 / 1000 * counts[0])


@pytest.mark.slow
def test_a_cassette_has_no_key_and_no_address(recode: Run, pytester: pytest.Pytester) -> None:
    with ChatServer(answers) as server:
        recode(*RUN, f"--recode-api-base={server.url}", "--recode-out=first", "-k", "one")
        files = {path.name: path.read_text() for path in (pytester.path / "tape").iterdir()}
    assert any(name.startswith("one-") for name in files)
    for text in files.values():
        assert SECRET not in text
        assert "127.0.0.1" not in text
        assert "Bearer" not in text


@pytest.mark.slow
def test_what_is_recorded_is_not_asked_again_and_the_rest_is(recode: Run, pytester: pytest.Pytester) -> None:
    with ChatServer(answers) as server:
        address = f"--recode-api-base={server.url}"
        given = (*RUN, address, "--recode-turns=1", "-k")
        recode(*given, "L4 and one", "--recode-out=first").assert_outcomes(failed=1)
        assert len(server.requests) == 1
        recode(*given, "L4", "--recode-out=second").assert_outcomes(failed=2)
        assert len(server.requests) == 2
        recode(*given, "L4", "--recode-out=third", "--recode-cassette-mode=record").assert_outcomes(failed=2)
        assert len(server.requests) == 4


OPTIONS = {
    ("--recode-agent=recode",): ("--recode-agent=one-shot and this run has --recode-agent=recode",),
    ("--recode-no-paper",): ("no --recode-no-paper and this run has --recode-no-paper",),
    ("--recode-turns=1",): ("--recode-turns=10 and this run has --recode-turns=1",),
}
"""Further options of a replay, and texts of the error."""


@pytest.mark.slow
def test_a_request_that_is_not_recorded_is_an_error_with_the_first_difference(
    recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    with ChatServer(answers) as server:
        recode(*RUN, f"--recode-api-base={server.url}", "--recode-out=first", "-k", "one and L4")
    replay = ("--recode-cassette-mode=replay", "-k", "one and L4")
    result = recode(workers, *RUN, *replay, "--recode-temperature=0.5", "--recode-out=second")
    result.assert_outcomes(errors=1)
    [record] = records(pytester.path / "second").values()
    assert record["error"]["kind"] == "cassette"
    message = record["error"]["message"]
    assert_message(
        message,
        "tape/one-episode",
        "temperature was null and is 0.5",
        "--recode-temperature=0.5",
        "--recode-cassette-mode=auto",
    )
    for given, names in OPTIONS.items():
        others = [each for each in RUN if each.partition("=")[0] != given[0].partition("=")[0]]
        recode(*others, *replay, *given, f"--recode-out=out{given[0]}").assert_outcomes(errors=1)
        [record] = records(pytester.path / f"out{given[0]}").values()
        assert_message(record["error"]["message"], "not recorded", *names, "--recode-cassette-mode=auto")
    (pytester.path / "bench/one/instruction.md").write_text("Write answer.py with other words.\n")
    recode(*RUN, *replay, "--recode-out=third").assert_outcomes(errors=1)
    [record] = records(pytester.path / "third").values()
    assert "other words" in record["error"]["message"]
    assert "of message " in record["error"]["message"]
    assert "recorded with" not in record["error"]["message"], "the options are the same"


@pytest.mark.slow
def test_an_episode_of_another_policy_is_named_with_the_options_of_the_recorded_one(
    recode: Run, pytester: pytest.Pytester
) -> None:
    given = [each for each in RUN if not each.startswith("--recode-feedback")]
    with ChatServer(answers) as server:
        recode(*given, "--recode-feedback=L4", f"--recode-api-base={server.url}", "--recode-out=first", "-k", "one")
    replay = ("--recode-feedback=L2", "--recode-turns=2", "--recode-cassette-mode=replay", "--recode-out=second")
    recode(*given, *replay, "-k", "one").assert_outcomes(errors=1)
    [record] = records(pytester.path / "second").values()
    texts = ("L2", "--recode-feedback=L4 and this run has --recode-feedback=L2", "--recode-turns=2")
    assert_message(record["error"]["message"], "no call", *texts, "--recode-cassette-mode=auto")


@pytest.mark.slow
def test_an_attempt_has_answers_of_its_own(recode: Run, pytester: pytest.Pytester) -> None:
    numbers = iter(range(100))
    with ChatServer(lambda _: say(f"{RIGHT}# {next(numbers)}\n")) as server:
        options = ("-k", "one and L4", "--recode-attempts=2")
        recode(*RUN, *options, f"--recode-api-base={server.url}", "--recode-out=first")
        assert len(server.requests) == 2
    recode(*RUN, *options, "--recode-cassette-mode=replay", "--recode-out=second").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (
            ("--recode-cassette-mode=replay",),
            ("--recode-cassette=", "no such directory", "--recode-cassette-mode=record"),
        ),
        (("--recode-model=sim/novice",), ("--recode-cassette=", "sim/novice", "choose another model")),
        (("--recode-cassette-mode=loop",), ("--recode-cassette-mode=loop", "auto, record or replay")),
    ],
)
def test_what_cannot_be_is_one_line(recode: Run, options: tuple[str, ...], parts: tuple[str, ...]) -> None:
    given = [each for each in RUN if "sim/" not in " ".join(options) or "cheap" not in each]
    assert_message(one_line(recode(*given, *options, "--recode-out=first")), *parts)


def test_a_mode_needs_a_cassette(recode: Run) -> None:
    line = one_line(recode("--recode-model=sim/novice", "--recode-cassette-mode=record"))
    assert_message(line, "--recode-cassette-mode", "only with --recode-cassette=DIR")


@pytest.mark.slow
def test_a_damaged_cassette_is_named_with_its_line(recode: Run, pytester: pytest.Pytester) -> None:
    with ChatServer(answers) as server:
        recode(*RUN, f"--recode-api-base={server.url}", "--recode-out=first", "-k", "one and L4")
    [path] = (pytester.path / "tape").glob("one-*.jsonl")
    path.write_text(path.read_text() + "no JSON\n")
    count = len(path.read_text().splitlines())
    line = one_line(recode(*RUN, "--recode-cassette-mode=replay", "--recode-out=second", "-k", "one and L4"))
    assert_message(line, f"{path.name}, line {count}", "not a JSON object", "restore the file")


@pytest.mark.parametrize(
    ("contents", "parts"),
    [
        (b'{"call": "x"}\n', ("line 1", "not a line of a cassette", "restore the file")),
        (b"\xff\xfe\n", ("cannot be read", "restore the file")),
    ],
)
def test_an_unusable_cassette_is_one_line(
    recode: Run, pytester: pytest.Pytester, contents: bytes, parts: tuple[str, ...]
) -> None:
    (pytester.path / "tape").mkdir()
    (pytester.path / "tape/one.jsonl").write_bytes(contents)
    line = one_line(recode(*RUN, "--recode-cassette-mode=replay", "--recode-out=out"))
    assert_message(line, "tape/one.jsonl", *parts)


def test_a_file_is_no_cassette(recode: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "tape").write_text("")
    with ChatServer(answers) as server:
        line = one_line(recode(*RUN, f"--recode-api-base={server.url}", "--recode-out=out"))
    assert_message(line, f"--recode-cassette={pytester.path / 'tape'}", "give a directory")


@pytest.mark.slow
def test_an_agents_commands_do_not_see_the_cassette(
    recode: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also below a directory that a sandbox shows, such as the interpreter's."""
    place = Path(sys.prefix) / "share" / f"tape-{pytester.path.name}"
    given = [each for each in RUN if not each.startswith(("--recode-cassette", "--recode-agent"))]
    look = f"```bash\nls {place}/models.json && echo SEEN\n```\nSUBMIT\n"
    try:
        with ChatServer(lambda _: say(look)) as server:
            options = (f"--recode-api-base={server.url}", f"--recode-cassette={place}", "--recode-sandbox=bubblewrap")
            recode(*given, *options, "--recode-out=out", "--recode-turns=1", "-k", "one and L4")
        [transcript] = (pytester.path / "out/episodes").glob("*.jsonl")
        assert f"ls {place}" in transcript.read_text()
        assert "\\nSEEN" not in transcript.read_text()
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.slow
def test_numbers_of_the_task_are_compared(recode: Run, make_task: MakeTask, pytester: pytest.Pytester) -> None:
    """Durations and addresses in outputs are not."""
    for name, text in (("one", "simulate 10 s from 0x811c9dc5"), ("two", "simulate 60 s from 0xdeadbeef")):
        make_task(name, files={"tests/test_answer.py": DRAWS, "instruction.md": f"Write answer.py: {text}.\n"})
    with ChatServer(answers) as server:
        recode(*RUN, f"--recode-api-base={server.url}", "--recode-out=out", "-k", "L4").assert_outcomes(passed=2)
        before = len(server.requests)
        recode(*RUN, f"--recode-api-base={server.url}", "--recode-out=again", "-k", "L4").assert_outcomes(passed=2)
        assert len(server.requests) == before == 6
