"""Isolates, starts and ends one launch: a process that was forked from a warm parent.

Runs in the forked processes of a launch, the cell and the payload; in a container, in process 1 and the payload.
Called by `fork_loop.py`, `fork_server.py`, `container_init.py` and `command_runner.py`. Must not return from a fork
into the code of the warm parent.

    zygote ── cell (the first process of its own pid namespace, or a keeper) ── payload (runs the program)

The cell has one descriptor, the report: lines `pid N`, `up`, `waited SAMPLES` when it is asked, then `how …` or `fault …`. When it
ends, everything that the payload started ends too. The payload has the wire and no other descriptor.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from . import control_group, counters, linux_isolation, monitor, removal, seccomp, unprivileged

Main = Callable[[Any, Any], Any]

UID = 1000  # inside a user namespace of its own
WORK = "/tmp/work"
OPEN_FILES = 256


def write_report(report: int, key: str, rest: str) -> None:
    """Write a line of the report."""
    os.write(report, f"{key} {rest}".strip().encode("utf-8", "replace") + b"\n")


# With namespaces


def start_namespaced(
    main: Main, wire: int, report: int, limits: monitor.LaunchLimits, group: control_group.JoinedGroup
) -> None:
    """In a fork of the warm parent: enter namespaces, start the cell, end this process."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()  # kill(0) reaches a process group across pid namespaces
        linux_isolation.dumpable(True)  # so that /proc/self/uid_map can be written
        flags = (
            linux_isolation.NEWPID
            | linux_isolation.NEWNS
            | linux_isolation.NEWIPC
            | linux_isolation.NEWNET
            | linux_isolation.NEWUTS
        )
        linux_isolation.new_user_namespace(flags, UID, UID)
        pid = os.fork()
        if pid == 0:
            _first(main, wire, report, limits, group)
        write_report(report, "pid", str(pid))
        os._exit(0)
    except BaseException as exc:  # noqa: BLE001 - forked: nothing may return into the warm parent's code
        _fail(report, exc)


def _first(main: Main, wire: int, report: int, limits: monitor.LaunchLimits, group: control_group.JoinedGroup) -> None:
    """The cell, first process of the pid namespace: mounts, starts the payload and monitors it."""
    try:
        linux_isolation.close_all_but(0, 1, 2, wire, report, *group.files())
        _mounts(limits)
        linux_isolation.loopback_up()
        linux_isolation.small_queues()
        # A persistent program isolates each command by one more level
        linux_isolation.forbid_user_namespaces(16 if limits.persistent else 0)
        linux_isolation.dumpable(False)
        signal.pthread_sigmask(signal.SIG_BLOCK, monitor.WAKING)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            group.join()
            if not limits.persistent:
                linux_isolation.dumpable(True)
                linux_isolation.first_to_go()  # while /proc can be written
                counters.hide()
            linux_isolation.drop_capabilities()
            base = linux_isolation.address_space()
            run_payload(main, wire, wire, report, limits, base, jail_kind="nested", group=group)
        linux_isolation.close_all_but(report, *group.files())
        how = monitor.watch(
            pid,
            limits,
            linux_isolation.pids_here,
            group=group,
            answer=lambda waited: write_report(report, "waited", waited),
        )
        write_report(report, "how", how)
        os._exit(0)
    except BaseException as exc:  # noqa: BLE001
        _fail(report, exc)


def _mounts(limits: monitor.LaunchLimits) -> None:
    """Mount a new /proc and /dev/pts, and one new tmpfs for every directory that can be written."""
    quiet = linux_isolation.MS_NOSUID | linux_isolation.MS_NODEV
    linux_isolation.mount("devpts", "/dev/pts", "devpts", quiet, "newinstance,ptmxmode=0666,mode=620")
    linux_isolation.make_devices_read_only()
    fresh_tmp(limits)
    linux_isolation.mount("proc", "/proc", "proc", quiet | linux_isolation.MS_NOEXEC)


def fresh_tmp(limits: monitor.LaunchLimits) -> None:
    """Mount an empty /tmp in this mount namespace and change to a working directory in it."""
    quiet = linux_isolation.MS_NOSUID | linux_isolation.MS_NODEV
    mounts = [(path, os.open(path, os.O_PATH), os.path.isdir(path)) for path in limits.visible]
    size = f"size={limits.disk_mb}m,nr_inodes={monitor.most_files(limits)},mode=1777"
    linux_isolation.mount("tmpfs", "/tmp", "tmpfs", quiet, size)
    for name in ("work", "home", ".shm"):
        os.mkdir(f"/tmp/{name}")
    linux_isolation.mount("/tmp/.shm", "/dev/shm", "", linux_isolation.MS_BIND)
    for path, fd, directory in mounts:
        os.makedirs(path if directory else os.path.dirname(path), exist_ok=True)
        if not directory:
            os.close(os.open(path, os.O_CREAT))
        linux_isolation.mount(
            f"/proc/self/fd/{fd}", path, "", linux_isolation.MS_BIND | linux_isolation.MS_REC
        )  # including mounts on parts of it
        os.close(fd)
    os.chdir(WORK)


# Without namespaces


