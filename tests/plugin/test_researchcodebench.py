"""The small paper set, played: the paper's setting by default, an agent with feedback where the user says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.formats.researchcodebench import FORMAT
from pytest_recode.records.transcript_turns import read_episode
from pytest_recode.render.episode_text import ShownParts, painted, shown
from pytest_recode.render.html.episode_view import episode_view
from pytest_recode.render.html.withheld import Without
from tests.chat_server import ChatServer, Request, say
from tests.messages import assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]
Ask = Callable[..., list[Request]]
PAPERS = Path(__file__).parents[1] / "papers"
RIGHT = "        value = max(value, 0.0)"


@pytest.fixture
def papers(pytester: pytest.Pytester) -> Path:
    return Path(shutil.copytree(PAPERS, pytester.path / "pset"))


@pytest.fixture
def ask(papers: Path, recode: Run, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A session with a model that says the same to everything; what it was asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def asked(answer: str, *args: str, finish: str = "stop") -> list[Request]:
        with ChatServer(lambda _: say(answer, finish=finish)) as server:
            recode("--recode-model=openai/tiny-1", f"--recode-api-base={server.url}", "--recode-out=out", *args)
        return list(server.requests)

    return asked


@pytest.mark.slow
def test_one_answer_at_temperature_0_and_no_feedback(papers: Path, ask: Ask, results: Results, workers: str) -> None:
    requests = ask(f"So:\n```python\n{RIGHT}\n```", workers, "-k", "floor or decay")
    assert len(requests) == 2
    assert {request.body["temperature"] for request in requests} == {0.0}
    records = {record["facts"]["snippet"]: record for record in results()}
    for record in records.values():
        assert (record["agent"], record["feedback"], len(record["turns"])) == ("one-shot", "none", 1)
        assert record["settings"]["temperature"] == 0.0
        assert (record["settings"]["turns"], record["settings"]["steps"]) == (1, 1)
        assert record["settings"]["reindent"] is False
        assert record["isolation"] == "shared"
    assert records["floor at zero"]["outcome"] == "solved"
    assert records["decay by age"]["outcome"] == "unsolved"
    assert records["floor at zero"]["facts"] == next(
        task.facts for task in FORMAT.load(papers / "papers.yaml") if task.id.endswith("floor at zero")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "count"),
    [
        ((), 1),
        (("--recode-temperature=0.8",), 0),
        (("--recode-model=sim/novice", "--recode-model=sim/expert"), 1),
    ],
)
def test_attempts_that_ask_for_one_answer_are_told_once(
    papers: Path, recode: Run, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], count: int, workers: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ChatServer(lambda _: say(f"```python\n{RIGHT}\n```")) as server:
        result = recode(
            workers, "-k", "floor", "--recode-model=openai/tiny-1", f"--recode-api-base={server.url}",
            "--recode-attempts=2", *args,
        )  # fmt: skip
    warnings = [line for line in result.outlines if "--recode-attempts=2 at temperature 0" in line]
    assert len(warnings) == count
    assert all("(openai/tiny-1): set a --recode-temperature above 0" in line for line in warnings)


NO_BLOCK = "the last answer wrote nothing: "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "finish", "message"),
    [
        ("```python\n    weight = np.ones(count\n```", "stop", "(SyntaxError)"),
        ("```python\n    weight = one(count)\n```", "stop", "(NameError)"),
        ("```python\n    weight = np.ones(count)\n```", "stop", "(mismatch)"),
        ("```python\n    import time; time.sleep(99)\n```", "stop", "(timeout)"),
        (
            "```python\n  weight = 1\n```",
            "stop",
            "(IndentationError) the answer has the wrong indentation: --recode-",
        ),
        ("I refuse.", "content_filter", f") {NO_BLOCK}The provider's content filter ended your answer."),
        (
            "",
            "length",
            f") {NO_BLOCK}The model's limit of output was reached before your answer began: reasoning used all",
        ),
        ("I refuse.", "stop", f") {NO_BLOCK}Your answer has no whole block of code that begins with ```python"),
        (
            "```python\n    weight =",
            "length",
            f") {NO_BLOCK}Your answer was cut off at the model's limit of output. Nothing was written.",
        ),
    ],
)
def test_an_unsolved_answer_says_why(
    ask: Ask, capfd: Any, pytester: pytest.Pytester, answer: str, finish: str, message: str
) -> None:
    seconds = 3 if message == "(timeout)" else 60
    ask(answer, "-k", "decay", f"--recode-test-seconds={seconds}", finish=finish)
    text = " ".join(capfd.readouterr().out.split())
    assert message in text
    assert ("wrong indentation" in text) is ("wrong indentation" in message)
    assert (NO_BLOCK in text) is (NO_BLOCK in message)
    [path] = (pytester.path / "out/episodes").glob("*.jsonl")
    played = read_episode(path)
    page = painted(shown(played, ShownParts()), colour=False)
    [target] = episode_view("key", "decay", "unsolved", "tiny-1", played, Without()).turns[0].targets or ()
    if NO_BLOCK in message:
        reason = message.partition(NO_BLOCK)[2]
        assert f"the answer was not used; the model is told: {reason}" in page
        assert ".py is as the repository has it" in page
        assert target.summary == "as the repository has it"
    else:
        assert "  step 1  wrote " in page
        assert " after this turn, " in page
        assert target.summary.endswith(" lines after this turn")


@pytest.mark.slow
@pytest.mark.parametrize("args", [(), ("--recode-temperature=1",)])
def test_a_model_that_takes_no_temperature_is_named(ask: Ask, args: tuple[str, ...], capfd: Any, workers: str) -> None:
    requests = ask("No.", workers, "-k", "floor", "--recode-model=gpt-5-mini", *args)
    assert sorted("temperature" in request.body for request in requests) == [bool(args), True]
    line = "temperature: not sent to models that accept none: gpt-5-mini"
    assert (line in capfd.readouterr().out) is not bool(args)


@pytest.mark.slow
def test_simulated_attempts_differ(papers: Path, recode: Run, results: Results) -> None:
    result = recode("-k", "decay", "--recode-model=sim/graduate", "--recode-attempts=8", "--recode-out=out")
    result.stdout.no_fnmatch_line("*at temperature 0*")
    assert {record["outcome"] for record in results()} == {"solved", "unsolved"}


@pytest.mark.slow
@pytest.mark.parametrize("reindent", [False, True])
def test_an_answer_at_another_depth(ask: Ask, results: Results, reindent: bool) -> None:
    ask(f"```python\n{RIGHT.strip()}\n```", "-k", "floor", *(["--recode-reindent"] if reindent else []))
    [record] = results()
    assert record["settings"]["reindent"] is reindent
    assert [turn["reindented"] for turn in record["turns"]] == [reindent]
    assert record["outcome"] == ("solved" if reindent else "unsolved")


@pytest.mark.slow
def test_rising_feedback_and_the_agent_where_they_are_asked_for(
    papers: Path, recode: Run, results: Results, workers: str
) -> None:
    recode(
        workers, "-k", "running", "--recode-model=sim/expert", "--recode-agent=recode", "--recode-feedback=escalate",
        "--recode-out=out",
    ).assert_outcomes(passed=6)  # fmt: skip
    assert {(record["agent"], record["feedback"], record["outcome"]) for record in results()} == {
        ("recode", "escalate", "solved")
    }


@pytest.mark.slow
def test_a_simulated_novice_is_wrong_until_it_is_told(papers: Path, recode: Run, results: Results) -> None:
    common = ("-k", "running", "--recode-model=sim/novice")
    recode(*common, "--recode-out=out")
    alone = {record["task"]: record["outcome"] for record in results()}
    assert "unsolved" in alone.values()
    recode(*common, "--recode-out=told", "--recode-feedback=L4", "--recode-turns=10")
    assert sum(record["outcome"] == "solved" for record in results("told")) >= list(alone.values()).count("solved")
    turns = [len(record["turns"]) for record in results("told")]
    assert max(turns) > 1


@pytest.mark.slow
def test_the_summary_has_the_share_of_the_lines_too(
    papers: Path, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    result = recode(workers, "-k", "shrink or floor or decay", "--recode-model=sim/graduate", "--recode-out=out")
    records = results()
    solved, lines = (
        sum(record["facts"]["lines"] for record in records if record["outcome"] in outcomes)
        for outcomes in (("solved",), ("solved", "unsolved"))
    )
    assert 0 < solved < lines
    [head, row] = [line for line in result.outlines if line.startswith(("model  ", "sim/graduate *  none  "))][:2]
    at = head.index("scaled %") + len("scaled %")
    assert row[:at].endswith(f" {100 * solved / lines:.1f}")
    out = pytester.path / "out"
    assert f"more numbers: pytest-recode report {out}" in result.outlines
    assert result.outlines.count(f"turn by turn: pytest-recode show {out}; in a browser: pytest-recode html {out}") == 1


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["recode", "one-shot"])
def test_a_simulated_novice_takes_a_correction_for_the_block(
    papers: Path, recode: Run, results: Results, agent: str
) -> None:
    recode(
        "-k", "running", "--recode-model=sim/novice", f"--recode-agent={agent}", "--recode-feedback=L4",
        "--recode-turns=2", "--recode-out=out",
    ).assert_outcomes(passed=6)  # fmt: skip
    assert 2 in {record["solved_turn"] for record in results()}


@pytest.mark.slow
def test_a_paper_whose_own_code_fails_is_an_error_and_a_broken_one_too(
    papers: Path, recode: Run, results: Results, workers: str
) -> None:
    weights = papers / "running-moments/lib/weights.py"
    weights.write_text(weights.read_text().replace('    # </paper2code name="decay by age">\n', ""))
    result = recode(
        workers, "--recode-agent=reference", "--recode-out=out", "--recode-fail-under=0", "-p", "no:randomly"
    )
    result.assert_outcomes(errors=3, failed=1)  # `--recode-fail-under`
    assert {record["task"] for record in results()} == {"shrinkage/threshold", "shrinkage/shrink"}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [f'{weights}:13: the block "decay by age" has no closing tag; add # </paper2code name="decay by age"> after it']
    )
    assert_message(words(result), "could not be read: 1 task", "without an episode")
    assert "not played" not in result.stdout.str()


@pytest.mark.slow
def test_where_no_task_could_be_read_that_is_said_too(papers: Path, recode: Run, workers: str) -> None:
    for name in ("running-moments/lib/weights.py", "shrinkage/shrink.py"):
        (papers / name).unlink()
    for option, rest in (("--recode-agent=reference", "without an episode"), ("--recode-validate", "not checked")):
        message = f"could not be read: 2 tasks, {rest}"
        result = recode(workers, option)
        result.assert_outcomes(errors=2)
        assert result.stdout.str().count(message) == 1


@pytest.mark.slow
@pytest.mark.parametrize("out", ["", "shrinkage/out"])
def test_records_may_not_lie_among_the_papers(
    papers: Path, recode: Run, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    before = sorted(papers.rglob("*"))
    monkeypatch.chdir(papers)
    given = [f"--recode-out={out}"] if out else []
    result = recode("-p", "no:cacheprovider", "-k", "floor", "--recode-agent=reference", *given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{papers / out if out else papers / 'recode-out'}" in words(result)
    assert_message(words(result), f"data set {papers}", "--recode-out=DIR")
    assert sorted(papers.rglob("*")) == before


@pytest.mark.slow
def test_a_clone_elsewhere_is_played_from_here_as_the_page_says(
    papers: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default the root is what both have in common, and the ini file here is not read; with `--rootdir` or `-c` it is here."""
    here = pytester.mkdir("here")
    (here / "pytest.ini").write_text("[pytest]\nrecode_agent = reference\nrecode_sandbox = process\n")
    monkeypatch.chdir(here)
    common = ("-p", "no:cacheprovider", "../pset", "-k", "floor")
    outs = {
        (): pytester.path / "recode-out",
        ("--rootdir=.",): here / "recode-out",
        ("-c", "pytest.ini"): here / "recode-out",
    }
    for given, out in outs.items():
        options = () if "-c" in given else ("--recode-agent=reference", "--recode-sandbox=process")
        pytester.runpytest_subprocess(*given, *common, *options).assert_outcomes(passed=1, deselected=7)
        assert len(list(out.glob("*/results.jsonl"))) == 1
        shutil.rmtree(out)
    pytester.runpytest_subprocess(*common).assert_outcomes(skipped=1, deselected=7)  # nobody was named
