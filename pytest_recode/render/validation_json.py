"""The findings of `--recode-validate` as JSON: `validation.schema.json`, docs/reference/validation-json.md. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recode.metrics.validation import Check, TaskFindings, by_task
from pytest_recode.render.validation_summary import finding, in_one_line

VERSION = 1
_RESULTS = ("problem", "warning", "seconds", "isolation", "answers", "right", "seeds", "noticed", "tried")
"""Fields of a check that are null if it did not end."""


def text(checks: Sequence[Check], unreadable: Mapping[str, str]) -> str:
    """The file. Tasks are sorted by id, their checks are in the order of the task. `unreadable`: messages by node id.

    Only ASCII, so that texts of a task cannot write to a terminal that shows the file.
    """
    document = {
        "version": VERSION,
        "tasks": [_task(found) for found in by_task(checks)],
        "unreadable": [{"nodeid": nodeid, "message": unreadable[nodeid]} for nodeid in sorted(unreadable)],
    }
    return json.dumps(document, indent=2).replace("\x7f", "\\u007f") + "\n"


def _task(findings: TaskFindings) -> dict[str, Any]:
    mutants, wrong = findings.mutants, findings.wrong
    return {
        "task": findings.task,
        "line": in_one_line(findings),
        "mutants": None if mutants is None else {"detected": mutants[0], "tried": mutants[1]},
        "wrong_answers": None if wrong is None else {"detected": wrong[0], "tried": wrong[1]},
        "seeds": findings.seeds,
        "never_failed": None if findings.never_failed is None else list(findings.never_failed),
        "unquoted": None if findings.unquoted is None else list(findings.unquoted),
        "not_run": list(findings.not_run),
        "checks": [_check(check) for check in findings.checks],
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "check": check["check"],
        "finding": finding(check),
        "error": check["error"],
        **{name: check.get(name) for name in _RESULTS},
        "survivors": check.get("survivors", []),
        "differences": check.get("differences", []),
    }
