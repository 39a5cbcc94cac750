"""The command `pytest-recode html`: a report of runs for a browser, as one file that loads nothing from elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.cli.report_arguments import (
    FIGURES,
    add_runs,
    add_without,
    filter_of,
    need_packages,
    or_latest,
    without_of,
    write_file,
)
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands

_SLOW_TABLES = ("adoption", "adoption-categories")
_MOST_ANALYSED = 200
"""With more episodes, `_SLOW_TABLES` would take longer than the rest of the report."""


def add_to(commands: Commands) -> None:
    html = commands.add_parser(
        "html",
        help="a report for a browser: overview, matrix of tasks, comparisons, every episode",
        description="Write a report of runs as one HTML file that loads nothing from elsewhere. If it would be larger than 20 MB, write a"
        " directory instead.",
    )
    html.set_defaults(command=_html)
    add_runs(html, published=True)
    html.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="default: report.html; a directory of this name without .html if the report is too large for one file",
    )
    add_without(html)


def _html(arguments: argparse.Namespace) -> str:
    need_packages("pytest-recode html", FIGURES, "html")
    from pytest_recode.cli.report_tables import SIMULATED, makers, rows_of
    from pytest_recode.metrics.transcripts import ReadTranscripts
    from pytest_recode.render.html import build
    from pytest_recode.render.html.page import files

    runs = or_latest(arguments.runs)
    rows = rows_of(runs, filter_of(arguments))
    own = rows.own or rows.twins  # twins alone; beside other rows they are in their table only
    if not own:
        raise UserError(
            "no episode to show: a report for a browser is of runs; pytest-recode report shows published results"
        )
    without = without_of(arguments.without)
    roots = [((run if run.is_dir() else run.parent) / "episodes").resolve() for run in runs]

    def readable(path: Path) -> bool:
        return path.is_file() and any(path.resolve().is_relative_to(root) for root in roots)

    analysed = sum(map(len, own.values())) <= _MOST_ANALYSED
    transcripts = ReadTranscripts(with_pairs=analysed)
    episodes = build.episodes(own, without, readable, transcripts)
    table_makers = makers(rows, known={}, transcripts=transcripts.reader)
    table_notes = [SIMULATED] if rows.simulated else []
    if not analysed:
        for name in _SLOW_TABLES:
            table_makers.pop(name, None)
        table_notes.append(
            f"left out, because they analyse the code of every turn: {', '.join(_SLOW_TABLES)}; pytest-recode report has them"
        )
    tables = [table for make in table_makers.values() if (table := make()) is not None]
    notes = [_without_path(note, runs) for note in rows.notes]
    report = build.report(own, episodes, tables, table_notes, notes, without)
    return _written(files(report, episodes.pages), arguments.output)


def _without_path(note: str, runs: Sequence[Path]) -> str:
    """The note with the name of the run's directory instead of its path, because a report is for others."""
    for run in runs:
        directory = run if run.is_dir() else run.parent
        if note.startswith(f"{directory}: "):
            return f"{directory.resolve().name}{note[len(str(directory)) :]}"
    return note


def _written(contents: Mapping[str, str], output: Path) -> str:
    """Write the files, and return a line with their path."""
    if len(contents) == 1:
        places = {output: next(iter(contents.values()))}
        shown = output
    else:
        directory = output.with_suffix("") if output.suffix == ".html" else output
        places = {directory / name: text for name, text in contents.items()}
        shown = directory / "index.html"
    for path, text in places.items():
        write_file(path, text.encode())
    size = sum(path.stat().st_size for path in places)
    files = "" if len(places) == 1 else f", {len(places)} files"
    return f"{shown} ({size / 1e6:.1f} MB{files})\n"
