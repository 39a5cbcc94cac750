"""Linux isolation through libc: namespaces, mounts, capabilities, resource limits, and the processes in /proc.

Runs in every process of `runtime`, from the warm parent to the payload; the host reads a constant of it. Called by
all modules of this package. Must not depend on any other module of `inside/`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
import select
import signal
import struct
from collections.abc import Iterable

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 8, 32, 4096, 16384
_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS, _SUBREAPER = 1, 4, 38, 36
_SECUREBITS, _NO_SETUID_FIXUP, _AMBIENT, _AMBIENT_RAISE = 28, 4, 47, 2

PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode())
    _check(result, f"mount {kind or 'bind'} on {target}")


_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""The devices that bwrap binds below /dev."""


def make_devices_read_only() -> None:
    """Remount the devices read-only in this mount namespace.

    They can still be written, but their times cannot be set. The inodes are the host's, and one launch could otherwise
    leave a message in their times for another.
    """
    for name in _DEVICES:
        if os.path.exists(path := f"/dev/{name}"):
            flags = os.statvfs(path).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)  # the same bits in both
            mount("", path, "", MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def dumpable(value: bool) -> None:
    """False protects a process from others of its user: no tracing, no access to /proc/PID/mem, fd and environ."""
    _check(_libc.prctl(_DUMPABLE, int(value), 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def die_with_parent() -> None:
    """End this process when its parent ends. A change of user or capabilities clears this, so call it afterwards."""
    _check(_libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def adopt_orphans() -> None:
    _check(_libc.prctl(_SUBREAPER, 1, 0, 0, 0), "prctl(PR_SET_CHILD_SUBREAPER)")


def no_new_privileges() -> None:
    _check(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def set_filter(program: int) -> None:
    """Install a system call filter, by the address of its `sock_fprog` (`seccomp.py`)."""
    _check(_libc.prctl(22, 2, program, 0, 0), "prctl(PR_SET_SECCOMP)")


_CAPABILITIES = struct.pack("=Ii", 0x20080522, 0)  # of the third version, of this process


def drop_capabilities() -> None:
    _check(_libc.capset(_CAPABILITIES, bytes(24)), "capset")


def keep_capabilities(keep: bool) -> None:
    """Whether the capabilities stay when root becomes another user, and whether access(2), which `shutil.which` calls, counts them."""
    _check(_libc.prctl(_SECUREBITS, _NO_SETUID_FIXUP if keep else 0, 0, 0, 0), "prctl(PR_SET_SECUREBITS)")


def capabilities() -> list[list[int]]:
    """The numbers of this process's effective, permitted and inheritable capabilities."""
    data = ctypes.create_string_buffer(24)
    _check(_libc.capget(_CAPABILITIES, data), "capget")
    words = struct.unpack("=6I", data.raw)
    return [[n for n in range(64) if words[3 * (n // 32) + kind] >> n % 32 & 1] for kind in range(3)]


def set_capabilities(effective: list[int], permitted: list[int], inheritable: list[int]) -> None:
    """Set the capabilities of this process. Programs that an ordinary user starts keep the inheritable ones."""
    words = [0] * 6
    for kind, numbers in enumerate((effective, permitted, inheritable)):
        for number in numbers:
            words[3 * (number // 32) + kind] |= 1 << number % 32
    _check(_libc.capset(_CAPABILITIES, struct.pack("=6I", *words)), "capset")
    for number in set(permitted) & set(inheritable):
        _check(_libc.prctl(_AMBIENT, _AMBIENT_RAISE, number, 0, 0), "prctl(PR_CAP_AMBIENT)")


def new_user_namespace(flags: int, uid: int, gid: int) -> None:
    """Enter a new user namespace, and the other namespaces in `flags`, as `uid`:`gid` with all capabilities inside.

    The capabilities have no effect outside. The calling process must have one thread.
    """
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    unshare(NEWUSER | flags)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {outer_uid} 1"),
        ("gid_map", f"{gid} {outer_gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def forbid_user_namespaces(allowed: int = 0) -> None:
    """Limit the number of user namespaces in this one. Needs its owner's capabilities, and a /proc of its own."""
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write(str(allowed))


def first_to_go() -> None:
    """Make the kernel end this process first when memory runs out. The process must be dumpable.

    Only if root of the machine calls this, the process cannot take it back.
    """
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:  # no /proc that can be written; the limits hold without it
        return


def loopback_up() -> None:
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def small_queues() -> None:
    """Limit unread data in the sockets of this network namespace. Needs its owner's capabilities."""
    for name, value in (
        ("core/somaxconn", "128"),
        ("ipv4/tcp_rmem", "4096 131072 262144"),
        ("ipv4/tcp_wmem", "4096 16384 262144"),
    ):
        try:
            with open(f"/proc/sys/net/{name}", "w") as file:
                file.write(value)
        except OSError:
            continue  # this kernel lacks the setting, or has it once for all namespaces


def limit(name: str, value: int) -> None:
    """Lower a resource limit permanently. A limit that is already lower stays."""
    number = getattr(resource, name)
    hard = resource.getrlimit(number)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(number, (value, value))


def limit_processes(value: int) -> None:
    """Limit the number of processes, where the kernel counts them by user namespace (5.14 and newer). An older one would
    count all processes of the user."""
    version = [int(part) for part in re.findall(r"\d+", platform.release())[:2]]
    if version >= [5, 14]:
        limit("RLIMIT_NPROC", value)


def close_all_but(*keep: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor that listed the directory


def silence() -> None:
    """Put /dev/null on the three standard streams."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
        os.set_inheritable(fd, True)  # `dup2` onto itself changes nothing
    if null > 2:
        os.close(null)


FROM_OUTSIDE = "killed from outside"
"""How a process ended that nothing inside the sandbox can have killed."""


def ending(status: int) -> str:
    """Describe a wait status."""
    if os.WIFSIGNALED(status):
        return f"killed by signal {os.WTERMSIG(status)}"
    return f"exited with status {os.WEXITSTATUS(status)}"


def hung_up(fd: int) -> bool:
    """Whether the other end of this pipe or socket has been closed. Reads nothing."""
    poll = select.poll()
    poll.register(fd, 0)
    return bool(poll.poll(0))


# Memory


def address_space() -> int:
    """The number of bytes that this process has mapped."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * PAGE


# Processes


def pids_here() -> list[int]:
    """Every process in this pid namespace except its first."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def descendants(pid: int) -> list[int]:
    """Every process below `pid`, parents first."""
    pids: list[int] = []
    queue = [pid]
    while queue:
        for child in children(queue.pop()):
            pids.append(child)
            queue.append(child)
    return pids


def children(pid: int) -> list[int]:
    pids: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                pids += [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            return _children_by_search(pid)
    return pids


def _children_by_search(pid: int) -> list[int]:
    """The children of a process, where the kernel has no `children` file."""
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # with the process's name, which may be any bytes
                    fields = file.read().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid:
                pids.append(int(name))
    return pids


def send_signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):  # it has ended, or has changed its user
            continue


def end_descendants() -> None:
    """Kill and reap everything below this process, which must have called `adopt_orphans`.

    They are stopped first, because a stopped process starts no others.
    """
    import time

    while True:
        below = descendants(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            send_signal(below, number)
        if reap_all():
            return
        time.sleep(0.001)


def reap_all() -> bool:
    """Reap the children that have ended. Returns True when no child is left."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return False
        except ChildProcessError:
            return True
