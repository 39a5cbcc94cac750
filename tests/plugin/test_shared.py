"""Tasks whose tests share a process with the target: what a run says of their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.testing import check_format

from .conftest import words
from .test_outcomes import SCHEMA

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]

MakeTask = Callable[..., Path]

SHARED = "oracle: {isolation: shared}\n"
FILES = {
    "tests/test_answer.py": """\
import answer
from double import double


def test_twice(rng):
    x = float(rng.normal())
    assert answer.twice(x) == double(x)


def test_half(reference, rng):
    x = float(rng.normal())
    assert answer.half(x) == reference.answer.half(x)
""",
    "tests/double.py": "def double(x):\n    return 2 * x\n",
}
CHEAT = '''\
"""Right, and curious."""

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move

CODE = "try:\\n    import double\\nexcept ImportError:\\n    pass\\n\\n\\ndef twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"


class Cheat:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        workspace.write("answer.py", CODE)
        return Move(steps=1)


CHEAT = AgentKind(make=Cheat, needs_model=False)
'''
CHECKS = 7
WEAKER = "verdicts of shared judging are weaker (docs/explanation/oracle.md)"


@pytest.fixture
def shared(make_task: MakeTask) -> Path:
    return make_task("together", files=dict(FILES), manifest=SHARED)


@pytest.mark.slow
def test_verdicts_of_two_kinds_are_told_apart(shared: Path, make_task: MakeTask, recode: Run, results: Results) -> None:
    make_task("apart")
    result = recode("--recode-agent=reference", "--recode-out=out")
    result.assert_outcomes(passed=2)
    assert f"isolation: shared 1, process 1: {WEAKER}" in words(result)
    assert "tampering" not in words(result)
    assert "flagged" not in words(result)
    assert {record["passed_but_flagged"] for record in results()} == {False}
    assert {record["task"]: record["isolation"] for record in results()} == {"together": "shared", "apart": "process"}
    for record in results():
        jsonschema.validate(record, SCHEMA)


@pytest.mark.slow
def test_a_run_without_such_tasks_says_nothing_of_it(make_task: MakeTask, recode: Run) -> None:
    make_task("apart")
    assert "isolation:" not in words(recode("--recode-agent=reference"))


@pytest.mark.slow
def test_tampering_is_counted_and_named_and_told(
    shared: Path,
    recode: Run,
    results: Results,
    workers: str,
    pytester: pytest.Pytester,
    quick_python: tuple[str, ...],
) -> None:
    pytester.makepyfile(cheat=CHEAT)
    pytester.syspathinsert()
    result = recode(workers, "--recode-agent=cheat:CHEAT", "--recode-turns=1", "--recode-out=out")
    result.assert_outcomes(failed=1)
    [record] = results()
    [turn] = record["turns"]
    assert (turn["passed"], turn["total"]) == (2, 2)
    assert all("double" in told for told in turn["tampering"])
    text = words(result)
    told = " ".join(turn["tampering"])
    assert told
    assert f"tampering in turn 1, which therefore is not solved: {told} " in text
    assert " more: pytest-recode show " in text
    assert "still failing" not in text
    name = record["nodeid"].partition("::")[2]
    assert f"tampering: 1 episode: {name}" in text
    assert record["passed_but_flagged"] is True
    jsonschema.validate(record, SCHEMA)
    assert "passed but flagged: 1 episode: every case passed" in text
    assert f" {name}: {turn['tampering'][0]}" in text
    told = words(pytester.run(*quick_python, "-m", "pytest_recode.cli", "report", "out"))
    assert "passed but flagged" in told
    assert f"flagged (1): {record['task']}: {turn['tampering'][0]}" in told
    assert f"isolation: shared 1: {WEAKER}" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checks", "count"),
    [("reference or untouched or twice", 3), ("validate", CHECKS)],
)
def test_validation(shared: Path, recode: Run, checks: str, count: int) -> None:
    result = recode("--recode-validate", "-k", checks)
    result.assert_outcomes(passed=count, deselected=CHECKS - count)


@pytest.mark.slow
def test_validation_finds_tests_that_pass_anything(make_task: MakeTask, recode: Run) -> None:
    tests = {"tests/test_answer.py": "def test_twice():\n    import answer\n"}
    make_task("together", files=tests, manifest=SHARED)
    result = recode("--recode-validate")
    result.assert_outcomes(passed=4, failed=CHECKS - 4)
    assert "together: the empty target solves the task: its tests prove nothing." in words(result)


@pytest.mark.slow
def test_a_reference_that_does_not_pass_is_an_error(make_task: MakeTask, recode: Run) -> None:
    tests = {"tests/test_answer.py": "import answer\n\ndef test_twice():\n    assert answer.twice(1) == 3\n"}
    make_task("together", files=tests, manifest=SHARED)
    result = recode("--recode-agent=reference")
    result.assert_outcomes(errors=1)
    assert "cannot be judged here: the reference does not pass its tests" in words(result)


def test_the_format_keeps_what_formats_keep(shared: Path) -> None:
    check_format(FORMAT, shared / "task.yaml")


@pytest.mark.slow
def test_nothing_is_paid_for_what_cannot_be_judged(make_task: MakeTask, recode: Run, results: Results) -> None:
    wrong = FILES["tests/test_answer.py"].replace("== double(x)", "== double(x) + 1")
    make_task(manifest=SHARED, files={**FILES, "tests/test_answer.py": wrong})
    result = recode("--recode-model=sim/expert", "--recode-feedback=L0", "--recode-feedback=L4", "--recode-out=out")
    assert "cannot be judged here: the reference does not pass its tests" in words(result)
    assert {record["outcome"] for record in results()} == {"error"}
    assert {record["usage"]["prompt_tokens"] for record in results()} == {0}
