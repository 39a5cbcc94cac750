"""What lies beside the records of a run and is in no number: a reader must know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from pytest_recode.records.results import parse_json
from pytest_recode.records.run_directory import under_way


def unreadable(path: Path) -> list[str]:
    """Beside the records of a run: the tasks that had no episode, since nobody could read them."""
    beside = path.parent / "unreadable.jsonl"
    lines = beside.read_bytes().splitlines() if beside.is_file() else []
    tasks = list(dict.fromkeys(str(found.get("task")) for line in lines if isinstance(found := parse_json(line), dict)))
    if not tasks:
        return []
    named = ", ".join(tasks[:5]) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")
    return [
        f"{path.parent}: could not be read when it ran, and in no number here: {named}; --tasks counts them as missing"
    ]


def interrupted(path: Path, ended: Container[str]) -> list[str]:
    """Beside the records of a run: the episodes that were begun and have none, per model and feedback.

    While the run goes on, they are under way and not interrupted.
    """
    found = [begun for each in sorted(path.parent.glob("episodes/*.jsonl")) if (begun := _begun(each))]
    cut = [begun for begun in found if begun["nodeid"] not in ended]
    if not cut:
        return []
    rows = Counter(f"{begun.get('model') or begun.get('agent')} {begun.get('feedback')}" for begun in cut)
    told = ", ".join(f"{count} of {row}" for row, count in rows.items())
    if under_way(path.parent):
        return [f"{path.parent}: the run has not ended; episodes under way, in no number here: {len(cut)} ({told})"]
    return [
        f"{path.parent}: interrupted episodes, in no number here: {len(cut)} ({told}); the run's command with --recode-resume plays"
        " them to their end"
    ]


def _begun(transcript: Path) -> Mapping[str, Any] | None:
    """The first line of a transcript; None where it has no whole one."""
    with transcript.open("rb") as file:
        line = file.readline()
    facts = parse_json(line) if line.endswith(b"\n") else None
    return facts if isinstance(facts, dict) and "nodeid" in facts else None
