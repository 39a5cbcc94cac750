"""Runs commands for a persistent program, with limits, and kills everything that they started.

Runs in the process of a persistent program, such as the workspace. The sandbox configures it; `workspace/workspace_server.py`
calls it as `_recode.runtime.command_runner`. Must not leave a process of a command alive, but those of a `StayingCommand`, which are stopped.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import NamedTuple, Optional

from . import command_process, control_group, linux_isolation, monitor, resting
from .command_output import CommandOutput

_LOOK_SECONDS = 0.5  # between two reads of the time that is left, which another thread may change
_WIRE = 3
_COMPLETE = b"."  # written after an answer, so that an incomplete one is detected
_LONGEST_MARK = 1 << 10


class CommandStatus(NamedTuple):
    """`status`: as in `subprocess`, negative for a signal; 0 for a command that stays. `output`: stdout and stderr as one stream; above the
    limit the middle is cut out. `timed_out`: whether it was killed, or stopped, when its time was up. `killed`: the limit that it exceeded, for which it was
    killed, or for which the kernel killed a process of it, whereupon it failed; "" if there is none."""

    status: int
    output: bytes
    timed_out: bool
    killed: str = ""


def configure(kind: str, limits: monitor.LaunchLimits, group: control_group.JoinedGroup) -> None:
    """Set how commands are isolated, and where the kernel counts what it kills. Called by the sandbox, once, before the program runs."""
    command_process.settings = command_process.CommandSettings(kind, limits, group)
    linux_isolation.adopt_orphans()


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    seconds: float,
    output_limit: int,
    env: Mapping[str, str] | None = None,
    beside: Optional[AbstractContextManager[None]] = None,
    left: Optional[Callable[[], float]] = None,
) -> CommandStatus:
    """Run `argv` (looked up on PATH) to its end, or for `seconds`. Afterwards no process that it started is left.

    `beside`: entered while the command runs, for threads that serve it: there are none when its process is forked. `left`: the seconds
    that are left, where that changes while the command runs.

    Its standard input is empty; `output_limit` bytes of stdout and stderr are collected. A command that cannot be started
    ends as in a shell: status 126 or 127 and a line of output. A command that exceeds a limit ends with signal 9 and a
    line of output that names the limit. Raises `OSError` where no process can be started at all.
    """
    command = _Running(argv, cwd, env)
    deadline = time.monotonic() + seconds
    try:
        with beside or nullcontext():
            return command.follow(output_limit, left or (lambda: deadline - time.monotonic()))
    finally:
        command.close()


class StayingCommand:
    """A command of several turns. Between them all its processes are stopped, and it is killed if one of them runs.

    Its standard input is a Unix socket, from which it reads the number of each turn as a line, and to which it writes the same line when
    the turn is over. It ends at the end of its input. Its turn is over also when its time is up: then the number of the next one comes before it
    has answered.
    """

    def __init__(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        """Raises `OSError` where no process can be started."""
        self._turn = 0
        self._switches: Optional[resting.Switches] = None  # since the end of its turn; None: it is not at rest
        self._socket, entered = socket.socketpair()
        self._socket.setblocking(False)
        try:
            self._command = _Running(argv, cwd, env, entered.fileno())
        except BaseException:
            self._socket.close()
            raise
        finally:
            entered.close()

    def turn(
        self, *, last: bool, output_limit: int, left: Callable[[], float], beside: AbstractContextManager[None]
    ) -> CommandStatus:
        """Run for one turn: as `run`, but it stays unless the turn is the `last`, as each turn is in a sandbox without process namespaces."""
        self._turn += 1
        line = b"%d\n" % self._turn
        with suppress(BlockingIOError):  # nothing runs that could write more
            while self._socket.recv(1 << 16):
                pass
        last = last or command_process.settings.kind == "plain"
        with beside:
            with suppress(OSError):  # its report says how it ended
                self._socket.send(line)
                if last:
                    self._socket.shutdown(socket.SHUT_WR)
            if self._switches is not None:
                self._switches = None
                resting.wake()
            try:
                status = self._command.follow(output_limit, left, None if last else _TurnMark(self._socket, line))
            except BaseException:
                _end()
                raise
            self._switches = self._command.switches
        return status

    def rests(self) -> bool:
        """Whether none of its processes has run since its turn was over. It is killed if one has."""
        if self._switches is not None and resting.switches() != self._switches:
            self.end()
        return self._switches is not None

    def end(self) -> None:
        """Kill all its processes; idempotent."""
        if self._switches is not None:
            self._switches = None
            _end()

    def close(self) -> None:
        self.end()
        self._command.close()
        self._socket.close()


def run_in_fork(work: Callable[[], bytes], seconds: float) -> bytes:
    """Call `work` in a fork, limited to `seconds` and to memory that the sandbox can spare, and return its result.

    For work on files that untrusted commands left, whose cost they control: loops in C do not react to signals. A
    `MemoryError` is raised in `work`. Raises `TimeoutError`, and `OSError` where no fork can be made or it ended
    without an answer.
    """
    answer, writer = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _work(work, writer)
    except OSError:
        os.close(answer)
        raise
    finally:
        os.close(writer)
    deadline = time.monotonic() + seconds
    received = bytearray()
    poll = select.poll()
    poll.register(answer, select.POLLIN)
    poll.register(_WIRE, 0)  # hang-up alone
    try:
        while True:
            ready = dict(poll.poll(max(deadline - time.monotonic(), 0) * 1000))
            if _WIRE in ready:
                _kill(pid)
                os._exit(0)  # the host has ended
            if not ready:
                raise TimeoutError
            data = os.read(answer, 1 << 16)
            if not data:
                break
            received += data
    finally:
        os.close(answer)
        _kill(pid)
        os.waitpid(pid, 0)
    if received[-1:] != _COMPLETE:
        raise OSError("its process ended without an answer")
    return bytes(received[:-1])


def _work(work: Callable[[], bytes], answer: int) -> None:
    try:
        spare = command_process.settings.limits.memory_mb * linux_isolation.MIB // 2
        linux_isolation.limit("RLIMIT_AS", linux_isolation.address_space() + spare)
        with open(answer, "wb") as file:
            file.write(work() + _COMPLETE)
    finally:
        os._exit(0)


class _TurnMark(NamedTuple):
    """What a command that stays writes when its turn is over, and the socket to which it does."""

    socket: socket.socket
    line: bytes


class _Running:
    """A command that was started. `switches`: what `resting.stop` returned, if it stays after the last `follow`."""

    def __init__(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str] | None, entered: Optional[int] = None
    ) -> None:
        environ = dict(os.environ if env is None else env)
        self._killed_before = command_process.settings.group.killed()
        self._output, self._report = command_process.fork(list(argv), cwd, environ, entered)
        self.switches: Optional[resting.Switches] = None

    def close(self) -> None:
        os.close(self._output)
        os.close(self._report)

    def follow(
        self, output_limit: int, seconds_left: Callable[[], float], stays: Optional[_TurnMark] = None
    ) -> CommandStatus:
        """Collect output until the command and every process that could still write have ended, or until it rests after a turn."""
        self.switches = None
        collected = CommandOutput(output_limit)
        report_data = replies = b""
        over = timed_out = False
        waiting = {self._output, self._report}
        poll = select.poll()
        for fd in waiting:
            poll.register(fd, select.POLLIN)
        poll.register(_WIRE, 0)  # hang-up alone
        if stays is not None:
            poll.register(stays.socket.fileno(), select.POLLIN)
        while waiting:
            left = seconds_left()
            running = self._report in waiting and not (timed_out or over)
            if running and (left <= 0 or (stays is not None and stays.line in replies.splitlines(True))):
                over = left > 0
                timed_out, running = not over, False
                if stays is not None and self._stop():
                    self._drain(collected)
                    self._killed_before = command_process.settings.group.killed()
                    return CommandStatus(0, collected.bytes(), timed_out)
                _end()
            for fd, _ in poll.poll(min(max(left, 0), _LOOK_SECONDS) * 1000 if running else None):
                if fd == _WIRE:
                    _end()
                    os._exit(0)  # the host has ended
                data = _read(fd)
                if not data:
                    poll.unregister(fd)
                    waiting.discard(fd)
                if fd == self._output:
                    collected.add(data)
                elif fd == self._report:
                    report_data += data
                    if not data:
                        _end()
                else:
                    replies = (replies + data)[-_LONGEST_MARK:]
        ending = _parse(report_data)
        if over and "status" not in ending:
            ending.setdefault("killed", "its processes could not be stopped at the end of its turn")
        return _result(ending, collected, timed_out, self._killed_before)

    def _stop(self) -> bool:
        """Whether it is stopped, and has not ended meanwhile."""
        switches = resting.stop()
        self.switches = None if _ready(self._report) else switches
        return self.switches is not None

    def _drain(self, collected: CommandOutput) -> None:
        """Collect what was written before it was stopped."""
        while _ready(self._output) and (data := os.read(self._output, 1 << 16)):
            collected.add(data)


def _ready(fd: int) -> bool:
    """Whether there is something to read, or the end."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except ConnectionResetError:  # it has closed its socket, with a line in it
        return b""


