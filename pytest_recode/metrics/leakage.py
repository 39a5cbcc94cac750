"""Leaking: sums of the audits of feedback text (docs/explanation/feedback.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.episode import Audit
from pytest_recode.records.transcript_reader import lines_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaking:
    """Sums over several feedbacks: number with cut passages, longest runs in tokens, mean shares.

    `encoded`: the number of `passages` that were encoded; None if a transcript does not record it.
    """

    feedbacks: int
    leaked: int
    passages: int
    encoded: int | None
    reference_run: int
    tests_run: int
    reference_share: float
    tests_share: float


def read(transcript: Path | None) -> tuple[tuple[str, Audit], ...] | None:
    """Source and audit of each feedback in a transcript; None without a transcript."""
    if transcript is None:
        return None
    audits: dict[int, tuple[str, Audit]] = {}
    for line in lines_of(transcript, "feedback"):
        audits[line.feedback.turn] = (line.feedback.source, line.feedback.audit)
    return tuple(audits.values())


def leaking(audits: Iterable[Audit]) -> Leaking:
    records = list(audits)
    encoded = [audit.encoded for audit in records]
    return Leaking(
        feedbacks=len(records),
        leaked=sum(audit.cut > 0 for audit in records),
        passages=sum(audit.cut for audit in records),
        encoded=None if None in encoded else sum(filter(None, encoded)),
        reference_run=max((audit.reference_run for audit in records), default=0),
        tests_run=max((audit.tests_run for audit in records), default=0),
        reference_share=sum(audit.reference_share for audit in records) / len(records) if records else 0.0,
        tests_share=sum(audit.tests_share for audit in records) / len(records) if records else 0.0,
    )
