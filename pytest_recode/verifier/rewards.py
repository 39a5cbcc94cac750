"""Writes a verdict as Harbor reads it: the rewards, and the cases in CTRF (https://ctrf.io)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_recode import VERSION
from pytest_recode.harbor_layout import CTRF, REWARD, REWARD_JSON, REWARD_TEXT
from pytest_recode.task import Task
from pytest_recode.verdict import Case, Outcome, Verdict


def remove_earlier(logs: Path) -> None:
    """Remove the results of an earlier verifier: without a verdict, there must be none."""
    for name in (REWARD_JSON, REWARD_TEXT, CTRF):
        with suppress(FileNotFoundError):
            (logs / name).unlink()


def write(logs: Path, task: Task, fingerprint: str, verdict: Verdict, notes: Sequence[str]) -> None:
    """Write the cases, and then the rewards. Raises `OSError`."""
    _write(logs / CTRF, ctrf(task, fingerprint, verdict, notes))
    _write(logs / REWARD_JSON, reward_values(verdict))


def reward_values(verdict: Verdict) -> dict[str, float | int]:
    """`reward` is that of Harbor's thresholds and tables: 1 if the task is solved, else 0. `share`: of the cases that passed."""
    solved = int(verdict.solved)
    return {REWARD: solved, "solved": solved, "share": verdict.passed / len(verdict.cases) if verdict.cases else 0.0}


def ctrf(task: Task, fingerprint: str, verdict: Verdict, notes: Sequence[str]) -> dict[str, Any]:
    """A report in CTRF. Times are zero: those of the container's clock say nothing that the durations do not."""
    return {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "results": {
            "tool": {"name": "pytest-recode", "version": VERSION},
            "summary": {
                "tests": len(verdict.cases),
                "passed": verdict.passed,
                "failed": verdict.failed,
                "pending": 0,
                "skipped": 0,
                "other": 0,
                "start": 0,
                "stop": round(verdict.seconds * 1000),
            },
            "tests": [_test(case) for case in verdict.cases],
            "extra": {
                "task": task.id,
                "fingerprint": fingerprint,
                "seed": verdict.seed,
                "isolation": verdict.isolation,
                "versions": dict(verdict.versions),
                "notes": list(notes),
            },
        },
    }


def _test(case: Case) -> dict[str, Any]:
    passed = case.outcome is Outcome.PASSED
    test: dict[str, Any] = {
        "name": case.id,
        "status": "passed" if passed else "failed",
        "duration": round(case.seconds * 1000),
        "suite": case.interface,
    }
    if not passed:
        test["message"] = case.message
        test["extra"] = {"kind": case.kind}
    return test


def _write(path: Path, value: Mapping[str, Any]) -> None:
    """Write a new file. No link is followed, and no reader sees half of it."""
    text = json.dumps(value, indent=1, allow_nan=False) + "\n"
    part = path.with_name(f".{path.name}.part")
    with suppress(FileNotFoundError):
        part.unlink()
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)
