"""Reads the repository of an annotation of RECODE-H, which may be large and hold links, and is never written to."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats.parts import SKIPPED, entries_of

LEFT_OUT = SKIPPED | {".hg", ".svn", ".ipynb_checkpoints", "node_modules"}
COMPILED = (".pyc", ".pyo")


def files_of(root: Path, most_mb: int) -> dict[str, bytes]:
    """Contents by POSIX path. Version control's files and caches are left out; a link is what it points to, where that lies in
    the repository, and else is left out, as special files are, and files whose names are not UTF-8.

    Raises `UserError` where there is more than `most_mb` MiB, or a file cannot be read.
    """
    found: dict[str, bytes] = {}
    total = 0
    for name, path, size in sorted(_walk(root, "", (os.path.realpath(root),))):
        total += size
        if total > most_mb << 20:
            raise UserError(
                f"{root}: holds more than {most_mb} MiB, which is too much for a sandbox; take out of it what the code and its"
                " tests do not read"
            )
        try:
            found[name] = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}); make it a readable file") from None
    return found


def _walk(directory: Path, prefix: str, above: tuple[str, ...]) -> Iterator[tuple[str, Path, int]]:
    """`above`: the real paths of the directories on the way, the repository's first, so that no link leads round in circles."""
    for entry in entries_of(str(directory)):
        if entry.name in LEFT_OUT or entry.name.endswith(COMPILED) or not _encodable(entry.name):
            continue
        path, name = directory / entry.name, prefix + entry.name
        real = os.path.realpath(path)
        if entry.is_symlink() and (real in above or not real.startswith(f"{above[0]}{os.sep}")):
            continue
        try:
            status = path.stat()
        except OSError:
            continue  # a link that leads nowhere
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(path, f"{name}/", (*above, real))
        elif stat.S_ISREG(status.st_mode):
            yield name, path, status.st_size


def _encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
