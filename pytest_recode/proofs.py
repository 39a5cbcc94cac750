"""Proofs: answers with a known verdict, with which a task's author tests the hidden tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_recode.task import Files

ProofPart = Literal["right", "wrong", "equivalent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """An answer that violates one stated requirement.

    `requirement`: a quotation from the instruction or the paper. `interface`: the interface that violates it. `cases`: test functions,
    at least one of which must fail; () accepts any case of the interface.
    """

    name: str
    targets: Files
    requirement: str
    interface: str
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """One part of a task's `proofs/`, read only when a task is validated. The fields of the other parts are empty.

    A check reads only the part that it needs, so that a mistake in another one does not stop it.

    `right`: complete answers by name. `equivalent`: mutants that compute the same as the reference, with the line of
    `equivalent.txt` that lists each.
    """

    right: Mapping[str, Files] = field(default_factory=dict)
    wrong: tuple[WrongAnswer, ...] = ()
    equivalent: Mapping[str, int] = field(default_factory=dict)
