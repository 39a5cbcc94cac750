"""The first process of a container: imports what the program needs, forks the program and monitors it.

Runs in the container's process 1. `bootstrap.py` calls `run`. Must end when the host closes the connection, and must
not let the program write to standard error, which carries its status reports.

Standard input and output are the wire. Standard error is the report, lines of JSON that only this process can write:
`{"ready": true}` or `{"fault": …, "module": …}`, `{"waited": …}` when the host sends a signal, and in the end `{"how": …}`. One byte on the wire starts the
program. When the host closes the wire, the container ends.

A persistent program runs in this very process, which no signal from inside the container can reach.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from . import control_group, fork_server, launch, linux_isolation, monitor

# "oom_kill 1" in either: kernel interface files, cgroup version 2 and 1
_EVENTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_USED = ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage")


def run(setup: dict[str, Any], install: fork_server.Install) -> None:
    reader, writer, report = (os.dup(fd) for fd in (0, 1, 2))
    linux_isolation.silence()
    linux_isolation.dumpable(False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process ignores signals without a handler
    for path in (setup["work"], "/tmp/home"):
        os.makedirs(path, exist_ok=True)  # an image's working directory is mounted before
    os.chdir(setup["work"])
    try:
        main = fork_server.warm(setup, install)
    except fork_server.Unimportable as exc:
        _report(report, {"fault": str(exc), "module": exc.module})
        return
    fork_server.prepare(setup)
    fork_server.serve_within(
        sys.modules[setup["program"]["entry"]], lambda: _serve(setup, main, reader, writer, report)
    )


def _serve(setup: dict[str, Any], main: launch.Main, reader: int, writer: int, report: int) -> None:
    fork_server.settle()
    limits = monitor.LaunchLimits(**setup["limits"])
    _report(report, {"ready": True})
    if not os.read(reader, 1):
        return
    if limits.persistent:
        how = _run_here(main, reader, writer, limits)
    else:
        try:
            how = _run_below(main, reader, writer, report, limits)
        except Exception as exc:  # noqa: BLE001 - without a report, what the program did would pass for a lost container
            how = f"could not be monitored: {type(exc).__name__}: {exc}"
    _report(report, {"how": how})
    os._exit(0)


def _run_below(main: launch.Main, reader: int, writer: int, report: int, limits: monitor.LaunchLimits) -> str:
    counted = _counting_kills()
    before = counted.killed()
    signal.pthread_sigmask(signal.SIG_BLOCK, monitor.WAKING)
    base = linux_isolation.address_space()
    pid = os.fork()
    if pid == 0:
        launch.run_payload(
            main, reader, writer, report, limits, base, jail_kind="container", report_start=_report_fault
        )
    how = monitor.watch(
        pid,
        limits,
        linux_isolation.pids_here,
        gone=_ended_check(reader, writer),
        group=_own_group(),
        answer=lambda waited: _report(report, {"waited": json.loads(waited)}),
    )
    if how == linux_isolation.ending(signal.SIGKILL) and counted.killed_since(before):
        return f"out of memory ({limits.memory_mb} MiB)"
    return how


def _ended_check(reader: int, writer: int) -> Callable[[], bool]:
    """A function that returns whether the host has ended, or the program has closed its output everywhere. Closes `writer`.

    An ending program closes its files a moment before it can be reaped, so the output must be closed at two checks.
    """
    output = os.open(f"/proc/self/fd/{writer}", os.O_RDONLY | os.O_NONBLOCK)
    os.close(writer)
    closed = 0

    def gone() -> bool:
        nonlocal closed
        closed += linux_isolation.hung_up(output)
        return closed > 1 or linux_isolation.hung_up(reader)

    return gone


def _run_here(main: launch.Main, reader: int, writer: int, limits: monitor.LaunchLimits) -> str:
    reader, writer = launch.wire_on_3_and_4(reader, writer)
    launch.shield("container", limits, _counting_kills())
    return f"exited with status {launch.call(main, reader, writer)}"


def _counting_kills() -> control_group.JoinedGroup:
    """The group of the container, in which the kernel counts what it kills."""
    for path in _EVENTS:
        try:
            return control_group.JoinedGroup((), kills=os.open(path, os.O_RDONLY))
        except OSError:
            continue
    return control_group.NONE


def _own_group() -> control_group.JoinedGroup:
    """The group of the container, by which the CPU time of its programs is known."""
    for path in _USED:
        try:
            return control_group.JoinedGroup((), cpu=os.open(path, os.O_RDONLY), with_monitor=True)
        except OSError:
            continue
    return control_group.NONE


def _report_fault(report: int, key: str, rest: str) -> None:
    """Report a fault of the program's process, before it runs the program."""
    if key == "fault":
        _report(report, {"how": f"could not be started: {rest}"})


def _report(report: int, message: dict[str, Any]) -> None:
    os.write(report, json.dumps(message).encode() + b"\n")
