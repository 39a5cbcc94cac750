"""Checkpoints: the state of an episode after each complete turn, from which another process can resume it.

`DIR/checkpoints/<name>.jsonl` has a line per turn and one per feedback, each with the node id of its episode.
`DIR/first-turns/<key>.json` has the first turn of a (task, model, agent, attempt), and its key. No feedback came before that turn, so
episodes with any policy start with it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from pytest_recode.clock import Clock, Wait
from pytest_recode.episode import Audit, Feedback, FeedbackItem, Move, Turn
from pytest_recode.faults import UserError
from pytest_recode.records import locks, record
from pytest_recode.records.run_directory import Lines, replaced, subdirectory, writing
from pytest_recode.task import Files
from pytest_recode.usage import Usage
from pytest_recode.verdict import Case, Exc, Outcome, Verdict

T = TypeVar("T")

_TEXTS = ("interface", "category", "description", "analysis", "suggestion", "correction")


@runtime_checkable
class Resumable(Protocol):
    """An agent or a model that another process can resume. One without state between turns returns `{}`."""

    def state(self) -> Mapping[str, Any]:
        """The current state, in plain JSON types."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the current state."""


def model_state(model: object) -> Mapping[str, Any]:
    """The state of an agent's model; {} for a model without state, such as one that calls a server."""
    return model.state() if isinstance(model, Resumable) else {}


