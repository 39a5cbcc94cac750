"""Describe cases that pass for answers that mean nothing, for the author who corrects them. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def weak_cases(passing: Mapping[str, Sequence[str]]) -> list[str]:
    """A text for all cases that pass for the same answers. `passing`: the cases that pass, by the name of each answer that was graded."""
    if len(passing) == 1:
        return [f"{name} passes {', '.join(cases)}" for name, cases in passing.items() if cases]
    groups: dict[tuple[str, ...], list[str]] = {}
    for case in dict.fromkeys(case for cases in passing.values() for case in cases):
        groups.setdefault(tuple(name for name, cases in passing.items() if case in cases), []).append(case)
    return [
        f"{'case' if len(cases) == 1 else 'cases'} {', '.join(cases)} {'passes' if len(cases) == 1 else 'pass'}"
        f" for {len(names)} of {len(passing)} constant answers: {', '.join(names)}"
        for names, cases in groups.items()
    ]
