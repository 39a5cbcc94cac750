"""The terminal's summary of validation: what is said of a survivor."""

from __future__ import annotations

from typing import Any

import pytest

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
    found = {
        "task": "tiny",
        "check": "mutants-a.f",
        "checks": ["mutants-a.f"],
        "error": None,
        "problem": "",
        "warning": "",
    }
    return {**found, "answers": 1, "tried": 2, "noticed": 1, **facts}


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


def test_every_line_is_escaped() -> None:
    hostile = "\x1b[2J\u202e\n"
    survivor = {**SURVIVOR, "name": hostile, "place": hostile, "diff": hostile, "cases": [hostile]}
    lines = summary([check(survivors=[survivor], warning=hostile, task=hostile)])
    assert all(line.isprintable() for line in lines)
