"""The program that plays in a workspace: its door, its home directory, its turns, and the rest between them.

Runs in the workspace process. Called by `workspace_server.py`. Must read no file while a program may change it.

Stdlib, the runtime and the wire, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Optional, TypeVar

from ..runtime import command_runner
from . import shown_paths
from .door import Door
from .file_tree import Missing, Refusal, Tree
from .guard import Guard

T = TypeVar("T")
MAX_SAID = 1 << 20  # bytes of what a program that plays writes to its standard streams
MAX_CHANGES = 32 << 20  # bytes of changed files that are stored between turns
NO_PLUGIN = "-p no:recode"  # an interpreter may have it installed, and no sandbox has its code: pytest would not start


def ran(what: str, argv: list[str], cwd: str, env: Optional[Mapping[str, str]] = None, **more: Any) -> dict[str, Any]:
    """How a command ended. `more`: as for `command_runner.run`. Refused if it cannot be started."""
    start = time.monotonic()
    with _starting(what):
        done = command_runner.run(argv, cwd=cwd, env=_environ(env), **more)
    return {**done._asdict(), "seconds": time.monotonic() - start}


def _environ(more: Optional[Mapping[str, str]]) -> dict[str, str]:
    return {**os.environ, "PYTEST_ADDOPTS": NO_PLUGIN, **(more or {})}


@contextlib.contextmanager
def _starting(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # too long, a null character, or no process can be started
        raise Refusal(f"{what} cannot be started: {error}") from None


class PlayedProgram:
    """`work`: the root of the workspace. `reader`, `writer`: its wire."""

    def __init__(self, work: str, reader: Any, writer: Any) -> None:
        self._work, self._wire = work, (reader, writer)
        self._door: Optional[Door] = None
        self._staying: Optional[command_runner.StayingCommand] = None

    def place(self, shown: list[str]) -> dict[str, Any]:
        """Where a program that plays works, where it may keep files of its own, the port of the door, which is open from now on, and where
        the paths of the host that are `shown` are."""
        self._door = self._door or Door()
        home = os.path.realpath(os.environ["HOME"])
        return {"work": self._work, "home": home, "port": self._door.port, "shown": shown_paths.found(shown)}

    def play(
        self, argv: list[str], env: dict[str, str], files: dict[str, bytes], entered: str, seconds: float, stays: str
    ) -> dict[str, Any]:
        """Run a program for one turn, with the door open. `files`: written before, by their paths in the home directory; `entered`: the path
        of the one that is its standard input. `stays`: as in `door_requests.Playing`. No `argv`: the program that stayed."""
        if self._door is None:
            raise Refusal("its place was not asked for")
        if not argv and not (self._staying is not None and self._staying.rests()):
            raise Refusal("it ran while its turn was over, or was killed")
        if argv:
            self.end()
        home = self._home()
        try:
            for path, data in files.items():
                with Guard(path):
                    home.write(home.parts_of(path), data)
        finally:
            home.close()
        self._door.deadline = time.monotonic() + seconds
        more: dict[str, Any] = {"beside": self._door.serving(*self._wire), "left": self._door.seconds_left}
        more["output_limit"] = MAX_SAID
        if stays:
            return self._turn(argv, env, last=stays == "last", **more)
        command = ["/bin/sh", "-c", 'exec "$@" < "$0"', f"{home.path}/{entered}", *argv]
        return ran(argv[0], command, self._work, env, seconds=seconds, **more)

    def _turn(self, argv: list[str], env: dict[str, str], **more: Any) -> dict[str, Any]:
        start = time.monotonic()
        stays = False
        try:
            with _starting(argv[0] if argv else "it"):
                if self._staying is None:
                    self._staying = command_runner.StayingCommand(argv, cwd=self._work, env=_environ(env))
                done = self._staying.turn(**more)
                stays = self._staying.rests()
        finally:
            if not stays:
                self.end()
        return {**done._asdict(), "seconds": time.monotonic() - start, "stays": stays}

    def end(self) -> None:
        """End the program that stayed, if there is one."""
        if self._staying is not None:
            self._staying.close()
            self._staying = None

    def at_rest(self, operation: Callable[..., T], **arguments: Any) -> T:
        """Carry out an operation on files while nothing changes them. A program that has run after its turn is ended, and the operation carried
        out again."""
        if self._staying is not None and self._staying.rests():
            refusal: Optional[Refusal] = None
            try:
                value = operation(**arguments)
            except Refusal as error:
                refusal = error
            if self._staying.rests():
                if refusal is not None:
                    raise refusal
                return value
        return operation(**arguments)

    def keep(self, paths: list[str]) -> dict[str, bytes]:
        """The files at and below these paths of the home directory; refused if they have more than MAX_CHANGES bytes."""
        files: dict[str, bytes] = {}
        home = self._home()
        room = MAX_CHANGES
        try:
            for path in paths:
                with contextlib.suppress(Missing), Guard(path):
                    for name in home.walk(path, []):
                        with contextlib.suppress(Missing):
                            files[name] = home.read(name, room)
                            room -= len(files[name])
        finally:
            home.close()
        return files

    def _home(self) -> Tree:
        """The home directory, which the program that played may have removed."""
        with Guard("the home directory"):
            return Tree(os.environ["HOME"])