def start_plain(
    main: Main, wire: int, report: int, watched: int, limits: monitor.LaunchLimits, group: control_group.JoinedGroup
) -> None:
    """In a fork of the warm parent, the keeper of this launch: start the payload, and end everything that it left.

    `watched`: a pipe; when its other end is closed, the launch ends.
    """
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        linux_isolation.adopt_orphans()
        linux_isolation.close_all_but(0, 1, 2, wire, report, watched, *group.files())
        user = unprivileged.of_this_process(limits.users)
        own_directory(limits, user)
        write_report(report, "pid", str(os.getpid()))
        signal.pthread_sigmask(signal.SIG_BLOCK, monitor.WAKING)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            group.join()
            if not limits.persistent:  # before it is another user, who could take it back
                linux_isolation.dumpable(True)
                linux_isolation.first_to_go()
            unprivileged.become(user)
            run_payload(
                main, wire, wire, report, limits, linux_isolation.address_space(), jail_kind="plain", group=group
            )
        linux_isolation.close_all_but(report, watched, *group.files())
        me = os.getpid()
        gone = lambda: linux_isolation.hung_up(watched)  # noqa: E731
        how = monitor.watch(
            pid,
            limits,
            lambda: linux_isolation.descendants(me),
            gone=gone,
            user=user,
            group=group,
            answer=lambda waited: write_report(report, "waited", waited),
        )
        linux_isolation.end_descendants()
        write_report(report, "how", how)  # before the removal, which may take longer than a keeper may
        os.chdir("/")
        removal.remove(limits.directory)
        os._exit(0)
    except BaseException as exc:  # noqa: BLE001
        _fail(report, exc)


def own_directory(limits: monitor.LaunchLimits, user: unprivileged.User | None) -> None:
    """Create the directories of a launch without namespaces, for `user`, and change to the working directory and to that for temporary files."""
    for name in ("work", "tmp", "tmp/home", ""):
        path = f"{limits.directory}/{name}"
        os.makedirs(path, exist_ok=True)
        if user is not None:
            os.chown(path, user.uid, user.uid)
    os.chdir(f"{limits.directory}/work")
    os.environ.update(HOME=f"{limits.directory}/tmp/home", TMPDIR=f"{limits.directory}/tmp")
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]  # it remembers the warm parent's


# Both


def run_payload(
    main: Main,
    reader: int,
    writer: int,
    report: int,
    limits: monitor.LaunchLimits,
    base: int,
    *,
    jail_kind: str,
    group: control_group.JoinedGroup = control_group.NONE,
    report_start: Callable[[int, str, str], None] = write_report,
) -> None:
    """Become the program: the wire on descriptors 3 and 4, no other descriptor, every limit set. Does not return.

    `base`: bytes that were mapped before, which do not count for the program.
    """
    report = above(report)
    group = group.counting_kills(above) if limits.persistent else control_group.NONE  # only for trusted programs
    try:
        wire_on_3_and_4(reader, writer, report, *group.files())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, monitor.WAKING)
        linux_isolation.no_new_privileges()
        linux_isolation.limit("RLIMIT_CORE", 0)
        linux_isolation.limit("RLIMIT_NOFILE", OPEN_FILES)
        linux_isolation.limit("RLIMIT_FSIZE", limits.disk_mb * linux_isolation.MIB)
        if limits.persistent:
            shield(jail_kind, limits, group)
        else:
            linux_isolation.dumpable(True)
            linux_isolation.first_to_go()
            if jail_kind in ("nested", "first"):  # elsewhere the user has other processes
                linux_isolation.limit_processes(limits.pids)
            seccomp.refuse(isolated=jail_kind != "plain")
            linux_isolation.limit("RLIMIT_AS", base + limits.memory_mb * linux_isolation.MIB)
        report_start(report, "up", "")
    except BaseException as exc:  # noqa: BLE001 - forked: nothing may return into the warm parent's code
        report_start(report, "fault", f"{type(exc).__name__}: {exc}")
        os._exit(1)
    status = 1
    try:
        os.close(report)
        status = call(main, 3, 4)
    except BaseException:  # noqa: BLE001 - this process is the program's and ends with it
        traceback.print_exc()
    finally:
        os._exit(status)


def wire_on_3_and_4(reader: int, writer: int, *keep: int) -> tuple[int, int]:
    """Put the wire on descriptors 3 and 4 and /dev/null on the standard streams, and close all others except `keep`."""
    ends = above(reader), above(writer)
    linux_isolation.silence()
    linux_isolation.close_all_but(0, 1, 2, *ends, *keep)
    os.dup2(ends[0], 3, inheritable=False)
    os.dup2(ends[1], 4, inheritable=False)
    linux_isolation.close_all_but(0, 1, 2, 3, 4, *keep)
    return 3, 4


def above(fd: int) -> int:
    """A copy of a descriptor, with a number above 4."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 5)


def shield(jail_kind: str, limits: monitor.LaunchLimits, group: control_group.JoinedGroup) -> None:
    """Protect a persistent program from the commands that it starts by `command_runner.run`. `group`: in which the kernel counts what it kills."""
    runner: Any = sys.modules[f"{__package__}.command_runner"]
    linux_isolation.dumpable(False)
    runner.configure(jail_kind, limits, group)


def call(main: Main, reader: int, writer: int) -> int:
    """Run the program and return its exit status."""
    try:
        main(open(reader, "rb", buffering=0), open(writer, "wb", buffering=0))
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    return 0


def _fail(report: int, exc: BaseException) -> None:
    try:
        write_report(report, "fault", f"{type(exc).__name__}: {exc}")
    finally:
        os._exit(1)
