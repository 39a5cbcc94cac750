"""How much feedback an episode received, from its record. Pure functions, called where records become numbers."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_recode.records.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackReceived:
    """All feedback before the judged turns of an episode: its highest level, and its characters.

    `level` is None without feedback. `characters` is None if a record of an earlier version does not have them.
    """

    level: str | None
    characters: int | None


def feedback_received(record: Record) -> FeedbackReceived:
    levels = [turn["level"] for turn in record["turns"] if turn["level"] is not None]
    characters = [
        turn["feedback"].get("characters") if turn["feedback"] else None
        for turn in record["turns"]
        if turn["level"] is not None
    ]
    known = [number for number in characters if number is not None]
    return FeedbackReceived(
        level=max(levels, default=None), characters=sum(known) if len(known) == len(characters) else None
    )
