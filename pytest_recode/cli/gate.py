"""The command `pytest-recode gate`: compares a run with a baseline, and fails if it is worse."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands


def add_to(commands: Commands) -> None:
    gate = commands.add_parser(
        "gate",
        help="compare a run with a baseline; exit status 1 if it is worse",
        description="Compare a run with a baseline task by task: better, same within noise, worse, or too few tasks to tell.",
    )
    gate.set_defaults(command=_gate)
    gate.add_argument("run", type=Path, metavar="RUN", help="the directory of a run")
    gate.add_argument("baseline", type=Path, metavar="BASELINE", help="the file that `pytest-recode bless` wrote")
    gate.add_argument(
        "--fail-on",
        action="append",
        metavar="WHAT",
        help="when the exit status is 1 (repeatable, or separated by commas): worse, any-lost-task, cost:+20%%, turns:+1;"
        " default: worse. Episodes without a verdict always count as a failure",
    )


def _gate(arguments: argparse.Namespace) -> tuple[str, int]:
    from pytest_recode.metrics import baseline
    from pytest_recode.metrics.fail_on import DEFAULT, conditions
    from pytest_recode.metrics.gate_comparison import gate
    from pytest_recode.metrics.run_notes import unmerged
    from pytest_recode.render import gate_lines as shown

    fail_on = conditions(arguments.fail_on or DEFAULT, "--fail-on")
    before = baseline.load(arguments.baseline)
    run = baseline.of_run(arguments.run)
    place = arguments.run if arguments.run.is_dir() else arguments.run.parent
    found = gate(run, before, fail_on, unplayed=run.unended, unmerged=unmerged(place))
    lines = [*shown.lines(found), *run.notes]
    return "".join(f"{line}\n" for line in lines), 0 if found.passed else 1
