"""Runs commands for a persistent program, with limits, and kills everything that they started.

Runs in the process of a persistent program, such as the workspace. The sandbox configures it; `workspace/workspace_server.py`
calls it as `_recode.runtime.command_runner`. Must not leave a process of a command alive, and must not pass
descriptors of the program to a command.

A command can neither signal nor trace the program. The means differ by sandbox: a pid namespace for each command
("nested"), the signal immunity of a namespace's first process ("first", "container"), or, without isolation, only a
sweep of descendants afterwards ("plain").

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Optional

from . import control_group, launch, linux_isolation, monitor, seccomp

_POLL_SECONDS = 0.02
_LOOK_SECONDS = 0.5  # between two reads of the time that is left, which another thread may change
_WIRE = 3
_COMPLETE = b"."  # written after an answer, so that an incomplete one is detected
_FIRST = ("first", "container")


class CommandStatus(NamedTuple):
    """`status`: as in `subprocess`, negative for a signal. `output`: stdout and stderr as one stream; above the limit the
    middle is cut out. `timed_out`: whether it was killed when its time was up. `killed`: the limit that it exceeded, for which it was killed, or
    for which the kernel killed a process of it, whereupon it failed; "" if there is none."""

    status: int
    output: bytes
    timed_out: bool
    killed: str = ""


class _Settings(NamedTuple):
    kind: str
    limits: monitor.LaunchLimits
    group: control_group.JoinedGroup


_settings = _Settings("plain", monitor.LaunchLimits(2048, 512, 128, True), control_group.NONE)


def configure(kind: str, limits: monitor.LaunchLimits, group: control_group.JoinedGroup) -> None:
    """Set how commands are isolated, and where the kernel counts what it kills. Called by the sandbox, once, before the program runs."""
    global _settings
    _settings = _Settings(kind, limits, group)
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
    environ = dict(os.environ if env is None else env)
    output, writer = os.pipe()
    opened = [output, writer]
    try:
        report, reporter = os.pipe()
        opened += [report, reporter]
        if os.fork() == 0:
            _start(list(argv), cwd, environ, writer, reporter)
    except OSError:  # a command has used up the processes or the open files
        for each in opened:
            os.close(each)
        raise
    os.close(writer)
    os.close(reporter)
    collected = _Output(output_limit)
    deadline = time.monotonic() + seconds
    killed_before = _settings.group.killed()
    try:
        with beside or nullcontext():
            ending, timed_out = _follow(output, report, collected, left or (lambda: deadline - time.monotonic()))
    finally:
        os.close(output)
        os.close(report)
    return _result(ending, collected, timed_out, killed_before)


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
        spare = _settings.limits.memory_mb * linux_isolation.MIB // 2
        linux_isolation.limit("RLIMIT_AS", linux_isolation.address_space() + spare)
        with open(answer, "wb") as file:
            file.write(work() + _COMPLETE)
    finally:
        os._exit(0)


def _result(ending: dict[str, str], collected: _Output, timed_out: bool, killed_before: int) -> CommandStatus:
    if "fault" in ending and not timed_out:
        raise OSError(ending["fault"])
    status = -signal.SIGKILL if timed_out else int(ending.get("status", -signal.SIGKILL))
    killed = ending.get("killed", "")
    # the kernel may be faster than the monitor
    if not killed and status and not timed_out and _settings.group.killed_since(killed_before, status):
        killed = f"out of memory ({_settings.limits.memory_mb} MiB)"
    if killed:
        collected.note(f"[killed: {killed}]\n")
    return CommandStatus(status, collected.bytes(), timed_out, killed)


def _follow(
    output: int, report: int, collected: _Output, seconds_left: Callable[[], float]
) -> tuple[dict[str, str], bool]:
    """Collect output until the command and every process that could still write have ended."""
    report_data = b""
    timed_out = False
    waiting = {output, report}
    poll = select.poll()
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    poll.register(_WIRE, 0)  # hang-up alone
    while waiting:
        left = seconds_left()
        if left <= 0 and report in waiting and not timed_out:
            timed_out = True
            _end()
        running = report in waiting and not timed_out
        for fd, _ in poll.poll(min(max(left, 0), _LOOK_SECONDS) * 1000 if running else None):
            if fd == _WIRE:
                _end()
                os._exit(0)  # the host has ended
            data = os.read(fd, 1 << 16)
            if not data:
                poll.unregister(fd)
                waiting.remove(fd)
            if fd == output:
                collected.add(data)
            else:
                report_data += data
                if not data:
                    _end()
    return _parse(report_data), timed_out


def _parse(data: bytes) -> dict[str, str]:
    lines = [line.partition(" ") for line in data.decode("utf-8", "replace").splitlines()]
    return {key: rest for key, _, rest in lines}


def _end() -> None:
    """Kill and reap the command and all it started. This process has no other children."""
    if _settings.kind == "plain":
        linux_isolation.end_descendants()
        return
    while not linux_isolation.reap_all():
        # When the first process of a namespace ends, everything in it ends
        for pid in [-1] if _settings.kind in _FIRST else linux_isolation.children(os.getpid()):
            _kill(pid)
        time.sleep(0.001)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# The other side of the fork


def _start(argv: list[str], cwd: str, env: dict[str, str], output: int, report: int) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        linux_isolation.close_all_but(output, report)
        if _settings.kind == "nested":
            linux_isolation.dumpable(True)
            linux_isolation.new_user_namespace(
                linux_isolation.NEWPID | linux_isolation.NEWNS, os.geteuid(), os.getegid()
            )
            if os.fork():
                os._exit(0)
            quiet = linux_isolation.MS_NOSUID | linux_isolation.MS_NODEV | linux_isolation.MS_NOEXEC
            linux_isolation.mount("proc", "/proc", "proc", quiet)
            linux_isolation.forbid_user_namespaces()
            linux_isolation.dumpable(False)
            _monitor(argv, cwd, env, output, report, linux_isolation.pids_here)
        elif _settings.kind in _FIRST:
            _monitor(argv, cwd, env, output, report, linux_isolation.pids_here)
        else:
            linux_isolation.adopt_orphans()
            me = os.getpid()
            _monitor(argv, cwd, env, output, report, lambda: linux_isolation.descendants(me))
    except BaseException as exc:  # noqa: BLE001 - forked: nothing may return into the program's code
        launch.write_report(report, "fault", f"{type(exc).__name__}: {exc}")
        os._exit(1)


def _monitor(
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    output: int,
    report: int,
    pids: Callable[[], list[int]],
) -> None:
    """Start the command, wait for it and report its status. Ends this process, and with it its pid namespace."""
    signal.pthread_sigmask(signal.SIG_BLOCK, monitor.WAKING)
    pid = os.fork()
    if pid == 0:
        _become(argv, cwd, env, output)
    os.close(output)
    while True:
        signal.sigtimedwait(monitor.WAKING, _POLL_SECONDS)
        ended = monitor.reap(pid)
        if ended is not None:
            status = os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else -os.WTERMSIG(ended)
            launch.write_report(report, "status", str(status))
            os._exit(0)
        excess = monitor.past(_settings.limits, pids)
        if excess:
            launch.write_report(report, "killed", excess)
            os._exit(0)


def _become(argv: list[str], cwd: str, env: dict[str, str], output: int) -> None:
    try:
        os.setsid()
        linux_isolation.silence()
        os.dup2(output, 1, inheritable=True)
        os.dup2(output, 2, inheritable=True)
        linux_isolation.close_all_but(0, 1, 2)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, monitor.WAKING)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; a command expects them
            signal.signal(number, signal.SIG_DFL)
        os.chdir(cwd)
        linux_isolation.no_new_privileges()
        if _settings.kind == "nested":
            linux_isolation.drop_capabilities()
        linux_isolation.limit("RLIMIT_CORE", 0)
        linux_isolation.limit("RLIMIT_NOFILE", launch.OPEN_FILES)
        linux_isolation.limit("RLIMIT_FSIZE", _settings.limits.disk_mb * linux_isolation.MIB)
        if _settings.kind in ("nested", "first"):
            linux_isolation.limit_processes(_settings.limits.pids)
        seccomp.refuse(isolated=_settings.kind != "plain")
        linux_isolation.dumpable(True)
        linux_isolation.first_to_go()
        os.execvpe(argv[0], argv, env)
    except OSError as exc:
        os.write(2, f"{argv[0]}: {exc.strerror}\n".encode("utf-8", "replace"))
        os._exit(127 if isinstance(exc, FileNotFoundError) else 126)
    except BaseException as exc:  # noqa: BLE001
        os.write(2, f"{argv[0]}: {exc}\n".encode("utf-8", "replace"))
        os._exit(126)


class _Output:
    """The first and the last part of an output."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        head_left = self._half - len(self._head)
        self._head += data[:head_left]
        self._tail += data[head_left:] if head_left > 0 else data
        past = len(self._tail) - self._half
        if past > self._half:  # in steps, so that each byte is moved a bounded number of times
            self._drop(past)

    def _drop(self, past: int) -> None:
        del self._tail[:past]
        self._cut += past

    def note(self, text: str) -> None:
        if self._head and not (self._tail or self._head).endswith(b"\n"):
            text = "\n" + text
        self.add(text.encode())

    def bytes(self) -> bytes:
        past = len(self._tail) - self._half
        if past > 0:
            self._drop(past)
        cut = f"\n[... {self._cut} bytes cut ...]\n".encode() if self._cut else b""
        return bytes(self._head + cut + self._tail)
