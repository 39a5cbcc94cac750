"""Which users programs run as if root runs pytest without namespaces. Runs on the host; `inside/runtime/unprivileged.py` changes to them."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes.interpreters import Interpreter

_FIRST, _COUNT = 1_900_000_000, 1 << 22  # one for each number of a process
_NEEDED = {"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SETPCAP": 8}
_READ_EVERYTHING = (2, 1)  # CAP_DAC_READ_SEARCH; containers have only CAP_DAC_OVERRIDE


def problem() -> str | None:
    """Why root cannot become another user here; None if it can, or if an ordinary user runs pytest."""
    if os.geteuid() != 0:
        return None
    if missing := [name for name, number in _NEEDED.items() if number not in _capabilities()]:
        return f"root runs pytest without {', '.join(missing)}, and so cannot run programs as an ordinary user"
    if _ids() is None:
        return "root runs pytest in a user namespace with too few user ids to run programs as an ordinary user"
    return None


@cache
def users(python: Interpreter) -> list[int | None]:
    """The first of the user ids, their number, and the capability that they need to read the interpreter, or None. Empty for an ordinary
    user. A program that could not read its interpreter's files would fail at its first late import. Raises `SandboxError`."""
    if fault := problem():
        raise SandboxError(fault)
    ids = _ids() if os.geteuid() == 0 else None
    if ids is None:
        return []
    readable = all(map(_for_everybody, _needs(python)))
    return [*ids, None if readable else next(each for each in _READ_EVERYTHING if each in _capabilities())]


def _ids() -> tuple[int, int] | None:
    """User ids that no account has, where there are as many: those of a container may be few, the upper half of a range."""
    ranges = [list(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    first, _, count = max(ranges, key=lambda row: row[2])
    if first <= _FIRST and first + count >= _FIRST + _COUNT:
        return _FIRST, _COUNT
    return (first + count // 2, count // 2) if count >= 1 << 12 else None


@cache
def _capabilities() -> frozenset[int]:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:")]
    held = int(line.split()[1], 16)
    return frozenset(number for number in range(64) if held >> number & 1)


def _needs(python: Interpreter) -> Iterator[Path]:
    """What a program reads: the interpreter, its libraries and each package in them, and the directory of temporary files."""
    yield Path(tempfile.gettempdir())
    for path in (python.executable, *python.libraries, *map(Path, python.path)):
        if path.exists():
            yield path
            yield path.resolve()
            if path.is_dir():
                yield from path.iterdir()


def _for_everybody(path: Path) -> bool:
    """Whether every user can read a file, or list and enter a directory, and enter all directories above it."""
    try:
        mode = path.stat().st_mode
    except OSError:  # a link to nothing
        return True
    wanted = 0o5 if stat.S_ISDIR(mode) else 0o4
    return mode & wanted == wanted and _entered(path.parent)


@cache
def _entered(directory: Path) -> bool:
    return bool(directory.stat().st_mode & 0o1) and (directory.parent == directory or _entered(directory.parent))
