"""What the commands that write reports for people have in common: their arguments, the packages they need, and writing files."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from pytest_recode.faults import UserError


def add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="the directory of a run, or a results.jsonl, as for report"
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="TEXT",
        help="show only rows whose model contains TEXT (repeatable)",
    )


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
