"""The tables of ResearchCodeBench on the effect of the paper in the prompt, over all snippets and for each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_recode.metrics import passing
from pytest_recode.metrics.attempt import Row
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
)
from pytest_recode.render.words import plural


def ablations(rows: Rows) -> Table | None:
    lines: list[dict[str, Any]] = []
    for row, other in _paper_pairs(rows):
        one = passing.ablation(rows[row], rows[other])
        if one is None:
            continue
        lines.append(
            {
                "label": f"{name(row)} / {name(other)}",
                **identity(row),
                "source": f"{row.source} - {other.source}" if row.source != other.source else row.source,
                "snippets": one.snippets,
                "unpaired": one.unpaired,
                "scaled_with": percent(one.scaled_with),
                "scaled_without": percent(one.scaled_without),
                "difference": percent(one.scaled.value),
                "difference_interval": percents(one.scaled.interval),
                "p": one.scaled.p,
                "pass_at_1_with": percent(one.plain_with),
                "pass_at_1_without": percent(one.plain_without),
                "pass_at_1_difference": percent(one.plain.value),
                "pass_at_1_difference_interval": percents(one.plain.interval),
                "pass_at_1_p": one.plain.p,
                "units": one.units,
                "only_with": list(one.only_with),
                "only_without": list(one.only_without),
            }
        )
    if not lines:
        return None
    return Table(
        name="ablation",
        title="Effect of the paper in the prompt, on snippets played with and without it",
        columns=(
            *(column for column in IDENTITY if column.key != "paper_shown"),
            *columns("count", snippets="snippets", unpaired="unpaired"),
            *columns("percent", pass_at_1_with="Pass@1 with", pass_at_1_without="without"),
            *columns("points", pass_at_1_difference="with - without"),
            *columns("interval", pass_at_1_difference_interval="95 %"),
            *columns("p", pass_at_1_p="p"),
            *columns("percent", scaled_with="scaled with", scaled_without="without"),
            *columns("points", difference="with - without"),
            *columns("interval", difference_interval="95 %"),
            *columns("p", p="p"),
            Column(key="units", head="test by", fold=True),
            *columns("list", only_with="solved only with the paper", only_without="solved only without"),
        ),
        rows=tuple(sorted(lines, key=lambda one: -one["difference"])),
    )


def impact(rows: Rows) -> Table | None:
    pairs = [(rows[row], rows[other]) for row, other in _paper_pairs(rows)]
    impacts = passing.impact(pairs)
    if not impacts:
        return None
    better = sum(one.with_paper > one.without for one in impacts)
    worse = sum(one.with_paper < one.without for one in impacts)
    return Table(
        name="impact",
        title=f"Effect of the paper on each snippet: share of {plural(len(pairs), 'pair')} of rows that solve it with and without",
        columns=(
            *columns("text", snippet="snippet"),
            *columns("count", lines="lines", pairs="pairs"),
            *columns("percent", with_paper="with %", without="without %"),
            *columns("points", difference="with - without"),
        ),
        rows=tuple(
            {
                "row": "same" if one.with_paper == one.without else "changed",
                "snippet": one.task,
                "lines": one.lines,
                "pairs": one.pairs,
                "with_paper": percent(one.with_paper),
                "without": percent(one.without),
                "difference": percent(one.with_paper - one.without),
            }
            for one in impacts
        ),
        notes=(
            f"of {plural(len(impacts), 'snippet')} {better} are solved more often with the paper, {worse} more often without",
        ),
        shown=frozenset({"changed"}),
        more="snippets without a difference are omitted; --format=json has them",
    )


def _paper_pairs(rows: Rows) -> list[tuple[Row, Row]]:
    """Pairs of rows with and without the paper whose other settings are equal."""
    return [(row, other) for row in rows for other in rows if row.paper and not other.paper and _alike(row, other)]


def _alike(row: Row, other: Row) -> bool:
    return replace(row, paper=True, source="", differs="") == replace(other, paper=True, source="", differs="")
