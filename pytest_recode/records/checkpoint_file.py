"""The files of checkpoints, from which another process can resume an episode.

`DIR/checkpoints/<name>.jsonl` has a line per turn and one per feedback, each with the node id of its episode. Contents of a workspace's
files are named by their digest, and stored in the first line that has them. Written by the process that plays the episode.
`line_check.py` checks each line that is read.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, cast

from pytest_recode.episode import Feedback, Turn
from pytest_recode.faults import UserError
from pytest_recode.records.checkpoint import Changes, Checkpoint, StoredEpisode
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
from pytest_recode.records.typed_schema import Base64, Name, NamedFile, Number, check_of

MAX_CONTENTS = 64 << 20
"""Bytes of contents of a workspace's files that are stored of an episode. Beyond them, a checkpoint has the targets alone."""

KEPT_CONTENTS = 1 << 20
"""Bytes of contents that stay after the end of the episode, for replays. Of an episode with more, the targets alone stay."""


_NOTHING = StoredEpisode()


class StoredChanges(TypedDict):
    files: dict[str, NamedFile]
    contents: dict[str, Base64]  # in base64, by digest; those of earlier lines are not repeated
    removed: list[str]
    whole: bool


class StoredCheckpoint(TypedDict):
    """A checkpoint in plain JSON types."""

    turn: Number
    feedback: StoredFeedback | None
    move: StoredMove
    verdict: StoredVerdict
    targets: dict[str, Base64]
    seconds: float
    shared: str
    agent: Any  # checked by the agent itself
    changes: StoredChanges | None


class _CheckpointLine(StoredCheckpoint):
    nodeid: Name


class _FeedbackLine(TypedDict):
    """A feedback that no turn used yet."""

    nodeid: Name
    feedback: StoredFeedback


def _fault(line: Any) -> str:
    """The first wrong key of a line, and what it must be; "" if nothing is wrong."""
    kind = _CheckpointLine if isinstance(line, dict) and "turn" in line else _FeedbackLine
    return check_of(kind)(line).lstrip(".: ")


class CheckpointWriter:
    """Writes the checkpoints of one episode, after those of `earlier` processes. Raises `RecordsError` if they cannot be written."""

    def __init__(self, path: Path, nodeid: str, files: RunFiles = LOCAL, earlier: StoredEpisode = _NOTHING) -> None:
        self._path, self._files = path, files
        self._lines = files.lines(path)
        self._nodeid = nodeid
        self._stored: dict[str, int] = {}  # the size of the contents in the file, by digest
        for checkpoint in earlier.checkpoints:
            self._stored.update(_sizes(checkpoint))

    def turn(self, checkpoint: Checkpoint) -> None:
        sizes = _sizes(checkpoint)
        if sum({**self._stored, **sizes}.values()) > MAX_CONTENTS:
            checkpoint = _targets_alone(checkpoint)
            sizes = _sizes(checkpoint)
        line: _CheckpointLine = {"nodeid": self._nodeid, **dump(checkpoint, stored=self._stored)}
        self._lines.append(line)
        self._stored.update(sizes)

    def feedback(self, feedback: Feedback) -> None:
        self._lines.append(self._feedback_line(feedback))

    def _feedback_line(self, feedback: Feedback) -> _FeedbackLine:
        return {"nodeid": self._nodeid, "feedback": dump_feedback(feedback)}

    def finish(self) -> None:
        """The episode is over and will not be resumed: drop large contents from the file (`KEPT_CONTENTS`). Nothing is appended afterwards."""
        if sum(self._stored.values()) <= KEPT_CONTENTS:
            return
        stored: set[str] = set()
        lines: list[_CheckpointLine | _FeedbackLine] = []
        for read in _read(self._path, self._nodeid, self._files):
            if isinstance(read, Feedback):
                lines.append(self._feedback_line(read))
                continue
            checkpoint = _targets_alone(read)
            lines.append({"nodeid": self._nodeid, **dump(checkpoint, stored=stored)})
            stored.update(_sizes(checkpoint))
        self._files.replace(self._path, "".join(f"{json.dumps(line)}\n" for line in lines))

    def close(self) -> None:
        self._lines.close()


