"""Mutants that no hidden test detects, in the terminal: an entry for each line of the reference. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recode.wording import some_of

MOST_CASES = 3
"""How many cases a line names."""
_INDENT = "    "
_OR = " or "
"""Instead of the indentation, before the changed line of each mutant after the first one."""
_NEW_LINE = "\n"
"""No row of a diff."""


def survivor_lines(task: str, survivors: Sequence[Mapping[str, Any]]) -> list[str]:
    """An entry for each changed line of the reference: diffs, the nearest case, and as the last lines the names for `equivalent.txt`."""
    by_place: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for survivor in survivors:
        by_place.setdefault((survivor["place"], survivor["interface"]), []).append(survivor)
    lines = []
    for (place, interface), group in by_place.items():
        who = "survives" if len(group) == 1 else f"{len(group)} mutants survive"
        lines += ["", f"{task}: {who} every case: {place}{f' ({interface})' if interface else ''}"]
        lines += _diffs([survivor["diff"] for survivor in group])
        nearest = dict.fromkeys(map(_nearest_case, group))
        lines += [f"{_INDENT}{text}".rstrip() for text in (*nearest, *(survivor["name"] for survivor in group))]
    return lines


def _diffs(diffs: Sequence[str]) -> list[str]:
    """Diffs of one line of the reference. Those that differ only in the new line are one, which has all new lines."""
    by_rest: dict[tuple[str, ...], list[str]] = {}
    for diff in diffs:
        rest, new = _without_new_line(diff)
        by_rest.setdefault(rest, []).append(new)
    return [
        f"{_OR if number else _INDENT}{text}".rstrip()
        for rest, new in by_rest.items()
        for row in rest
        for number, text in enumerate(new if row == _NEW_LINE else [row])
    ]


def _without_new_line(diff: str) -> tuple[tuple[str, ...], str]:
    """The rows of a diff with `_NEW_LINE` in place of its added line, and that line; all its rows and "" if it adds several or none."""
    head, rows = diff.split("\n")[:2], diff.split("\n")[2:]
    added = [number for number, row in enumerate(rows) if row.startswith("+")]
    if len(added) != 1:
        return (*head, *rows), ""
    return (*head, *rows[: added[0]], _NEW_LINE, *rows[added[0] + 1 :]), rows[added[0]]


def _nearest_case(survivor: Mapping[str, Any]) -> str:
    if survivor["nearest"]:
        return f"nearest case: {survivor['nearest']}, which detects a mutant of line {survivor['nearest_line']}"
    if not survivor["interface"]:
        return "nearest case: not known, because no case detects another mutant of this file"
    verb = "are marked with" if survivor["by_mark"] else "use"
    if not survivor["cases"]:
        return f"nearest case: none, because no cases {verb} {survivor['interface']}"
    return f"cases that {verb} {survivor['interface']}: {some_of(survivor['cases'], MOST_CASES)}"
