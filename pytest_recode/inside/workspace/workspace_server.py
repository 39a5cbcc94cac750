"""The workspace server: reads and writes an agent's files and runs its commands.

Runs in the workspace process, a persistent program. The host launches it (`agents/workspace.py`) and sends it
requests. Must not touch files while a command runs; `command_runner` leaves no process of a command behind, but those of a program that stays
between its turns, which are stopped. What is read of files counts only if they still are afterwards.

Each request is one dict (`op` and its arguments), and each answer another: `{"ok": value}`, or `{"refused": text}`
where the request cannot be carried out. The first message carries the files.

Stdlib, the runtime and the wire, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Optional

from ..runtime import command_runner
from ..wire import frames
from . import guard, image_files, target_files, task_scripts
from .file_tree import Refusal, TooLarge, Tree
from .guard import OP_SECONDS, Guard, OutOfTime
from .played_program import MAX_CHANGES, PlayedProgram, ran

MAX_READ = 1 << 20  # bytes of a file that is read, searched or submitted
MAX_FOUND = 200  # lines
MAX_PATTERN = 1000  # characters
MAX_LINE = 300  # characters of a line found
OUTPUT_LIMIT = 64 << 10
_REQUEST = 1 << 30  # bytes
_ACTS = ("run", "play", "script")
"""Operations in which a command runs."""


def main(reader: Any, writer: Any) -> None:
    """Serve requests until the pipe closes. The first carries the files."""
    os.umask(0o022)
    guard.begin()
    workspace = _Workspace(reader, writer)
    ops = {name[3:]: getattr(workspace, name) for name in dir(workspace) if name.startswith("op_")}
    limit = 1 << 40  # the first message comes from the host alone; the disk limits its files
    while True:
        try:
            request = frames.read_message(reader, limit)
        except EOFError:
            return
        limit = _REQUEST
        try:
            operation = request.pop("op")
            whole = ops[operation] if operation in _ACTS else partial(workspace.program.at_rest, ops[operation])
            answer = {"ok": whole(**request)}
        except Refusal as refusal:
            answer = {"refused": str(refusal)}
        except OutOfTime:  # the alarm came between the last line of the operation and the end of its guard
            answer = {"refused": f"it took longer than {OP_SECONDS:.0f} s"}
        try:
            frames.write_message(writer, answer)
        except frames.WireError as error:
            frames.write_message(writer, {"refused": f"the answer is too large: {error}"})


class _Workspace:
    def __init__(self, reader: Any, writer: Any) -> None:
        self.tree = Tree()
        self.program = PlayedProgram(self.tree.path, reader, writer)
        self.whole = self.tree  # with what an agent does not see listed, where that may be part of an answer
        self.of_image = False
        self.untouched: dict[str, target_files.Stamp] = {}  # of the repository's files

    def op_open(self, files: dict[str, bytes], image: bool, outside: list[str]) -> bool:
        """`image`: the repository is what the image has in the working directory, and `files` come in addition. `outside`: as for
        `image_files.unpack`."""
        if image:
            self.of_image, self.whole = True, Tree(skipped=target_files.SKIPPED)
            with Guard("the working directory of the image", seconds=image_files.UNPACK_SECONDS):
                image_files.unpack(outside)
        for path, data in files.items():
            with Guard(path):
                self.tree.write(self.tree.parts_of(path), data)
        self.untouched = (
            target_files.stamps(self.whole) if image else {path: target_files.stamp(path) for path in files}
        )
        return True

    def op_changes(self) -> dict[str, Any]:
        """The changes since `op_open`: contents and modes of files, and the paths of removed files. `whole`: whether they are
        complete. Links, pipes and empty directories are left out."""
        files: dict[str, list[Any]] = {}
        bytes_left = MAX_CHANGES
        notes: list[str] = []
        with Guard("the workspace"):
            seen = list(self.whole.walk("", notes, sys.maxsize))
            for path in seen:
                mode = os.lstat(path).st_mode
                if not stat.S_ISREG(mode) or (
                    path in self.untouched and target_files.stamp(path) == self.untouched[path]
                ):
                    continue
                try:
                    data = self.tree.read(path, bytes_left)
                except TooLarge:
                    return {"files": {}, "removed": [], "whole": False}
                bytes_left -= len(data)
                files[path] = [data, stat.S_IMODE(mode)]
        removed = [] if notes else sorted(self.untouched.keys() - set(seen))
        return {"files": files, "removed": removed, "whole": not notes}

    def op_lay(self, files: dict[str, list[Any]], removed: list[str]) -> bool:
        """Apply changes of `op_changes` to a workspace that was just opened.

        What is replaced is removed first: a disk that had room for the files after the changes may have none for both.
        """
        for path in [*removed, *(self.untouched.keys() & files.keys())]:
            with Guard(path):
                self.tree.remove(path)
        for path, (data, mode) in files.items():
            with Guard(path):
                self.tree.clear(path)
                self.tree.write(self.tree.parts_of(path), data, mode)
        return True

    def op_check(self, path: str, pattern: Optional[str]) -> str:
        """`path` from the root on; refuses what would be refused whatever the files are."""
        if pattern is not None:
            self._in_fork(lambda: self._checked(pattern))
        with Guard(path):
            return "/".join(self.tree.parts_of(path)) or "."

    def op_list(self, path: str) -> list[str]:
        with Guard(path):
            notes: list[str] = []
            return sorted(self.tree.walk(path, notes)) + notes

    def op_read(self, path: str) -> bytes:
        with Guard(path):
            return self.tree.read(path, MAX_READ)

    def op_write(self, path: str, data: bytes) -> bool:
        with Guard(path):
            self.tree.write(self.tree.parts_of(path), data)
        return True

    def op_remove(self, path: str) -> bool:
        with Guard(path):
            self.tree.remove(path)
        return True

    def op_grep(self, pattern: str, path: str) -> list[str]:
        return self._in_fork(lambda: self._grep(pattern, path))

    def _in_fork(self, look: Callable[[], list[str]]) -> list[str]:
        """Call `look` in a process of its own, because a pattern may take any time or memory."""
        try:
            kind, answer = json.loads(command_runner.run_in_fork(lambda: self._report(look), OP_SECONDS))
        except TimeoutError:
            raise Refusal(f"it took longer than {OP_SECONDS:.0f} s") from None
        except OSError as error:
            raise Refusal(f"it cannot be searched: {error}") from None
        if kind == "refused":
            raise Refusal(answer)
        lines: list[str] = answer
        return lines

    def _report(self, look: Callable[[], list[str]]) -> bytes:
        try:
            return json.dumps(["ok", look()]).encode()
        except Refusal as refusal:
            return json.dumps(["refused", str(refusal)]).encode()
        except MemoryError:
            return b'["refused", "it takes more memory than there is"]'

    def _grep(self, pattern: str, path: str) -> list[str]:
        with Guard(path):
            return self._lines_found(pattern, path)

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        if len(pattern) > MAX_PATTERN:
            raise Refusal(f"the pattern has {len(pattern)} characters, more than {MAX_PATTERN}")
        try:
            return re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Refusal(f"{pattern!r} is no regular expression of Python's: {error}") from None

    def _checked(self, pattern: str) -> list[str]:
        with Guard("the pattern"):
            self._compiled(pattern)
            return []

    def _lines_found(self, pattern: str, path: str) -> list[str]:
        compiled = self._compiled(pattern)
        lines: list[str] = []
        notes: list[str] = []
        for name in sorted(self.tree.walk(path, notes)):
            for line in self._matches(compiled, name):
                if len(lines) == MAX_FOUND:
                    return [*lines, f"... more than {MAX_FOUND} lines match"]
                lines.append(line)
        return lines + notes

    def op_run(self, command: str, seconds: float) -> dict[str, Any]:
        self.program.end()
        shell = next((shell for shell in ("bash", "sh") if shutil.which(shell)), None)
        if shell is None:
            raise Refusal("there is no shell in this sandbox")
        return ran("the command", [shell, "-c", command], self.tree.path, seconds=seconds, output_limit=OUTPUT_LIMIT)

    def op_script(self, script: dict[str, Any]) -> dict[str, Any]:
        """Run a script of the task here: `task_scripts.run`."""
        try:
            return task_scripts.run(self.tree.path, **script)
        except OSError as error:
            raise Refusal(f"{error.filename or 'a file'}: {error.strerror or error}") from None

    def op_place(self, shown: list[str]) -> dict[str, Any]:
        return self.program.place(shown)

    def op_play(self, **how: Any) -> dict[str, Any]:
        return self.program.play(**how)

    def op_keep(self, paths: list[str]) -> dict[str, bytes]:
        return self.program.keep(paths)

    def op_targets(self, paths: list[str]) -> dict[str, dict[str, Any]]:
        """The contents of the targets that are plain files of at most MAX_READ bytes. In a workspace of an image, those at and below
        these paths that changed, and `removed` ones."""
        if self.of_image:
            with Guard("the targets"):
                return target_files.changed(self.whole, paths, self.untouched)
        files: dict[str, bytes] = {}
        for path in paths:
            with contextlib.suppress(Refusal), Guard(path):
                files[path] = self.tree.read(path, MAX_READ)
        return {"files": files}

    def _matches(self, pattern: re.Pattern[str], path: str) -> Iterator[str]:
        try:
            data = self.tree.read(path, MAX_READ)
        except (TooLarge, OSError) as error:
            why = f"it has more than {MAX_READ} bytes" if isinstance(error, TooLarge) else error.strerror
            yield f"{path}: not searched: {why}"
            return
        except Refusal:  # a link or a pipe has no lines
            return
        if b"\0" in data:
            return
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            if pattern.search(line):
                shown = line if len(line) <= MAX_LINE else line[:MAX_LINE] + "..."
                yield f"{path}:{number}:{shown}"
