"""Verdicts of SciCode's tests, rewritten for a candidate in another process: the same as those of one script."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.formats.scicode import FORMAT
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Task
from tests.scicode_rows import SHIFT, SHIFT_CODE, TALLY_CODE, TOTAL_CODE, WALK_CODE, problem, step, write

IMPORT = "import numpy as np\n"
OFFSET = IMPORT + SHIFT_CODE + TOTAL_CODE


def load(path: Path, name: str) -> Task:
    return next(task for task in FORMAT.load(write(path)) if task.id == name)


def failed(task: Task, answer: str, sandbox: Sandbox) -> set[str]:
    """The cases that fail, as `step_01 test_2`."""
    verdict = judge(task, task.load(), {"solution.py": answer.encode()}, sandbox)
    cases = {case.id.removeprefix("test_").replace(".py::", " "): case for case in verdict.cases}
    return {name for name, case in cases.items() if case.outcome != "passed"}


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("task", "answer", "expected"),
    [
        pytest.param("problem-03", OFFSET, set(), id="reference"),
        pytest.param("problem-12", IMPORT + WALK_CODE, set(), id="random reference"),
        pytest.param("problem-20", TALLY_CODE, set(), id="reference with a class"),
        pytest.param("step-03.02", OFFSET, set(), id="reference of a step"),
        # Two tests ask whether their own array was changed: it was not
        pytest.param("problem-03", OFFSET.replace("x += by", "x = x + by"),
                     {"step_01 test_2_to_3", "step_02 test_1"}, id="argument stays"),
        pytest.param("problem-03", OFFSET.replace("return x, by", "return x, -by"),
                     {"step_01 test_1", "step_01 test_2_to_3"}, id="wrong second value"),
        pytest.param("problem-03", OFFSET.replace("np.sum", "np.max"),
                     {"step_02 test_1", "step_02 test_2"}, id="wrong later step"),
        # `numpy.allclose` is true of an empty array and a number
        pytest.param("problem-03", OFFSET.replace("np.sum(f(x)[0])", "f(x)[0][:0]"),
                     {"step_02 test_1", "step_02 test_2"}, id="nothing"),
        pytest.param("problem-03", OFFSET.replace("return x, by", "return x, x[:0]"),
                     {"step_01 test_1", "step_01 test_2_to_3"}, id="nothing as second value"),
        # One draw more for the second test, which continues the first one's random numbers
        pytest.param("problem-12", IMPORT + WALK_CODE.replace("    return", "    if start:\n        np.random.random()\n    return"),
                     {"step_01 test_1_to_2"}, id="another draw"),
        pytest.param("problem-12", IMPORT + WALK_CODE.replace("np.random.normal", "np.random.default_rng(7).normal"),
                     {"step_01 test_1_to_2"}, id="another generator"),
        pytest.param("problem-20", TALLY_CODE.replace("+= x", "= x"), {"step_01 test_1"}, id="wrong class"),
        pytest.param("problem-20", "", {"step_01 test_1", "step_01 test_2"}, id="no class"),
    ],
)  # fmt: skip
def test_cases_that_fail(tmp_path: Path, bare: Sandbox, task: str, answer: str, expected: set[str]) -> None:
    assert failed(load(tmp_path, task), answer, bare) == expected


NAMES = problem(
    "4",
    "names",
    step(
        "4.1",
        SHIFT,
        SHIFT_CODE,
        "found = shift(np.ones(2))[0]\nassert np.allclose(found, target)",
        "targets = shift(np.ones(3))[0]\nassert np.allclose(targets, target)",
        "close = deepcopy = shift\nassert np.allclose(close(np.ones(3))[0], target)",
        "both = 0\nassert np.allclose(shift(np.ones(3))[1], target)",
    ),
)


@pytest.mark.parametrize(("answer", "expected"), [("x += by", 0), ("x += by * 2", 3)])
@pytest.mark.slow
def test_the_names_of_a_test_are_its_own(tmp_path: Path, bare: Sandbox, answer: str, expected: int) -> None:
    task = FORMAT.load(write(tmp_path, NAMES))[0]
    assert len(failed(task, IMPORT + SHIFT_CODE.replace("x += by", answer), bare)) == expected
