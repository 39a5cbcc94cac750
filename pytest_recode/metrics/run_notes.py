"""Notes on data of a run that no number counts: unreadable tasks and interrupted episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.records.results import parse_json
from pytest_recode.records.run_directory import MERGED, TRANSCRIPTS, UNREADABLE, in_progress
from pytest_recode.records.transcript_reader import first_line
from pytest_recode.wording import some_of


def unreadable(path: Path) -> list[str]:
    """Note the tasks of the run at `path` that could not be read, and so had no episode."""
    beside = path.parent / UNREADABLE
    lines = beside.read_bytes().splitlines() if beside.is_file() else []
    tasks = list(dict.fromkeys(str(found.get("task")) for line in lines if isinstance(found := parse_json(line), dict)))
    if not tasks:
        return []
    return [
        f"{path.parent}: tasks that could not be read during the run, not counted here: {some_of(tasks, 5)}; pytest-recode report with --tasks counts them as missing"
    ]


def unended(run: Path, ended: Collection[Attempt]) -> list[Mapping[str, Any]]:
    """The first lines of the transcripts of the run in the directory `run` whose episodes are not among `ended`."""
    known = {attempt.transcript.name for attempt in ended if attempt.transcript is not None}
    others = sorted(path for path in (run / TRANSCRIPTS).glob("*.jsonl") if path.name not in known)
    found = [begun for each in others if (begun := first_line(each))]
    nodeids = {attempt.nodeid for attempt in ended}
    return [begun for begun in found if begun["nodeid"] not in nodeids]


def unmerged(run: Path) -> tuple[str, ...]:
    """The shards that were missing when the run in the directory `run` was merged; empty for a run that was not."""
    file = run / MERGED
    found = parse_json(file.read_bytes()) if file.is_file() else None
    missing = found.get("missing") if isinstance(found, dict) else None
    return tuple(map(str, missing)) if isinstance(missing, list) else ()


def interrupted(path: Path, ended: Collection[Attempt]) -> list[str]:
    """Note the episodes of the run at `path` that started and have no record, per agent, model and feedback.

    During the run, they are in progress and not interrupted.
    """
    cut = unended(path.parent, ended)
    if not cut:
        return []
    several = len({begun.get("agent") for begun in cut}) > 1
    rows = Counter(f"{_who(begun, names_agent=several)} {begun.get('feedback')}" for begun in cut)
    counts = ", ".join(f"{count} of {row}" for row, count in rows.items())
    if in_progress(path.parent):
        return [f"{path.parent}: the run has not ended; episodes in progress, not counted here: {len(cut)} ({counts})"]
    return [
        f"{path.parent}: interrupted episodes, not counted here: {len(cut)} ({counts}); the run's command with --recode-resume"
        " completes them"
    ]


def _who(begun: Mapping[str, Any], *, names_agent: bool) -> str:
    model, agent = begun.get("model"), begun.get("agent")
    return f"{model} ({agent})" if model and names_agent else f"{model or agent}"
