"""File access in an agent's workspace that follows no symbolic link and accepts no path outside its root.

Runs in the workspace process, where `workspace_server.py` calls it for each file operation, and on the host for the directory of a person
who plays (`agents/person_directory.py`). Must not follow a symbolic link, block on a pipe, or leave the root.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from typing import Optional

MAX_LISTED = 5000  # paths
SKIPPED = frozenset({"__pycache__", ".git", ".pytest_cache"})
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # nonblocking: opening a pipe without a writer would block


class Refusal(Exception):
    """An operation cannot be carried out. The text is shown to the agent."""


class TooLarge(Refusal):
    pass


class Missing(Refusal):
    pass


class Tree:
    """The files below a directory, by default the working directory. Every method raises `Refusal` or `OSError`."""

    def __init__(self, place: str = ".", skipped: Collection[str] = SKIPPED) -> None:
        """`skipped`: names of directories that are not listed."""
        self.path = os.path.realpath(place)
        self.root = os.open(place, os.O_RDONLY | os.O_DIRECTORY | _OPEN)
        self._place = place
        self._skipped = skipped

    def close(self) -> None:
        os.close(self.root)

    def parts_of(self, path: str) -> list[str]:
        inner = path[len(self.path) :] if f"{path}/".startswith(self.path + "/") else path
        if inner.startswith("/") and inner is path:
            raise Refusal(f"{path} is outside the workspace: give a path relative to it")
        if "\0" in path:
            raise Refusal(f"{path!r} is no possible path")
        parts = [part for part in inner.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise Refusal(f"{path} is refused: a path may not go up by '..'")
        return parts

    def _directory(self, parts: list[str], *, make: bool = False) -> int:
        """An open descriptor of a directory. No part of the path may be a symbolic link."""
        here = os.dup(self.root)
        for at, part in enumerate(parts):
            try:
                try:
                    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=here)
                except FileNotFoundError:
                    if not make:
                        raise Missing(f"there is no {'/'.join(parts[: at + 1])}") from None
                    os.mkdir(part, dir_fd=here)
                    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=here)
                except OSError as error:
                    if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                        raise
                    raise Refusal(f"{'/'.join(parts[: at + 1])} is no directory{_link(part, here)}") from None
            finally:
                os.close(here)
            here = below
        return here

    def read(self, path: str, limit: int) -> bytes:
        parts = self.parts_of(path)
        if not parts:
            raise Refusal(f"{path} is a directory: list it")
        where = self._directory(parts[:-1])
        try:
            try:
                fd = os.open(parts[-1], os.O_RDONLY | _OPEN, dir_fd=where)
            except OSError as error:
                if error.errno == errno.ENOENT:
                    raise Missing(f"there is no {path}") from None
                if error.errno in (errno.ELOOP, errno.ENXIO):
                    raise Refusal(f"{path} is no regular file{_link(parts[-1], where)}") from None
                raise
        finally:
            os.close(where)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise Refusal(f"{path} is {'a directory: list it' if stat.S_ISDIR(status.st_mode) else 'no regular file'}")
        with os.fdopen(fd, "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise TooLarge(
                f"{path} has {status.st_size} bytes, more than the {limit} that are read at once: "
                "look at a piece of it by a command"
            )
        return data

    def write(self, parts: list[str], data: bytes, mode: Optional[int] = None) -> None:
        """Replace a file completely or not at all, also on a full disk. `mode`: its permissions; by default they stay."""
        if not parts:
            raise Refusal("the workspace itself is a directory: give the path of a file")
        where = self._directory(parts[:-1], make=True)
        name, path = parts[-1], "/".join(parts)
        fresh = f".{os.urandom(8).hex()}.recode-new"  # a name that no command has chosen, of a length that fits
        try:
            try:
                old = os.stat(name, dir_fd=where, follow_symlinks=False)
            except FileNotFoundError:
                old = None
            if old is not None and not stat.S_ISREG(old.st_mode):
                what = "a directory" if stat.S_ISDIR(old.st_mode) else "no regular file"
                raise Refusal(f"{path} is {what}{_link(name, where)}")
            if mode is None:
                mode = stat.S_IMODE(old.st_mode) if old else 0o644
            try:
                fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OPEN, mode, dir_fd=where)
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    os.fchmod(file.fileno(), mode)
                os.rename(fresh, name, src_dir_fd=where, dst_dir_fd=where)
            except BaseException:
                if os.path.lexists(f"/proc/self/fd/{where}/{fresh}"):
                    os.unlink(fresh, dir_fd=where)
                raise
        finally:
            os.close(where)

    def remove(self, path: str) -> None:
        parts = self.parts_of(path)
        where = self._directory(parts[:-1])
        try:
            os.unlink(parts[-1], dir_fd=where)
        finally:
            os.close(where)

    def clear(self, path: str) -> None:
        """Remove the directory `path`, which has only empty directories, so that a file can take its place."""
        if os.path.isdir(path) and not os.path.islink(path):
            for below, _, _ in os.walk(path, topdown=False):
                os.rmdir(below)

    def walk(self, path: str, notes: list[str], most: int = MAX_LISTED) -> Iterator[str]:
        parts = self.parts_of(path)
        start = "/".join(parts)
        if parts and stat.S_ISREG(self._stat(parts)):
            yield start
            return
        os.close(self._directory(parts))
        queue, listed, unread = [start], 0, 0
        while queue:
            at = queue.pop()
            try:
                with os.scandir(os.path.join(self._place, at)) as entries:
                    names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
            except OSError:  # reported at the end of the listing
                unread += 1
                continue
            for name, _ in (pair for pair in names if not pair[1]):
                if listed == most:
                    notes.append(f"... more than {most} files")
                    return
                listed += 1
                yield f"{at}/{name}" if at else name
            below = [name for name, is_directory in names if is_directory and name not in self._skipped]
            queue += [f"{at}/{name}" if at else name for name in reversed(below)]
        if unread:
            notes.append(f"... {unread} directories that cannot be read")

    def _stat(self, parts: list[str]) -> int:
        where = self._directory(parts[:-1])
        try:
            return os.stat(parts[-1], dir_fd=where, follow_symlinks=False).st_mode
        except FileNotFoundError:
            raise Refusal(f"there is no {'/'.join(parts)}") from None
        finally:
            os.close(where)


def _link(name: str, where: int) -> str:
    try:
        mode = os.stat(name, dir_fd=where, follow_symlinks=False).st_mode
    except OSError:
        return ""
    return " but a symbolic link, and those are not followed" if stat.S_ISLNK(mode) else ""
