"""What the commands that write reports for people have in common: their arguments, the packages they need, and writing files."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.render.html.redaction import Without

_PARTS = ("tests", "reference", "prompts")


def add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="the directory of a run, or a results.jsonl; also the overall_stats.json of ResearchCodeBench, for its published rows",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="TEXT",
        help="show only rows whose model contains TEXT (repeatable)",
    )


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
    from pytest_recode.render.html.redaction import Without

    parts = [part for value in values for part in value.split(",")]
    for part in parts:
        if part not in _PARTS:
            raise UserError(f"--without={part}: there is no such part: choose from {', '.join(_PARTS)}")
    return Without(**dict.fromkeys(parts, True))


def need_packages(command: str) -> None:
    """Raise `UserError` with the command that installs what is missing."""
    missing = [name for name in ("jinja2", "matplotlib") if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UserError(
            f"{command} requires {' and '.join(missing)}, which {verb} not installed: pip install 'pytest-recode[html]'"
        )


def write_file(path: Path, data: bytes) -> None:
    """Write a file, and create its directory. Raises `UserError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror or error}): give another -o") from None
