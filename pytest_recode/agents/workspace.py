"""The host's side of an agent's workspace: `inside/workspace/workspace_server.py` in a sandbox, launched when it is first needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from pytest_recode.agents import CommandResult, Refused
from pytest_recode.agents.door_calls import DoorCalls
from pytest_recode.agents.door_requests import MARGIN, DoorService, Playing, SandboxPlace
from pytest_recode.faults import SandboxError
from pytest_recode.inside.wire import frames
from pytest_recode.inside.workspace.image_files import UNPACK_SECONDS
from pytest_recode.records.checkpoint import Changes, changes_of
from pytest_recode.sandboxes import Connection, Program, Sandbox, shipping
from pytest_recode.task import REMOVED, Brief, Environment, Files, Limits, brief_files, covers

MAX_TARGET = 1 << 20
"""Bytes of one target: the largest source file of a known benchmark has a fiftieth of that."""
_REPLY = 64 << 20


@cache
def program() -> Program:
    """What runs in the sandbox; the sandbox itself adds `_recode.runtime` to it."""
    return shipping.program("workspace", "workspace.workspace_server", persistent=True)


class SandboxWorkspace:
    """A `Workspace`. What it answers comes from a place that nobody trusts, and is checked as such.

    Raises `Refused` for what cannot be done as asked, `SandboxError` once the workspace is gone or talks nonsense.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        brief: Brief,
        environment: Environment,
        limits: Limits,
        room: Callable[[], AbstractContextManager[None]] = nullcontext,
        shown: tuple[str, ...] = (),
        places: tuple[str, ...] = (),
    ) -> None:
        """`room`: entered around each command; it may wait until the machine has room for one. `shown`, `places`: as in `Program`."""
        self._sandbox = sandbox
        self._room = room
        self._program = replace(program(), shown=shown, places=places)
        self._brief = brief
        self._environment = replace(
            environment, preload=()
        )  # commands are processes of their own: warmth is lost on them
        self._limits = limits
        self._connection: Connection | None = None
        self._end = ""

    def check(self, path: str = ".", pattern: str | None = None) -> str:
        if pattern is None and not path.startswith("/"):
            return path  # the sandbox need not be started for that
        return _typed(self._ask("check", path=path, pattern=pattern), str)

    def list(self, path: str = ".") -> tuple[str, ...]:
        return _texts(self._ask("list", path=path))

    def read(self, path: str) -> str:
        data = _typed(self._ask("read", path=path), bytes)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused(f"{path} is no UTF-8 text ({len(data)} bytes)") from None

    def grep(self, pattern: str, path: str = ".") -> tuple[str, ...]:
        return _texts(self._ask("grep", pattern=pattern, path=path))

    def write(self, path: str, text: str) -> None:
        """`text` as UTF-8; what `surrogateescape` decoded goes back to its bytes."""
        try:
            data = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise Refused(f"the text for {path} is no Unicode text: {error.reason}") from None
        self._ask("write", path=path, data=data)

    def remove(self, path: str) -> None:
        self._ask("remove", path=path)

    def run(self, command: str, seconds: float | None = None) -> CommandResult:
        limit = self._limits.command_seconds
        seconds = limit if seconds is None else min(limit, seconds)  # in this order, NaN is the limit
        with self._room():
            return _result(self._ask("run", longest=seconds, command=command, seconds=seconds))

    def script(self, script: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run a script of the task here, and return how it ended, and its logs (`inside/workspace/task_scripts.py`)."""
        return _typed(self._ask("script", longest=script["seconds"], script=dict(script)), dict)

    def place(self) -> SandboxPlace:
        """Where a program that plays works, and the port of its door."""
        place = _typed(self._ask("place", shown=list(self._program.shown)), dict)
        return SandboxPlace(
            work=_typed(place.get("work"), str),
            home=_typed(place.get("home"), str),
            port=_typed(place.get("port"), int),
            shown=_texts(place.get("shown")),
        )

    def play(self, program: Playing, service: DoorService) -> CommandResult:
        """Run a program that plays, to the end of its turn, and let `service` answer its requests to the door.

        Raises `Refused` if it cannot be started there, and what `service` raises: then the workspace is gone, and the program with it.
        """
        connection = self._launched()
        fields = {"argv": list(program.argv), "env": dict(program.env), "files": dict(program.files)}
        with self._unless_broken(program.seconds):
            frames.send_message(
                connection,
                {
                    "op": "play",
                    **fields,
                    "entered": program.entered,
                    "seconds": program.seconds,
                    "stays": program.stays,
                },
                time.monotonic() + MARGIN,
            )
            answer = DoorCalls(connection, service, program.seconds, MARGIN).played()
        return _result(self._granted(answer))

    def keep(self, paths: Sequence[str]) -> Files:
        """The files at and below these paths of the home directory. Raises `Refused` if they are too large to keep."""
        files = _typed(self._ask("keep", paths=list(paths)), dict)
        return {_typed(path, str): _typed(data, bytes) for path, data in files.items()}

    def targets(self) -> Files:
        """Those of the untouched repository while nothing was ever done here.

        A target that is a link, a directory, unreadable or larger than MAX_TARGET is none: the agent made it so.
        """
        if self._connection is None and not self._end:
            repo = self._brief.repo
            return {path: repo[path] for path in self._brief.targets if path in repo}
        try:
            answer = _typed(self._ask("targets", paths=list(self._brief.targets)), dict)
        except Refused as refused:
            self._fail(f"it refused to give the targets: {refused}")
        files = _typed(answer.get("files"), dict)
        if self._environment.workdir:
            return self._changed_targets(files, _texts(answer.get("removed")))
        found = {path: _typed(files[path], bytes) for path in self._brief.targets if path in files}
        return {path: data for path, data in found.items() if len(data) <= MAX_TARGET}

    def _changed_targets(self, files: Mapping[str, Any], removed: Sequence[str]) -> Files:
        """The files of an answer in an image's working directory, without the texts that were put there for the agent."""
        texts = brief_files(self._brief).keys()
        changed = {
            path: _typed(data, bytes)
            for path, data in files.items()
            if covers(self._brief.targets, _typed(path, str)) and path not in texts
        }
        gone = "\n".join(path for path in removed if path not in texts and "\n" not in path)
        return {**changed, REMOVED: gone.encode("utf-8", "surrogateescape")} if gone else changed

    def changes(self) -> Changes:
        """How it differs from the repository. Where that is too much to keep, the targets alone.

        A file of the repository that is a target, and that `targets` does not give, is removed.
        """
        if self._connection is None and not self._end:
            return changes_of({})
        try:
            answer = _typed(self._ask("changes"), dict)
        except Refused:
            answer = {"files": {}, "removed": [], "whole": False}  # a directory of a million names, or the like
        targets = self.targets()
        missing = {
            path
            for path in self._brief.targets
            if path in self._brief.repo and path not in targets and not self._environment.workdir
        }
        if not _typed(answer.get("whole"), bool):
            files = {path: (data, 0o644) for path, data in targets.items()}
            return changes_of(files, sorted(missing), whole=False)
        files = {}
        for path, entry in _typed(answer.get("files"), dict).items():
            data, mode = _typed(entry, list)
            files[_typed(path, str)] = (_typed(data, bytes), _typed(mode, int))
        return changes_of(files, sorted({*_texts(answer.get("removed")), *(missing - files.keys())}))

    def lay(self, changes: Changes) -> None:
        """Make the repository differ as `changes` says; before anything else is done here."""
        if changes.files or changes.removed:
            files = {path: [data, mode] for path, (data, mode) in changes.versions.items()}
            try:
                self._ask("lay", files=files, removed=list(changes.removed))
            except Refused as refused:
                self._fail(f"what was kept of it cannot be put back: {refused}")

    def close(self) -> None:
        """End it and all it started; idempotent. Nothing can be asked any more."""
        self._end = self._end or "it was closed"
        if self._connection is not None:
            self._connection.kill()
            self._connection = None

    def __enter__(self) -> SandboxWorkspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, op: str, *, longest: float = 0.0, **arguments: Any) -> Any:
        connection = self._launched()
        return self._exchange(connection, {"op": op, **arguments}, longest)

    def _launched(self) -> Connection:
        if self._end:
            raise SandboxError(f"the workspace is gone: {self._end}")
        if self._connection is None:
            self._connection = self._sandbox.launch(self._program, self._environment, self._limits)
            try:
                image = bool(self._environment.workdir)  # which has the repository
                files = {**brief_files(self._brief), **({} if image else self._brief.repo)}
                longest = UNPACK_SECONDS if image else 0.0
                outside = list(self._environment.outside)
                request = {"op": "open", "files": files, "image": image, "outside": outside}
                self._exchange(self._connection, request, longest)
            except Refused as refused:
                self._fail(f"the repository cannot be put into it: {refused}")
        return self._connection

    def _exchange(self, connection: Connection, message: Mapping[str, Any], longest: float) -> Any:
        deadline = time.monotonic() + longest + MARGIN
        with self._unless_broken(longest):
            frames.send_message(connection, dict(message), deadline)
            answer = frames.receive_message(connection, _REPLY, deadline)
        return self._granted(answer)

    @contextmanager
    def _unless_broken(self, longest: float) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            self._fail(f"it did not answer within {longest + MARGIN:.0f} s")
        except (EOFError, ConnectionError):
            self._fail("it ended")
        except frames.WireError as error:
            self._fail(f"it answered {error}")
        except BaseException:
            self.close()  # cut off in the middle of an exchange: the next answer would be to this question
            raise

    def _granted(self, answer: Mapping[str, Any]) -> Any:
        if isinstance(answer.get("refused"), str):
            raise Refused(answer["refused"])
        if "ok" not in answer:
            self._fail("it gave an answer of an unknown kind")
        return answer["ok"]

    def _fail(self, why: str) -> NoReturn:
        connection, self._connection = self._connection, None
        how = connection.kill() if connection is not None else ""
        self._end = f"{why} ({how})" if how else why
        raise SandboxError(f"the workspace is gone: {self._end}")


T = TypeVar("T")


def _typed(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise SandboxError(f"the workspace answered with {type(value).__name__} where {kind.__name__} was due")
    return value


def _result(value: Any) -> CommandResult:
    done = _typed(value, dict)
    return CommandResult(
        status=_typed(done.get("status"), int),
        output=_typed(done.get("output"), bytes).decode("utf-8", "replace"),
        timed_out=_typed(done.get("timed_out"), bool),
        seconds=_typed(done.get("seconds"), float),
        killed=_typed(done.get("killed"), str),
        stays=_typed(done.get("stays", False), bool),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_typed(item, str) for item in _typed(value, list))
