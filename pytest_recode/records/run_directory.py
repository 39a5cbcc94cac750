"""Files of a run's directory: a line is in the file when the call returns, and every failure is a `RecordsError`.

Used by every process of a run. Before writes, a file is compared with the one at its path, because an open file that was removed
accepts writes without an error.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_recode.faults import MACHINE_STEPS, RecordsError, UserError, machine_error
from pytest_recode.records import locks
from pytest_recode.stopping import AWAITED

RESULTS = "results.jsonl"
LEDGER = "spending.jsonl"
UNREADABLE = "unreadable.jsonl"
"""Name of the file with the tasks that could not be read."""
MERGED = "merged.json"
"""Name of the file in a merged directory that names its parts."""
TRANSCRIPTS = "episodes"
ANSWERS = "answers"
"""Name of the directory with the answers of episodes that have no verdict yet."""
CONTROLLER = "controller.lock"
"""Name of the file with the run's id. The controlling process locks it as long as the run may call models."""
_IN_USE = "in-use"
"""Name of a file that every process that writes to the directory locks."""
ROOM = 4 << 20
"""Bytes that must be free before a model call: the space that answers in progress, their gradings and records may need."""

_STEPS = MACHINE_STEPS | {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there, or raise the quota",
    errno.EFBIG: "raise the limit on file size (ulimit -f)",
    errno.EROFS: "make the directory writable",
    errno.EACCES: "make the directory writable",
    errno.EPERM: "make the directory writable",
    errno.ENOENT: "something removed the directory or a part of it while the run wrote there: restore it and resume the run, or start another",
}


