"""The ids of a run's episodes, read fast and unchecked: for the completion of a command line, which must not wait."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pytest_recode.records.run_directory import RESULTS, TRANSCRIPTS, reading

_TEXT = rb'("(?:[^"\\]|\\.)*")'
_RECORD = re.compile(rb'{"schema": \d+, "nodeid": %b, "task": %b' % (_TEXT, _TEXT))
_EPISODE = re.compile(rb'"nodeid": %b, "task": %b' % (_TEXT, _TEXT))


def episode_ids(run: Path) -> dict[str, str]:
    """Node id -> task of each episode, in the order of their records, then those without a record. Raises `UserError` if nothing can be read.

    Only the fields at the beginning of a line are read, and no line is checked.
    """
    from pytest_recode.records.transcript import name

    tasks: dict[str, str] = {}
    with reading(run):
        if (run / RESULTS).is_file():
            with (run / RESULTS).open("rb") as file:
                tasks.update(map(_texts, filter(None, map(_RECORD.match, file))))
        recorded = set(map(name, tasks))
        for path in sorted((run / TRANSCRIPTS).glob("*.jsonl")):
            if path.name not in recorded:
                with path.open("rb") as file:
                    match = _EPISODE.search(file.readline())
                if match is not None:
                    tasks.update([_texts(match)])
    return tasks


def _texts(match: re.Match[bytes]) -> tuple[str, str]:
    nodeid, task = map(json.loads, match.groups())
    return nodeid, task
