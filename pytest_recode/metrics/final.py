"""The code that an episode ended with, held against the reference: means of `likeness` over a Row."""

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
    """The last turn's targets of the played episodes of a Row, each with its reference; what is not there is counted.

    played = len(pairs) + no_code + no_reference. `errors` could not be played and are in neither.
    """

    pairs: tuple[Pair, ...]
    played: int
    no_code: int  # its transcript is gone, or it had no turn
    no_reference: int  # its task is not among --tasks, or cannot be read
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
    """The targets of the last whole turn that a transcript tells of. None: there is none."""
    last: Mapping[str, str] | None = None
    if transcript is not None and transcript.is_file():
        for line in lines_of(transcript, "turn"):
            last = line["targets"]
    return None if last is None else {path: text.encode(errors="replace") for path, text in last.items()}


def mean(values: Sequence[float], of: int | None = None) -> float | None:
    """Over the values, or over `of` of them, what is missing as 0. None: of nothing."""
    n = len(values) if of is None else of
    return sum(values) / n if n else None