def typed_field(state: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """A field of a stored state, for `restore`. Raises `LookupError` if it is missing, `TypeError` if it is not a `kind`."""
    value = state[name]
    if type(value) is not kind:
        raise TypeError(f"{name!r} is {type(value).__name__}, not {kind.__name__}")
    return value


def restore_model(model: object, state: Mapping[str, Any]) -> None:
    """Restore a state that `model_state` returned."""
    if isinstance(model, Resumable):
        model.restore(state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How a workspace differs from the repository: contents and mode of changed files, and removed files.

    `whole` is False if the changes were too large to store: then `files` has only the targets.
    """

    files: Mapping[str, tuple[bytes, int]]
    removed: tuple[str, ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The state after a turn. `agent` and `changes` are None if the agent is not `Resumable`: the episode cannot resume from there."""

    turn: Turn
    agent: Mapping[str, Any] | None
    changes: Changes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEpisode:
    """What an earlier run stored of an episode: complete turns, in order, and the feedback on the last one if no turn used it yet."""

    checkpoints: tuple[Checkpoint, ...] = ()
    feedback: Feedback | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(each.turn for each in self.checkpoints)


class CheckpointWriter:
    """Writes the checkpoints of one episode. Raises `RecordsError` if they cannot be written."""

    def __init__(self, path: Path, nodeid: str) -> None:
        self._lines = Lines(path)
        self._of = {"nodeid": nodeid}

    def turn(self, checkpoint: Checkpoint) -> None:
        self._lines.append({**self._of, **dumped(checkpoint)})

    def feedback(self, given: Feedback) -> None:
        self._lines.append({**self._of, "feedback": record.feedback(given)})

    def close(self) -> None:
        self._lines.close()


def stored_episode(path: Path, nodeid: str) -> StoredEpisode:
    """Read what `CheckpointWriter` wrote, without an incomplete last line. Without a file: `StoredEpisode()`.

    Raises `UserError` if the file is damaged or of another episode.
    """
    if not path.exists():
        return StoredEpisode()
    found: list[Checkpoint] = []
    feedback: Feedback | None = None
    for read in _read(path, nodeid):
        if isinstance(read, Feedback):
            feedback = read
            continue
        checkpoint = read
        if checkpoint.agent is None:
            return StoredEpisode()
        found = [*found[: checkpoint.turn.number - 1], checkpoint]
        feedback = None
    return StoredEpisode(checkpoints=tuple(found), feedback=feedback)


def _read(path: Path, nodeid: str) -> list[Checkpoint | Feedback]:
    found: list[Checkpoint | Feedback] = []
    try:
        for text in path.read_bytes().split(b"\n")[:-1]:
            entry = json.loads(text)
            if entry["nodeid"] != nodeid:
                raise UserError(
                    f"{path}: line {len(found) + 1} is of the episode {entry['nodeid']}, not of {nodeid}: restore this"
                    " episode's own file, or give another --recode-out"
                )
            found.append(loaded(entry) if "turn" in entry else _feedback(entry["feedback"]))
    except _DAMAGED as error:
        raise UserError(
            f"{path}: line {len(found) + 1} is damaged ({type(error).__name__}: {error}): restore it, or give another --recode-out"
        ) from None
    return found


_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError)


class FirstTurn:
    """The file of one first turn, which this process has locked. `found` is the turn, if an episode has played it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: Checkpoint | None = None
        if path.exists():
            try:
                entry = json.loads(path.read_bytes())
                key, self.found = entry["key"], loaded(entry)
            except _DAMAGED as error:
                raise UserError(
                    f"{path}: is damaged ({type(error).__name__}: {error}): remove it, and this first turn is played again"
                ) from None
            if key != path.stem:
                raise UserError(
                    f"{path}: is of another first turn, whose file is {key}.json: remove it, and this first turn is played again"
                )

    def keep(self, checkpoint: Checkpoint, *, by: str) -> None:
        """Store the first turn; `by` is the node id of the episode that paid for it."""
        checkpoint = replace(checkpoint, turn=replace(checkpoint.turn, shared=by))
        replaced(self.path, json.dumps({"key": self.path.stem, **dumped(checkpoint)}))


@contextmanager
def first_turn(out: Path, key: str, clock: Clock) -> Iterator[FirstTurn]:
    """Lock a first turn, and wait with `clock` stopped while another worker plays it. The lock ends with its process."""
    folder = subdirectory(out / "first-turns")
    with writing(folder):
        lock = locks.open_lock(folder / f"{key}.lock")
    waiting = clock.stopped(Wait(what="the first turn, which another worker plays"))
    with locks.locked(lock, waiting=waiting):
        yield FirstTurn(folder / f"{key}.json")


def first_turn_key(facts: Mapping[str, Any]) -> str:
    """A hash of the facts on which a first turn depends."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@contextmanager
def in_use(out: Path) -> Iterator[None]:
    """Mark `out` as written to by this process, with a lock that ends with the process."""
    with locks.locked(_marker(out), shared=True):
        yield


def wait_until_unused(out: Path, notify: Callable[[str], None], seconds: float = 30.0) -> None:
    """Wait until no process writes to `out`: the workers of a killed run take some time to end. Calls `notify` once if it waits.

    Raises `UserError` if a process still writes there after `seconds`.
    """
    deadline = time.monotonic() + seconds
    told = False
    with locks.closing(_marker(out)) as file:
        while not locks.try_acquire(file):
            if not told:
                notify(f"{out}: another run is still writing there: waiting up to {seconds:.0f} s for its end")
                told = True
            if time.monotonic() > deadline:
                raise UserError(
                    f"--recode-out={out}: another run is still writing there: wait for its end, or give another directory"
                )
            time.sleep(0.1)


def _marker(out: Path) -> int:
    with writing(out):
        return locks.open_lock(out / "in-use")


def dumped(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint in plain JSON types, with file contents in base64."""
    turn, changes = checkpoint.turn, checkpoint.changes
    return {
        "turn": turn.number,
        "feedback": None if turn.feedback is None else record.feedback(turn.feedback),
        "move": {
            "steps": turn.move.steps,
            "unparsed": turn.move.unparsed,
            "submitted": turn.move.submitted,
            "reindented": turn.move.reindented,
            "usage": record.usage(turn.move.usage),
        },
        "verdict": record.verdict(turn.verdict),
        "targets": {path: _packed(data) for path, data in turn.targets.items()},
        "seconds": turn.seconds,
        "shared": turn.shared,
        "agent": checkpoint.agent,
        "changes": None
        if changes is None
        else {
            "files": {path: [_packed(data), mode] for path, (data, mode) in changes.files.items()},
            "removed": list(changes.removed),
            "whole": changes.whole,
        },
    }


def loaded(entry: Mapping[str, Any]) -> Checkpoint:
    """Make the checkpoint that `dumped` wrote."""
    move, changes = entry["move"], entry["changes"]
    targets: Files = {path: base64.b64decode(data) for path, data in entry["targets"].items()}
    return Checkpoint(
        turn=Turn(
            number=entry["turn"],
            feedback=None if entry["feedback"] is None else _feedback(entry["feedback"]),
            move=Move(**{**move, "usage": Usage(**move["usage"])}),
            verdict=_verdict(entry["verdict"]),
            targets=targets,
            seconds=entry["seconds"],
            shared=entry["shared"],
        ),
        agent=entry["agent"],
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


def _feedback(entry: Mapping[str, Any]) -> Feedback:
    return Feedback(
        level=int(entry["level"][1:]),
        text=entry["text"],
        turn=entry["turn"],
        items=tuple(
            FeedbackItem(
                **{name: item[name] for name in _TEXTS},
                caused_by=item.get("caused_by") or "",
                possible_causes=tuple(item.get("possible_causes", ())),
                authors=item.get("authors", {}),
            )
            for item in entry["items"]
        ),
        source=entry["source"],
        model=entry["model"],
        prompt=entry["prompt"],
        audit=Audit(**entry["audit"]),
        usage=Usage(**entry["usage"]),
    )


def _verdict(entry: Mapping[str, Any]) -> Verdict:
    return Verdict(
        cases=tuple(
            Case(
                **{
                    **case,
                    "outcome": Outcome(case["outcome"]),
                    "uses": None if case.get("uses") is None else tuple(case["uses"]),
                    "exception": None
                    if case["exception"] is None
                    else Exc(**{**case["exception"], "frames": tuple(case["exception"]["frames"])}),
                }
            )
            for case in entry["cases"]
        ),
        seed=entry["seed"],
        seconds=entry["seconds"],
        isolation=entry["isolation"],
        tampering=tuple(entry["tampering"]),
    )
