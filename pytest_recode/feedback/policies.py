"""Policies choose the level of feedback after a failed turn. Each is a pure function of the turns so far, and equal to one that always
chooses the same level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.episode import Policy, Turn
from pytest_recode.faults import UserError
from pytest_recode.feedback import PolicyKind
from pytest_recode.verdict import Outcome

LEVELS = range(5)
PATIENCE = range(1, 1001)


def parse(spec: str, kind: PolicyKind) -> Policy:
    """The policy of this kind with the options in `spec`: `L3`, `escalate:start=1,patience=2`. Raises `UserError`."""
    _, colon, rest = spec.partition(":")
    options: dict[str, str] = {}
    for part in rest.split(",") if colon else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise UserError(
                f"feedback policy '{spec}': '{part}' is not an option; write option=value, as in escalate:start=1,max=3"
            )
        if key in options:
            raise UserError(f"feedback policy '{spec}': the option '{key}' is given twice; keep one")
        options[key] = value
    return kind.make(options)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Answer every failed turn at `level`; None: give no feedback, so that the episode ends after its first turn."""

    level: int | None

    def __call__(self, turns: Sequence[Turn]) -> int | None:
        return self.level


@dataclass(frozen=True, slots=True)
class _Escalate:
    """Answer the first failed turn at `start`; raise the level by one after each `patience` failed turns."""

    start: int
    most: int
    patience: int

    def __call__(self, turns: Sequence[Turn]) -> int:
        return min(self.most, self.start + (len(turns) - 1) // self.patience)


@dataclass(frozen=True, slots=True)
class _Adaptive:
    """Raise the level by one after a turn that passed no new case."""

    start: int
    most: int

    def __call__(self, turns: Sequence[Turn]) -> int:
        level, passed = self.start, _passed(turns[0])
        for turn in turns[1:]:
            now = _passed(turn)
            level += now <= passed
            passed |= now
        return min(self.most, level)


def _fixed(policy: str, level: int | None) -> PolicyKind:
    def make(options: dict[str, str]) -> Policy:
        _numbers(policy, options)
        return _Fixed(level)

    return PolicyKind(make=make, concurrent=True)


def _escalate(options: dict[str, str]) -> Policy:
    start, most, patience = _numbers("escalate", options, start=(0, LEVELS), max=(4, LEVELS), patience=(1, PATIENCE))
    return _Fixed(start) if start == most else _Escalate(start, most, patience)


def _adaptive(options: dict[str, str]) -> Policy:
    start, most = _numbers("adaptive", options, start=(0, LEVELS), max=(4, LEVELS))
    return _Fixed(start) if start == most else _Adaptive(start, most)


def _passed(turn: Turn) -> frozenset[str]:
    return frozenset(case.id for case in turn.verdict.cases if case.outcome is Outcome.PASSED)


def _numbers(policy: str, options: Mapping[str, str], **known: tuple[int, range]) -> list[int]:
    """The numbers of the `known` options, of which each has a default and a range. Raises `UserError`."""
    for key in options:
        if key not in known:
            choices = f"its options are {', '.join(known)}" if known else "it has none; write only the name"
            raise UserError(f"feedback policy '{policy}': unknown option '{key}'; {choices}")
    numbers = [
        _number(policy, key, options[key], values) if key in options else default
        for key, (default, values) in known.items()
    ]
    if known and numbers[0] > numbers[1]:
        raise UserError(
            f"feedback policy '{policy}': start={numbers[0]} is above max={numbers[1]}; give a start that is not above max"
        )
    return numbers


def _number(policy: str, key: str, text: str, values: range) -> int:
    digits = text.removeprefix("L") if values is LEVELS else text
    if digits.isascii() and digits.isdecimal() and len(digits) < 10 and int(digits) in values:
        return int(digits)
    what = "a level," if values is LEVELS else "a whole number from"
    raise UserError(f"feedback policy '{policy}': {key} must be {what} {values[0]} to {values[-1]}, not '{text}'")


L0, L1, L2, L3, L4 = (_fixed(f"L{level}", level) for level in LEVELS)
ESCALATE = PolicyKind(make=_escalate, concurrent=True)
ADAPTIVE = PolicyKind(make=_adaptive, concurrent=True)
NONE = _fixed("none", None)
