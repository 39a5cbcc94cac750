"""An agent's workspace: files in this program's working directory, and commands run as its children.

The host asks with one dict (`op` and its arguments) and gets one: `{"ok": value}`, or `{"refused": words}` for what
cannot be done as asked. The first message brings the files.

The files are looked at only while no command runs (`recode_jail` leaves nothing of one behind), by a walk that follows
no symbolic link, so that no path leads out of the directory.

Stdlib and the wire, Python 3.9+.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import stat
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_recode.inside import jail, wire
else:
    import _recode_wire as wire
    import recode_jail as jail

MAX_READ = 1 << 20  # bytes of a file that is read, searched or handed in
MAX_LISTED = 5000  # paths
MAX_FOUND = 200  # lines
MAX_PATTERN = 1000  # characters
MAX_LINE = 300  # characters of a line found
OP_SECONDS = 10.0  # of one look at the files: a pattern may take for ever, a directory hold a million names
OUTPUT_LIMIT = 64 << 10
_REQUEST = 64 << 20  # bytes
_SKIPPED = {"__pycache__", ".git", ".pytest_cache"}
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # nonblocking: a pipe with nobody at its end would hold us


class Refusal(Exception):
    """The text is for the agent."""


class _TooLarge(Refusal):
    pass


class _OutOfTime(Exception):
    pass


def main(reader: Any, writer: Any) -> None:
    """Take the files, then serve until the pipe closes."""
    os.umask(0o022)
    signal.signal(signal.SIGALRM, _too_long)
    workspace = _Workspace()
    ops = {name[3:]: getattr(workspace, name) for name in dir(workspace) if name.startswith("op_")}
    limit = 1 << 40  # the repository is the host's own word; its size is the disk's concern
    while True:
        try:
            asked = wire.read_message(reader, limit)
        except EOFError:
            return
        limit = _REQUEST
        try:
            answer = {"ok": ops[asked.pop("op")](**asked)}
        except Refusal as refusal:
            answer = {"refused": str(refusal)}
        except _OutOfTime:  # it came between the last line of the look and the end of its guard
            answer = {"refused": f"it took longer than {OP_SECONDS:.0f} s"}
        wire.write_message(writer, answer)


def _too_long(*_: object) -> None:
    raise _OutOfTime


class _Guard:
    """Bounds one look at the files and words what the system refuses."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, OP_SECONDS)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if isinstance(error, _OutOfTime):
            raise Refusal(f"it took longer than {OP_SECONDS:.0f} s") from None
        if isinstance(error, OSError):
            raise Refusal(f"{self.path}: {error.strerror or error}") from None
        if isinstance(error, UnicodeEncodeError):
            raise Refusal(f"{self.path!r} is no possible path") from None


