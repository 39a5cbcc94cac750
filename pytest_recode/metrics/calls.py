"""Model calls of episodes, from their transcripts: how many, how long they waited, and how fast the provider answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pytest_recode.records.transcript_lines import RetryLine, UsageLine
from pytest_recode.records.transcript_reader import lines_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Sums over calls of one model. Times are in seconds.

    `waited`: for rate limits, other calls and retries, in all. `longest_wait`: of one call. `answering`: the median time that the
    provider needed. `speed`: tokens of answers per second of that time. All are None if no call has times, as in older transcripts.
    `calls` includes those that were `replayed` from a cassette: they cost nothing, and `recorded_usd` when they were recorded. Costs are in
    US dollars; None if one is unknown.
    """

    calls: int
    replayed: int
    retries: int
    cost_usd: float | None
    recorded_usd: float | None
    waited: float | None
    longest_wait: float | None
    answering: float | None
    speed: float | None


def read(transcript: Path | None) -> tuple[UsageLine | RetryLine, ...]:
    """The calls and retries in a transcript; empty without one."""
    if transcript is None:
        return ()
    return tuple(lines_of(transcript, "usage", "retry"))


def calls(lines: Iterable[UsageLine | RetryLine]) -> Calls:
    events = list(lines)
    answered = [line for line in events if line["event"] == "usage"]
    timed = [line for line in answered if "waited" in line and "answering" in line]
    waited = [line["waited"] for line in timed]
    answering = [line["answering"] for line in timed]
    tokens = sum(line["completion_tokens"] for line in timed)
    replayed = [line for line in answered if line.get("replayed")]
    return Calls(
        calls=len(answered),
        replayed=len(replayed),
        retries=len(events) - len(answered),
        cost_usd=_sum(line["cost_usd"] for line in answered),
        recorded_usd=_sum(line.get("recorded_usd") for line in replayed),
        waited=sum(waited) if timed else None,
        longest_wait=max(waited, default=None),
        answering=median(answering) if timed else None,
        speed=tokens / sum(answering) if sum(answering) > 0 else None,
    )


def _sum(costs: Iterable[float | None]) -> float | None:
    found = list(costs)
    return None if None in found else sum(filter(None, found))
