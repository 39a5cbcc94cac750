"""What the commands that write reports for people have in common: their arguments and formats, the packages they need, and writing files."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.records.row_filter import RowFilter
    from pytest_recode.render.html.withheld import Without
    from pytest_recode.render.report_table import Table

_PARTS = ("tests", "reference", "prompts")


def as_text(tables: Sequence[Table], notes: Sequence[str], form: str) -> str:
    """Tables and notes in a `--format`: json, markdown, or text for the width of the terminal."""
    from pytest_recode.render import table_formats

    if form == "json":
        return table_formats.as_json(tables, notes)
    if form == "markdown":
        return table_formats.markdown(tables, notes)
    return table_formats.text(tables, notes, shutil.get_terminal_size().columns if sys.stdout.isatty() else None)


def count(value: str) -> int:
    """The type of an argument that is a number of things. Raises an argparse error of one line."""
    if not (value.isascii() and value.isdecimal() and int(value) > 0):
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number above 0")
    return int(value)


LATEST = "default: the latest run in recode-out"


def or_latest(runs: Sequence[Path]) -> Sequence[Path]:
    """The given runs, or the one that `LATEST` describes. Raises `UserError` if there is none."""
    from pytest_recode.records.episode_choice import latest_run

    return runs or [latest_run(Path())]


def add_runs(parser: argparse.ArgumentParser, *, published: bool) -> None:
    """`published`: the command also takes files of published results."""
    more = "; also the overall_stats.json of ResearchCodeBench, for its published rows" if published else ""
    parser.add_argument(
        "runs",
        nargs="*",
        type=Path,
        metavar="RUN",
        help=f"the directory of a run, or a results.jsonl{more}; {LATEST}",
    )
    add_filter(parser, "rows")


def add_filter(parser: argparse.ArgumentParser, what: str, more: str = "") -> None:
    """The options of `filter_of`. `more`: what is shown besides."""
    for part in ("model", "agent"):
        parser.add_argument(
            f"--{part}",
            action="append",
            default=[],
            metavar="TEXT",
            help=f"show only {what} whose {part} contains TEXT (repeatable){more}",
        )


def filter_of(arguments: argparse.Namespace) -> RowFilter:
    from pytest_recode.records.row_filter import RowFilter

    return RowFilter(models=arguments.model, agents=arguments.agent)


def add_without(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PARTS",
        help=f"remove what must not be shared: {', '.join(_PARTS)}, separated by commas",
    )


def without_of(values: Sequence[str]) -> Without:
    """The parts that the values of `--without` name. Raises `UserError`."""
    from pytest_recode.render.html.withheld import Without

    parts = [part for value in values for part in value.split(",")]
    for part in parts:
        if part not in _PARTS:
            raise UserError(f"--without={part}: there is no such part: choose from {', '.join(_PARTS)}")
    return Without(**dict.fromkeys(parts, True))


FIGURES = {"jinja2": "jinja2", "matplotlib": "matplotlib"}
"""What the extra `html` installs: import name -> name on PyPI."""


def need_packages(command: str, packages: Mapping[str, str], extra: str) -> None:
    """Raise `UserError` with the command that installs the missing ones of `packages` (import name -> name on PyPI)."""
    missing = [package for module, package in packages.items() if not _is_installed(module)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UserError(
            f"{command} requires {' and '.join(missing)}, which {verb} not installed: pip install 'pytest-recode[{extra}]'"
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # a parent package is missing, or was made unavailable
        return False


def write_file(path: Path, data: bytes) -> None:
    """Write a file, and create its directory. Raises `UserError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror or error}): give another -o") from None
