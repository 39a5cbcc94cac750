"""The command `pytest-recode`: reads the records of runs, and begins and previews tasks. Each subcommand is a module with `add_to`.

A module imports what its command needs when the command runs: `--help` and errors of argparse need none of it.
"""
# PYTHON_ARGCOMPLETE_OK: argcomplete's global completion looks for this word

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pytest_recode import VERSION
from pytest_recode.cli import (
    bless,
    cut,
    export,
    export_tasks,
    gate,
    html,
    merge,
    new,
    plot,
    power,
    preview,
    report,
    show,
)
from pytest_recode.faults import RecordsError, UserError
from pytest_recode.stopping import await_children
from pytest_recode.wording import guess

_COMMANDS = (report, show, html, plot, export, export_tasks, bless, gate, power, merge, new, cut, preview)
_NAMES = [command.__name__.rpartition(".")[2].replace("_", "-") for command in _COMMANDS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0; 1 if a comparison with a baseline failed, or the output pipe was closed; 2 for an error of the user or of the disk, printed as one line."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions (extra `completion`)
        import argcomplete

        argcomplete.autocomplete(parser)  # ends the process
    arguments = sys.argv[1:] if arguments is None else arguments
    name = arguments[0] if arguments else ""
    if name and not name.startswith("-") and name not in _NAMES:
        parser.error(f"no command {name!r}{guess(name, _NAMES)}: choose one of {', '.join(_NAMES)}")
    namespace, unknown = parser.parse_known_args(arguments)
    if namespace.command is None and not unknown:
        parser.print_help(sys.stderr)
        return 2
    if unknown:  # with the usage of the subcommand, which has its options
        namespace.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    await_children()
    try:
        output = namespace.command(namespace)
        text, status = output if isinstance(output, tuple) else (output, 0)
        sys.stdout.write(text)
        sys.stdout.flush()
    except (RecordsError, UserError) as error:
        print(f"pytest-recode: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return int(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pytest-recode",
        description="Look at runs of pytest-recode, report on them, compare them with a baseline, merge the shards of one, say what a set of tasks can detect, begin a task, cut one from a repository, or preview one.",
    )
    parser.add_argument("--version", action="version", version=f"pytest-recode {VERSION}")
    parser.set_defaults(command=None, parser=parser)
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    for each in commands.choices.values():
        each.set_defaults(parser=each)
    return parser
