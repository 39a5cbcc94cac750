"""The files of a run's directory, as the process sees them that plays an episode: on this host, or on the controlling process's host.

A file is named by its path on the controlling process's host, also in messages. `gateway/remote_run.py` has the implementation for
workers on other hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from pytest_recode.records import locks
from pytest_recode.records.run_directory import Lines, reading, replaced, subdirectory, writing


class LineFile(Protocol):
    """An append-only file of JSON lines."""

    def append(self, line: Mapping[str, Any]) -> None:
        """Append a line, which is in the file when the call returns. Raises `RecordsError`."""

    def close(self) -> None: ...


class RunFiles(Protocol):
    """Reads and writes the files of a run. Methods that write create the file's directory, but not the run's, and raise `RecordsError`."""

    def read(self, path: Path) -> bytes:
        """Raises `OSError`; `FileNotFoundError` if there is no such file."""

    def lines(self, path: Path) -> LineFile:
        """Open a file to append to. An incomplete last line is removed."""

    def replace(self, path: Path, text: str) -> None:
        """Write a whole file atomically."""

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""

    def locked(self, path: Path, waiting: AbstractContextManager[object]) -> AbstractContextManager[None]:
        """Hold the lock file `path`; `waiting` surrounds the time until the lock is acquired. The lock ends with this process."""


class LocalFiles:
    """Files on this host."""

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def lines(self, path: Path) -> LineFile:
        return Lines(path)

    def replace(self, path: Path, text: str) -> None:
        subdirectory(path.parent)
        replaced(path, text)

    def remove(self, path: Path) -> None:
        with writing(path):
            path.unlink(missing_ok=True)

    def locked(self, path: Path, waiting: AbstractContextManager[object]) -> AbstractContextManager[None]:
        subdirectory(path.parent)
        with writing(path):
            file = locks.open_lock(path)
        return locks.locked(file, waiting=waiting)  # type: ignore[return-value]


LOCAL = LocalFiles()


def content(path: Path, files: RunFiles) -> bytes | None:
    """The bytes of a file; None if there is no such file. Raises `UserError` for a file that cannot be read."""
    with reading(path):
        try:
            return files.read(path)
        except FileNotFoundError:
            return None
