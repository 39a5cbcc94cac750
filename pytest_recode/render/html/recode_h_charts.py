"""The figures of RECODE-H's paper for the user's rows, next to the published values. They draw the report's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_recode.metrics import published
from pytest_recode.metrics.categories import CATEGORIES
from pytest_recode.render.html.bars import legend_height, stacked
from pytest_recode.render.html.chart import INK, MARKERS, Chart, Panel, legend, lines_height, style
from pytest_recode.render.html.names import table_names
from pytest_recode.render.report_table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = ("L0", "L1", "L2", "L3", "L4")
_PUBLISHED = "Published values: RECODE-H (arXiv 2510.06186), from notes on the paper"
_FROM_TABLE_2 = f"{_PUBLISHED}, table 2: Recall@10 of 102 tasks at L0, L2 and L4 for five models; its other cells were not available."

Cells = Mapping[str, Any]


def recode_h_charts(tables: Mapping[str, Table]) -> list[Chart]:
    """The figures for which `tables`, by name, have data."""
    charts: list[Chart] = []
    if "episodes" in tables and any(not row["published"] for row in _rows(tables["episodes"])):
        charts.append(_by_level(tables["episodes"]))
        if "curves" in tables:
            charts.append(_by_turn(tables["curves"], tables["episodes"]))
    if "categories" in tables and _rows(tables["categories"]):
        charts.append(_categories(tables["categories"]))
    return charts


def _rows(table: Table) -> list[Cells]:
    return [row for row in table.rows if row["format"] == published.FORMAT]


def _by_level(table: Table) -> Chart:
    rows = [row for row in _rows(table) if row["feedback"] in _LEVELS and row["recall"] is not None]
    lines: dict[str, list[Cells]] = {}
    for name, row in zip(table_names(rows, without=("feedback",)), rows, strict=True):
        lines.setdefault(name, []).append(row)

    def draw(axes: Axes) -> None:
        for place, (name, group) in enumerate(lines.items()):
            ordered = sorted(group, key=lambda row: row["feedback"])
            places = [_LEVELS.index(row["feedback"]) + 0.04 * (place - len(lines) / 2) for row in ordered]
            published = ordered[0]["published"]
            ends = [row["recall_interval"] or (row["recall"], row["recall"]) for row in ordered]
            axes.errorbar(
                places,
                [row["recall"] for row in ordered],
                yerr=[
                    [row["recall"] - low for row, (low, _) in zip(ordered, ends, strict=True)],
                    [high - row["recall"] for row, (_, high) in zip(ordered, ends, strict=True)],
                ],
                linestyle=":" if published else "-",
                fillstyle="none" if published else "full",
                capsize=2,
                elinewidth=0.8,
                label=name,
                **style(place),
            )
        axes.set_xticks(range(len(_LEVELS)), _LEVELS)
        axes.set_xlim(-0.5, len(_LEVELS) - 0.5)
        axes.set_ylim(-3, 103)
        axes.set_xlabel("feedback level of the whole episode")
        axes.set_ylabel("solved within all turns, %")
        axes.grid(axis="y")
        legend(axes)

    return Chart(
        name="recode-h-levels",
        title="RECODE-H: recall by feedback level",
        description=f"The share of episodes that are solved when all feedback has one level, with 95 % intervals. Dotted: published. {_FROM_TABLE_2}",
        panels=(Panel(height=2.9 + 0.21 * len(lines), draw=draw),),
        table=table,
    )


def _by_turn(curves: Table, episodes: Table) -> Chart:
    own = [row for row in _rows(curves) if row["what"] == "recall"]
    paper_rows = [row for row in _rows(episodes) if row["published"]]
    last = paper_rows[0]["turns"] if paper_rows else 0
    names = table_names(own, without=("feedback",))
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}

    def panel(level: str) -> Panel:
        mine = [(places[name], name, row) for name, row in zip(names, own, strict=True) if row["feedback"] == level]
        published = [row for row in paper_rows if row["feedback"] == level]

        def draw(axes: Axes) -> None:
            for place, name, row in mine:
                points = [
                    (int(key.removeprefix("turn_")), value)
                    for key, value in row.items()
                    if key.startswith("turn_") and value is not None
                ]
                axes.plot(
                    [turn + 0.06 * place for turn, _ in points], [value for _, value in points], label=name, markersize=5,
                    **style(place),
                )  # fmt: skip
            for place, row in enumerate(published):
                axes.plot(
                    [last], [row["recall"]], linestyle="none", marker=MARKERS[place % len(MARKERS)], markersize=8,
                    markerfacecolor="none", color=INK, label=f"{row['model']} (published)",
                )  # fmt: skip
            longest = max(
                last, *(int(each.key.removeprefix("turn_")) for each in curves.columns if each.key.startswith("turn_"))
            )
            axes.set_xticks(range(1, longest + 1))
            axes.set_xlim(0.5, longest + 0.5)
            axes.set_ylim(-3, 103)
            axes.set_xlabel("turn")
            axes.set_ylabel("solved, %")
            axes.grid(axis="y")
            legend(axes)

        return Panel(height=2.7 + 0.21 * (len(mine) + len(published)), draw=draw, title=level)

    return Chart(
        name="recode-h-turns",
        title="RECODE-H: recall by turn, for each feedback level",
        description=f"The share of episodes that are solved within n turns. Hollow points at turn {last}: published. {_FROM_TABLE_2}",
        panels=tuple(panel(level) for level in dict.fromkeys(row["feedback"] for row in own)),
        table=curves,
    )


_MEANINGS = {
    "T0": "structure",
    "T1": "correctness",
    "T2": "paper or instruction",
    "T3": "knowledge",
    "T4": "repository",
}


def _categories(table: Table) -> Chart:
    rows = _rows(table)
    names = table_names(rows)
    shares = [[row.get(one) or 0.0 for one in CATEGORIES] for row in rows]
    parts = [f"{one} {_MEANINGS[one]}" for one in CATEGORIES]
    return Chart(
        name="feedback-categories",
        title="RECODE-H: what was wrong, by category of feedback",
        description="The categories of the faults that feedback is about, as shares of its items."
        f" {_PUBLISHED}, table 3: classified afterwards by a model, without T0.",
        panels=(
            Panel(
                height=lines_height(len(names)) + legend_height(shares),
                draw=lambda axes: stacked(axes, names, parts, shares, "items of feedback, %"),
            ),
        ),
        table=table,
    )
