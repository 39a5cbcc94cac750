"""Pair the final code of episodes with the reference, for the means of `code_similarity` over a Row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.code_similarity import Codes
from pytest_recode.records.transcript_reader import lines_of

Pair = tuple[Codes, Codes]
"""Candidate, reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finals:
    """The last turn's targets of the played episodes of a Row, each with its reference, and counts of the missing ones.

    played = len(pairs) + no_code + no_reference. `errors` are counted separately.
    """

    pairs: tuple[Pair, ...]
    played: int
    no_code: int  # episodes without a transcript or without a turn
    no_reference: int  # episodes whose task is not among --tasks, or cannot be read
    errors: int


def finals(attempts: Sequence[Attempt], reference: Callable[[Attempt], Codes | None]) -> Finals:
    played = [attempt for attempt in attempts if attempt.played]
    pairs = []
    no_code = no_reference = 0
    for attempt in played:
        candidate, authors = last_code(attempt.transcript), reference(attempt)
        if authors is None:
            no_reference += 1
        elif candidate is None:
            no_code += 1
        else:
            pairs.append((candidate, authors))
    return Finals(
        pairs=tuple(pairs),
        played=len(played),
        no_code=no_code,
        no_reference=no_reference,
        errors=len(attempts) - len(played),
    )


def last_code(transcript: Path | None) -> Codes | None:
    """The targets of the last complete turn in a transcript; None if there is none."""
    last: Mapping[str, str] | None = None
    if transcript is not None:
        for line in lines_of(transcript, "turn"):
            last = line["targets"]
    return None if last is None else {path: text.encode(errors="replace") for path, text in last.items()}


def mean(values: Sequence[float], of: int | None = None) -> float | None:
    """The mean of the values, or the mean over `of` items with missing ones as 0. None without items."""
    n = len(values) if of is None else of
    return sum(values) / n if n else None
