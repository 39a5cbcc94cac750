"""Describe cases that pass for answers that mean nothing, for the author who corrects them. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_recode.validation.checks import RAISES


def weak_cases(passing: Mapping[str, Sequence[str]]) -> list[str]:
    """A text for all cases that pass for the same answers. `passing`: the cases that pass, by the name of each answer that was graded."""
    if len(passing) == 1:
        return [
            f"{name} passes {', '.join(cases)}: assert in {'it' if len(cases) == 1 else 'each'} something that fails for it"
            for name, cases in passing.items()
            if cases
        ]
    groups: dict[tuple[str, ...], list[str]] = {}
    for case in dict.fromkeys(case for cases in passing.values() for case in cases):
        groups.setdefault(tuple(name for name, cases in passing.items() if case in cases), []).append(case)
    return [
        f"{'case' if len(cases) == 1 else 'cases'} {', '.join(cases)} {'passes' if len(cases) == 1 else 'pass'}"
        f" for {len(names)} of {len(passing)} constant answers: {', '.join(names)}: {_step(names)}"
        for names, cases in groups.items()
    ]


def _step(names: Sequence[str]) -> str:
    """What the author does about cases that pass for these answers."""
    steps = []
    if RAISES in names:
        steps.append(f"a target that always raises {RAISES} passes: make a valid call in the same case")
    if values := [name for name in names if name != RAISES]:
        steps.append(
            f"assert what fails for {'this value' if len(values) == 1 else 'these values'}, in the case or in one more"
        )
    return ", and ".join(steps)
