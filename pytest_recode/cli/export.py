"""The command `pytest-recode export`: the episodes of runs in the formats of other tools."""

from __future__ import annotations

import argparse
import importlib.util
from typing import TYPE_CHECKING

from pytest_recode.cli.report_arguments import add_runs, add_without, without_of
from pytest_recode.export.targets import TARGETS, target
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli import Commands
    from pytest_recode.export.target import Target


def add_to(commands: Commands) -> None:
    export = commands.add_parser(
        "export",
        help="the episodes of runs in the formats of other tools: Inspect, Harbor (ATIF), OpenTelemetry",
        description="Write the episodes of runs in the format of another tool. Nothing is overwritten.",
    )
    export.set_defaults(command=_export)
    add_runs(export)
    export.add_argument(
        "--to",
        required=True,
        choices=[*TARGETS],
        help="; ".join(f"{name}: {each.writes}" for name, each in TARGETS.items()),
    )
    export.add_argument(
        "-o",
        "--output",
        default="",
        metavar="PLACE",
        help="; ".join(f"{name}: {each.place}" for name, each in TARGETS.items()),
    )
    add_without(export)


def _export(given: argparse.Namespace) -> str:
    to = target(given.to)
    _need_packages(to, given.to)
    from pytest_recode.export.reading import read

    found = read(given.runs, given.model, without_of(given.without))
    episodes = [each for each in found.episodes if each.played is not None or not to.needs_transcript]
    if not episodes:
        raise UserError(f"--to={given.to}: no episode has a readable transcript ({found.notes[-1]})")
    written = to.write(episodes, given.output or to.output)
    left = len(found.episodes) - written.episodes
    lines = [f"{written.place} ({written.episodes} episode{'s' * (written.episodes != 1)})", *found.notes]
    if left:
        lines.append(f"left out: {left} of {len(found.episodes)} episodes, without a readable transcript")
    return "".join(f"{line}\n" for line in lines)


def _need_packages(to: Target, name: str) -> None:
    """Raise `UserError` with the command that installs what is missing."""
    missing = [package for module, package in to.packages.items() if not _installed(module)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UserError(
            f"pytest-recode export --to={name} requires {' and '.join(missing)}, which {verb} not installed:"
            f" pip install 'pytest-recode[{to.extra}]'"
        )


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):  # a parent package is missing, or was made unavailable
        return False
