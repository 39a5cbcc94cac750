"""The state of an episode after each complete turn, as values, and what an agent or a model adds to it.

`checkpoint_file.py` stores them, so that another process can resume the episode.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar, runtime_checkable

from pytest_recode.episode import Feedback, Turn
from pytest_recode.schema.rules import INLINE, NamedFile

T = TypeVar("T")


@runtime_checkable
class Resumable(Protocol):
    """An agent or a model that another process can resume. One without state between turns returns `{}`."""

    def state(self) -> Mapping[str, Any]:
        """The current state, in plain JSON types."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the current state."""


@runtime_checkable
class Relocatable(Protocol):
    """A `Resumable` that may have left something in its process without which no other one can continue."""

    @property
    def continues_elsewhere(self) -> bool:
        """Whether another process can resume it from its state now."""


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
    """How a workspace differs from the repository: digest and mode of changed files, contents by digest, and removed files.

    `whole` is False if the changes were too large to store: then `files` has only the targets.
    """

    files: Mapping[str, NamedFile]
    contents: Mapping[str, bytes]
    removed: tuple[str, ...] = ()
    whole: bool = True

    @property
    def versions(self) -> Mapping[str, tuple[bytes, int]]:
        """Contents and mode of each changed file."""
        return {path: (self.contents[digest], mode) for path, (digest, mode) in self.files.items()}


def changes_of(
    versions: Mapping[str, tuple[bytes, int]], removed: Collection[str] = (), *, whole: bool = True
) -> Changes:
    """The changes with these contents and modes of changed files."""
    digests = {path: hashlib.sha256(data).hexdigest() for path, (data, _) in versions.items()}
    return Changes(
        files={path: (digests[path], mode) for path, (_, mode) in versions.items()},
        contents={digests[path]: data for path, (data, _) in versions.items()},
        removed=tuple(removed),
        whole=whole,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The state after a turn. `agent` and `changes` are None if the agent is not `Resumable`: the episode cannot resume from there."""

    turn: Annotated[Turn, INLINE]
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
