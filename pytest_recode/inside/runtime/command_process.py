"""The processes of a command: isolated, limited and monitored.

Runs in forks of the process of a persistent program, which `command_runner.py` makes. Must not return into the program's code, and must not pass
descriptors of the program to a command.

A command can neither signal nor trace the program. The means differ by sandbox: a pid namespace for each command
("nested"), the signal immunity of a namespace's first process ("first", "container"), or, without isolation, only a
sweep of descendants afterwards ("plain").

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NamedTuple, Optional

from . import control_group, launch, linux_isolation, monitor, seccomp

_POLL_SECONDS = 0.02
FIRST = ("first", "container")


class CommandSettings(NamedTuple):
    kind: str
    limits: monitor.LaunchLimits
    group: control_group.JoinedGroup


settings = CommandSettings("plain", monitor.LaunchLimits(2048, 512, 128, True), control_group.NONE)


class _Command(NamedTuple):
    """`output`, `report`: descriptors to which the command, and what is told of it, are written. `entered`: as in `fork`."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    output: int
    report: int
    entered: Optional[int]

    def descriptors(self) -> list[int]:
        return [fd for fd in (self.output, self.report, self.entered) if fd is not None]


def fork(argv: list[str], cwd: str, env: dict[str, str], entered: Optional[int] = None) -> tuple[int, int]:
    """Start a command. Returns the descriptors of its output, and of lines about it: `status N`, `killed LIMIT` or `fault …`.

    `entered`: the descriptor of its standard input, which is empty without one. Raises `OSError` where no process can be started.
    """
    output, writer = os.pipe()
    opened = [output, writer]
    try:
        report, reporter = os.pipe()
        opened += [report, reporter]
        if os.fork() == 0:
            _start(_Command(argv, cwd, env, writer, reporter, entered))
    except OSError:  # a command has used up the processes or the open files
        for descriptor in opened:
            os.close(descriptor)
        raise
    os.close(writer)
    os.close(reporter)
    return output, report


def _start(command: _Command) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        linux_isolation.close_all_but(*command.descriptors())
        if settings.kind == "nested":
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
            _monitor(command, linux_isolation.pids_here)
        elif settings.kind in FIRST:
            _monitor(command, linux_isolation.pids_here)
        else:
            linux_isolation.adopt_orphans()
            me = os.getpid()
            _monitor(command, lambda: linux_isolation.descendants(me))
    except BaseException as exc:  # noqa: BLE001 - forked: nothing may return into the program's code
        launch.write_report(command.report, "fault", f"{type(exc).__name__}: {exc}")
        os._exit(1)


def _monitor(command: _Command, pids: Callable[[], list[int]]) -> None:
    """Start the command, wait for it and report its status. Ends this process, and with it its pid namespace."""
    signal.pthread_sigmask(signal.SIG_BLOCK, monitor.WAKING)
    pid = os.fork()
    if pid == 0:
        _become(command)
    linux_isolation.close_all_but(command.report)
    while True:
        signal.sigtimedwait(monitor.WAKING, _POLL_SECONDS)
        ended = monitor.reap(pid)
        if ended is not None:
            status = os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else -os.WTERMSIG(ended)
            launch.write_report(command.report, "status", str(status))
            os._exit(0)
        excess = monitor.past(settings.limits, pids)
        if excess:
            launch.write_report(command.report, "killed", excess)
            os._exit(0)


def _become(command: _Command) -> None:
    argv = command.argv
    try:
        os.setsid()
        linux_isolation.silence()
        if command.entered is not None:
            os.dup2(command.entered, 0, inheritable=True)
        os.dup2(command.output, 1, inheritable=True)
        os.dup2(command.output, 2, inheritable=True)
        linux_isolation.close_all_but(0, 1, 2)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, monitor.WAKING)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; a command expects them
            signal.signal(number, signal.SIG_DFL)
        os.chdir(command.cwd)
        linux_isolation.no_new_privileges()
        if settings.kind == "nested":
            linux_isolation.drop_capabilities()
        linux_isolation.limit("RLIMIT_CORE", 0)
        linux_isolation.limit("RLIMIT_NOFILE", launch.OPEN_FILES)
        linux_isolation.limit("RLIMIT_FSIZE", settings.limits.disk_mb * linux_isolation.MIB)
        if settings.kind in ("nested", "first"):
            linux_isolation.limit_processes(settings.limits.pids)
        seccomp.refuse(isolated=settings.kind != "plain")
        linux_isolation.dumpable(True)
        linux_isolation.first_to_go()
        os.execvpe(argv[0], argv, command.env)
    except OSError as exc:
        os.write(2, f"{argv[0]}: {exc.strerror}\n".encode("utf-8", "replace"))
        os._exit(127 if isinstance(exc, FileNotFoundError) else 126)
    except BaseException as exc:  # noqa: BLE001
        os.write(2, f"{argv[0]}: {exc}\n".encode("utf-8", "replace"))
        os._exit(126)
