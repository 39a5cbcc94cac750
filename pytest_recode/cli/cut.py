"""The command `pytest-recode cut`: drafts a task from functions of an existing repository."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands

CHECKS = "reference or untouched or empty or constant"
"""What a draft passes: proofs and mutants need a person."""


def add_to(commands: Commands) -> None:
    cut = commands.add_parser(
        "cut",
        help="the draft of a task from functions of an existing repository, with hidden tests from recorded calls",
        description="Draft a task from functions of a repository whose licence permits it. The repository's tests run in a sandbox, and the calls"
        " that they make become hidden tests with varied inputs. Exit status 1 if a function cannot be cut.",
    )
    cut.set_defaults(command=_cut)
    cut.add_argument("repository", type=Path, metavar="REPO", help="the root of the repository, such as a clone")
    cut.add_argument(
        "functions",
        nargs="+",
        metavar="MODULE:FUNCTION",
        help="functions of one module, such as package.module:function",
    )
    cut.add_argument("-o", "--out", type=Path, metavar="DIRECTORY", help="the new task (default: tasks/FUNCTION)")
    cut.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="COMMAND",
        help='a program of the repository that calls the functions, such as "python examples/x.py"; it runs before the tests; can be repeated',
    )
    cut.add_argument(
        "--license", default="", metavar="SPDX", help="the licence, if the repository does not state it, such as MIT"
    )
    cut.add_argument(
        "--repetitions",
        type=_repetitions,
        default=3,
        metavar="N",
        help="fresh processes that must return the same (default: 3)",
    )
    cut.add_argument(
        "--sandbox",
        default="auto",
        metavar="NAME",
        help="bubblewrap (default) or process (no isolation); docker images lack the repository's requirements",
    )


def _repetitions(text: str) -> int:
    if not text.isdigit() or not 2 <= int(text) <= 20:
        raise argparse.ArgumentTypeError(f"{text}: is no number from 2 to 20")
    return int(text)


def _cut(arguments: argparse.Namespace) -> tuple[str, int]:
    from pytest_recode.cli.command_sandbox import advice, sandbox_for
    from pytest_recode.drafting import code_repository, cutting, draft, draft_report
    from pytest_recode.faults import SandboxError, UserError
    from pytest_recode.formats.directory import FORMAT, example
    from pytest_recode.task import Environment

    code_repository.check_place(arguments.repository)
    module, functions = _named(arguments.functions)
    task: Path = arguments.out or Path("tasks", functions[0])
    name = example.task_id(task)
    if task.exists():
        raise UserError(f"{task}: exists already; name a directory that does not with -o")
    try:
        with sandbox_for(arguments.sandbox, Environment(), [], own=False, local=True) as sandbox:
            cut = cutting.cut(
                arguments.repository,
                module,
                functions,
                sandbox,
                runs=arguments.run,
                licence=arguments.license,
                repetitions=arguments.repetitions,
            )
    except (UserError, SandboxError) as error:
        raise UserError(advice(str(error))) from None
    if not cut.cases:
        return draft_report.nothing_cut(cut), 1
    task_draft = draft.Draft(
        id=name,
        target=cut.target,
        repository=cut.repository,
        closure=cut.closure,
        licence=cut.licence,
        cases=cut.cases,
        versions=cut.versions,
        checklist=draft_report.checklist(cut),
        canary=example.new_canary(),
    )
    files = draft.task_files(task_draft)
    example.write_files(task, files)
    for each in FORMAT.load(task / FORMAT.manifest):
        each.load()
    return draft_report.written(cut, str(task), list(files), CHECKS), 1 if cut.refused else 0


def _named(arguments: list[str]) -> tuple[str, list[str]]:
    """The module, and the functions. Raises `UserError`."""
    from pytest_recode.faults import UserError

    pairs = [each.partition(":") for each in arguments]
    for text, (module, colon, function) in zip(arguments, pairs, strict=True):
        names = [*module.split("."), *function.split(".")]
        if not colon or not all(name.isidentifier() for name in names):
            raise UserError(f"{text}: is no MODULE:FUNCTION, such as package.module:function")
    modules = list(dict.fromkeys(module for module, _, _ in pairs))
    if len(modules) > 1:
        raise UserError(f"{', '.join(modules)}: a task is cut out of one module; cut a task for each of them")
    return modules[0], [function for _, _, function in pairs]
