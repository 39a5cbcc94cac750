"""The files of checkpoints, from which another process can resume an episode.

`DIR/checkpoints/<name>.jsonl` has a line per turn and one per feedback, each with the node id of its episode. Written by the process
that plays the episode. `line_check.py` checks each line that is read.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from pytest_recode.episode import Feedback, Turn
from pytest_recode.faults import UserError
from pytest_recode.records.checkpoint import Changes, Checkpoint, StoredEpisode
from pytest_recode.records.line_check import checkpoint_fault
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.records.stored_values import (
    StoredFeedback,
    StoredMove,
    StoredVerdict,
    dump_feedback,
    dump_move,
    dump_verdict,
    load_feedback,
    load_move,
    load_verdict,
)


class StoredChanges(TypedDict):
    files: dict[str, tuple[str, int]]  # contents in base64 and mode; in JSON an array of the two
    removed: list[str]
    whole: bool


class StoredCheckpoint(TypedDict):
    """A checkpoint in plain JSON types. `targets` are in base64."""

    turn: int
    feedback: StoredFeedback | None
    move: StoredMove
    verdict: StoredVerdict
    targets: dict[str, str]
    seconds: float
    shared: str
    agent: Mapping[str, Any] | None
    changes: StoredChanges | None


class _CheckpointLine(StoredCheckpoint):
    nodeid: str


class _FeedbackLine(TypedDict):
    """A feedback that no turn used yet."""

    nodeid: str
    feedback: StoredFeedback


class CheckpointWriter:
    """Writes the checkpoints of one episode. Raises `RecordsError` if they cannot be written."""

    def __init__(self, path: Path, nodeid: str, files: RunFiles = LOCAL) -> None:
        self._lines = files.lines(path)
        self._nodeid = nodeid

    def turn(self, checkpoint: Checkpoint) -> None:
        line: _CheckpointLine = {"nodeid": self._nodeid, **dump(checkpoint)}
        self._lines.append(line)

    def feedback(self, given: Feedback) -> None:
        line: _FeedbackLine = {"nodeid": self._nodeid, "feedback": dump_feedback(given)}
        self._lines.append(line)

    def close(self) -> None:
        self._lines.close()


def stored_episode(path: Path, nodeid: str, files: RunFiles = LOCAL) -> StoredEpisode:
    """Read what `CheckpointWriter` wrote, without an incomplete last line. Without a file: `StoredEpisode()`.

    Raises `UserError` if the file is damaged or of another episode.
    """
    found: list[Checkpoint] = []
    feedback: Feedback | None = None
    for read in _read(path, nodeid, files):
        if isinstance(read, Feedback):
            feedback = read
            continue
        checkpoint = read
        if checkpoint.agent is None:
            return StoredEpisode()
        found = [*found[: checkpoint.turn.number - 1], checkpoint]
        feedback = None
    return StoredEpisode(checkpoints=tuple(found), feedback=feedback)


def _read(path: Path, nodeid: str, files: RunFiles) -> list[Checkpoint | Feedback]:
    found: list[Checkpoint | Feedback] = []
    try:
        for text in files.read(path).split(b"\n")[:-1]:
            line = json.loads(text)
            if wrong := checkpoint_fault(line):
                raise _damaged(path, len(found) + 1, wrong)
            if line["nodeid"] != nodeid:
                raise UserError(
                    f"{path}: line {len(found) + 1} is of the episode {line['nodeid']}, not of {nodeid}: restore this"
                    " episode's own file, or give another --recode-out"
                )
            found.append(
                load(cast("_CheckpointLine", line))
                if "turn" in line
                else load_feedback(cast("_FeedbackLine", line)["feedback"])
            )
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, len(found) + 1, f"{type(error).__name__}: {error}") from None
    return found


def _damaged(path: Path, number: int, reason: str) -> UserError:
    return UserError(f"{path}: line {number} is damaged ({reason}): restore it, or give another --recode-out")


def dump(checkpoint: Checkpoint) -> StoredCheckpoint:
    turn, changes = checkpoint.turn, checkpoint.changes
    return {
        "turn": turn.number,
        "feedback": None if turn.feedback is None else dump_feedback(turn.feedback),
        "move": dump_move(turn.move),
        "verdict": dump_verdict(turn.verdict),
        "targets": {path: _packed(data) for path, data in turn.targets.items()},
        "seconds": turn.seconds,
        "shared": turn.shared,
        "agent": checkpoint.agent,
        "changes": None
        if changes is None
        else {
            "files": {path: (_packed(data), mode) for path, (data, mode) in changes.files.items()},
            "removed": list(changes.removed),
            "whole": changes.whole,
        },
    }


def load(stored: StoredCheckpoint) -> Checkpoint:
    """The checkpoint that `dump` made plain; `stored` has been checked."""
    feedback, changes = stored["feedback"], stored["changes"]
    return Checkpoint(
        turn=Turn(
            number=stored["turn"],
            feedback=None if feedback is None else load_feedback(feedback),
            move=load_move(stored["move"]),
            verdict=load_verdict(stored["verdict"]),
            targets={path: base64.b64decode(data) for path, data in stored["targets"].items()},
            seconds=stored["seconds"],
            shared=stored["shared"],
        ),
        agent=stored["agent"],
        changes=None
        if changes is None
        else Changes(
            files={path: (base64.b64decode(data), mode) for path, (data, mode) in changes["files"].items()},
            removed=tuple(changes["removed"]),
            whole=changes["whole"],
        ),
    )


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()
