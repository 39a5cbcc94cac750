"""The command `pytest-recode plot`: the figures of a report as files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.cli.report_arguments import FIGURES, add_runs, filter_of, need_packages, or_latest, write_file
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands


def add_to(commands: Commands) -> None:
    plot = commands.add_parser("plot", help="the figures of a report, each as SVG and PNG")
    plot.set_defaults(command=_plot)
    add_runs(plot, published=True)
    plot.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("figures"),
        metavar="DIR",
        help="directory for the files; default: figures",
    )


def _plot(arguments: argparse.Namespace) -> str:
    need_packages("pytest-recode plot", FIGURES, "html")
    from pytest_recode.cli.report_tables import makers, rows_of_tasks
    from pytest_recode.render.html.charts import TABLES, charts, left_out
    from pytest_recode.render.html.figure_files import png, svg
    from pytest_recode.render.html.history_chart import history_chart
    from pytest_recode.render.html.names import labels

    rows = rows_of_tasks(or_latest(arguments.runs), filter_of(arguments))
    made = makers(rows, known={})
    tables = {name: table for name in TABLES if name in made and (table := made[name]()) is not None}
    history = history_chart(rows.own)
    figures = (*charts(rows.own, labels(rows.own), tables), *([history] if history else []))
    if not figures:
        raise UserError("no episode to plot: all ended with an error")
    written = []
    for chart in figures:
        for suffix, data in ((".svg", svg(chart)), (".png", png(chart))):
            path = arguments.output / f"{chart.name}{suffix}"
            write_file(path, data)
            written.append(path)
    if line := left_out(rows.own):
        print(f"pytest-recode: {line}", file=sys.stderr)  # standard output has paths only
    return "".join(f"{path}\n" for path in written)
