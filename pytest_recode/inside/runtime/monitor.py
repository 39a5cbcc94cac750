"""Monitors the processes of one launch: how its payload ends, which limit they exceed together, how long they had to wait.

Runs in the cell of a launch or its keeper, in the first process of a container, and for the limits of a command in `command_runner.py`.
Called by `launch.py`, `fork_server.py` and `container_init.py`. Must not let what it monitors choose what it reports.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import control_group, disk_use, linux_isolation, memory_use, socket_memory, starvation, unprivileged

POLL_SECONDS = 0.05
INODES_PER_MIB = 256
_BY_KILL = 0  # SI_USER
ON_FULL_DISK = " when the disk of its files was full"
"""How a program ended that has its files on a disk of this machine, after the way it ended."""
_FULL = 64 << 10  # bytes: with less, a write of almost any size fails
ASKED = signal.SIGUSR1
WAKING = [signal.SIGCHLD, signal.SIGTERM, ASKED]  # a child has ended; check whether to end; say how long it had to wait


class LaunchLimits(NamedTuple):
    """What one launch may use: MiB, and a number of processes. `persistent` as in `Program`."""

    memory_mb: int
    disk_mb: int
    pids: int
    persistent: bool
    directory: str = ""  # without namespaces: the working directory, which is removed afterwards
    visible: Sequence[str] = ()  # paths below /tmp that stay visible above the new tmpfs
    counts: Sequence[str] = ()  # what the first files of the control group count: "kills", "cpu"
    users: Sequence[Any] = ()  # without namespaces, if root runs pytest: `unprivileged.of_this_process`


def watch(
    pid: int,
    limits: LaunchLimits,
    pids: Callable[[], list[int]],
    *,
    gone: Callable[[], bool] | None = None,
    user: unprivileged.User | None = None,
    group: control_group.JoinedGroup = control_group.NONE,
    answer: Callable[[str], None],
) -> str:
    """Wait for the payload to end and reap all children. Returns how it ended, "" if `gone` became true first.

    `WAKING` must be blocked. When the host or the warm parent sends `ASKED`, `answer` gets the samples of `starvation.py`, as JSON
    in one line. `pids` lists the processes that count as the payload's, of `user` if that is not this process's;
    above the limits together, they end. So they do if the kernel kills one of them for memory. A persistent program is trusted, and stays:
    `command_runner` limits each of its commands, and the kernel kills a command first.
    """
    first = None if limits.directory else pid
    history = starvation.SampleHistory(lambda: starvation.measure(pids, first, group.cpu_seconds))
    while True:
        woken = signal.sigtimedwait(WAKING, POLL_SECONDS)
        if woken is not None and _is_question(woken):
            answer(json.dumps([[round(value, 3) for value in sample] for sample in history.samples()]))
        status = reap(pid)
        if not limits.persistent and group.killed():
            return f"out of memory ({limits.memory_mb} MiB)"
        if status is not None:
            return linux_isolation.ending(status) + (ON_FULL_DISK if status and _disk_is_full(limits.directory) else "")
        if gone is not None and gone():
            return ""
        if not limits.persistent:
            history.look()
            with unprivileged.seeing_as(user):
                excess = past(limits, pids)
            if (
                user is not None
                and disk_use.used(limits.directory, pids(), user) > limits.disk_mb * linux_isolation.MIB
            ):
                excess = excess or f"too much disk ({limits.disk_mb} MiB)"
            if excess:
                return excess


def _is_question(woken: signal.struct_siginfo) -> bool:
    """Whether the host or the warm parent sent this signal. `rt_sigqueueinfo` can claim any sender, but not the code of `kill`."""
    if woken.si_signo != ASKED or woken.si_code != _BY_KILL:
        return False
    return woken.si_pid in (0, os.getppid())  # 0: from outside the namespace


def past(limits: LaunchLimits, pids: Callable[[], list[int]]) -> str:
    """Describe the limit that these processes together exceed, or ""."""
    if len(pids()) > limits.pids:
        return f"too many processes ({limits.pids})"
    if not limits.directory and files_past(limits):
        return f"too many files ({most_files(limits)})"
    unread = (
        0 if limits.directory else socket_memory.unread()
    )  # without namespaces the sockets would be the whole machine's
    if memory_use.past(pids, limits.memory_mb * linux_isolation.MIB - unread):
        return f"out of memory ({limits.memory_mb} MiB)"
    return ""


def most_files(limits: LaunchLimits) -> int:
    """The number of files and directories of a launch: each takes a kilobyte of kernel memory."""
    return limits.disk_mb * INODES_PER_MIB + 1024


def files_past(limits: LaunchLimits) -> bool:
    """Whether there are too many files, where a tmpfs cannot be mounted with a limit (bwrap's own)."""
    for path in ("/tmp", "/dev/shm"):
        try:
            usage = os.statvfs(path)
        except OSError:
            continue
        if usage.f_files - usage.f_ffree > most_files(limits):
            return True
    return False


def _disk_is_full(directory: str) -> bool:
    """Whether the disk of a launch without namespaces has no room. A tmpfs of its own is limited by the task: then False."""
    try:
        disk = os.statvfs(directory)
    except OSError:  # also where there is no such directory
        return False
    return disk.f_bavail * disk.f_frsize < _FULL or disk.f_files > 0 == disk.f_favail


def reap(pid: int) -> int | None:
    """Reap all children that have ended. Returns the status of `pid` if it is one of them."""
    result = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return result
        if ended == 0:
            return result
        if ended == pid:
            result = status
