"""Faults of what is around a real agent: its model, its budget, and its run, which is cut off and resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import InstalledProgram
from tests.chat_server import Answer, ChatServer, Request, dropped, fault
from tests.plugin.conftest import words

from .played_script import BEGIN
from .scripted import RIGHT, WRONG, solved_in

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Installed = Callable[[str], InstalledProgram]
MODEL = "--recode-model=openai/local"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["claude-code", "codex"])
@pytest.mark.parametrize(
    "first",
    [
        pytest.param([fault(429, retry_after="1")] * 3, id="limits"),
        pytest.param([fault(500), dropped(), dropped("middle")], id="fails and dies midway"),
    ],
)
def test_what_the_provider_recovers_from_no_agent_sees(
    name: str, first: list[Answer], installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    installed(name)
    make_task("a")
    answer = solved_in(1)

    def script(request: Request) -> Answer:
        return first[request.number] if request.number < len(first) else answer(request)

    with ChatServer(script) as server:
        given = (f"--recode-agent={name}", MODEL, f"--recode-api-base={server.url}", "--recode-turns=1")
        recode(*given, "--recode-out=out", sandbox="bubblewrap").assert_outcomes(passed=1)
        assert len(server.requests) == len(first) + 2
    assert [turn["steps"] for turn in results()[0]["turns"]] == [2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_model_that_the_account_lacks_is_the_models_error(
    name: str, installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    installed(name)
    make_task("a")
    with ChatServer(lambda _: fault(404, "The model `local` does not exist", code="model_not_found")) as server:
        given = (f"--recode-agent={name}", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode(*given, sandbox="bubblewrap")
        assert len(server.requests) == 1, "no agent asks again for what failed for good"
    (record,) = results()
    assert record["outcome"] == "error"
    assert record["error"]["kind"].startswith("model:")
    assert "does not exist" in words(result)
    assert "Traceback" not in words(result)


@pytest.mark.slow
def test_a_budget_that_is_spent_in_a_turn_stops_the_episode(
    installed: Installed, make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    installed("claude-code")
    make_task("a")
    pytester.path.joinpath("models.yaml").write_text(
        "cheap:\n  model: openai/cheap\n  price: {prompt: 1000, completion: 1000}\n"
    )
    with ChatServer(solved_in(1)) as server:
        given = ("--recode-agent=claude-code", "--recode-model=cheap", f"--recode-api-base={server.url}")
        money = ("--recode-models-file=models.yaml", "--recode-max-cost=0.000001", "--recode-out=out")
        result = recode(*given, *money, sandbox="bubblewrap")
        assert len(server.requests) == 1
    (record,) = results()
    assert record["stop"] == "budget"
    assert "budget" in words(result)


SCRIPT = f"{BEGIN}RIGHT, WRONG = {RIGHT!r}, {WRONG!r}\n"


def script(pytester: pytest.Pytester, body: str) -> str:
    program = pytester.path / "agent.py"
    program.write_text(SCRIPT + body)
    program.chmod(0o755)
    return f"--recode-agent-path=claude-code={program}"


@pytest.mark.slow
def test_a_cassette_replays_an_agent_to_the_same_record(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, installed: Installed
) -> None:
    installed("claude-code")
    make_task("a")
    given = ("--recode-agent=claude-code", MODEL, "--recode-turns=2", "--recode-cassette=tape")
    with ChatServer(solved_in(2)) as server:
        base = f"--recode-api-base={server.url}"
        recode(*given, base, "--recode-out=first", sandbox="bubblewrap").assert_outcomes(passed=1)
        asked = len(server.requests)
        recode(
            *given, base, "--recode-cassette-mode=replay", "--recode-out=second", sandbox="bubblewrap"
        ).assert_outcomes(passed=1)
        assert len(server.requests) == asked
    first, second = (json.loads((pytester.path / name / "results.jsonl").read_text()) for name in ("first", "second"))
    for part in ("outcome", "stop", "solved_turn"):
        assert first[part] == second[part], part
    for part in ("prompt_tokens", "completion_tokens"):
        assert first["usage"][part] == second["usage"][part], part


@pytest.mark.slow
def test_twenty_episodes_leave_nothing_but_records(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four in flight in each of two workers."""
    for number in range(20):
        make_task(f"t{number}")
    path = script(pytester, "subprocess.Popen(['sleep', '98765'], start_new_session=True)\nask()\nwrite(RIGHT)\n")
    temporary = pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    with ChatServer(lambda request: f"I have done what was asked for. ({request.number})") as server:
        given = ("--recode-agent=claude-code", MODEL, path, f"--recode-api-base={server.url}", "--recode-out=out")
        many = ("-n2", "--recode-in-flight=4", "--recode-turns=1")
        recode(*given, *many, sandbox="bubblewrap").assert_outcomes(passed=20)
        assert len(server.requests) == 20
    assert {record["outcome"] for record in results()} == {"solved"}
    assert [*temporary.iterdir()] == []
    assert not [
        line for line in map(_command_line, Path("/proc").glob("[0-9]*/cmdline")) if line == b"sleep\x0098765\x00"
    ]


def _command_line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
