"""The contents of a report from rows: every value of its pages, and the page of each episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.episodes import episodes as totals
from pytest_recode.metrics.transcripts import ReadTranscripts
from pytest_recode.records.transcript_turns import PlayedEpisode, read_episode
from pytest_recode.render.html.answer import answers
from pytest_recode.render.html.charts import charts, left_out
from pytest_recode.render.html.episode_view import episode_view, without_transcript
from pytest_recode.render.html.history_chart import history_chart
from pytest_recode.render.html.matrix import matrix
from pytest_recode.render.html.names import Pages, common, episode_key, labels, short_labels
from pytest_recode.render.html.page import EpisodePage, Report, episode_page
from pytest_recode.render.html.pairs_view import pair_views
from pytest_recode.render.html.provenance import Times, caveats, clear, settings_tables, spent, tasks_table
from pytest_recode.render.html.table_view import table_view
from pytest_recode.render.html.withheld import Without
from pytest_recode.render.report_table import Rows, Table, columns, cost_notes, missing, percent, percents


def report(
    rows: Rows,
    episodes: TranscriptPages,
    tables: Sequence[Table],
    table_notes: Sequence[str],
    notes: Sequence[str],
    without: Without,
) -> Report:
    """The report of the user's own rows.

    `tables`: those of `pytest-recode report`, with notes on all of them. `notes`: what the files have and the numbers have not.
    """
    names, pages = short_labels(rows), page_keys(rows)
    entries = caveats(rows, names, notes)
    sources = ", ".join(dict.fromkeys(row.source for row in rows))
    return Report(
        title=f"pytest-recode report: {sources}",
        common=common(rows),
        answers=answers(rows, names),
        caveats=entries,
        clear=clear(entries),
        published=any(row.get("published") for table in tables for row in table.rows),
        overview=table_view(_overview(rows, names)),
        spent=spent(rows, episodes.times),
        charts=charts(rows, names, {table.name: table for table in tables}),
        left_out=left_out(rows),
        history=history_chart(rows),
        matrix=matrix(rows, names, pages),
        pairs=pair_views(rows, names, pages),
        provenance=(
            *map(table_view, settings_tables(rows, names, episodes.times)),
            table_view(tasks_table(rows)),
        ),
        tables=tuple(map(table_view, tables)),
        table_notes=tuple(table_notes),
        without=without,
    )


def page_keys(rows: Rows) -> Pages:
    """The keys of the episodes' pages: e1, e2 … in the order of rows and tasks."""
    ordered = [
        episode_key(attempt)
        for attempts in rows.values()
        for attempt in sorted(attempts, key=lambda attempt: (attempt.task, attempt.number))
    ]
    return {key: f"e{number}" for number, key in enumerate(ordered, 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptPages:
    """What the transcripts of a report contain: a page for each episode, and when the episodes of each row were played."""

    pages: tuple[EpisodePage, ...]
    times: Times


def episodes(
    rows: Rows, without: Without, readable: Callable[[Path], bool], transcripts: ReadTranscripts
) -> TranscriptPages:
    """Read the transcript of each episode, once, and add it to `transcripts`. `readable`: whether a transcript belongs to the run, because records are hostile."""
    names, keys = labels(rows), page_keys(rows)
    by_key = {episode_key(attempt): attempt for attempts in rows.values() for attempt in attempts}
    ordered = [*keys.values()]
    pages: list[EpisodePage] = []
    times: dict[Row, tuple[float, float]] = {}
    several = {identity[:2] for identity in keys if identity[2] > 1}
    for place, (identity, key) in enumerate(keys.items()):
        attempt, row = by_key[identity], identity[0]
        who = names[row] + (f", attempt {attempt.number}" if identity[:2] in several else "")
        played = _played(attempt, readable)
        if isinstance(played, str):
            view = without_transcript(key, attempt, who, played)
        else:
            transcripts.add(played.path, played)
            view = episode_view(key, attempt.task, attempt.outcome, who, played, without)
            begun, ended = times.get(row, (played.begun, played.now[1]))
            times[row] = min(begun, played.begun), max(ended, played.now[1])
        after = ordered[place + 1] if place + 1 < len(ordered) else ""
        pages.append(episode_page(view, ordered[place - 1] if place else "", after))
    return TranscriptPages(pages=tuple(pages), times=times)


def _played(attempt: Attempt, readable: Callable[[Path], bool]) -> PlayedEpisode | str:
    """The contents of the episode's transcript, or why there are none."""
    path = attempt.transcript
    if path is None or not readable(path):
        return "its transcript is missing, or is not a file of the run"
    try:
        return read_episode(path)
    except UserError as error:
        return str(error)


def _overview(rows: Rows, names: Mapping[Row, str]) -> Table:
    """What a reader asks first of each row."""
    sums = {row: totals(attempts) for row, attempts in rows.items()}
    lacking = missing(rows, {})
    priced = any(one.cost_usd for one in sums.values())
    return Table(
        name="overview",
        title="Solved episodes, turns and cost of each row",
        columns=(
            *columns("text", row="row"),
            *columns("count", solved="solved", played="of"),
            *columns("percent", recall="solved %"),
            *columns("interval", interval="95 %"),
            *columns("percent", first_turn="at turn 1 %"),
            *columns("number", mean_turns="mean turns of solved"),
            *columns("percent", cases_last="cases that pass at the end %"),
            *columns("money", cost="cost $", **({"cost_per_solved": "$ per solved"} if priced else {})),
            *columns("count", tokens="tokens", tokens_per_solved="tokens per solved"),
            *columns("count", errors="errors", missing="missing tasks"),
        ),
        rows=tuple(
            {
                "row": names[row],
                "solved": one.solved,
                "played": one.played,
                "recall": percent(one.recall[-1] if one.recall else None),
                "interval": percents(one.interval),
                "first_turn": percent(one.recall[0] if one.recall else None),
                "mean_turns": one.mean_turns,
                "cases_last": percent(one.cases_last),
                "cost": one.cost_usd,
                "cost_per_solved": one.cost_per_solved,
                "tokens": one.tokens,
                "tokens_per_solved": one.tokens_per_solved,
                "errors": one.errors,
                "missing": lacking[row],
            }
            for row, one in sums.items()
        ),
        notes=cost_notes([one.cost_usd for one in sums.values()]),
    )
