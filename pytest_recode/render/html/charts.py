"""The figures of a report: what each shows, with its numbers as a table, and how it is drawn on the axes of matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.episodes import LEVELS, Episodes, episodes, share_of, solved_level
from pytest_recode.metrics.intervals import Interval
from pytest_recode.render.report_table import COUNTS, Column, Rows, Table, columns, counts, percents
from pytest_recode.verdict import legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b62a8", "#b3470e", "#12795a", "#9c3587", "#6b5b00", "#007d8a", "#a8323c", "#4d4d9e")
"""Colours of rows, distinguishable also with a colour vision deficiency; each has a marker, too."""
MARKERS = "osD^vPX*"
INK, GRID = "#1b1f24", "#c9ced6"
_MOST_BARS = 5
"""With more rows, intervals in a figure of lines would cover each other; the table has them."""
_MOST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure. `size`: width and height in inches. `description`: what it shows, for people who cannot see it."""

    name: str
    title: str
    description: str
    size: tuple[float, float]
    draw: Callable[[Axes], None]
    table: Table


def charts(rows: Rows, names: Mapping[Row, str]) -> tuple[Chart, ...]:
    """The figures of the user's own rows; empty if nothing was played."""
    found = {row: episodes(attempts) for row, attempts in rows.items()}
    found = {row: one for row, one in found.items() if one.played}
    if not found:
        return ()
    short = {row: _short(names[row]) for row in found}
    longest = max(one.turns for one in found.values())
    drawn = [_solved(found, short), _pareto(found, short)]
    if longest > 1:
        drawn += [_by_turn(rows, found, short, longest), _by_level(rows, found, short)]
    return tuple(drawn)


def _short(name: str) -> str:
    text = legible(name, keep="")
    return text if len(text) <= _MOST_NAME else f"{text[:_MOST_NAME]}…"


def _style(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def _row_column() -> tuple[Column, ...]:
    return columns("text", row="row")


def _solved(found: Mapping[Row, Episodes], names: Mapping[Row, str]) -> Chart:
    def draw(axes: Axes) -> None:
        for place, one in enumerate(found.values()):
            low, high = one.interval or (0.0, 1.0)
            share = one.recall[-1] if one.recall else 0.0
            axes.errorbar(
                [100 * share],
                [place],
                xerr=[[100 * (share - low)], [100 * (high - share)]],
                capsize=4,
                markersize=7,
                linestyle="none",
                **_style(place),
            )
        axes.set_yticks(range(len(found)), [names[row] for row in found])
        axes.set_ylim(len(found) - 0.5, -0.5)
        axes.set_xlim(-2, 102)
        axes.set_xlabel("solved episodes, %, with 95 % interval")
        axes.grid(axis="x")

    return Chart(
        name="solved",
        title="Solved episodes",
        description="For each row, the share of played episodes that were solved, with its 95 % interval.",
        size=(8.0, 1.1 + 0.34 * len(found)),
        draw=draw,
        table=Table(
            name="figure-solved",
            title="Numbers of the figure: solved episodes",
            columns=(
                *_row_column(),
                *columns("count", solved="solved", played="of"),
                *columns("percent", recall="%"),
                *columns("interval", interval="95 %"),
                *columns("count", errors="errors"),
            ),
            rows=tuple(
                {
                    "row": names[row],
                    "solved": one.solved,
                    "played": one.played,
                    "recall": 100 * one.recall[-1] if one.recall else 0.0,
                    "interval": percents(one.interval),
                    "errors": one.errors,
                }
                for row, one in found.items()
            ),
        ),
    )


def _pareto(found: Mapping[Row, Episodes], names: Mapping[Row, str]) -> Chart:
    """Cost is in dollars if every price is known and something was paid, else in tokens."""
    dollars = all(one.cost_usd is not None for one in found.values()) and any(one.cost_usd for one in found.values())
    cost = {row: _cost(one, dollars=dollars) for row, one in found.items()}
    share = {row: 100 * (one.recall[-1] if one.recall else 0.0) for row, one in found.items()}
    best = [
        row
        for row in found
        if not any(
            cost[other] <= cost[row]
            and share[other] >= share[row]
            and (cost[other], share[other]) != (cost[row], share[row])
            for other in found
        )
    ]
    unit = "US dollars" if dollars else "tokens"

    def draw(axes: Axes) -> None:
        line = sorted(best, key=lambda row: cost[row])
        axes.plot(
            [cost[row] for row in line], [share[row] for row in line], color=INK, linestyle=":", linewidth=1, zorder=1
        )
        for place, row in enumerate(found):
            axes.plot([cost[row]], [share[row]], linestyle="none", markersize=9, label=names[row], **_style(place))
        axes.set_xlabel(f"{unit} per episode")
        axes.set_ylabel("solved, %")
        axes.set_ylim(-3, 103)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter("{x:,.4g}" if dollars else "{x:,.0f}")
        axes.grid()
        _legend(axes, len(found))

    return Chart(
        name="cost",
        title="Cost and solved episodes",
        description=f"Each row's solved share over its cost in {unit} per episode. A dotted line joins the rows that no other row beats"
        " in both.",
        size=(8.0, 3.6 + 0.22 * len(found)),
        draw=draw,
        table=Table(
            name="figure-cost",
            title="Numbers of the figure: cost and solved episodes",
            columns=(
                *_row_column(),
                *columns("money" if dollars else "count", cost=f"{unit} per episode"),
                *columns("money" if dollars else "count", per_solved=f"{unit} per solved episode"),
                *columns("percent", recall="solved %"),
                *columns("text", best="no other row is cheaper and as good"),
            ),
            rows=tuple(
                {
                    "row": names[row],
                    "cost": cost[row],
                    "per_solved": one.cost_per_solved if dollars else one.tokens_per_solved,
                    "recall": share[row],
                    "best": "yes" if row in best else "no",
                }
                for row, one in found.items()
            ),
        ),
    )


def _cost(one: Episodes, *, dollars: bool) -> float:
    return ((one.cost_usd or 0.0) if dollars else one.tokens) / (one.played + one.errors)


def _legend(axes: Axes, rows: int) -> None:
    # Below the axes, where it covers no point
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=1, frameon=False, borderaxespad=0)


