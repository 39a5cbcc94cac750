"""The command `pytest-recode new`: writes a small task that validates, for its author to change."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands

GUIDE = "docs/how-to/write-a-task.md"


def add_to(commands: Commands) -> None:
    new = commands.add_parser(
        "new",
        help="a small task that validates, to be changed into one of your own",
        description="Write a small task with hidden tests, feedback and proofs, which validates as it is. Change it file by file into your own.",
    )
    new.set_defaults(command=_new)
    new.add_argument(
        "task",
        type=Path,
        metavar="DIRECTORY",
        help="a directory that does not exist, such as tasks/NAME; NAME is the task's id",
    )


def _new(arguments: argparse.Namespace) -> str:
    import shlex

    from pytest_recode.formats.directory import example

    task: Path = arguments.task
    files = example.write(task)
    return (
        f"{task}: {len(files)} files, of a task that validates\n"
        f"check it: pytest {shlex.quote(str(task))} --recode-validate\n"
        "then make it yours, in this order: instruction.md and paper.md, repo/ and reference/, tests/, proofs/, feedback.yaml, and task.yaml, which names\n"
        'targets and interfaces. Comments say what each is for; the rest is in the guide "How to write a task" of the repository of pytest-recode:\n'
        f"{GUIDE}\n"
    )
