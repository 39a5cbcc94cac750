"""The tables of dates: ResearchCodeBench's papers and models' knowledge cutoffs, RECODE-H by publication year."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pytest_recode.metrics import published
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.dates import Timeline, by_year, timeline
from pytest_recode.metrics.episodes import episodes
from pytest_recode.render.report_table import Rows, Table, columns, identities, identity, percent, percents


def tables(snippets: Rows, own: Rows) -> dict[str, Callable[[], Table | None]]:
    """Functions that create the tables of rows with snippets (also published ones) and of runs, by name. They return None without data."""
    of_recode_h = {row: attempts for row, attempts in own.items() if row.format == published.FORMAT}
    return {
        **(
            {"timeline": lambda: _timeline(_history(snippets)), "cutoffs": lambda: _cutoffs(_history(snippets))}
            if snippets
            else {}
        ),
        **({"years": lambda: _years(of_recode_h)} if of_recode_h else {}),
    }


def _history(rows: Rows) -> Timeline:
    return timeline(attempt for attempts in rows.values() for attempt in attempts)


def _timeline(history: Timeline) -> Table:
    notes = [
        "models before: models whose knowledge ends before that date; a cutoff that names a month means its last day"
    ]
    if history.unknown:
        notes.append(f"no known cutoff: {', '.join(history.unknown)}")
    kinds = {"arxiv_v1_date": "arXiv v1", "first_commit_date": "first commit", "last_commit_date": "last commit"}
    return Table(
        name="timeline",
        title=f"Timeline: papers by their first commit, and how many of {history.models} models' knowledge ends before",
        columns=(
            *columns("text", paper="paper"),
            *columns("count", snippets="snippets", lines="lines"),
            *columns("text", **kinds, arxiv_date="arXiv, latest"),
            *columns("count", **{f"before_{key}": f"models before {head}" for key, head in kinds.items()}),
        ),
        rows=tuple(
            {
                "paper": paper.name,
                "snippets": paper.snippets,
                "lines": paper.lines,
                **{key: paper.dates.get(key) for key in (*kinds, "arxiv_date")},
                **{f"before_{key}": paper.ended.get(key) for key in kinds},
                "models": history.models,
            }
            for paper in history.papers
        ),
        notes=tuple(notes),
    )


def _cutoffs(history: Timeline) -> Table | None:
    if not history.cutoffs:
        return None
    return Table(
        name="cutoffs",
        title="Cutoffs: models' knowledge cutoffs, and the part of the benchmark dated after them",
        columns=(
            *columns("text", cutoff="cutoff"),
            *columns("count", models="models"),
            *columns(
                "count", papers_first="papers after, by first commit", snippets_first="snippets", lines_first="lines"
            ),
            *columns("count", papers_last="by last commit", snippets_last="snippets", lines_last="lines"),
            *columns("text", names="which"),
        ),
        rows=tuple(
            {
                "cutoff": one.cutoff,
                "models": len(one.models),
                **_after("first", one.after["first_commit_date"]),
                **_after("last", one.after["last_commit_date"]),
                "names": ", ".join(one.models),
            }
            for one in history.cutoffs
        ),
    )


def _after(kind: str, papers: Iterable[Any]) -> dict[str, int]:
    paper_list = list(papers)
    return {
        f"papers_{kind}": len(paper_list),
        f"snippets_{kind}": sum(paper.snippets for paper in paper_list),
        f"lines_{kind}": sum(paper.lines for paper in paper_list),
    }


def _years(rows: Rows) -> Table:
    groups = [(row, year, group) for row, attempts in rows.items() for year, group in by_year(attempts).items()]
    notes = ["years: from lists in the authors' metric scripts, which contain annotation 60 twice, in one year"]
    if any(year is None for _, year, _ in groups):
        notes.append("unknown: 70 and 79, which these lists omit, and tasks that are not annotations of RECODE-H")
    return Table(
        name="years",
        title="RECODE-H by publication year of the paper",
        columns=(
            *identities(rows),
            *columns("text", year="year"),
            *columns("percent", recall="recall"),
            *columns("interval", recall_interval="95 %"),
            *columns("count", solved="solved", played="of", errors="errors"),
            *columns("rate", mrr="MRR"),
            *columns("percent", cases_best="cases best"),
        ),
        rows=tuple(_year(row, year, group) for row, year, group in groups),
        notes=tuple(notes),
    )


def _year(row: Row, year: int | None, attempts: list[Attempt]) -> dict[str, Any]:
    one = episodes(attempts)
    return {
        **identity(row),
        "year": "unknown" if year is None else str(year),
        "recall": percent(one.recall[-1] if one.recall else 0.0 if one.played else None),
        "recall_interval": percents(one.interval),
        "solved": one.solved,
        "played": one.played,
        "errors": one.errors,
        "mrr": one.mrr,
        "cases_best": percent(one.cases_best),
    }