def _result(ending: dict[str, str], collected: CommandOutput, timed_out: bool, killed_before: int) -> CommandStatus:
    if "fault" in ending and not timed_out:
        raise OSError(ending["fault"])
    status = -signal.SIGKILL if timed_out else int(ending.get("status", -signal.SIGKILL))
    killed = ending.get("killed", "")
    settings = command_process.settings
    # the kernel may be faster than the monitor
    if not killed and status and not timed_out and settings.group.killed_since(killed_before, status):
        killed = f"out of memory ({settings.limits.memory_mb} MiB)"
    if killed:
        collected.note(f"[killed: {killed}]\n")
    return CommandStatus(status, collected.bytes(), timed_out, killed)


def _parse(data: bytes) -> dict[str, str]:
    lines = [line.partition(" ") for line in data.decode("utf-8", "replace").splitlines()]
    return {key: rest for key, _, rest in lines}


def _end() -> None:
    """Kill and reap the command and all it started. This process has no other children."""
    kind = command_process.settings.kind
    if kind == "plain":
        linux_isolation.end_descendants()
        return
    while not linux_isolation.reap_all():
        # When the first process of a namespace ends, everything in it ends
        for pid in [-1] if kind in command_process.FIRST else linux_isolation.children(os.getpid()):
            _kill(pid)
        time.sleep(0.001)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
