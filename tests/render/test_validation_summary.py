"""The terminal's summary of validation: the lines about a survivor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_recode.render.validation_json import text
from pytest_recode.render.validation_summary import summary

SURVIVOR = {
    "name": "a.py f: a -> b",
    "place": "a.py:2 in f",
    "interface": "a.f",
    "diff": "-a\n+b",
    "nearest": "",
    "nearest_line": 0,
    "cases": [f"t.py::test_{number}" for number in range(5)],
    "by_mark": False,
}


def check(**facts: Any) -> dict[str, Any]:
    defaults = {
        "task": "tiny",
        "check": "mutants-a.f",
        "checks": ["mutants-a.f"],
        "error": None,
        "problem": "",
        "warning": "",
    }
    return {**defaults, "answers": 1, "tried": 2, "noticed": 1, **facts}


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "cases that use a.f: t.py::test_0, t.py::test_1, t.py::test_2 and 2 more"),
        ({"by_mark": True, "cases": ["t.py::test_0"]}, "cases that are marked with a.f: t.py::test_0"),
        ({"cases": []}, "nearest case: none, because no cases use a.f"),
        ({"interface": ""}, "nearest case: not known, because no case detects another mutant of this file"),
        (
            {"nearest": "t.py::test_9", "nearest_line": 7},
            "nearest case: t.py::test_9, which detects a mutant of line 7",
        ),
    ],
)
def test_a_survivor_names_its_cases(facts: dict[str, Any], line: str) -> None:
    lines = summary([check(survivors=[{**SURVIVOR, **facts}])])
    place = "tiny: survives every case: a.py:2 in f" + ("" if facts.get("interface") == "" else " (a.f)")
    assert lines[lines.index(place) :][1:5] == ["    -a", "    +b", f"    {line}", "    a.py f: a -> b"]


def test_survivors_of_one_line_are_one_entry() -> None:
    """Diffs that differ only in the new line are one diff; a mutant that changes more lines has a diff of its own."""
    diffs = {
        "-1": "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y = 1\n+y = -1",
        "0": "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y = 1\n+y = 0",
        "if": "--- a\n+++ b\n@@ -1,2 +1,3 @@\n x\n-y = 1\n+if x:\n+    y = 1",
    }
    group = [{**SURVIVOR, "name": f"a.py f: {name}", "diff": diff} for name, diff in diffs.items()]
    lines = summary([check(survivors=[*group, {**SURVIVOR, "place": "a.py:9 in f"}])])
    first = lines.index("tiny: 3 mutants survive every case: a.py:2 in f (a.f)")
    other = lines.index("tiny: survives every case: a.py:9 in f (a.f)")
    assert lines[first + 1 : other] == [
        "    --- a",
        "    +++ b",
        "    @@ -1,2 +1,2 @@",
        "     x",
        "    -y = 1",
        "    +y = -1",
        " or +y = 0",
        "    --- a",
        "    +++ b",
        "    @@ -1,2 +1,3 @@",
        "     x",
        "    -y = 1",
        "    +if x:",
        "    +    y = 1",
        "    cases that use a.f: t.py::test_0, t.py::test_1, t.py::test_2 and 2 more",
        *(f"    a.py f: {name}" for name in diffs),
        "",
    ]


def test_an_interface_without_mutants_has_no_row_and_a_check_that_grades_nothing_has_one() -> None:
    names = ("brief", "canary", "mutants-m.f")
    facts = [check(check=name, answers=0, tried=0, noticed=0, seconds=0.0) for name in names]
    rows = [line.split() for line in summary(facts)[1:]]
    assert [row[:-1] for row in rows] == [["tiny", "what", "agents", "read", "ok"], ["tiny", "canary", "ok"]]


def test_every_line_is_escaped() -> None:
    hostile = "\x1b[2J\u202e\n"
    survivor = {**SURVIVOR, "name": hostile, "place": hostile, "diff": hostile, "cases": [hostile]}
    lines = summary([check(survivors=[survivor], warning=hostile, task=hostile)])
    assert all(line.isprintable() for line in lines)


def numbered(check: str, **facts: Any) -> dict[str, Any]:
    found = {"task": "tiny", "check": check, "checks": ["reference", "right", "wrong", "mutants-a.f", "mutants-a.g"]}
    found |= {"error": None, "problem": "", "warning": "", "answers": 2, "right": 2, "seeds": 50, "cases": ["t"]}
    return {**found, "failed": None if check in ("reference", "right") else ["t"], **facts}


SEEDED = [numbered("reference"), numbered("right")]
WRONG = numbered("wrong", answers=12, right=12)
MUTANTS = [numbered("mutants-a.f", noticed=199, tried=200), numbered("mutants-a.g", noticed=40, tried=40)]


@pytest.mark.parametrize(
    ("checks", "line"),
    [
        ([*MUTANTS, WRONG, *SEEDED], "tiny: mutants 99.5 % of 240, 12 wrong answers, 50 seeds"),
        ([*MUTANTS, {**WRONG, "seeds": 1}], "tiny: mutants 99.5 % of 240, 12 wrong answers"),
        ([*SEEDED, {**WRONG, "right": 11, "problem": "x"}], "tiny: 11 of 12 wrong answers"),
        ([*SEEDED, {**WRONG, "answers": 1, "right": 1}], "tiny: 1 wrong answer, 50 seeds"),
        ([*SEEDED, {**WRONG, "answers": 0, "right": 0}], "tiny: 0 wrong answers, 50 seeds"),
        ([MUTANTS[0], WRONG], "tiny: 12 wrong answers"),
        ([MUTANTS[0], {**MUTANTS[1], "failed": None}], None),
        ([{**mutants, "tried": 0, "noticed": 0} for mutants in MUTANTS], "tiny: no mutants"),
        (SEEDED, None),
    ],
)
def test_the_numbers_of_a_task_are_its_last_line(checks: list[dict[str, Any]], line: str | None) -> None:
    """A part of them is left out if not all of its checks ended; a share is never rounded up to 100 %."""
    lines = summary(checks)
    assert lines[-1] == line if line else not any(each.startswith("tiny:") for each in lines)


@pytest.mark.parametrize(
    ("noticed", "tried", "shown"),
    [
        (14, 15, "93.3 %"),
        (57, 59, "96.6 %"),
        (9999, 10000, "99.9 %"),
        (1, 10001, "0.0 %"),
        (0, 3, "0.0 %"),
        (3, 3, "100 %"),
    ],
)
def test_a_share_is_the_same_in_every_line_and_100_percent_only_if_it_is_all(
    noticed: int, tried: int, shown: str
) -> None:
    mutants = numbered("mutants-a.f", checks=["mutants-a.f"], noticed=noticed, tried=tried)
    lines = summary([mutants])
    assert lines[-2:] == [
        f"small mutations that the tests detect: {noticed} of {tried}, {shown}",
        f"tiny: mutants {shown} of {tried}",
    ]
    document = json.loads(text([mutants], {}))
    assert document["tasks"][0]["line"] == f"mutants {shown} of {tried}"