def cannot_write(path: Path | str, error: OSError) -> RecordsError:
    """Create an error with the file, the system's reason and the next step."""
    step = _STEPS.get(error.errno or 0, "check the disk")
    return RecordsError(f"{path} cannot be written ({error.strerror or error}): {step}")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert every `OSError` of the block to a `RecordsError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert every `OSError` of the block to a `UserError` that names `path`, or the file of the error.

    Raises `MachineError` if the machine is the cause, and not the file.
    """
    try:
        yield
    except OSError as error:
        what = f"{error.filename or path} cannot be read"
        raise (
            machine_error(error, what) or UserError(f"{what} ({error.strerror or error}): make it readable")
        ) from None


def flush(file: int, path: Path) -> None:
    """Return when what was written to a file of a run is on its disk, if a resumed run relies on it. Raises `OSError`.

    Transcripts are not among these: they have several lines for each answer, and a flush may take some milliseconds.
    """
    if path.parent.name == TRANSCRIPTS:
        return
    try:
        os.fdatasync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):  # the file system has no such operation
            raise


def subdirectory(path: Path) -> Path:
    """Create `path` if it is missing, but never its parent, which is a run's directory that may have been removed."""
    with writing(path):
        path.mkdir(exist_ok=True)
    return path


def replaced(path: Path, text: str) -> None:
    """Write a whole file atomically, so that a process that is killed here leaves the old or the new version."""
    fresh = path.with_name(f".{path.name}.new")
    with writing(path):
        try:
            with fresh.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                flush(file.fileno(), path)
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise


class Lines:
    """An append-only file of JSON lines. A line is one `write`, so that a killed process leaves complete lines, and a line that a resumed
    run relies on is on the disk when `append` returns (`flush`).

    Raises `RecordsError`, here and in `append`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        subdirectory(path.parent)
        with writing(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._cut()

    def _cut(self) -> None:
        """Remove an incomplete last line of a killed run, so that the next one starts on its own line."""
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.ftruncate(self._file, self.path.read_bytes().rfind(b"\n") + 1)

    def append(self, line: Mapping[str, Any]) -> None:
        """Append a line. JSON escapes lone surrogates, which a model may write. If the line does not fit, nothing of it remains."""
        data = memoryview((json.dumps(line, ensure_ascii=True) + "\n").encode())
        self.check()
        with writing(self.path):
            size = os.fstat(self._file).st_size
            try:
                while data:
                    data = data[os.write(self._file, data) :]
                flush(self._file, self.path)
            except OSError:
                os.ftruncate(self._file, size)  # each file has one writer
                raise

    def check(self) -> None:
        """Raise `RecordsError` if the file at this path is not the open one."""
        with writing(self.path):
            if not same(self._file, self.path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def close(self) -> None:
        with writing(self.path):
            os.close(self._file)  # a network file system may report write errors only here


def append_at(path: Path, offset: int, data: bytes) -> None:
    """Append `data` to a file of `offset` bytes; a part of it that an earlier call wrote is not written again.

    If it does not fit, nothing of it remains. Raises `RecordsError`, also if the file has other contents.
    """
    with writing(path):
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        with locks.closing(file):
            size = os.fstat(file).st_size
            there = os.pread(file, len(data), offset)
            if size != offset + len(there) or not data.startswith(there):
                raise RecordsError(
                    f"{path} was changed while its episode was played: give each run its own --recode-out"
                )
            left = memoryview(data)[len(there) :]
            try:
                while left:
                    left = left[os.write(file, left) :]
                flush(file, path)
            except OSError:
                os.ftruncate(file, offset)
                raise


def in_progress(out: Path) -> bool:
    """Whether a run in `out` may still call models. A run on another machine is detected only if the file system shares locks."""
    return _held(out / CONTROLLER, shared=True)


def written_to(out: Path) -> bool:
    """Whether a process of a run in `out` may still write there. Writes nothing itself."""
    return in_progress(out) or _held(out / _IN_USE, shared=False)


def _held(path: Path, *, shared: bool) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # no run was started there, or this user has no permission to see it
    with locks.closing(file):
        return not locks.try_acquire(file, shared=shared)


def same(file: int, path: Path) -> bool:
    """Whether `path` is the open `file`. Raises `OSError` if nothing is at `path`."""
    return os.path.samestat(os.fstat(file), path.stat())


class RunLock:
    """A process's claim to the directory of its run: checks that it still exists, still belongs to this run, and has free space.

    The controller, which calls `claim`, holds a lock until `release`; a worker, which calls `join`, waits for that lock.
    """

    def __init__(self, out: Path, file: int) -> None:
        self.out = out
        self._file = file

    @classmethod
    def claim(cls, out: Path, run: str) -> RunLock:
        """Mark `out` as the directory of `run`, until `release`."""
        path = out / CONTROLLER
        with writing(path):
            file = locks.open_lock(path)
            locks.acquire(file)
            os.ftruncate(file, 0)
            os.pwrite(file, f"{run}\n".encode(), 0)
        return cls(out, file)

    @classmethod
    def join(cls, out: Path, run: str, worker: str) -> RunLock:
        """Join `run` from a worker. Raises `RecordsError` if this process sees another directory than the one of `run`."""
        try:
            file = os.open(out / CONTROLLER, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            file = -1
        except OSError as error:
            raise cannot_write(out, error) from error
        if file < 0 or os.pread(file, 200, 0).decode(errors="replace").strip() != run:
            raise RecordsError(
                f"{out}: worker {worker} does not see this run's records there (another disk, or removed in between):"
                " give --recode-out a directory that all workers share"
            )
        return cls(out, file)

    def check(self) -> None:
        """Check the directory before a request. Raises `RecordsError`."""
        with writing(self.out):
            if not same(self._file, self.out / CONTROLLER):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        check_room(self.out)

    def wait_for_release(self) -> None:
        """Wait, in a worker, until the controller stops all requests or dies."""
        locks.acquire(self._file, shared=True)
        locks.release(self._file)

    def release(self) -> None:
        """Signal every worker to stop model calls. Needs no write, because the disk may be the cause."""
        locks.release(self._file)

    def close(self) -> None:
        os.close(self._file)


def belongs_to(out: Path, run: str) -> bool:
    """Whether this process sees `out` as the directory of `run`."""
    try:
        return (out / CONTROLLER).read_text(errors="replace").strip() == run
    except OSError:
        return False


def check_room(out: Path) -> None:
    """Check the free space before a request. Raises `RecordsError`."""
    with writing(out):
        free = room(out)
    if free < ROOM:
        raise RecordsError(
            f"{out} cannot be written ({os.strerror(errno.ENOSPC)}: {free >> 10} KiB are free, and"
            f" {ROOM >> 10} are needed): free space there"
        )


def room(out: Path) -> int:
    """Free bytes; `ROOM` if the file system does not report them."""
    found = os.statvfs(out)
    return found.f_bavail * found.f_frsize if found.f_blocks else ROOM


@contextmanager
def in_use(out: Path) -> Iterator[None]:
    """Mark `out` as written to by this process, with a lock that ends with the process."""
    with locks.locked(_marker(out), shared=True):
        yield


def wait_until_unused(out: Path, notify: Callable[[str], None], seconds: float = AWAITED + 15.0) -> None:
    """Wait until no process writes to `out`: the workers of a killed run take some time to end, and its gateway waits for answers. Calls
    `notify` once if it waits.

    Raises `UserError` if a process still writes there after `seconds`.
    """
    deadline = time.monotonic() + seconds
    notified = False
    with locks.closing(_marker(out)) as file:
        while not locks.try_acquire(file):
            if not notified:
                notify(f"{out}: another run is still writing there: waiting up to {seconds:.0f} s for its end")
                notified = True
            if time.monotonic() > deadline:
                raise UserError(
                    f"--recode-out={out}: another run is still writing there: wait for its end, or give another directory"
                )
            time.sleep(0.1)


def _marker(out: Path) -> int:
    with writing(out):
        return locks.open_lock(out / _IN_USE)
