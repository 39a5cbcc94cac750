"""The tables of pairs: rows against each other, and replayed turns against the original ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.compare import Comparison, compare
from pytest_recode.metrics.episodes import episodes as totals
from pytest_recode.metrics.intervals import holm
from pytest_recode.metrics.replays import replays
from pytest_recode.metrics.rows import differences
from pytest_recode.render.report_table import (
    IDENTITY,
    Column,
    Rows,
    Table,
    columns,
    identity,
    name,
    percent,
    percents,
    plain,
)


def tables(
    rows: Rows, replayed: Rows, episodes: Iterable[Attempt], *, base: Row | None = None
) -> dict[str, Callable[[], Table | None]]:
    """Functions that create the tables, by name. They return None without data. `episodes` contain the original turns of replays.

    `rows` may include published ones. `base` is compared with every other row of its format; None: compare rows that differ in one thing.
    """
    return {
        **({"comparisons": lambda: _comparisons(rows, base)} if rows else {}),
        **({"replays": lambda: _replays(replayed, tuple(episodes))} if replayed else {}),
    }


def base_row(rows: Rows, text: str) -> Row:
    """The row whose model is `text`, or whose name contains it. Raises `UserError` with the choices."""
    chosen = [row for row in rows if text == row.model] or [row for row in rows if text.lower() in name(row).lower()]
    if len(chosen) == 1:
        return chosen[0]
    names = [name(row) for row in chosen or rows]
    listed = "; ".join(names[:_NAMED]) + (f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    if chosen:
        raise UserError(f"--base={text}: {len(chosen)} rows match: give a longer part of one name: {listed}")
    raise UserError(f"--base={text}: no such row: the rows are {listed}")


def _contrast(result: Comparison) -> dict[str, Any]:
    return {
        "pairs": result.pairs,
        "unpaired": result.unpaired,
        "both": result.both,
        "only_first": len(result.only_first),
        "only_second": len(result.only_second),
        "neither": result.neither,
        "first_share": percent(result.first),
        "second_share": percent(result.second),
        "difference": percent(result.difference),
        "difference_interval": percents(result.interval),
        "p": result.p,
        "units": result.units,
        "won": list(result.only_first),
        "lost": list(result.only_second),
    }


def _contrast_columns(first: str, second: str, did: str, what: str, *, adjusted: bool) -> tuple[Column, ...]:
    return (
        *columns("count", pairs="pairs", unpaired="unpaired", both="both"),
        *columns("count", only_first=f"only {first}", only_second=f"only {second}", neither="neither"),
        *columns("points", difference=f"{first} - {second}"),
        *columns("interval", difference_interval="95 %"),
        *columns("p", p="p", **({"p_holm": "p adjusted"} if adjusted else {})),
        Column(key="units", head="test by", fold=True),
        *columns("list", won=f"{did} by {_named(first, what)} alone", lost=f"{did} by {_named(second, what)} alone"),
    )


def _named(place: str, what: str) -> str:
    """One of a pair, such as "the first row"; "the row" where a row is compared with the base."""
    return f"the {place}" if place == what else f"the {place} {what}"


def _comparisons(rows: Rows, base: Row | None) -> Table | None:
    lines = []
    for one, other, result, first_turn in compared(rows, base):
        lines.append(
            {
                "label": f"{name(one)} / {name(other)}",
                "first": name(one),
                "second": name(other),
                "differ": "; ".join(differences((one, rows[one]), (other, rows[other]))) or "nothing recorded",
                "solved_in": "first turn" if first_turn else "the end",
                **_contrast(result),
            }
        )
    if not lines:
        return None
    first, second = ("row", "base") if base else ("better", "other")
    notes = [f"{first} - {second}: above 0, the {first} is better than the base" if base else _BETTER, _AGREE]
    if any(one["solved_in"] == "first turn" for one in lines):
        notes.append("published results have one turn: such pairs are compared by the first turn (Pass@1)")
    return Table(
        name="comparisons",
        title="Comparisons of rows, task by task, on the tasks that both played",
        columns=(
            Column(key="first", head=first, fold=len(lines) > 1 and base is None),
            Column(key="second", head=second, fold=len(lines) > 1 and base is not None),
            *columns("text", differ=f"differ in ({first} / {second})"),
            Column(key="solved_in", head="solved in", fold=True),
            *columns("percent", first_share=f"{first} %", second_share=f"{second} %"),
            *_contrast_columns(first, second, "solved", "row", adjusted=len(lines) > 1),
        ),
        rows=tuple(with_adjusted_p(lines)),
        notes=tuple(notes),
    )


_AGREE = "p and 95 % come from one test: the interval excludes 0 exactly if p < 0.05 (docs/reference/metrics.md)"
_BETTER = "the better row of each pair is the first"
_NAMED = 8


def with_adjusted_p(comparisons: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add p values adjusted for the number of comparisons in this table."""
    tested = [one for one in comparisons if one.get("p") is not None]
    for one, p in zip(tested, holm([one["p"] for one in tested]), strict=True):
        one["p_holm"] = p
    return list(comparisons)


