"""First turns that episodes share: no feedback comes before the first turn, so episodes with any policy start with the same one.

`DIR/first-turns/<key>.json` is the checkpoint of the first turn of a (task, model, agent, attempt), with its key. The worker that plays
it first writes it, under a lock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pytest_recode.clock import Clock, Wait
from pytest_recode.faults import UserError
from pytest_recode.records.checkpoint import Checkpoint
from pytest_recode.records.checkpoint_file import completed
from pytest_recode.records.run_files import LOCAL, RunFiles, content
from pytest_recode.schema.rules import INLINE, Name
from pytest_recode.schema.stored_forms import DamagedError, dump, load, parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstTurnFile:
    key: Name
    checkpoint: Annotated[Checkpoint, INLINE]


class FirstTurn:
    """The file of one first turn, which this process has locked. `checkpoint` is the turn, if an episode has played it."""

    def __init__(self, path: Path, files: RunFiles = LOCAL) -> None:
        self.path = path
        self._files = files
        self.checkpoint: Checkpoint | None = None
        stored = _read(path, files)
        if stored is not None:
            if stored.key != path.stem:
                raise UserError(
                    f"{path}: is of another first turn, whose file is {stored.key}.json: remove it to play"
                    " this first turn again"
                )
            self.checkpoint = stored.checkpoint

    def store(self, checkpoint: Checkpoint, *, by: str) -> None:
        """Store the first turn; `by` is the node id of the episode that paid for it."""
        checkpoint = replace(checkpoint, turn=replace(checkpoint.turn, shared=by))
        self._files.replace(self.path, json.dumps(dump(_FirstTurnFile(key=self.path.stem, checkpoint=checkpoint))))


def _read(path: Path, files: RunFiles) -> _FirstTurnFile | None:
    """Read a stored first turn; None if there is none. Raises `UserError` if the file is damaged."""
    text = content(path, files)
    if text is None:
        return None
    try:
        stored = load(_FirstTurnFile, parsed(text))
        return replace(stored, checkpoint=completed(stored.checkpoint, {}))
    except DamagedError as error:
        raise UserError(f"{path}: is damaged ({error}): remove it to play this first turn again") from None


@contextmanager
def first_turn(out: Path, key: str, clock: Clock, files: RunFiles = LOCAL) -> Iterator[FirstTurn]:
    """Lock a first turn, and wait with `clock` stopped while another worker plays it. The lock ends with its process."""
    folder = out / "first-turns"
    waiting = clock.stopped(Wait(what="the first turn, which another worker plays"))
    with files.locked(folder / f"{key}.lock", waiting):
        yield FirstTurn(folder / f"{key}.json", files)


def first_turn_key(facts: Mapping[str, Any]) -> str:
    """A hash of the facts on which a first turn depends."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
