"""The command `pytest-recode power`: which difference between two models a set of tasks can detect."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.cli.report_arguments import as_text, count
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands
    from pytest_recode.metrics.attempt import Attempt, Snippet
    from pytest_recode.metrics.episode_tokens import EpisodeTokens
    from pytest_recode.metrics.statistical_power import TaskSet
    from pytest_recode.models.table import Price
    from pytest_recode.render.report_power import Detectable

    Tasks = Mapping[str, Mapping[str, Snippet | None]]
    """Format -> task -> its snippet."""

_ATTEMPTS = (1, 3, 5)
_PRICED = ("gpt-6-luna", "gpt-6-sol", "claude-opus-5-5")
"""The models whose costs are shown: a cheap, a normal and an expensive one of RECODE-H's published table."""


def add_to(commands: Commands) -> None:
    power = commands.add_parser(
        "power",
        help="which difference between two models a set of tasks can detect",
        description="Simulate comparisons of two models on a set of tasks, and print the smallest difference that is found with a"
        " probability of 80 %.",
    )
    power.set_defaults(command=_power)
    power.add_argument(
        "--tasks",
        nargs="+",
        action="extend",
        default=[],
        type=Path,
        metavar="DIR",
        help="the tasks: directories or manifests; default: those of the runs",
    )
    power.add_argument(
        "--runs",
        nargs="+",
        action="extend",
        default=[],
        type=Path,
        metavar="RUN",
        help="runs whose solve rates are the difficulties of the tasks, and whose tokens give the cost: directories, results.jsonl, or the"
        " overall_stats.json of ResearchCodeBench; default: assumed difficulties",
    )
    power.add_argument(
        "--attempts",
        nargs="+",
        action="extend",
        default=[],
        type=_attempts,
        metavar="K",
        help=f"attempts of each model at each task, one number or several; default: {' '.join(map(str, _ATTEMPTS))}",
    )
    power.add_argument(
        "--points",
        type=count,
        metavar="P",
        help="instead of --attempts: find the smallest number of attempts that finds a difference of P percentage points",
    )
    power.add_argument("given", nargs="*", help=argparse.SUPPRESS)  # not an option: `_power` says which one is meant
    power.add_argument("--seed", type=_seed, metavar="N", help="seed of the simulation; default: always the same one")
    power.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")


def _attempts(value: str) -> int:
    if "," in value:
        raise argparse.ArgumentTypeError(
            f"{value!r} is not one number: give several as --attempts {' '.join(value.split(','))}"
        )
    return count(value)