def compared(rows: Rows, base: Row | None = None) -> Iterator[tuple[Row, Row, Comparison, bool]]:
    """The pairs that played a common task, with their comparison, and whether it is by the first turn, the only one of published results.

    The better row of a pair is the first, so that its difference is not below 0; with a `base`, the base is the second.
    """
    for one, other in pairs_of(rows, base):
        first_turn = one.published or other.published
        within = 1 if first_turn else None
        result = compare(rows[one], rows[other], within=within)
        if result is not None and result.difference < 0 and base is None:
            one, other, result = other, one, result.swapped()
        if result is not None:
            yield one, other, result, first_turn


def pairs_of(rows: Rows, base: Row | None) -> list[tuple[Row, Row]]:
    """Each other row of its format against the base, or without one the default pairs."""
    return _against(base, rows) if base else default_pairs(rows)


def _against(base: Row, rows: Rows) -> list[tuple[Row, Row]]:
    return [(row, base) for row in rows if row is not base and row.format == base.format]


def default_pairs(rows: Rows) -> list[tuple[Row, Row]]:
    """The default pairs: rows that differ in one thing (model, level, paper, run, a setting), the first such row against each other one,
    and a row without feedback against each policy of the same model.

    A row that differs from all others in more than one thing is compared with the first row of its format; if it is the first row, with
    every other one. A published row is compared with
    the run of a model of its name; without such a run, every published row is compared with the first row.
    """
    own = [row for row in rows if not row.published]
    pairs: list[tuple[Row, Row]] = []
    for free in _FREE:
        first: dict[Row, Row] = {}
        for row in own:
            one = first.setdefault(replace(row, **free), row)
            if one is not row:
                pairs.append((row, one) if one.paper and not row.paper else (one, row))
    for row in own:
        if row.feedback == "none":
            pairs += [(row, other) for other in own if other.feedback != "none" and _without(row) == _without(other)]
    for row in own:
        first_row = next(one for one in own if one.format == row.format)
        if row is not first_row and not any(row in pair for pair in pairs):
            pairs.append((first_row, row))
    for row in dict.fromkeys(next(one for one in own if one.format == each.format) for each in own):
        # The first row, too, may differ from all others in more than one thing
        if not any(row in pair for pair in pairs):
            pairs += [(row, other) for other in own if other is not row and other.format == row.format]
    for task_format in {row.format: None for row in own}:
        of_format = [row for row in own if row.format == task_format]
        published = [row for row in rows if row.published and row.format == task_format]
        named = [
            (one, row) for row in of_format for one in published if plain(row) == plain(one) and row.paper == one.paper
        ]
        pairs += named or [(of_format[0], one) for one in published if of_format[0].paper == one.paper]
    return list({frozenset(pair): pair for pair in reversed(pairs)}.values())[::-1]


def _without(row: Row) -> Row:
    """The row without its policy, and without the settings that only a policy with feedback has a choice of."""
    chosen = tuple(setting for setting in row.settings if setting[0] not in ("turns", "researcher"))
    return replace(row, feedback="", settings=chosen, **_SAME)


_SAME: dict[str, Any] = {"source": "", "differs": ""}
_FREE: tuple[dict[str, Any], ...] = (
    _SAME,
    {**_SAME, "model": "", "simulated": False},
    {**_SAME, "feedback": ""},
    {**_SAME, "paper": True},
    {**_SAME, "settings": ()},
    {**_SAME, "agent": "", "settings": ()},  # an agent fixes some settings
)
"""The single differences of two rows with equal other values."""


def _replays(rows: Rows, episodes: Sequence[Attempt]) -> Table | None:
    lines = []
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
            lines.append(
                {
                    "label": f"{name(row)}, {level} -> {row.feedback}, {what}",
                    **identity(row),
                    "played_level": level,
                    "replayed": one.replayed,
                    "errors": one.errors,
                    "tokens": took.tokens,
                    "cost_usd": took.cost_usd,
                    "what": what,
                    "share_played": percent((result.both + len(result.only_second)) / pairs) if result else None,
                    "share_replayed": percent((result.both + len(result.only_first)) / pairs) if result else None,
                    **(_contrast(result) if result else {"pairs": 0, "unpaired": one.unpaired, "lost": [], "won": []}),
                }
            )
    notes = ["a replayed turn is a single turn that starts where a stored one started; it does not count as an episode"]
    if any(one["unpaired"] for one in lines):
        notes.append("unpaired: add the replayed run as another FILE")
    return Table(
        name="replays",
        title="Replayed turns: the same state with other feedback, compared with the original turn",
        columns=(
            *(column for column in IDENTITY if column.key != "feedback"),
            *columns("text", played_level="played with", feedback="replayed with", what="turns that"),
            *columns("percent", share_played="played %", share_replayed="replayed %"),
            *columns("count", replayed="replays", errors="errors"),
            *_contrast_columns("replayed", "played", "done", "turn", adjusted=len(lines) > 1),
            *columns("count", tokens="tokens"),
            *columns("money", cost_usd="cost $"),
        ),
        rows=tuple(with_adjusted_p(lines)),
        notes=tuple(notes),
    )
