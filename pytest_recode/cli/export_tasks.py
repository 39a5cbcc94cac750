"""The command `pytest-recode export-tasks`: tasks as directories of other tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands
    from pytest_recode.task import Task

_MOST = 5


def add_to(commands: Commands) -> None:
    export = commands.add_parser(
        "export-tasks",
        help="tasks as directories of other tools: Harbor",
        description="Write tasks as task directories of another tool, whose agents can then play them. The hidden tests judge there as"
        " they do here. Nothing is overwritten. Exit status 1 if a task cannot be exported.",
    )
    export.set_defaults(command=_export)
    export.add_argument(
        "tasks", nargs="+", type=Path, metavar="TASKS", help="directories of tasks, or of sets of them, or manifests"
    )
    export.add_argument("--to", required=True, choices=["harbor"], help="harbor: a Harbor task directory for each task")
    export.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="DIR",
        help="where the directories are written, each with the task's id as its name",
    )
    export.add_argument(
        "--image",
        default="",
        metavar="NAME",
        help="an image that has Python 3.11 or later, pytest and all requirements, so that building installs nothing; default: the official"
        " image of this interpreter's version, in which the versions of this interpreter are installed",
    )


def _export(arguments: argparse.Namespace) -> tuple[str, int]:
    from pytest_recode.formats.discovery import find
    from pytest_recode.render.words import plural
    from pytest_recode.task_export import harbor_export, writing
    from pytest_recode.wording import some_of

    discovered = find(arguments.tasks, lambda task, _: task)
    if discovered.errors:
        raise UserError(discovered.errors[0])
    refused: dict[str, list[str]] = {}
    tasks: dict[str, Task] = {}
    for task in discovered.tasks.values():
        if why := harbor_export.refusal(task):
            refused.setdefault(why, []).append(task.id)
        elif task.id in tasks:
            raise UserError(
                f"{task.manifest}: task id {task.id!r} is already used by {tasks[task.id].manifest}: export them to two directories"
            )
        else:
            tasks[task.id] = task
    lines = [f"not exported: {some_of(names, _MOST)}: {why}" for why, names in refused.items()]
    if not tasks:
        raise UserError("; ".join(lines))
    places = {name: arguments.output / name for name in tasks}
    writing.check_new(places)
    for name, task in tasks.items():
        writing.write(
            places[name], harbor_export.files(task, task.load(), harbor_export.base_image(task, arguments.image))
        )
    lines.insert(0, f"{arguments.output} ({plural(len(tasks), 'task')})")
    return "".join(f"{line}\n" for line in lines), 1 if refused else 0
