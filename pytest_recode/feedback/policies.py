"""Policies choose the level of feedback after a failed turn. Each is a pure function of the turns so far, and equal to one that always
chooses the same level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.episode import Policy, Turn
from pytest_recode.faults import UserError
from pytest_recode.feedback import PolicyKind
from pytest_recode.verdict import Outcome

LOWEST, HIGHEST = 0, 4
MOST_PATIENCE = 1000


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


def _fixed(level: int) -> PolicyKind:
    def make(options: dict[str, str]) -> Policy:
        _known(f"L{level}", options)
        return _Fixed(level)

    return PolicyKind(make=make, concurrent=True)


def _escalate(options: dict[str, str]) -> Policy:
    _known("escalate", options, "start", "max", "patience")
    start, most = _range("escalate", options)
    patience = _whole("escalate", options, "patience", 1, 1, MOST_PATIENCE)
    return _Fixed(start) if start == most else _Escalate(start, most, patience)


def _adaptive(options: dict[str, str]) -> Policy:
    _known("adaptive", options, "start", "max")
    start, most = _range("adaptive", options)
    return _Fixed(start) if start == most else _Adaptive(start, most)


def _none(options: dict[str, str]) -> Policy:
    _known("none", options)
    return _Fixed(None)


def _passed(turn: Turn) -> frozenset[str]:
    return frozenset(case.id for case in turn.verdict.cases if case.outcome is Outcome.PASSED)


def _known(policy: str, options: Mapping[str, str], *names: str) -> None:
    for key in options:
        if key not in names:
            choices = f"its options are {', '.join(names)}" if names else "it has none; write only the name"
            raise UserError(f"feedback policy '{policy}': unknown option '{key}'; {choices}")


def _range(policy: str, options: Mapping[str, str]) -> tuple[int, int]:
    start = _whole(policy, options, "start", LOWEST, LOWEST, HIGHEST)
    most = _whole(policy, options, "max", HIGHEST, LOWEST, HIGHEST)
    if start > most:
        raise UserError(
            f"feedback policy '{policy}': start={start} is above max={most}; give a start that is not above max"
        )
    return start, most


def _whole(policy: str, options: Mapping[str, str], key: str, default: int, least: int, most: int) -> int:
    text = options.get(key, str(default))
    digits = text.removeprefix("L") if most == HIGHEST else text
    if digits.isascii() and digits.isdecimal() and len(digits) < 10 and least <= int(digits) <= most:
        return int(digits)
    what = f"a level, {least} to {most}" if most == HIGHEST else f"a whole number from {least} to {most}"
    raise UserError(f"feedback policy '{policy}': {key} must be {what}, not '{text}'")


L0, L1, L2, L3, L4 = (_fixed(level) for level in range(LOWEST, HIGHEST + 1))
ESCALATE = PolicyKind(make=_escalate, concurrent=True)
ADAPTIVE = PolicyKind(make=_adaptive, concurrent=True)
NONE = PolicyKind(make=_none, concurrent=True)