Points = Mapping[Row, Sequence[tuple[float, Interval] | None]]


def _by_turn(rows: Rows, found: Mapping[Row, Episodes], names: Mapping[Row, str], longest: int) -> Chart:
    def within(turn: int) -> Callable[[Attempt], bool]:
        return lambda attempt: attempt.solved_within(turn)

    turns = range(1, longest + 1)
    points: Points = {row: [share_of(rows[row], within(turn)) for turn in turns] for row in found}
    return _lines(
        "turns",
        "Solved within n turns",
        "The share of played episodes that were solved within n turns (recall at n), with 95 % intervals.",
        [str(turn) for turn in turns],
        "turn",
        points,
        rows,
        names,
    )


def _by_level(rows: Rows, found: Mapping[Row, Episodes], names: Mapping[Row, str]) -> Chart:
    def up_to(level: str) -> Callable[[Attempt], bool]:
        known = LEVELS[: LEVELS.index(level) + 1]
        return lambda attempt: solved_level(attempt) in known

    points: dict[Row, Sequence[tuple[float, Interval] | None]] = {}
    for row in found:
        given = {turn.level or "none" for attempt in rows[row] for turn in attempt.turns}
        points[row] = [share_of(rows[row], up_to(level)) if level in given else None for level in LEVELS]
    return _lines(
        "levels",
        "Solved with feedback of at most this level",
        "The share of played episodes that were solved without feedback, or with feedback of at most each level, with 95 % intervals."
        " The step from one level to the next is what the level added. A row has no point at a level that it never gave.",
        list(LEVELS),
        "feedback level",
        points,
        rows,
        names,
    )


def _lines(
    name: str,
    title: str,
    description: str,
    ticks: Sequence[str],
    unit: str,
    points: Points,
    rows: Rows,
    names: Mapping[Row, str],
) -> Chart:
    def draw(axes: Axes) -> None:
        step = min(0.12, 0.5 / len(points))
        for place, (row, values) in enumerate(points.items()):
            known = [(at + step * (place - (len(points) - 1) / 2), value) for at, value in enumerate(values) if value]
            shares = [100 * share for _, (share, _) in known]
            ends = [
                [100 * (share - low) for _, (share, (low, _)) in known],
                [100 * (high - share) for _, (share, (_, high)) in known],
            ]
            axes.errorbar(
                [at for at, _ in known],
                shares,
                yerr=ends if len(points) <= _MOST_BARS else None,
                capsize=2,
                elinewidth=0.8,
                markersize=5,
                linewidth=1.4,
                label=names[row],
                **_style(place),
            )
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlim(-0.5, len(ticks) - 0.5)
        axes.set_ylim(-3, 103)
        axes.set_xlabel(unit)
        axes.set_ylabel("solved, %")
        axes.grid(axis="y")
        _legend(axes, len(points))

    return Chart(
        name=name,
        title=title,
        description=description,
        size=(8.0, 3.6 + 0.22 * len(points)),
        draw=draw,
        table=Table(
            name=f"figure-{name}",
            title=f"Numbers of the figure: {title[0].lower()}{title[1:]}, % (95 %)",
            columns=(
                *_row_column(),
                *(
                    column
                    for tick in ticks
                    for column in (
                        Column(key=f"share_{tick}", head=f"{unit} {tick}", kind="percent"),
                        Column(key=f"interval_{tick}", head="95 %", kind="interval"),
                    )
                ),
                *COUNTS[:2],
            ),
            rows=tuple(
                {
                    "row": names[row],
                    **{
                        key: value
                        for tick, found in zip(ticks, values, strict=True)
                        if found is not None
                        for key, value in (
                            (f"share_{tick}", 100 * found[0]),
                            (f"interval_{tick}", percents(found[1])),
                        )
                    },
                    **counts(rows[row], 0),
                }
                for row, values in points.items()
            ),
        ),
    )
