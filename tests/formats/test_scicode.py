"""SciCode's layout: what is a task, what an agent sees, how tasks are chosen, and the errors of wrong lines."""

from __future__ import annotations

import os
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.format_conformance import check_format
from pytest_recode.formats.scicode import FORMAT
from pytest_recode.slots import laid, original
from pytest_recode.task import Task
from tests.messages import assert_line, assert_message
from tests.scicode_rows import OFFSET, SHIFT_CODE, TALLIES, WALKS, write

REAL = os.environ.get("RECODE_SCICODE", "")


def loaded(path: Path) -> dict[str, Task]:
    return {task.id: task for task in FORMAT.load(path)}


def changed(row: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {**deepcopy(row), **values}


def test_the_format_keeps_what_every_format_must(tmp_path: Path) -> None:
    check_format(FORMAT, write(tmp_path))


def test_a_problem_is_a_task_and_so_is_each_step(tmp_path: Path) -> None:
    tasks = loaded(write(tmp_path))
    assert [*tasks] == [
        "problem-03", "problem-12", "problem-20", "step-03.01", "step-03.02", "step-12.01", "step-20.01"
    ]  # fmt: skip
    task = tasks["problem-03"]
    assert (task.targets, task.interfaces) == (("solution.py",), ("solution.shift", "solution.total"))
    assert (task.subsets, task.environment.preload) == (("problems",), ("numpy",))
    assert task.facts == {
        "problem": "3",
        "name": "Offset_sum",
        "steps": 2,
        "tests": 5,
        "tests_to_know": {"3.2 test 1": "has no target: it compares with values that it contains"},
    }
    assert tasks["step-03.01"].facts == {
        "problem": "3", "name": "Offset_sum", "step": "3.1", "function": "shift", "tests": 3
    }  # fmt: skip


def test_a_problem_begins_with_stubs_and_a_step_with_the_earlier_ones(tmp_path: Path) -> None:
    tasks = loaded(write(tmp_path))
    whole, single = tasks["problem-03"].load(), tasks["step-03.02"].load()
    stubs = whole.repo["solution.py"].decode()
    assert stubs.startswith("import numpy as np\n\n\ndef shift(x, by=1.0):\n")
    assert stubs.count("raise NotImplementedError") == 2
    assert whole.slot is None
    assert SHIFT_CODE in single.repo["solution.py"].decode()
    assert single.slot is not None
    answer = original(single) or ""
    assert answer.startswith("def total(f, x):")
    assert laid(single.repo["solution.py"].decode(), single.slot, answer).encode() == single.reference["solution.py"]


def test_an_instruction_has_the_headers_and_no_code_of_the_authors(tmp_path: Path) -> None:
    tasks = loaded(write(tmp_path))
    whole, single = tasks["problem-03"].load().instruction, tasks["step-03.02"].load().instruction
    for text in (
        "Solve Offset_sum.",
        "Input: numbers",
        "## Step 3.1: `shift`",
        "The sum of f(x)[0].",
        "    return result",
    ):
        assert text in whole
    assert '"""\nInput' not in whole  # the quotes around `problem_io`
    assert "`shift`: What step 3.1 computes." in single
    for text in (whole, single):
        assert "x += by" not in text
        assert "np.sum" not in text


def test_the_background_is_the_paper(tmp_path: Path) -> None:
    tasks = loaded(write(tmp_path))
    assert tasks["problem-03"].load().paper == "## shift\n\nWhat is shifted stays shifted.\n"
    assert tasks["problem-12"].load().paper is None


def test_a_step_that_is_a_class_is_judged_shared(tmp_path: Path) -> None:
    task = loaded(write(tmp_path))["problem-20"]
    assert task.oracle.isolation == "shared"
    assert_message(str(task.facts["shared_because"]), "20.1", "class Tally")


def test_items_of_a_subset_are_collected(pytester: pytest.Pytester) -> None:
    write(pytester.path)

    def ids(*args: str) -> list[str]:
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--collect-only", "-q", *args)
        return [line.partition("::")[2].partition("/")[0] for line in result.outlines if "::" in line]

    assert ids() == ["problem-03", "problem-12", "problem-20"]
    assert ids("--recode-subset=steps", "-k", "Offset_sum") == ["step-03.01", "step-03.02"]
    assert ids("--recode-subset=steps", "-m", "recode(function='walk')") == ["step-12.01"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--recode-subset=step",), ("--recode-subset=step", "choose from problems, steps")),
        (("-m", "recode(subset='steps')"), ("recode(subset='steps')", "--recode-subset=steps")),
    ],
)
def test_a_subset_that_is_not_collected_is_told(
    pytester: pytest.Pytester, args: tuple[str, ...], said: tuple[str, ...]
) -> None:
    write(pytester.path)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--collect-only", "-q", *args)
    assert_line(result.stdout.str() + result.stderr.str(), *said)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, ("missing key 'problem_id'", "required keys")),
        (changed(WALKS, problem_id="twelve"), ("problem_id", "'twelve'")),
        (changed(WALKS, sub_steps=[]), ("sub_steps", "empty")),
        (changed(WALKS, required_dependencies="import"), ("required_dependencies", "import statements")),
        (changed(WALKS, sub_steps=[{**WALKS["sub_steps"][0], "ground_truth_code": ""}]), ("step 12.1", "does not define walk")),
        (changed(WALKS, sub_steps=[{**WALKS["sub_steps"][0], "function_header": "walk"}]), ("step 12.1", "function_header")),
        (changed(WALKS, sub_steps=[{**WALKS["sub_steps"][0], "test_cases": []}]), ("step 12.1", "test_cases")),
        (changed(WALKS, sub_steps=[{**WALKS["sub_steps"][0], "test_cases": ["assert target"]}]), ("test 1", "`target`")),
        (changed(WALKS, sub_steps=[{**WALKS["sub_steps"][0], "test_cases": ["assert walk(1, 2)[0] == target[1]"]}]), ("test 1", "target")),
        (OFFSET, ("problem_id '3'", "another id")),
    ],
    ids=["no key", "id", "no steps", "imports", "no code", "header", "no tests", "only target", "other item", "twice"],
)  # fmt: skip
def test_a_wrong_line_is_one_task_with_a_fault(tmp_path: Path, row: dict[str, Any], said: tuple[str, ...]) -> None:
    path = write(tmp_path, OFFSET, row, TALLIES)
    tasks = loaded(path)
    assert {"problem-03", "problem-20"} <= {*tasks}
    [fault] = [task.fault for task in tasks.values() if task.fault]
    assert_message(fault, str(path), *said)


def test_a_file_without_a_problem_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"a": 1})
    with pytest.raises(UserError) as raised:
        FORMAT.load(path)
    assert_message(str(raised.value), str(path), "missing key")


@pytest.mark.skipif(not REAL, reason="RECODE_SCICODE names no directory with SciCode's problems_dev.jsonl")
def test_all_tests_of_the_real_file_are_judged_apart() -> None:
    tasks = loaded(Path(REAL) / FORMAT.manifest)
    problems, steps = ([task for task in tasks.values() if name in task.subsets] for name in ("problems", "steps"))
    assert (len(problems), len(steps)) == (15, 50)
    assert not any(task.fault for task in tasks.values())
    assert Counter(task.oracle.isolation for task in tasks.values()) == {"separate": 65}
    for part in (problems, steps):
        assert sum(int(task.facts["tests"]) for task in part) == 167
        known = [name for task in part for name in task.facts.get("tests_to_know", {})]
        assert len(known) == 10
        cases = [data.count(b"\ndef test_") for task in part for data in task.load().tests.values()]
        assert sum(cases) == 155
