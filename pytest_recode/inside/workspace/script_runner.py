"""Runs scripts of a task over an answer: its verifier, or its solution over no answer.

Runs in a persistent program of its own, which the host launches for one request (`oracle/verifier.py`). A script may start the candidate's
code, as this process' user.

The first message has all that there is to do; each answer is `{"ok": value}` or `{"refused": text}`. Stdlib, the runtime and the wire,
Python 3.9+.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from ..wire import frames
from . import image_files, target_files, task_scripts
from .file_tree import Refusal, Tree

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


def _files(outside: list[str]) -> dict[str, Any]:
    """What the image has in its working directory: paths of all files, and contents of texts as far as they are small."""
    image_files.unpack(outside)
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
    outside: list[str],
    files: dict[str, bytes],
    removed: list[str],
    scripts: list[dict[str, Any]],
    targets: list[str],
) -> dict[str, Any]:
    """Run `scripts`, arguments of `task_scripts.run`, over an answer, one after the other.

    Returns what each returned, and what changed at and below `targets`.
    """
    image_files.unpack(outside)
    tree = Tree(skipped=target_files.SKIPPED)
    untouched = target_files.stamps(tree) if targets else {}
    target_files.lay(tree, files, removed)
    done = [task_scripts.run(tree.path, **script) for script in scripts]
    answer = target_files.changed(tree, targets, untouched) if targets else {"files": {}, "removed": []}
    return {"done": done, "answer": answer}
