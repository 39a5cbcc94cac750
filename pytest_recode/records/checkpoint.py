"""The state of an episode after each complete turn, as values, and what an agent or a model adds to it.

`checkpoint_file.py` stores them, so that another process can resume the episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from pytest_recode.episode import Feedback, Turn

T = TypeVar("T")


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
