"""From the checks of `--recode-validate` to the findings of each task. Pure functions of the data that items attach to reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Check = Mapping[str, Any]
"""`ValidationData` of `plugin/report_data.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFindings:
    """What the checks of one task found together.

    `checks`: those that were run, in their order in the task. `not_run`: names of the others. `never_failed`: the cases that failed for no
    mutant and no wrong answer; None if that is not known, because not all of these were graded. `detects`: whether any of them was.
    """

    task: str
    checks: tuple[Check, ...]
    not_run: tuple[str, ...]
    never_failed: tuple[str, ...] | None
    detects: bool


def by_task(checks: Sequence[Check]) -> list[TaskFindings]:
    """The findings of each task, sorted by its id."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        found.setdefault(check["task"], []).append(check)
    return [_findings(task, found[task]) for task in sorted(found)]


def _findings(task: str, checks: Sequence[Check]) -> TaskFindings:
    names: list[str] = checks[0]["checks"]
    run = {check["check"]: check for check in checks}
    needed = [run.get(name) for name in names if name == "wrong" or name.startswith("mutants-")]
    ended = [check for check in needed if check is not None and check.get("failed") is not None]
    return TaskFindings(
        task=task,
        checks=tuple(run[name] for name in names if name in run),
        not_run=tuple(name for name in names if name not in run),
        never_failed=_never_failed(ended) if len(ended) == len(needed) else None,
        detects=any(check["answers"] for check in ended),
    )


def _never_failed(checks: Sequence[Check]) -> tuple[str, ...]:
    failed = {case for check in checks for case in check["failed"]}
    cases = dict.fromkeys(case for check in checks for case in check["cases"])
    return tuple(case for case in cases if case not in failed)
