"""What findings of the shared judge do to outcomes: episodes whose cases passed, and which are unsolved all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def findings(outcome: str, turns: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The findings that alone keep an episode from being solved: those of its first turn in which every case passed.

    Empty where the outcome is not "unsolved", or rests on failed cases. `turns` as in a record of any version.
    """
    if outcome != "unsolved":
        return ()
    passing = (turn for turn in turns if 0 < turn["total"] == turn["passed"])
    return next((tuple(turn["tampering"]) for turn in passing if turn.get("tampering")), ())