def _targets_alone(checkpoint: Checkpoint) -> Checkpoint:
    changes = checkpoint.changes
    if changes is None:
        return checkpoint
    files = {
        path: (data, changes.files[path][1] if path in changes.files else 0o644)
        for path, data in checkpoint.turn.targets.items()
    }
    return replace(checkpoint, changes=Changes(files=files, removed=changes.removed, whole=False))


def stored_episode(path: Path, nodeid: str, files: RunFiles = LOCAL) -> StoredEpisode:
    """Read what `CheckpointWriter` wrote, without an incomplete last line. Without a file: `StoredEpisode()`.

    Raises `UserError` if the file is damaged or of another episode.
    """
    checkpoints: list[Checkpoint] = []
    feedback: Feedback | None = None
    for read in _read(path, nodeid, files):
        if isinstance(read, Feedback):
            feedback = read
            continue
        checkpoint = read
        if checkpoint.agent is None:
            return StoredEpisode()
        checkpoints = [*checkpoints[: checkpoint.turn.number - 1], checkpoint]
        feedback = None
    return StoredEpisode(checkpoints=tuple(checkpoints), feedback=feedback)


def _read(path: Path, nodeid: str, files: RunFiles) -> list[Checkpoint | Feedback]:
    entries: list[Checkpoint | Feedback] = []
    contents: dict[str, bytes] = {}  # by digest, of the lines so far
    try:
        for text in files.read(path).split(b"\n")[:-1]:
            line = json.loads(text)
            if wrong := _fault(line):
                raise _damaged(path, len(entries) + 1, wrong)
            if line["nodeid"] != nodeid:
                raise UserError(
                    f"{path}: line {len(entries) + 1} is of the episode {line['nodeid']}, not of {nodeid}: restore this"
                    " episode's own file, or give another --recode-out"
                )
            entries.append(
                load(cast("_CheckpointLine", line), contents)
                if "turn" in line
                else load_feedback(cast("_FeedbackLine", line)["feedback"])
            )
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError, LookupError) as error:
        raise _damaged(path, len(entries) + 1, f"{type(error).__name__}: {error}") from None
    return entries


def _damaged(path: Path, number: int, reason: str) -> UserError:
    return UserError(f"{path}: line {number} is damaged ({reason}): restore it, or give another --recode-out")


def dump(checkpoint: Checkpoint, stored: Container[str] = ()) -> StoredCheckpoint:
    """The checkpoint in plain JSON types, without the contents whose digests are in `stored`."""
    turn, changes = checkpoint.turn, checkpoint.changes
    digests = {} if changes is None else {path: _digest(data) for path, (data, _) in changes.files.items()}
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
            "files": {path: (digests[path], mode) for path, (_, mode) in changes.files.items()},
            "contents": {
                digests[path]: _packed(data) for path, (data, _) in changes.files.items() if digests[path] not in stored
            },
            "removed": list(changes.removed),
            "whole": changes.whole,
        },
    }


def load(stored: StoredCheckpoint, contents: dict[str, bytes] | None = None) -> Checkpoint:
    """The checkpoint that `dump` made plain; `stored` has been checked.

    `contents`: those of earlier lines, to which this adds its own. Raises `LookupError` if a file's contents are in none.
    """
    feedback, changes = stored["feedback"], stored["changes"]
    contents = {} if contents is None else contents
    if changes is not None:
        contents.update({digest: base64.b64decode(data) for digest, data in changes["contents"].items()})
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
            files={path: (contents[digest], mode) for path, (digest, mode) in changes["files"].items()},
            removed=tuple(changes["removed"]),
            whole=changes["whole"],
        ),
    )


def _sizes(checkpoint: Checkpoint) -> dict[str, int]:
    """The sizes of the contents of changed files, in bytes, by digest."""
    changes = checkpoint.changes
    return {} if changes is None else {_digest(data): len(data) for data, _ in changes.files.values()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()
