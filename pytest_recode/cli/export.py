"""The command `pytest-recode export`: the episodes of runs in the formats of other tools."""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING

from pytest_recode.cli.report_arguments import add_runs, add_without, filter_of, need_packages, or_latest, without_of
from pytest_recode.export.targets import TARGETS, target
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands


def add_to(commands: Commands) -> None:
    export = commands.add_parser(
        "export",
        help="the episodes of runs in the formats of other tools: Inspect, Harbor (ATIF), OpenTelemetry",
        description="Write the episodes of runs in the format of another tool. Nothing is overwritten.",
    )
    export.set_defaults(command=_export)
    add_runs(export, published=False)
    export.add_argument(
        "--to",
        required=True,
        choices=[*TARGETS],
        help="; ".join(f"{name}: {target.writes}" for name, target in TARGETS.items()),
    )
    export.add_argument(
        "-o",
        "--output",
        default="",
        metavar="PLACE",
        help="; ".join(f"{name}: {target.place}" for name, target in TARGETS.items()),
    )
    add_without(export)


def _export(arguments: argparse.Namespace) -> str:
    to = target(arguments.to)
    need_packages(f"pytest-recode export --to={arguments.to}", to.packages, to.extra)
    from pytest_recode.export.exported_episodes import read
    from pytest_recode.render.words import plural

    exported = read(or_latest(arguments.runs), filter_of(arguments), without_of(arguments.without))
    episodes = (each for each in exported.episodes if each.played is not None or not to.needs_transcript)
    first = next(episodes, None)
    if first is None:
        raise UserError(f"--to={arguments.to}: no episode has a readable transcript ({exported.notes[-1]})")
    written = to.write(itertools.chain([first], episodes), arguments.output or to.output)
    left = exported.count - written.episodes
    lines = [f"{written.place} ({plural(written.episodes, 'episode')})", *exported.notes]
    if left:
        lines.append(f"left out: {left} of {exported.count} episodes, without a readable transcript")
    return "".join(f"{line}\n" for line in lines)