class _Workspace:
    def __init__(self) -> None:
        self.path = os.path.realpath(".")
        self.root = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def op_open(self, files: dict[str, bytes]) -> bool:
        for path, data in files.items():
            with _Guard(path):
                self._put(self._parts(path), data)
        return True

    def op_list(self, path: str) -> list[str]:
        with _Guard(path):
            notes: list[str] = []
            return sorted(self._walk(path, notes)) + notes

    def op_read(self, path: str) -> bytes:
        with _Guard(path):
            return self._get(path, MAX_READ)

    def op_write(self, path: str, data: bytes) -> bool:
        with _Guard(path):
            self._put(self._parts(path), data)
        return True

    def op_search(self, pattern: str, path: str) -> list[str]:
        if len(pattern) > MAX_PATTERN:
            raise Refusal(f"the pattern has {len(pattern)} characters, more than {MAX_PATTERN}")
        try:
            kind, found = json.loads(jail.aside(lambda: self._search(pattern, path), OP_SECONDS))
        except TimeoutError:
            raise Refusal(f"it took longer than {OP_SECONDS:.0f} s") from None
        except OSError as error:
            raise Refusal(f"it cannot be searched: {error}") from None
        if kind == "refused":
            raise Refusal(found)
        lines: list[str] = found
        return lines

    def _search(self, pattern: str, path: str) -> bytes:
        try:
            with _Guard(path):
                return json.dumps(["ok", self._found(pattern, path)]).encode()
        except Refusal as refusal:
            return json.dumps(["refused", str(refusal)]).encode()
        except MemoryError:
            return b'["refused", "it takes more memory than there is"]'

    def _found(self, pattern: str, path: str) -> list[str]:
        try:
            compiled = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Refusal(f"{pattern!r} is no regular expression of Python's: {error}") from None
        found: list[str] = []
        notes: list[str] = []
        for name in sorted(self._walk(path, notes)):
            for line in self._matches(compiled, name):
                if len(found) == MAX_FOUND:
                    return [*found, f"... more than {MAX_FOUND} lines match"]
                found.append(line)
        return found + notes

    def op_run(self, command: str, seconds: float) -> dict[str, Any]:
        shell = next((shell for shell in ("bash", "sh") if shutil.which(shell)), None)
        if shell is None:
            raise Refusal("there is no shell in this sandbox")
        start = time.monotonic()
        try:
            done = jail.run([shell, "-c", command], cwd=self.path, seconds=seconds, output_limit=OUTPUT_LIMIT)
        except (OSError, ValueError) as error:  # too long, a null character, no process to be had
            raise Refusal(f"the command cannot be started: {error}") from None
        return {
            "status": done.status,
            "output": done.output,
            "timed_out": done.timed_out,
            "seconds": time.monotonic() - start,
        }

    def op_targets(self, paths: list[str]) -> dict[str, dict[str, Any]]:
        """Their contents; and of those that are no plain file of at most MAX_READ bytes, why they do not count."""
        files: dict[str, bytes] = {}
        ignored: dict[str, str] = {}
        for path in paths:
            try:
                with _Guard(path):
                    files[path] = self._get(path, MAX_READ)
            except Refusal as refusal:
                if os.path.lexists(path):
                    ignored[path] = str(refusal)
        return {"files": files, "ignored": ignored}

    # Paths

    def _parts(self, path: str) -> list[str]:
        inner = path[len(self.path) :] if path.startswith(self.path + "/") else path
        if inner.startswith("/") and inner is path:
            raise Refusal(f"{path} is outside the workspace: give a path relative to it")
        if "\0" in path:
            raise Refusal(f"{path!r} is no possible path")
        parts = [part for part in inner.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise Refusal(f"{path} is refused: a path may not go up by '..'")
        return parts

    def _directory(self, parts: list[str], *, make: bool = False) -> int:
        """An open descriptor of it; no part of the way may be a symbolic link."""
        here = os.dup(self.root)
        for at, part in enumerate(parts):
            try:
                try:
                    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=here)
                except FileNotFoundError:
                    if not make:
                        raise Refusal(f"there is no {'/'.join(parts[: at + 1])}") from None
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

    def _get(self, path: str, limit: int) -> bytes:
        parts = self._parts(path)
        if not parts:
            raise Refusal(f"{path} is a directory: list it")
        where = self._directory(parts[:-1])
        try:
            try:
                fd = os.open(parts[-1], os.O_RDONLY | _OPEN, dir_fd=where)
            except OSError as error:
                if error.errno == errno.ENOENT:
                    raise Refusal(f"there is no {path}") from None
                if error.errno in (errno.ELOOP, errno.ENXIO):
                    raise Refusal(f"{path} is no regular file{_link(parts[-1], where)}") from None
                raise
        finally:
            os.close(where)
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            raise Refusal(f"{path} is {'a directory: list it' if stat.S_ISDIR(found.st_mode) else 'no regular file'}")
        with os.fdopen(fd, "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise _TooLarge(
                f"{path} has {found.st_size} bytes, more than the {limit} that are read at once: "
                "look at a piece of it by a command"
            )
        return data

    def _put(self, parts: list[str], data: bytes) -> None:
        """All of the file or nothing: a full disk leaves the old one as it was."""
        if not parts:
            raise Refusal("the workspace itself is a directory: give the path of a file")
        where = self._directory(parts[:-1], make=True)
        name, path = parts[-1], "/".join(parts)
        fresh = f".{name[:100]}.recode-new"
        try:
            try:
                old = os.stat(name, dir_fd=where, follow_symlinks=False)
            except FileNotFoundError:
                old = None
            if old is not None and not stat.S_ISREG(old.st_mode):
                what = "a directory" if stat.S_ISDIR(old.st_mode) else "no regular file"
                raise Refusal(f"{path} is {what}{_link(name, where)}")
            mode = stat.S_IMODE(old.st_mode) if old else 0o644
            try:
                fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OPEN, mode, dir_fd=where)
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                os.rename(fresh, name, src_dir_fd=where, dst_dir_fd=where)
            except BaseException:
                if os.path.lexists(f"/proc/self/fd/{where}/{fresh}"):
                    os.unlink(fresh, dir_fd=where)
                raise
        finally:
            os.close(where)

    # The tree. Its paths are relative to the working directory, which nobody changes.

    def _walk(self, path: str, notes: list[str]) -> Iterator[str]:
        parts = self._parts(path)
        start = "/".join(parts)
        if parts and stat.S_ISREG(self._stat(parts)):
            yield start
            return
        os.close(self._directory(parts))
        queue, listed, unread = [start], 0, 0
        while queue:
            at = queue.pop()
            try:
                with os.scandir(at or ".") as entries:
                    names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
            except OSError:  # told at the end of the listing
                unread += 1
                continue
            for name, _ in (pair for pair in names if not pair[1]):
                if listed == MAX_LISTED:
                    notes.append(f"... more than {MAX_LISTED} files")
                    return
                listed += 1
                yield f"{at}/{name}" if at else name
            below = [name for name, is_directory in names if is_directory and name not in _SKIPPED]
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

    def _matches(self, pattern: re.Pattern[str], path: str) -> Iterator[str]:
        try:
            data = self._get(path, MAX_READ)
        except (_TooLarge, OSError) as error:
            why = f"it has more than {MAX_READ} bytes" if isinstance(error, _TooLarge) else error.strerror
            yield f"{path}: not searched: {why}"
            return
        except Refusal:  # a link or a pipe holds no lines
            return
        if b"\0" in data:
            return
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            if pattern.search(line):
                shown = line if len(line) <= MAX_LINE else line[:MAX_LINE] + "..."
                yield f"{path}:{number}: {shown}"


def _link(name: str, where: int) -> str:
    try:
        mode = os.stat(name, dir_fd=where, follow_symlinks=False).st_mode
    except OSError:
        return ""
    return " but a symbolic link, and those are not followed" if stat.S_ISLNK(mode) else ""
