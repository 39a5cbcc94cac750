"""The files of checkpoints, from which another process can resume an episode.

`DIR/checkpoints/<name>.jsonl` has a line per turn and one per feedback, each with the node id of its episode. Contents of a workspace's
files are named by their digest, and stored in the first line that has them. Written by the process that plays the episode.
Each line that is read is checked.
"""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pytest_recode.episode import Feedback
from pytest_recode.faults import UserError
from pytest_recode.records.checkpoint import Checkpoint, StoredEpisode, changes_of
from pytest_recode.records.run_files import LOCAL, RunFiles, content
from pytest_recode.schema.rules import INLINE, Name
from pytest_recode.schema.stored_forms import DamagedError, dump, load, parsed

MAX_CONTENTS = 64 << 20
"""Bytes of contents of a workspace's files that are stored of an episode. Beyond them, a checkpoint has the targets alone."""

KEPT_CONTENTS = 1 << 20
"""Bytes of contents that stay after the end of the episode, for replays. Of an episode with more, the targets alone stay."""


_NOTHING = StoredEpisode()


@dataclass(frozen=True, slots=True, kw_only=True)
class _CheckpointLine:
    """A checkpoint; the contents of changed files that earlier lines have are left out."""

    nodeid: Name
    checkpoint: Annotated[Checkpoint, INLINE]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FeedbackLine:
    """A feedback that no turn used yet."""

    nodeid: Name
    feedback: Feedback


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
        self._lines.append(self._checkpoint_line(checkpoint, self._stored))
        self._stored.update(sizes)

    def feedback(self, feedback: Feedback) -> None:
        self._lines.append(self._feedback_line(feedback))

    def _checkpoint_line(self, checkpoint: Checkpoint, stored: Container[str]) -> dict[str, Any]:
        return dump(_CheckpointLine(nodeid=self._nodeid, checkpoint=_without(checkpoint, stored)))

    def _feedback_line(self, feedback: Feedback) -> dict[str, Any]:
        return dump(_FeedbackLine(nodeid=self._nodeid, feedback=feedback))

    def finish(self) -> None:
        """The episode is over and will not be resumed: drop large contents from the file (`KEPT_CONTENTS`). Nothing is appended afterwards."""
        if sum(self._stored.values()) <= KEPT_CONTENTS:
            return
        stored: set[str] = set()
        lines: list[dict[str, Any]] = []
        for read in _read(self._path, self._nodeid, self._files):
            if isinstance(read, Feedback):
                lines.append(self._feedback_line(read))
                continue
            checkpoint = _targets_alone(read)
            lines.append(self._checkpoint_line(checkpoint, stored))
            stored.update(_sizes(checkpoint))
        self._files.replace(self._path, "".join(f"{json.dumps(line)}\n" for line in lines))

    def close(self) -> None:
        self._lines.close()


def _targets_alone(checkpoint: Checkpoint) -> Checkpoint:
    changes = checkpoint.changes
    if changes is None:
        return checkpoint
    versions = {
        path: (data, changes.files[path][1] if path in changes.files else 0o644)
        for path, data in checkpoint.turn.targets.items()
    }
    return replace(checkpoint, changes=changes_of(versions, changes.removed, whole=False))


def _without(checkpoint: Checkpoint, stored: Container[str]) -> Checkpoint:
    """The checkpoint without the contents whose digests are in `stored`."""
    changes = checkpoint.changes
    if changes is None:
        return checkpoint
    contents = {digest: data for digest, data in changes.contents.items() if digest not in stored}
    return replace(checkpoint, changes=replace(changes, contents=contents))


def completed(checkpoint: Checkpoint, contents: dict[str, bytes]) -> Checkpoint:
    """The checkpoint with all contents of its files. `contents`: those of earlier lines, to which this adds its own. Raises `DamagedError`."""
    changes = checkpoint.changes
    if changes is None:
        return checkpoint
    contents.update(changes.contents)
    if missing := [path for path, (digest, _) in changes.files.items() if digest not in contents]:
        raise DamagedError(f"lacks the contents of {missing[0]}")
    own = {digest: contents[digest] for digest, _ in changes.files.values()}
    return replace(checkpoint, changes=replace(changes, contents=own))


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
    for number, text in enumerate((content(path, files) or b"").split(b"\n")[:-1], 1):
        try:
            stored = parsed(text)
            is_checkpoint = isinstance(stored, dict) and "turn" in stored
            line = load(_CheckpointLine, stored) if is_checkpoint else load(_FeedbackLine, stored)
            entries.append(line.feedback if isinstance(line, _FeedbackLine) else completed(line.checkpoint, contents))
        except DamagedError as error:
            raise UserError(
                f"{path}, line {number}: is damaged ({error}): restore it, or give another --recode-out"
            ) from None
        if line.nodeid != nodeid:
            raise UserError(
                f"{path}, line {number}: is of the episode {line.nodeid}, not of {nodeid}: restore this episode's own file, or give"
                " another --recode-out"
            )
    return entries


def _sizes(checkpoint: Checkpoint) -> dict[str, int]:
    """The sizes of the contents of changed files, in bytes, by digest."""
    changes = checkpoint.changes
    return {} if changes is None else {digest: len(data) for digest, data in changes.contents.items()}
