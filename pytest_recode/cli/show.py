"""The command `pytest-recode show`: one episode in the terminal, turn by turn."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recode.cli.paging import paged
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands


def add_to(commands: Commands) -> None:
    show = commands.add_parser(
        "show",
        help="one episode, turn by turn: changes of the targets, failed cases, feedback",
        description="Show one episode of a run, or list the episodes if several match.",
    )
    show.set_defaults(command=_show)
    show.add_argument(
        "run",
        nargs="?",
        type=Path,
        metavar="RUN",
        help="the directory of a run, its results.jsonl, or the path of a transcript; default: the latest run in recode-out",
    )
    ids: Any = show.add_argument(
        "ids",
        nargs="*",
        metavar="ID",
        help="an episode: its node id, the part of it after ::, or its task; without RUN, of the latest run",
    )
    ids.completer = _complete
    show.add_argument(
        "-k", default="", dest="expression", metavar="EXPRESSION", help="episodes whose node id matches, as in pytest"
    )
    show.add_argument("--turn", type=int, metavar="N", help="show only this turn")
    show.add_argument("--diff", action="store_true", help="show only the changes of the targets")
    show.add_argument("--prompts", action="store_true", help="show all messages to and from the model, too")
    show.add_argument("--no-pager", action="store_true", help="do not start $PAGER (default: less)")


def _show(arguments: argparse.Namespace) -> str:
    from pytest_recode.records.episode_choice import choose, episodes_of, guess_of, names, tasks
    from pytest_recode.records.transcript_turns import read_episode
    from pytest_recode.render.episode_text import ShownParts, listed, painted, shown

    run, ids = _run_and_ids(arguments)
    if run.is_file():
        path = run
    else:
        episodes = episodes_of(run, ids)
        if ids[len(arguments.ids) :] and not any(ids[0] in names(each) for each in episodes):
            raise UserError(
                f"{ids[0]}: no such file or directory, and no such episode in {run}{guess_of(ids[0], episodes)}; the tasks are {tasks(episodes)};"
                " give the directory of a run, the path of a transcript, or a task"
            )
        episode_paths = choose(run, episodes, ids, arguments.expression)
        if len(episode_paths) > 1:
            return paged(painted(listed(episode_paths, str(run)), colour=_colour()), pager=not arguments.no_pager)
        path = episode_paths[0].path
    episode = read_episode(path)
    numbers = [turn.number for turn in episode.turns]
    if arguments.turn is not None and arguments.turn not in numbers:
        known = f"its turns are {', '.join(map(str, numbers))}" if numbers else "it has no turn yet"
        raise UserError(f"--turn={arguments.turn}: the episode has no such turn; {known}")
    view = ShownParts(turn=arguments.turn, diff=arguments.diff, prompts=arguments.prompts)
    return paged(painted(shown(episode, view), colour=_colour()), pager=not arguments.no_pager)


def _run_and_ids(arguments: argparse.Namespace) -> tuple[Path, list[str]]:
    """The run or transcript, and the ids of episodes. A first argument that is no path is an id in the latest run. Raises `UserError`."""
    from pytest_recode.records.episode_choice import latest_run
    from pytest_recode.records.run_directory import RESULTS

    run: Path | None = arguments.run
    if run is None:
        return latest_run(Path()), arguments.ids
    if run.name == RESULTS and run.is_file():
        return run.parent, arguments.ids
    if run.exists():
        return run, arguments.ids
    try:
        return latest_run(Path()), [str(run), *arguments.ids]
    except UserError as error:
        raise UserError(f"{run}: no such file or directory, and {error}") from None


def _complete(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """What completes an id, for argcomplete: tasks, and node ids once something is typed.

    Without those that have control characters, which the shell would write to the terminal, and line breaks, at which fish splits.
    """
    from pytest_recode.records.episode_choice import latest_run
    from pytest_recode.records.episode_ids import episode_ids

    try:
        ids = episode_ids(parsed_args.run or latest_run(Path()))
    except UserError:  # there is nothing to choose from
        return []
    return [each for each in (*dict.fromkeys(ids.values()), *(ids if prefix else ())) if each.isprintable()]


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
