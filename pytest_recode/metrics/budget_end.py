"""What the episodes that a spent budget ended would have cost: an estimate from those that were completed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_recode.metrics.attempt import Row
from pytest_recode.metrics.score import row_of
from pytest_recode.records.episode_summary import EpisodeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetEnd:
    """`finished`: episodes that ended before the first one for which the budget did not suffice. `ended`: episodes that it ended.

    `rest_usd`: what the latter would have cost in addition; None if no episode of one of their rows was completed.
    """

    finished: int
    ended: int
    rest_usd: float | None


def budget_end(records: Sequence[EpisodeSummary]) -> BudgetEnd | None:
    """The end of the budget of a run, whose records are in the order in which episodes ended; None if it was not reached.

    An episode costs as much as the mean of the completed ones of the same row of the summary.
    """
    ended = [record for record in records if _stopped(record)]
    if not ended:
        return None
    costs: dict[Row, list[float]] = {}
    for record in records:
        cost = record["usage"]["cost_usd"]
        if record["outcome"] != "error" and cost is not None:
            costs.setdefault(row_of(record), []).append(cost)
    rest = 0.0
    known = True
    for record in ended:
        like = costs.get(row_of(record))
        known = known and like is not None
        rest += max(fmean(like) - (record["usage"]["cost_usd"] or 0.0), 0.0) if like else 0.0
    return BudgetEnd(finished=records.index(ended[0]), ended=len(ended), rest_usd=rest if known else None)


def _stopped(record: EpisodeSummary) -> bool:
    return record["error"] is not None and record["error"]["kind"] == "budget"
