"""The command `pytest-recode bless`: writes the outcomes of a run to a baseline, a file to commit."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands


def add_to(commands: Commands) -> None:
    bless = commands.add_parser(
        "bless",
        help="write the outcomes of a run to a baseline, with which gates compare later runs",
        description="Write the outcomes of a run by task and attempt to a small sorted file to commit.",
    )
    bless.set_defaults(command=_bless)
    bless.add_argument("run", type=Path, metavar="RUN", help="the directory of a run")
    bless.add_argument(
        "-o", required=True, type=Path, dest="out", metavar="FILE", help="the baseline to write, or to replace"
    )


def _bless(arguments: argparse.Namespace) -> str:
    from pytest_recode.metrics import baseline
    from pytest_recode.records.run_directory import replaced
    from pytest_recode.render.words import plural

    outcomes = baseline.of_run(arguments.run)
    attempts = [each for row in outcomes.rows for task in row.tasks.values() for each in task.attempts]
    errors = sum(each.outcome == "error" for each in attempts)
    if errors == len(attempts):
        raise UserError(
            f"{arguments.run}: has no episode with a verdict: a baseline needs at least one; resume the run, or give another"
        )
    replaced(arguments.out, baseline.text(outcomes))
    lines = [
        f"{arguments.out}: {plural(len(outcomes.rows), 'row')}, {plural(len(attempts) - errors, 'episode')} with a verdict"
    ]
    if errors:
        lines.append(
            f"errors: {plural(errors, 'episode')} without a verdict, excluded from comparisons and listed separately"
        )
    return "".join(f"{line}\n" for line in [*lines, *outcomes.notes])