def _seed(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number") from None


def _check(arguments: argparse.Namespace) -> None:
    """Raises `UserError` for arguments that do not fit together."""
    from pytest_recode.metrics.statistical_power import MOST_ATTEMPTS

    if arguments.given:
        path = arguments.given[0]
        raise UserError(f"{path}: give tasks as --tasks {path}, and runs as --runs {path}")
    if not arguments.tasks and not arguments.runs:
        raise UserError(
            "power needs tasks: give --tasks DIR, or --runs RUN for the tasks and solve rates of recorded runs"
        )
    if arguments.points and arguments.attempts:
        raise UserError("--points finds the number of attempts, so it excludes --attempts: leave out one of the two")
    for number in arguments.attempts:
        if number > MOST_ATTEMPTS:
            raise UserError(f"--attempts={number}: give numbers from 1 to {MOST_ATTEMPTS}")
    if arguments.points and arguments.points > 100:
        raise UserError(f"--points={arguments.points}: give percentage points from 1 to 100")


def _power(arguments: argparse.Namespace) -> str:
    from pytest_recode.cli import report_tables
    from pytest_recode.metrics import difficulty, statistical_power
    from pytest_recode.metrics.episode_tokens import mean_tokens
    from pytest_recode.render import report_power
    from pytest_recode.render.words import plural

    _check(arguments)
    rows = report_tables.rows_of_tasks(arguments.runs) if arguments.runs else None
    played = [one for group in rows.everything.values() for one in group if one.played] if rows else []
    notes = list(rows.notes) if rows else []
    tasks = _tasks(arguments.tasks, notes) if arguments.tasks else _tasks_of(played)
    of_tasks = [one for one in played if one.task in tasks.get(one.row.format, ())]
    if rows and not of_tasks:
        raise UserError(
            f"--runs={arguments.runs[0]}: no episode {'of --tasks ' if arguments.tasks else ''}has a verdict, so nothing is known of the tasks:"
            " give other runs, or --tasks alone"
        )
    seed = statistical_power.SEED if arguments.seed is None else arguments.seed
    answers = []
    for task_format, its in tasks.items():
        its_own = [one for one in of_tasks if one.row.format == task_format]
        known = difficulty.recorded(its_own)
        if rows and (unknown := len(its) - len(known)):
            notes.append(f"--runs: no verdict on {plural(unknown, 'task')}, whose difficulty is assumed")
        whole = statistical_power.task_set(its, known)
        found_with = _least_differences(whole, arguments, seed)
        answers += _detectable(task_format, len(its), whole.units, found_with, mean_tokens(its_own), arguments.points)
    if other := len({(one.row.format, one.task) for one in played} - {(one.row.format, one.task) for one in of_tasks}):
        notes.append(f"--runs: {plural(other, 'task')} not below --tasks, and omitted")
    simulated = bool(of_tasks) and all(one.row.simulated for one in of_tasks)
    if rows and rows.simulated and not simulated:
        notes.append(report_tables.SIMULATED)
    table = report_power.table(answers, seed=seed, recorded=_recorded(of_tasks), simulated=simulated)
    return as_text([table], notes, arguments.format)


def _least_differences(whole: TaskSet, arguments: argparse.Namespace, seed: int) -> dict[int, int | None]:
    """Number of attempts -> the smallest difference in points that is found; None if none is."""
    from pytest_recode.metrics import statistical_power

    if not arguments.points:
        return {
            number: statistical_power.smallest(whole, number, seed=seed) for number in arguments.attempts or _ATTEMPTS
        }
    fewest = statistical_power.fewest_attempts(whole, arguments.points, seed=seed)
    number = fewest or statistical_power.MOST_ATTEMPTS
    points = statistical_power.smallest(whole, number, seed=seed)
    # Both are simulated, and may differ by a point
    return {number: min(points, arguments.points) if fewest and points else points}


def _detectable(
    task_format: str,
    tasks: int,
    units: str,
    differences: Mapping[int, int | None],
    tokens: EpisodeTokens | None,
    asked: int | None,
) -> list[Detectable]:
    """The answers for a benchmark of so many `tasks`. `differences`: the result of `_least_differences`."""
    from pytest_recode.render.report_power import Detectable

    costs = {model: tokens.cost_usd(price) for model, price in _prices().items()} if tokens else {}
    return [
        Detectable(
            format=task_format,
            units=units,
            attempts=number,
            episodes=number * tasks,
            points=points,
            tokens=tokens,
            costs={model: cost and number * tasks * cost for model, cost in costs.items()},
            asked=asked,
        )
        for number, points in differences.items()
    ]


def _tasks(paths: Sequence[Path], notes: list[str]) -> Tasks:
    """The tasks below these paths that can run; appends to `notes` which cannot. Raises `UserError` if there is none, or if one cannot be read."""
    from pytest_recode.formats.discovery import find
    from pytest_recode.metrics.record_attempts import snippet_of, task_key

    discovered = find(paths, task_key)
    if discovered.errors:  # the answer depends on the number of tasks
        more = f" (and {len(discovered.errors) - 1} more)" if len(discovered.errors) > 1 else ""
        raise UserError(f"{discovered.errors[0]}{more}")
    notes += [f"--tasks: {name} is omitted: {task.fault}" for (_, name), task in discovered.tasks.items() if task.fault]
    tasks: dict[str, dict[str, Snippet | None]] = {}
    for (task_format, name), task in discovered.tasks.items():
        if not task.fault:
            tasks.setdefault(task_format, {})[name] = snippet_of(task.facts)
    if not tasks:
        raise UserError(f"--tasks={paths[0]}: no task that can run" + (f" ({notes[-1]})" if notes else ""))
    return tasks


def _tasks_of(attempts: Sequence[Attempt]) -> Tasks:
    tasks: dict[str, dict[str, Snippet | None]] = {}
    for one in attempts:
        tasks.setdefault(one.row.format, {})[one.task] = one.snippet
    return tasks


def _recorded(played: Sequence[Attempt]) -> str:
    """Where the recorded difficulties are from, in words; "" if there are none."""
    from pytest_recode.render.report_table import listed
    from pytest_recode.render.words import plural

    models = list(dict.fromkeys(one.row.model + (" *" if one.row.simulated else "") for one in played))
    return f"solve rates of {plural(len(played), 'recorded episode')} of {listed(models, 'and')}" if played else ""


def _prices() -> dict[str, Price | None]:
    from pytest_recode.models.litellm_client import list_price
    from pytest_recode.models.table import resolve

    return {model: list_price(resolve(model, {})) for model in _PRICED}
