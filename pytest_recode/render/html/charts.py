"""The figures of the user's own rows: what each shows, with its numbers as a table, and how it is drawn on the axes of matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_recode.metrics.attempt import Row
from pytest_recode.metrics.episodes import Episodes, episodes
from pytest_recode.render.html.chart import (
    INK,
    Chart,
    Panel,
    legend,
    lines_height,
    name_lines,
    row_column,
    short,
    style,
)
from pytest_recode.render.html.line_charts import by_level, by_turn
from pytest_recode.render.html.recode_h_charts import recode_h_charts
from pytest_recode.render.html.snippet_charts import snippet_charts
from pytest_recode.render.report_table import Rows, Table, columns, percents

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TABLES = (
    "scores",
    "contamination-first",
    "timeline",
    "cutoffs",
    "impact",
    "errors",
    "episodes",
    "curves",
    "categories",
)
"""The tables of the report that the papers' figures draw."""


_COST = "Cost and solved episodes"


def charts(rows: Rows, names: Mapping[Row, str], tables: Mapping[str, Table]) -> tuple[Chart, ...]:
    """The figures of the user's own rows, then those of the papers, for which `tables`, by name, have data."""
    return (*_own(rows, names), *snippet_charts(tables), *recode_h_charts(tables))


def left_out(rows: Rows) -> str:
    """A line on the figure that `charts` leaves out for these rows, and why; "" if it leaves out none."""
    found = _played(rows)
    if not found or any(_costs(found)[1].values()):
        return ""
    return f'no figure "{_COST}": no row has a cost or tokens above 0'


def _played(rows: Rows) -> dict[Row, Episodes]:
    """The rows with episodes that ended without an error."""
    found = {row: episodes(attempts) for row, attempts in rows.items()}
    return {row: one for row, one in found.items() if one.played}


def _own(rows: Rows, names: Mapping[Row, str]) -> tuple[Chart, ...]:
    by_row = _played(rows)
    if not by_row:
        return ()
    shown = {row: short(names[row]) for row in by_row}
    drawn = [_solved(by_row, shown)]
    if any(_costs(by_row)[1].values()):
        drawn.append(_pareto(by_row, shown))
    if max(one.turns for one in by_row.values()) > 1:
        drawn += [by_turn(rows, by_row, shown), by_level(rows, by_row, shown)]
    return tuple(drawn)


def _solved(by_row: Mapping[Row, Episodes], names: Mapping[Row, str]) -> Chart:
    def draw(axes: Axes) -> None:
        for place, one in enumerate(by_row.values()):
            low, high = one.interval or (0.0, 1.0)
            share = one.recall[-1] if one.recall else 0.0
            axes.errorbar(
                [100 * share],
                [place],
                xerr=[[100 * (share - low)], [100 * (high - share)]],
                capsize=4,
                markersize=7,
                linestyle="none",
                **style(place),
            )
        name_lines(axes, [names[row] for row in by_row])
        axes.set_xlim(-2, 102)
        axes.set_xlabel("solved episodes, %, with 95 % interval")
        axes.grid(axis="x")

    return Chart(
        name="solved",
        title="Solved episodes",
        description="For each row, the share of played episodes that were solved, with its 95 % interval.",
        panels=(Panel(height=lines_height(len(by_row)), draw=draw),),
        table=Table(
            name="figure-solved",
            title="Numbers of the figure: solved episodes",
            columns=(
                *row_column(),
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
                for row, one in by_row.items()
            ),
        ),
    )


def _pareto(by_row: Mapping[Row, Episodes], names: Mapping[Row, str]) -> Chart:
    dollars, cost = _costs(by_row)
    share = {row: 100 * (one.recall[-1] if one.recall else 0.0) for row, one in by_row.items()}
    best = [
        row
        for row in by_row
        if not any(
            cost[other] <= cost[row]
            and share[other] >= share[row]
            and (cost[other], share[other]) != (cost[row], share[row])
            for other in by_row
        )
    ]
    unit = "US dollars" if dollars else "tokens"

    def draw(axes: Axes) -> None:
        line = sorted(best, key=lambda row: cost[row])
        axes.plot(
            [cost[row] for row in line], [share[row] for row in line], color=INK, linestyle=":", linewidth=1, zorder=1
        )
        for place, row in enumerate(by_row):
            axes.plot([cost[row]], [share[row]], linestyle="none", markersize=9, label=names[row], **style(place))
        axes.set_xlabel(f"{unit} per episode")
        axes.set_ylabel("solved, %")
        axes.set_ylim(-3, 103)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter("{x:,.4g}" if dollars else "{x:,.0f}")
        axes.grid()
        legend(axes)

    return Chart(
        name="cost",
        title=_COST,
        description=f"Each row's solved share over its cost in {unit} per episode. A dotted line joins the rows that no other row beats"
        " in both.",
        panels=(Panel(height=2.9 + 0.21 * len(by_row), draw=draw),),
        table=Table(
            name="figure-cost",
            title="Numbers of the figure: cost and solved episodes",
            columns=(
                *row_column(),
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
                for row, one in by_row.items()
            ),
        ),
    )


def _costs(by_row: Mapping[Row, Episodes]) -> tuple[bool, dict[Row, float]]:
    """Each row's cost per episode: in dollars (True) if every price is known and something was paid, else in tokens."""
    dollars = all(one.cost_usd is not None for one in by_row.values()) and any(one.cost_usd for one in by_row.values())
    return dollars, {row: _cost(one, dollars=dollars) for row, one in by_row.items()}


def _cost(one: Episodes, *, dollars: bool) -> float:
    return ((one.cost_usd or 0.0) if dollars else one.tokens) / (one.played + one.errors)
