"""Derived feedback on a part of a file: its interfaces are test cases, which no target defines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.levels import corrections, render
from pytest_recode.feedback.model_answers import Style
from pytest_recode.formats.researchcodebench import FORMAT
from pytest_recode.researchers import prompts
from pytest_recode.researchers.answers import Rules
from pytest_recode.researchers.model_prompt import prompt
from pytest_recode.slots import laid
from pytest_recode.task import Parts, Task
from pytest_recode.verdict import Case, Outcome, Verdict

PAPERS = Path(__file__).parents[1] / "papers"
NAMES = ("TestMoments.test_merge", "TestWeights.test_weights")


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    return {task.id.partition("/")[2]: task for task in FORMAT.load(PAPERS / "papers.yaml")}


def verdict(kind: str = "mismatch") -> Verdict:
    cases = [Case(id=name, interface=name, outcome=Outcome.FAILED, kind=kind) for name in NAMES]
    return Verdict(cases=(*cases, Case(id="other", interface="other", outcome=Outcome.PASSED)), seed=1)


def text(task: Task, parts: Parts, candidate: bytes, level: int) -> str:
    found = verdict()
    items = derive(task, parts, {task.targets[0]: candidate}, found)
    return render(found, items, level, 1, targets=task.targets)


def answered(parts: Parts, lines: str) -> bytes:
    assert parts.slot is not None
    return laid(parts.repo[parts.slot.path].decode(), parts.slot, lines).encode()


def test_what_is_wrong_is_told_of_the_definition_around_the_part(tasks: dict[str, Task]) -> None:
    task = tasks["mean of both"]
    parts = task.load()
    wrong = answered(
        parts, "        delta = other.mean - self.mean\n        mean = self.mean - delta * other.count / count"
    )
    shown = text(task, parts, wrong, 3)
    for name in NAMES:
        assert f"Interface: {name}\n" in shown
    assert "step by step" in shown
    assert "`merge`" in shown
    assert "defines no" not in shown
    assert "delta * other.count" not in shown


def test_a_model_is_told_that_a_correction_is_the_part(tasks: dict[str, Task]) -> None:
    task = tasks["mean of both"]
    parts = task.load()
    _, asked = prompt(task, parts, {task.targets[0]: b""}, verdict())
    assert asked.content.endswith(prompts.BLOCK)
    _, asked = prompt(task, parts, {task.targets[0]: b""}, verdict(), Style(code_from=1))
    assert asked.content.endswith(prompts.BLOCK_CORRECTION)
    part = "        delta = other.mean - self.mean\n        mean = self.mean\n"
    record = {
        "interface": NAMES[0],
        "category": "T2",
        "description": "One.",
        "analysis": "Two.",
        "suggestion": "Three.",
    }
    answer = json.dumps({"feedbacks": [{**record, "correction": part, "caused_by": ""}]})
    records = Rules(failing=(NAMES[0],), style=Style(code_from=1)).records
    records.add(answer)
    assert records.by_key[NAMES[0]][0]["correction"] == "delta = other.mean - self.mean\nmean = self.mean"


def test_a_part_that_was_not_written_is_told(tasks: dict[str, Task]) -> None:
    for name in ("floor at zero", "merge of two summaries", "decay by age"):
        task = tasks[name]
        parts = task.load()
        shown = text(task, parts, parts.repo[task.targets[0]], 3)
        assert f"Analysis: The block is still missing from {task.targets[0]}." in shown


def test_code_that_does_not_parse_is_told(tasks: dict[str, Task]) -> None:
    task = tasks["floor at zero"]
    parts = task.load()
    assert "moments.py does not parse" in text(task, parts, answered(parts, "value = max("), 2)


def test_a_missing_definition_is_told(tasks: dict[str, Task]) -> None:
    task = tasks["merge of two summaries"]
    parts = task.load()
    shown = text(task, parts, answered(parts, "    def join(self, other):\n        return self"), 3)
    assert "The class Moments in moments.py defines no `merge`." in shown
    assert "Define the function `merge` in the class Moments in moments.py with the parameter `other`." in shown


def test_the_authors_lines_are_the_correction_and_said_once(tasks: dict[str, Task]) -> None:
    task = tasks["mean of both"]
    parts = task.load()
    shown = text(task, parts, answered(parts, "        mean = 0.0"), 4)
    [correction] = corrections(shown)
    assert correction.interface == NAMES[0]
    assert correction.file == "moments.py"
    assert correction.code == (
        "        delta = other.mean - self.mean\n        mean = self.mean + delta * other.count / count\n"
    )
    for level in range(4):
        assert corrections(text(task, parts, answered(parts, "        mean = 0.0"), level)) == ()
