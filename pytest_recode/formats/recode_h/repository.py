"""Read the repository of an annotation of RECODE-H, which may be large and contain links. Never writes to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats.files import entries_of, is_of_a_tool

LEFT_OUT = {".hg", ".svn", ".ipynb_checkpoints", "node_modules"}
COMPILED = (".pyc", ".pyo")


def files_of(root: Path, most_mb: int) -> dict[str, bytes]:
    """Contents of the files below `root` by POSIX path.

    A link to a target in the repository is replaced by its target. Other links, special files, names that are not UTF-8, caches
    and the files of version control are omitted. Raises `UserError` if there are more than `most_mb` MiB, or if a file cannot
    be read.
    """
    contents: dict[str, bytes] = {}
    total = 0
    for name, path, size in sorted(_walk(root, "", (os.path.realpath(root),))):
        total += size
        if total > most_mb << 20:
            raise UserError(
                f"{root}: contains more than {most_mb} MiB, which is too large for a sandbox; remove files that neither the"
                " code nor its tests read"
            )
        try:
            contents[name] = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}); make it a readable file") from None
    return contents


def _walk(directory: Path, prefix: str, above: tuple[str, ...]) -> Iterator[tuple[str, Path, int]]:
    """Yield name, path and size of each file. `above`: the real paths of the parent directories, the repository's first, to detect cycles."""
    for entry in entries_of(str(directory)):
        if (
            is_of_a_tool(entry.name)
            or entry.name in LEFT_OUT
            or entry.name.endswith(COMPILED)
            or not _encodable(entry.name)
        ):
            continue
        path, name = directory / entry.name, prefix + entry.name
        real = os.path.realpath(path)
        if entry.is_symlink() and (real in above or not real.startswith(f"{above[0]}{os.sep}")):
            continue
        try:
            status = path.stat()
        except OSError:
            continue  # a broken link
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
