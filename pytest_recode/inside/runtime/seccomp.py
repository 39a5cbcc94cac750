"""System call filter that refuses calls which evade a limit or widen the kernel's attack surface.

Runs in the process of a program or command, just before code that is not trusted. Called by `launch.py` and
`command_runner.py`. Must not be applied to a warm parent, which still needs those calls.

Refused calls fail with ENOSYS, as on an older kernel. Sockets are limited to AF_UNIX, and TCP and UDP over AF_INET
and AF_INET6, which is all that pipes between processes and loopback connections need.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ctypes
import platform
import struct

from . import linux_isolation

_ARCHES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "memfd_create": 319,  # memory that is not counted for any process
            "shmget": 29,
            "msgget": 68,  # queued messages are not counted for any process
            "semget": 64,
            "mq_open": 240,
            "userfaultfd": 323,
            "perf_event_open": 298,
            "bpf": 321,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "clone3": 435,  # a filter cannot read its flags; callers fall back to clone
            "prlimit64": 302,
            "socket": 41,
            "socketpair": 53,
            "setsockopt": 54,
            "clone": 56,
            "unshare": 272,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "memfd_create": 279,
            "shmget": 194,
            "msgget": 186,
            "semget": 190,
            "mq_open": 180,
            "userfaultfd": 282,
            "perf_event_open": 241,
            "bpf": 280,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "clone3": 435,
            "prlimit64": 261,
            "socket": 198,
            "socketpair": 199,
            "setsockopt": 208,
            "clone": 220,
            "unshare": 97,
        },
    ),
}
_EVERYWHERE = {"memfd_secret": 447, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
_ALLOW, _ENOSYS, _EPERM, _DONE = 0x7FFF0000, 0x50000 | 38, 0x50000 | 1, 0x50000
_NO_FAMILY, _NO_PROTOCOL = 0x50000 | 97, 0x50000 | 93
_UNIX, _INET, _INET6 = 1, 2, 10
_STREAM, _DATAGRAM, _TYPE = 1, 2, 0xF  # the flags beside the type are above
_TCP, _UDP = 6, 17
_SOL_SOCKET, _BUFFERS = (
    1,
    (7, 8, 32, 33),
)  # SO_SNDBUF, SO_RCVBUF and the forced versions: buffered data is not counted for any process


def refuse() -> bool:
    """Refuse the calls above, other socket families, new user namespaces, larger socket buffers, and changing another
    process's limits.

    Needs `no_new_privileges` first. Applies to everything that this process starts. Returns False on an unknown machine.
    """
    known = _ARCHES.get(platform.machine())
    if known is None:
        return False
    arch, numbers = known
    refused = {**numbers, **_EVERYWHERE}
    special = ("prlimit64", "clone", "unshare", "setsockopt", "socket", "socketpair")
    prlimit, clone, unshare_, setsockopt, socket, socketpair = (refused.pop(name) for name in special)
    load, equal, at_least, has, mask, answer = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
    program = [
        (load, 0, 0, 4),  # architecture
        (equal, 1, 0, arch),
        (answer, 0, 0, _ENOSYS),
        (load, 0, 0, 0),  # number
        (at_least, 0, 1, 0x40000000),  # the x32 numbering
        (answer, 0, 0, _ENOSYS),
    ]
    for number in refused.values():
        program += [(equal, 0, 1, number), (answer, 0, 0, _ENOSYS)]
    program += [
        (equal, 0, 16, socket),
        (load, 0, 0, 16),  # family
        (equal, 13, 0, _UNIX),
        (equal, 2, 0, _INET),
        (equal, 1, 0, _INET6),
        (answer, 0, 0, _NO_FAMILY),
        (load, 0, 0, 24),  # type
        (mask, 0, 0, _TYPE),
        (equal, 2, 0, _STREAM),
        (equal, 1, 0, _DATAGRAM),
        (answer, 0, 0, _NO_PROTOCOL),
        (load, 0, 0, 32),  # protocol: unread data of others is not counted
        (equal, 3, 0, 0),
        (equal, 2, 0, _TCP),
        (equal, 1, 0, _UDP),
        (answer, 0, 0, _NO_PROTOCOL),
        (answer, 0, 0, _ALLOW),
        (equal, 0, 4, socketpair),
        (load, 0, 0, 16),
        (equal, 1, 0, _UNIX),
        (answer, 0, 0, _NO_FAMILY),
        (answer, 0, 0, _ALLOW),
        (equal, 0, 3 + 2 * len(_BUFFERS), setsockopt),
        (load, 0, 0, 24),  # level
        (equal, 0, 1 + 2 * len(_BUFFERS), _SOL_SOCKET),
        (load, 0, 0, 32),  # option; to set it changes nothing, as where the kernel's own limit is reached
    ]
    for option in _BUFFERS:
        program += [(equal, 0, 1, option), (answer, 0, 0, _DONE)]
    program += [
        (load, 0, 0, 0),
        (equal, 2, 0, prlimit),
        (equal, 3, 0, clone),
        (equal, 2, 5, unshare_),
        (load, 0, 0, 16),  # prlimit's first argument: 0 is the caller itself
        (equal, 3, 2, 0),
        (load, 0, 0, 16),  # the flags of the other two
        (has, 0, 1, linux_isolation.NEWUSER),
        (answer, 0, 0, _EPERM),
        (answer, 0, 0, _ALLOW),
    ]
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(program), ctypes.addressof(buffer)))
    linux_isolation.set_filter(ctypes.addressof(header))
    return True
