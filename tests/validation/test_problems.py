"""What a check says to the author about the verdicts of an answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.sandboxes import Sandbox, SandboxContext, process
from pytest_recode.task import Task, WrongAnswer
from pytest_recode.validation.checks import Answer, Check, checks
from pytest_recode.validation.gradings import CommonGrader
from pytest_recode.validation.problems import account, problem_of, unknown_cases
from pytest_recode.validation.result import Validation
from pytest_recode.validation.validate import validate
from pytest_recode.verdict import Case, Exc, Outcome, Verdict
from tests.messages import assert_line, assert_message
from tests.plugin.conftest import FILES, MANIFEST

HANGS = "def twice(x):\n    while True:\n        pass\n\n\ndef half(x):\n    return x / 2\n"
LIMITS = "limits: {test_seconds: 0.5}\n"


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = process.KIND.make(SandboxContext(run=f"problems-{os.getpid()}", python=sys.executable, image=""))
    yield made
    made.close()


def task_in(place: Path, files: dict[str, str] | None = None, manifest: str = "") -> Task:
    proofs = {
        "proofs/wrong/sum/answer.py": HANGS,
        "proofs/wrong/sum/requirement.yaml": "requirement: Write answer.py\ninterface: answer.twice\n",
    }
    written = {**FILES, **proofs, "task.yaml": MANIFEST.format(id="tiny", domain="ml") + manifest, **(files or {})}
    for path, text in written.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    (task,) = FORMAT.load(place / "task.yaml")
    return task


def named(task: Task, name: str) -> Check:
    return next(check for check in checks(task) if check.name == name)


def failed(name: str, message: str = "", *, kind: str = "", exception: Exc | None = None) -> Case:
    return Case(
        id=f"test_a.py::{name}",
        interface="a.f",
        outcome=Outcome.FAILED,
        kind=kind,
        message=message,
        exception=exception,
    )


@pytest.mark.parametrize("name", ["wrong", "mutants-answer.half"])
def test_a_reference_that_passed_before_and_fails_later(tmp_path: Path, sandbox: Sandbox, name: str) -> None:
    task = task_in(tmp_path)

    def found(passed: bool | None) -> Validation:
        with closing(CommonGrader(task, sandbox)) as common:
            common.reference_passed = passed
            common.reference = Verdict(seed=7, cases=(failed("test_b", "assert 1 == 2"),))
            return validate(named(task, name), common)

    before = found(True).problem
    assert_line(before, "cannot be tried", "passed validate[reference]", "test_b", "same seed 7", "fixture rng")
    assert "assert 1 == 2" in before
    assert_line(found(None).problem, "cannot be tried", "fails test_a.py::test_b", "validate[reference]", "fixture rng")
    assert_message(found(False).problem, "cannot be tried", "does not pass", "validate[reference]")


@pytest.mark.slow
def test_whether_the_reference_passed_is_known_from_its_check(tmp_path: Path, sandbox: Sandbox) -> None:
    task = task_in(tmp_path)
    with closing(CommonGrader(task, sandbox)) as common:
        validate(named(task, "reference"), common)
        assert common.reference_passed is True
        common.task = task_in(tmp_path, {"reference/answer.py": HANGS.replace("while True:\n        pass", "return 0")})
        validate(named(task, "reference"), common)
        assert common.reference_passed is False


@pytest.mark.slow
def test_a_reference_that_is_too_slow_is_graded_once(tmp_path: Path, sandbox: Sandbox) -> None:
    task = task_in(tmp_path, {"reference/answer.py": HANGS}, LIMITS)
    graded: list[None] = []
    with closing(CommonGrader(task, sandbox)) as common:
        validation = validate(named(task, "reference"), common, seeds=3, graded=lambda: graded.append(None))
        wrong = validate(named(task, "wrong"), common, seeds=3, graded=lambda: graded.append(None))
    assert len(graded) == 1
    assert_line(
        validation.problem, "the reference", "time limit", "`limits` in task.yaml", "the candidate is the reference"
    )
    assert "see validate[reference]" in wrong.problem


def test_a_failure_that_is_graded_again_is_no_other_seed(tmp_path: Path) -> None:
    """It failed in the common grader under its third seed, and passed alone."""
    good, bad = Case(id="a", interface="a.f", outcome=Outcome.PASSED), failed("test_b")
    verdicts = [Verdict(seed=seed, cases=(case,)) for seed, case in ((1, good), (2, good), (3, bad), (3, good))]
    task = task_in(tmp_path, {"proofs/right/other/answer.py": FILES["reference/answer.py"]})
    problem = problem_of(task, named(task, "right"), Answer(name="right", targets={}), verdicts[2], verdicts)
    assert problem is not None
    assert "(1 of 3 seeds; repeat" in problem.text
    assert_message(problem.text, "right", "answer", "tests", "reference")


MISUSE = "message\n\n>       assert candidate.f({x}) == 1\nE       _recode.HandleMisuse: {what}\n\ntests/test_a.py:{x}: HandleMisuse"
VALUES = "def test():\n>       assert {x} == 1\nE       AssertionError: {what}\n\ntests/test_a.py:4: AssertionError"
RAISED = Exc(type="AttributeError", message="'int' has no x", frames=("a.py:3 in g: g()", "a.py:5 in f: return y.x"))
LIKE_RAISED = Exc(type="AttributeError", message="'float' has no x", frames=("a.py:5 in f: return y.x",))


@pytest.mark.parametrize(
    ("cases", "texts"),
    [
        ([failed(f"test_{x}", MISUSE.format(x=x, what="is opaque")) for x in range(3)], 1),
        ([failed(f"test_{x}", MISUSE.format(x=x, what=x)) for x in range(3)], 3),
        ([failed(f"test_{x}", VALUES.format(x=x, what="the same")) for x in range(3)], 3),
        ([failed("test_a", "one", exception=RAISED), failed("test_b", "two", exception=LIKE_RAISED)], 1),
        ([failed("test_a", "one", exception=RAISED), failed("test_b", "two")], 2),
    ],
)
def test_cases_that_fail_alike_have_one_message(cases: list[Case], texts: int) -> None:
    paragraphs = account(cases)
    assert len(paragraphs) == texts
    assert all(any(f"{case.id} (a.f)" in text for text in paragraphs) for case in cases)
    assert cases[0].message in paragraphs[0]


def test_a_name_in_cases_that_no_hidden_test_has() -> None:
    wrong = WrongAnswer(name="no-sign", targets={}, requirement="x", interface="a.f", cases=("test_signs", "test_b"))
    cases = [failed("test_sign[1]"), failed("test_sign[2]"), failed("test_b")]
    [line] = unknown_cases([wrong], cases)
    assert_message(
        line, "proofs/wrong/no-sign/requirement.yaml", "test_signs", "did you mean test_sign?", "test_sign, test_b"
    )
