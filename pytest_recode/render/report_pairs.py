"""The tables of pairs: rows against each other, and replayed turns against those that were really played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.compare import Comparison, compare
from pytest_recode.metrics.episodes import episodes as totals
from pytest_recode.metrics.replays import replays
from pytest_recode.render.report_table import IDENTITY, Column, Rows, Table, columns, identity, name, percent, percents


def tables(rows: Rows, replayed: Rows, episodes: Iterable[Attempt]) -> dict[str, Callable[[], Table | None]]:
    """How to make each table, by its name; None: there is nothing to say. `episodes` are all that replays can have come from."""
    return {
        **({"comparisons": lambda: _comparisons(rows)} if rows else {}),
        **({"replays": lambda: _replays(replayed, tuple(episodes))} if replayed else {}),
    }


def _contrast(result: Comparison) -> dict[str, Any]:
    return {
        "pairs": result.pairs,
        "unpaired": result.unpaired,
        "both": result.both,
        "only_first": len(result.only_first),
        "only_second": len(result.only_second),
        "neither": result.neither,
        "difference": percent(result.difference),
        "difference_interval": percents(result.interval),
        "p": result.p,
        "lost": list(result.only_first),
        "won": list(result.only_second),
    }


def _contrast_columns(first: str, second: str, did: str) -> tuple[Column, ...]:
    return (
        *columns("count", pairs="pairs", unpaired="unpaired", both="both"),
        *columns("count", only_first=f"only {first}", only_second=f"only {second}", neither="neither"),
        *columns("points", difference=f"{second} - {first}"),
        *columns("interval", difference_interval="95 %"),
        *columns("p", p="McNemar p"),
        *columns("list", lost=f"{did} by the {first} alone", won=f"{did} by the {second} alone"),
    )


def _comparisons(rows: Rows) -> Table | None:
    found = [
        {
            "label": f"{name(one)} / {name(other)}",
            "first": name(one),
            "second": name(other),
            **_contrast(result),
        }
        for one, other in _pairs(list(rows))
        if (result := compare(rows[one], rows[other])) is not None
    ]
    if not found:
        return None
    return Table(
        name="comparisons",
        title="Rows against each other, on what both played: solved in the end",
        columns=(*columns("text", first="first", second="second"), *_contrast_columns("first", "second", "solved")),
        rows=tuple(found),
    )


def _pairs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The first row of each format against the others of it, one thing in two runs, and without the paper against with it."""
    first: dict[str, Row] = {}
    pairs = [(first[row.format], row) for row in rows if first.setdefault(row.format, row) is not row]
    for place, one in enumerate(rows):
        for other in rows[place + 1 :]:
            if one.paper == other.paper and _alike(one, other):
                pairs.append((one, other))
            elif _alike(one, other):
                pairs.append((other, one) if one.paper else (one, other))
    return list({frozenset(pair): pair for pair in pairs}.values())


def _alike(row: Row, other: Row) -> bool:
    return (row.format, row.model, row.agent, row.feedback) == (other.format, other.model, other.agent, other.feedback)


def _replays(rows: Rows, episodes: Sequence[Attempt]) -> Table | None:
    found = []
    groups: dict[tuple[Row, str], list[Attempt]] = {}
    for row, attempts in rows.items():
        for attempt in attempts:
            if attempt.replay is not None:
                groups.setdefault((row, attempt.replay.level), []).append(attempt)
    for (row, level), attempts in sorted(groups.items(), key=lambda item: (list(rows).index(item[0][0]), item[0][1])):
        one = replays(attempts, episodes)
        took = totals(attempts)
        for what, result in (("solves", one.solving), ("gains cases", one.gaining)):
            pairs = result.pairs if result else 0
            found.append(
                {
                    "label": f"{name(row)}, {level} -> {row.feedback}, {what}",
                    **identity(row),
                    "played_level": level,
                    "replayed": one.replayed,
                    "errors": one.errors,
                    "tokens": took.tokens,
                    "cost_usd": took.cost_usd,
                    "what": what,
                    "share_played": percent((result.both + len(result.only_first)) / pairs) if result else None,
                    "share_replayed": percent((result.both + len(result.only_second)) / pairs) if result else None,
                    **(_contrast(result) if result else {"pairs": 0, "unpaired": one.unpaired, "lost": [], "won": []}),
                }
            )
    notes = ["a replayed turn is a single turn from where a stored one began; it is in no number of episodes"]
    if any(one["unpaired"] for one in found):
        notes.append("unpaired: give the run that was replayed as a further FILE")
    return Table(
        name="replays",
        title="Replayed turns: the same state with other feedback, against the turn that was really played",
        columns=(
            *(column for column in IDENTITY if column.key != "feedback"),
            *columns("text", played_level="played with", feedback="replayed with", what="turns that"),
            *columns("percent", share_played="played %", share_replayed="replayed %"),
            *columns("count", replayed="replays", errors="errors"),
            *_contrast_columns("played", "replayed", "done"),
            *columns("count", tokens="tokens"),
            *columns("money", cost_usd="cost $"),
        ),
        rows=tuple(found),
        notes=tuple(notes),
    )
