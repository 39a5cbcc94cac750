"""Proofs: answers whose verdict the task's author knows, by which the hidden tests are tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_recode.task import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """An answer that violates one stated requirement.

    `requirement` quotes the instruction or the paper. `interface` is the one that violates it. `cases` names the test
    functions of which at least one must fail; () accepts any case of the interface.
    """

    name: str
    targets: Files
    requirement: str
    interface: str
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """What a task's `proofs/` holds, read when a task is validated and never for an episode.

    `right` holds complete answers by name. `equivalent` holds the names of mutants that compute the same as the reference,
    by the line of `equivalent.txt` that lists each.
    """

    right: Mapping[str, Files] = field(default_factory=dict)
    wrong: tuple[WrongAnswer, ...] = ()
    equivalent: Mapping[str, int] = field(default_factory=dict)
