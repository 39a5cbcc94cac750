"""Runs one script of a task, its verifier or its solution, over the files of the working directory.

Runs in the workspace and in the process that runs a task's scripts, as the candidate's user. Reads files only after all that the script
started has ended, and follows no link.

Stdlib and the runtime only, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..runtime import command_runner
from .file_tree import Refusal, Tree

MOST_OUTPUT = 64 << 10
MOST_LOG = 1 << 20  # bytes of one file
MOST_LOGS = 32


def run(
    place: str,
    *,
    put: Mapping[str, Mapping[str, bytes]],
    directories: Sequence[str],
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
    logs: str,
) -> dict[str, Any]:
    """Run `argv` in `cwd`, by default `place`. `put`: files by the directory in which they are laid; `directories`: to be made. All of these
    that are outside of `place` are empty before, and again afterwards.

    Returns how it ended, with its output, and the files of the directory `logs`. Raises `Refusal` and `OSError`.
    """
    outside = [directory for directory in (*put, *directories) if directory != "."]
    for directory in outside:
        _empty(directory)
    try:
        for directory, files in put.items():
            laid = Tree(directory)
            for path, data in files.items():
                laid.write(laid.parts_of(path), data, 0o755)
            laid.close()
        if shutil.which(argv[0]) is None:
            raise Refusal(f"the image has no {argv[0]}")
        start = time.monotonic()
        done = command_runner.run(
            argv, cwd=cwd or place, seconds=seconds, output_limit=MOST_OUTPUT, env={**os.environ, **env}
        )
        ended = {**done._asdict(), "seconds": time.monotonic() - start}
        return {"ended": ended, "logs": _read(logs) if logs else {}}
    finally:
        for directory in outside:
            with contextlib.suppress(OSError):
                _empty(directory)


def _empty(directory: str) -> None:
    """Make an empty directory of it, whatever a script has left there."""
    if os.path.islink(directory):
        os.unlink(directory)
    os.makedirs(directory, exist_ok=True)
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def _read(directory: str) -> dict[str, bytes]:
    """The files of a directory, not below it."""
    logs: dict[str, bytes] = {}
    try:
        tree = Tree(directory)
    except OSError:  # the script removed it, or made it a link
        return logs
    for path in sorted(path for path in tree.walk("", [], 1 << 12) if "/" not in path)[:MOST_LOGS]:
        with contextlib.suppress(Refusal, OSError):
            logs[path] = tree.read(path, MOST_LOG)
    tree.close()
    return logs
