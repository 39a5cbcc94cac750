"""Advisory locks on open files (`flock`), for processes that share a directory.

Runs on the host, in every process of a run. The kernel releases a lock when its file is closed or its process ends, however that
happens, so nothing has to be cleaned up. A lock belongs to the open file: it keeps no two threads apart that use the same one.
Every function raises `OSError`, and `RecordsError` if the file system has no locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from pytest_recode.faults import RecordsError

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


def open_lock(path: Path, mode: int = 0o644, flags: int = 0) -> int:
    """Open the file at `path`, create it if it is missing, and return its descriptor for the functions below."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, mode)


def acquire(file: int, *, shared: bool = False) -> None:
    """Wait for the lock: exclusive, or `shared` with others that ask for a shared one. Replaces the lock that `file` has."""
    _flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def try_acquire(file: int, *, shared: bool = False) -> bool:
    """`acquire` without waiting: False if another open file has a lock that excludes this one."""
    try:
        _flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _flock(file: int, operation: int) -> None:
    try:
        fcntl.flock(file, operation)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise RecordsError(
            f"{Path(f'/proc/self/fd/{file}').readlink()} cannot be locked ({error.strerror}), as on some network file systems: choose a"
            " directory on another disk, or mount this one with locks"
        ) from error


def release(file: int) -> None:
    fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def closing(file: int) -> Iterator[int]:
    """Close `file` at the end of the block, which releases its lock."""
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def locked(file: int, *, shared: bool = False, waiting: AbstractContextManager[object] | None = None) -> Iterator[int]:
    """Hold the lock of `file` for the block, then close it. `waiting` surrounds the time until the lock is acquired."""
    with closing(file):
        with waiting or nullcontext():
            acquire(file, shared=shared)
        yield file
