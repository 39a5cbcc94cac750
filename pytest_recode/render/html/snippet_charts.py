"""The figures of ResearchCodeBench's paper for the user's rows, next to the published ones. They draw the report's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from pytest_recode.metrics.contamination import last_day
from pytest_recode.metrics.errors import CLASSES, PUBLISHED_FUNCTIONAL
from pytest_recode.render.html.bars import first_label, legend_height, stacked
from pytest_recode.render.html.chart import (
    COLOURS,
    GRID,
    INK,
    MARKERS,
    Chart,
    Panel,
    legend,
    lines_height,
    name_lines,
    short,
)
from pytest_recode.render.html.names import IDENTITY, table_names
from pytest_recode.render.report_table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PUBLISHED = (
    " Published rows: the overall_stats.json of ResearchCodeBench (arXiv 2506.02314), which was given as a file."
)


def snippet_charts(tables: Mapping[str, Table]) -> list[Chart]:
    """The figures for which `tables`, by name, have data."""
    charts: list[Chart] = []
    published = _PUBLISHED if "scores" in tables and any(row["published"] for row in tables["scores"].rows) else ""
    if "scores" in tables:
        charts.append(_scores(tables["scores"], tables.get("contamination-first"), published))
    if "timeline" in tables and any(row.get("first_commit_date") for row in tables["timeline"].rows):
        charts.append(_timeline(tables["timeline"], tables.get("cutoffs"), published))
    if "impact" in tables:
        charts.append(_impact(tables["impact"], published))
    if "errors" in tables and any(row["format"] == _FORMAT and row["unsolved"] for row in tables["errors"].rows):
        charts.append(_errors(tables["errors"]))
    return charts


_FORMAT = "researchcodebench"


def _scores(table: Table, contamination: Table | None, published: str) -> Chart:
    names = table_names(table.rows)
    identity = ("model", *IDENTITY)
    safe = {
        tuple(row[key] for key in identity): row["safe_scaled"] for row in (contamination.rows if contamination else ())
    }

    def draw(axes: Axes) -> None:
        for place, row in enumerate(table.rows):
            value = row["scaled_pass_at_1"]
            if value is None:
                continue
            low, high = row["scaled_pass_at_1_interval"] or (value, value)
            colour = COLOURS[0] if row["published"] else COLOURS[1]
            axes.barh(
                place,
                value,
                height=0.26,
                color=colour,
                label=first_label(axes, "published" if row["published"] else "runs"),
            )
            axes.errorbar([value], [place], xerr=[[value - low], [high - value]], color=INK, capsize=2, elinewidth=0.8)
            if (subset := safe.get(tuple(row[key] for key in identity))) is not None:
                axes.barh(place + 0.24, subset, height=0.18, color=COLOURS[5], label=first_label(axes, "safe subset"))
        name_lines(axes, names, above=0.13)
        axes.set_xlim(0, None)
        axes.set_xlabel("Scaled Pass@1, %")
        axes.grid(axis="x")
        legend(axes, below=0.5)

    return Chart(
        name="scaled-pass",
        title="ResearchCodeBench: Scaled Pass@1, and the contamination-safe subset",
        description="The share of code lines that are solved in the first turn, with its 95 % interval, and the same for the safe subset: papers"
        f" whose first commit is after every known knowledge cutoff.{published}",
        panels=(Panel(height=lines_height(len(names)) + 0.7, draw=draw),),
        table=table,
    )


_DATES = (("arxiv_v1_date", "arXiv v1"), ("first_commit_date", "first commit"), ("last_commit_date", "last commit"))


def _timeline(table: Table, cutoffs: Table | None, published: str) -> Chart:
    papers = [row for row in table.rows if row.get("first_commit_date")]

    def day(text: str) -> float:
        from matplotlib.dates import date2num

        return float(date2num(date.fromisoformat(text)))

    def draw(axes: Axes) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        for place, row in enumerate(papers):
            known = [day(row[key]) for key, _ in _DATES if row.get(key)]
            axes.plot([min(known), max(known)], [place, place], color=GRID, linewidth=2, zorder=1)
            for number, (key, name) in enumerate(_DATES):
                if row.get(key):
                    axes.plot(
                        [day(row[key])], [place], marker=MARKERS[number], color=COLOURS[number], linestyle="none",
                        markersize=5, label=first_label(axes, name),
                    )  # fmt: skip
        ends = [(day(last_day(row["cutoff"])), row["models"]) for row in (cutoffs.rows if cutoffs else ())]
        for end, models in ends:
            axes.axvline(
                end,
                color=COLOURS[3],
                linestyle=":",
                linewidth=1,
                label=first_label(axes, "knowledge cutoffs, with the number of models"),
            )
            axes.annotate(
                str(models),
                (end, -0.85),
                xytext=(2, 0),
                textcoords="offset points",
                va="top",
                color=COLOURS[3],
                fontsize=8,
            )
        everything = [day(row[key]) for row in papers for key, _ in _DATES if row.get(key)] + [end for end, _ in ends]
        axes.set_xlim(min(everything) - 20, max(everything) + 20)
        name_lines(axes, [short(row["paper"]) for row in papers], at=min(everything) - 15)
        locator = AutoDateLocator(maxticks=7)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        legend(axes, below=0.5)

    return Chart(
        name="cutoffs",
        title="ResearchCodeBench: dates of papers and knowledge cutoffs of models",
        description="Each paper with the dates of its first version, of its first and of its last commit; dotted lines are knowledge cutoffs. Code"
        " that was first committed to the right of a model's cutoff was not public when its training data ended. Dates of papers: papers.yaml of ResearchCodeBench"
        f" (arXiv 2506.02314).{published}",
        panels=(Panel(height=lines_height(len(papers)) + 0.9, draw=draw),),
        table=table,
    )


def _impact(table: Table, published: str) -> Chart:
    ordered = sorted((row["difference"] for row in table.rows), reverse=True)

    def draw(axes: Axes) -> None:
        colours = [COLOURS[2] if value > 0 else COLOURS[6] for value in ordered]
        axes.bar(range(len(ordered)), ordered, width=1.0, color=colours)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xlabel("snippets, by difference")
        axes.set_ylabel("with - without paper, points")
        axes.grid(axis="y")

    return Chart(
        name="paper-impact",
        title="ResearchCodeBench: what the paper changes, snippet by snippet",
        description="For each snippet, the share of pairs of rows that solve it with the paper in the prompt, minus the share without it."
        f" {_sentences(table.notes)}{published}",
        panels=(Panel(height=3.0, draw=draw),),
        table=table,
    )


def _sentences(notes: Sequence[str]) -> str:
    return " ".join(f"{note[:1].upper()}{note[1:]}." for note in notes)


def _errors(table: Table) -> Chart:
    rows = [row for row in table.rows if row["format"] == _FORMAT and row["unsolved"]]
    names = [*table_names(rows), "32 models (published)"]
    functional = CLASSES.index("functional")
    shares = [[100 * row[name] / row["unsolved"] for name in CLASSES] for row in rows]
    published_shares = [PUBLISHED_FUNCTIONAL if place == functional else 0.0 for place in range(len(CLASSES))]

    return Chart(
        name="error-shares",
        title="ResearchCodeBench: errors of unsolved snippets",
        description="Shares of unsolved episodes, by the exception type of most failed cases of the last turn. Published, over 32 models, as"
        f" classified by a model (arXiv 2506.02314): functional {PUBLISHED_FUNCTIONAL} %; the shares of the other classes are not in its text.",
        panels=(
            Panel(
                height=lines_height(len(names)) + legend_height([*shares, published_shares]),
                draw=lambda axes: stacked(axes, names, CLASSES, [*shares, published_shares], "unsolved snippets, %"),
            ),
        ),
        table=table,
    )
