"""Find cases whose outcome for one answer depends on the secret seed. Pure functions of verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recode.validation.result import SeedDifference
from pytest_recode.verdict import Outcome, Verdict
from pytest_recode.wording import some_of

MOST_SEEDS = 3
"""How many seeds a text names."""


STEP = "look for default_rng() without a seed, the clock, or the order of a set; draw from the fixture rng"
BEYOND_THE_SEED = f"a case depends on more than the seed: {STEP}"


def differing(answer: str, verdicts: Sequence[Verdict]) -> list[SeedDifference]:
    """The cases that failed in some gradings of `answer` and passed in others, in the order of the cases."""
    failed: dict[str, list[int]] = {}
    passed: dict[str, list[int]] = {}
    for verdict in verdicts:
        for case in verdict.cases:
            if case.ran:
                seeds = passed if case.outcome is Outcome.PASSED else failed
                seeds.setdefault(case.id, []).append(verdict.seed)
    return [
        SeedDifference(
            answer=answer,
            case=case,
            failed=tuple(failed[case]),
            passed=tuple(passed[case]),
            text=_text(case, failed[case], passed[case]),
        )
        for case in dict.fromkeys(case.id for verdict in verdicts for case in verdict.cases)
        if case in failed and case in passed
    ]


def _text(case: str, failed: Sequence[int], passed: Sequence[int]) -> str:
    if both := [seed for seed in failed if seed in passed]:
        return f"{case} depends on more than the seed: with {_seeds(both)} it failed and then passed: {STEP}"
    return f"{case} depends on the seed: it fails with {_seeds(failed)}, and passes with {_seeds(passed)}"


def _seeds(seeds: Sequence[int]) -> str:
    return ("seed " if len(seeds) == 1 else "seeds ") + some_of([*map(str, seeds)], MOST_SEEDS)
