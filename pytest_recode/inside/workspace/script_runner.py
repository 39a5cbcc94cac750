"""Runs one script of a task over an answer: its verifier, or its solution over no answer.

Runs in a persistent program of its own, which the host launches for one script (`oracle/verifier.py`). The script may start the candidate's
code, as this process' user, so this process reads files only after all that the script started has ended, and follows no link.

The first message has all that there is to do; each answer is `{"ok": value}` or `{"refused": text}`. Stdlib, the runtime and the wire,
Python 3.9+.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from typing import Any

from ..runtime import command_runner
from ..wire import frames
from . import image_files, target_files
from .file_tree import Refusal, Tree

MOST_OUTPUT = 64 << 10
MOST_LOG = 1 << 20  # bytes of one file
MOST_LOGS = 32
MOST_REPOSITORY = 8 << 20  # bytes of all files
MOST_FILE = 1 << 18


def main(reader: Any, writer: Any) -> None:
    os.umask(0o022)
    request = frames.read_message(reader, 1 << 40)
    ops: dict[str, Callable[..., dict[str, Any]]] = {"run": _run, "files": _files}
    try:
        answer: dict[str, Any] = {"ok": ops[request.pop("op")](**request)}
    except Refusal as refusal:
        answer = {"refused": str(refusal)}
    except OSError as error:
        answer = {"refused": f"{error.filename or 'a file'}: {error.strerror or error}"}
    frames.write_message(writer, answer)


def _files() -> dict[str, Any]:
    """What the image has in its working directory: paths of all files, and contents of texts as far as they are small."""
    image_files.unpack()
    tree = Tree()
    paths = sorted(tree.walk("", [], 1 << 20))
    files: dict[str, bytes] = {}
    left = MOST_REPOSITORY
    for path in paths:
        with contextlib.suppress(Refusal, OSError):
            data = tree.read(path, min(left, MOST_FILE))
            files[path] = data
            left -= len(data)
    return {"paths": paths, "files": files}


def _run(
    files: dict[str, bytes],
    removed: list[str],
    put: dict[str, dict[str, bytes]],
    directories: list[str],
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    seconds: float,
    logs: str,
    targets: list[str],
) -> dict[str, Any]:
    """Run `argv` over an answer. `put`: files by the directory in which they are laid; `directories`: to be made.

    Returns how it ended, its output, the files of the directory `logs`, and what changed at and below `targets`.
    """
    image_files.unpack()
    tree = Tree(skipped=target_files.SKIPPED)
    untouched = target_files.stamps(tree) if targets else {}
    target_files.lay(tree, files, removed)
    for directory, contents in put.items():
        laid = Tree(directory)
        for path, data in contents.items():
            laid.write(laid.parts_of(path), data, 0o755)
        laid.close()
    for directory in directories:
        os.makedirs(directory, exist_ok=True)
    if shutil.which(argv[0]) is None:
        raise Refusal(f"the image has no {argv[0]}")
    start = time.monotonic()
    done = command_runner.run(
        argv, cwd=cwd or tree.path, seconds=seconds, output_limit=MOST_OUTPUT, env={**os.environ, **env}
    )
    answer = target_files.changed(tree, targets, untouched) if targets else {"files": {}, "removed": []}
    ended = {**done._asdict(), "seconds": time.monotonic() - start}
    return {"ended": ended, "logs": _logs(logs) if logs else {}, "answer": answer}


def _logs(directory: str) -> dict[str, bytes]:
    """The files of a directory, not below it."""
    logs: dict[str, bytes] = {}
    tree = Tree(directory)
    for path in sorted(path for path in tree.walk("", [], 1 << 12) if "/" not in path)[:MOST_LOGS]:
        with contextlib.suppress(Refusal, OSError):
            logs[path] = tree.read(path, MOST_LOG)
    return logs
