"""The command `pytest-recode power`: which difference between two models a set of tasks can detect."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.cli.report_arguments import as_text, count
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands
    from pytest_recode.metrics.attempt import Attempt, Snippet
    from pytest_recode.metrics.difficulty import Difficulty
    from pytest_recode.metrics.episode_tokens import EpisodeTokens
    from pytest_recode.metrics.statistical_power import TaskSet
    from pytest_recode.models.table import Price
    from pytest_recode.render.report_power import Detectable
    from pytest_recode.task import BlindAttempt

    Tasks = Mapping[str, Mapping[str, Snippet | None]]
    """Format -> task -> its snippet."""
    BlindAttempts = Mapping[tuple[str, str], Sequence[BlindAttempt]]
    """By format and task."""

_ATTEMPTS = (1, 3, 5)
_MOST_TURNS = 30
_MOST_WITH_TURNS = 10
"""More attempts take minutes."""
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
    power.add_argument(
        "--difficulty",
        choices=("measured", "assumed"),
        help="without --runs: difficulties as blind solvers measured them (`measured` in task.yaml), for models of their strength, or assumed"
        " ones; default: measured, where a task has it",
    )
    power.add_argument(
        "--more-tasks",
        type=count,
        metavar="N",
        help="add N tasks that do not exist yet, solved between a quarter and three quarters of the time by a model half-way between the two",
    )
    power.add_argument(
        "--turns",
        type=count,
        metavar="N",
        help=f"also find the smallest difference of the mean turns until solved, of episodes with at most N turns (2 to {_MOST_TURNS})",
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
    if not arguments.tasks and not arguments.runs and not arguments.more_tasks:
        raise UserError(
            "power needs tasks: give --tasks DIR, --runs RUN for the tasks and solve rates of recorded runs, or --more-tasks N for tasks"
            " that do not exist yet"
        )
    if arguments.runs and arguments.difficulty:
        raise UserError(f"--difficulty={arguments.difficulty}: --runs gives the difficulties: leave out one of the two")
    if arguments.turns and not 2 <= arguments.turns <= _MOST_TURNS:
        raise UserError(f"--turns={arguments.turns}: give numbers from 2 to {_MOST_TURNS}")
    if arguments.turns and arguments.points:
        raise UserError("--points is about solved episodes, so it excludes --turns: leave out one of the two")
    for number in arguments.attempts if arguments.turns else ():
        if number > _MOST_WITH_TURNS:
            raise UserError(f"--attempts={number}: give numbers from 1 to {_MOST_WITH_TURNS} with --turns")
    if arguments.points and arguments.attempts:
        raise UserError("--points finds the number of attempts, so it excludes --attempts: leave out one of the two")
    for number in arguments.attempts:
        if number > MOST_ATTEMPTS:
            raise UserError(f"--attempts={number}: give numbers from 1 to {MOST_ATTEMPTS}")
    if arguments.points and arguments.points > 100:
        raise UserError(f"--points={arguments.points}: give percentage points from 1 to 100")


def _power(arguments: argparse.Namespace) -> str:
    from pytest_recode.cli import report_tables
    from pytest_recode.metrics import statistical_power
    from pytest_recode.metrics.difficulty import mean_share
    from pytest_recode.metrics.episode_tokens import mean_tokens
    from pytest_recode.render import report_power
    from pytest_recode.render.words import plural

    _check(arguments)
    rows = report_tables.rows_of_tasks(arguments.runs) if arguments.runs else None
    played = [one for group in rows.everything.values() for one in group if one.played] if rows else []
    notes = list(rows.notes) if rows else []
    blind: dict[tuple[str, str], Sequence[BlindAttempt]] = {}
    tasks = _tasks(arguments.tasks, notes, blind) if arguments.tasks else _tasks_of(played)
    of_tasks = [one for one in played if one.task in tasks.get(one.row.format, ())]
    if rows and not of_tasks:
        raise UserError(
            f"--runs={arguments.runs[0]}: no episode {'of --tasks ' if arguments.tasks else ''}has a verdict, so nothing is known of the tasks:"
            " give other runs, or --tasks alone"
        )
    seed = statistical_power.SEED if arguments.seed is None else arguments.seed
    used = {} if rows or arguments.difficulty == "assumed" else blind
    known = KnownDifficulties(played=of_tasks, blind={key: its for key, its in used.items() if its})
    if arguments.more_tasks:
        tasks = _with_more(tasks, arguments.more_tasks)
    answers, sets = [], []
    for task_format, its in tasks.items():
        its_own = [one for one in of_tasks if one.row.format == task_format]
        by_turn = known.of(task_format, its)
        if rows and (unknown := len(its) - len(by_turn)):
            notes.append(f"--runs: no verdict on {plural(unknown, 'task')}, whose difficulty is assumed")
        whole = statistical_power.task_set(its, by_turn)
        sets.append(whole)
        found_with = _least_differences(whole, arguments, seed)
        of_turns = {}
        if arguments.turns:
            episodes = statistical_power.task_set(its, known.of(task_format, its, arguments.turns))
            of_turns = {
                number: statistical_power.smallest(episodes, number, turns=arguments.turns, seed=seed)
                for number in found_with
            }
        answers += _detectable(
            task_format, len(its), whole.units, found_with, of_turns, mean_tokens(its_own), arguments.points
        )
    if other := len({(one.row.format, one.task) for one in played} - {(one.row.format, one.task) for one in of_tasks}):
        notes.append(f"--runs: {plural(other, 'task')} not below --tasks, and omitted")
    simulated = bool(of_tasks) and all(one.row.simulated for one in of_tasks)
    if rows and rows.simulated and not simulated:
        notes.append(report_tables.SIMULATED)
    sources = report_power.Sources(
        recorded=_recorded(of_tasks),
        simulated=simulated,
        blind=tuple(known.blind.values()),
        headroom=100 * (1 - mean_share(Counter(sets[0].difficulties))) if known.blind and len(sets) == 1 else None,
        more=arguments.more_tasks or 0,
        unmeasured=sum(len(its) for its in tasks.values()) - len(known.blind) - (arguments.more_tasks or 0),
    )
    table = report_power.table(answers, seed=seed, sources=sources, turns=arguments.turns)
    return as_text([table], notes, arguments.format)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDifficulties:
    """What is known of the difficulties: from runs, or else from blind attempts, and of tasks that do not exist yet by assumption."""

    played: Sequence[Attempt]
    blind: BlindAttempts

    def of(self, task_format: str, names: Iterable[str], turns: int = 0) -> dict[str, Difficulty]:
        """Task -> difficulty. `turns`: of each of so many turns; 0: of the episodes of runs, or of the first turn of blind attempts."""
        from pytest_recode.metrics import difficulty

        its = [one for one in self.played if one.row.format == task_format]
        if its:
            by_task = difficulty.recorded_turns(its, turns) if turns else difficulty.recorded(its)
        else:
            by_task = difficulty.measured(
                {name: attempts for (own, name), attempts in self.blind.items() if own == task_format}, turns or 1
            )
        return {**by_task, **{name: difficulty.BETWEEN for name in names if name.startswith(_MORE)}}


_MORE = "\0more-"
"""Begins the names of tasks that do not exist yet; no task has a name with this character."""


def _with_more(tasks: Tasks, more: int) -> Tasks:
    """The tasks of the benchmark, and so many more. Raises `UserError` for several benchmarks."""
    from pytest_recode.formats.directory import FORMAT

    if len(tasks) > 1:
        raise UserError(
            f"--more-tasks={more}: the tasks are of several benchmarks ({', '.join(tasks)}): give those of one"
        )
    [(task_format, its)] = tasks.items() or [(FORMAT.name, {})]
    return {task_format: {**its, **{f"{_MORE}{number}": None for number in range(more)}}}


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
    of_turns: Mapping[int, int | None],
    tokens: EpisodeTokens | None,
    asked: int | None,
) -> list[Detectable]:
    """The answers for a benchmark of so many `tasks`. `differences`: the result of `_least_differences`; `of_turns`: the same in hundredths of the turns."""
    from pytest_recode.render.report_power import Detectable

    costs = {model: tokens.cost_usd(price) for model, price in _prices().items()} if tokens else {}
    return [
        Detectable(
            format=task_format,
            units=units,
            attempts=number,
            episodes=number * tasks,
            points=points,
            of_turns=of_turns.get(number),
            tokens=tokens,
            costs={model: cost and number * tasks * cost for model, cost in costs.items()},
            asked=asked,
        )
        for number, points in differences.items()
    ]


def _tasks(paths: Sequence[Path], notes: list[str], blind: dict[tuple[str, str], Sequence[BlindAttempt]]) -> Tasks:
    """The tasks below these paths that can run; appends to `notes` which cannot, and puts their blind attempts into `blind`. Raises `UserError` if there is none, or if one cannot be read."""
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
            blind[task_format, name] = task.measured
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
