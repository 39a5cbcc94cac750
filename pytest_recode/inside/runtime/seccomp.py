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
from collections.abc import Iterable, Mapping
from typing import Tuple

from . import linux_isolation

_ARCHES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "vmsplice": 278,  # of a huge page, a pipe keeps all for a piece, which is not counted for any process
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
            "vmsplice": 75,
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
_NO_FAMILY, _NO_PROTOCOL, _NO_OPTION = 0x50000 | 97, 0x50000 | 93, 0x50000 | 92
_UNIX, _INET, _INET6 = 1, 2, 10
_STREAM, _DATAGRAM, _TYPE = 1, 2, 0xF  # the flags beside the type are above
_TCP, _UDP = 6, 17
_SOL_SOCKET = 1
_ZEROCOPY = {60: _NO_OPTION}  # SO_ZEROCOPY: a socket keeps huge pages as a pipe does by vmsplice
# SO_SNDBUF, SO_RCVBUF and the forced versions: buffered data is not counted for any process. To set them changes nothing,
# as where the kernel's own limit is reached
_BUFFERS = dict.fromkeys((7, 8, 32, 33), _DONE)
_LOAD, _EQUAL, _AT_LEAST, _HAS, _MASK, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06

_Line = Tuple[int, int, int, int]  # of a filter: operation, two jumps, operand


def refuse(*, isolated: bool = True) -> bool:
    """Refuse the calls above, other socket families, new user namespaces, larger socket buffers, and changing another
    process's limits. If not `isolated`, refuse only what keeps huge pages that no process is charged for.

    Needs `no_new_privileges` first. Applies to everything that this process starts. Returns False on an unknown machine.
    """
    known = _ARCHES.get(platform.machine())
    if known is None:
        return False
    arch, numbers = known
    program = [
        (_LOAD, 0, 0, 4),  # architecture
        (_EQUAL, 1, 0, arch),
        (_ANSWER, 0, 0, _ENOSYS),
        (_LOAD, 0, 0, 0),  # number
        (_AT_LEAST, 0, 1, 0x40000000),  # the x32 numbering
        (_ANSWER, 0, 0, _ENOSYS),
    ]
    if isolated:
        program += [*_options(numbers, {**_ZEROCOPY, **_BUFFERS}), *_isolated(numbers)]
    else:
        program += [*_options(numbers, _ZEROCOPY), *_calls([numbers["vmsplice"]])]
    program.append((_ANSWER, 0, 0, _ALLOW))
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(program), ctypes.addressof(buffer)))
    linux_isolation.set_filter(ctypes.addressof(header))
    return True


def _calls(numbers: Iterable[int]) -> list[_Line]:
    """Lines that refuse these calls. The number of the call must be loaded; so it is after them."""
    return [line for number in numbers for line in ((_EQUAL, 0, 1, number), (_ANSWER, 0, 0, _ENOSYS))]


def _options(numbers: Mapping[str, int], answers: Mapping[int, int]) -> list[_Line]:
    """Lines that answer setsockopt with one of these options of SOL_SOCKET."""
    lines = [
        (_EQUAL, 0, 3 + 2 * len(answers), numbers["setsockopt"]),
        (_LOAD, 0, 0, 24),  # level
        (_EQUAL, 0, 1 + 2 * len(answers), _SOL_SOCKET),
        (_LOAD, 0, 0, 32),  # option
    ]
    for option, answer in answers.items():
        lines += [(_EQUAL, 0, 1, option), (_ANSWER, 0, 0, answer)]
    return [*lines, (_LOAD, 0, 0, 0)]


def _isolated(numbers: Mapping[str, int]) -> list[_Line]:
    refused = {**numbers, **_EVERYWHERE}
    del refused["setsockopt"]
    special = ("prlimit64", "clone", "unshare", "socket", "socketpair")
    prlimit, clone, unshare_, socket, socketpair = (refused.pop(name) for name in special)
    return [
        *_calls(refused.values()),
        (_EQUAL, 0, 16, socket),
        (_LOAD, 0, 0, 16),  # family
        (_EQUAL, 13, 0, _UNIX),
        (_EQUAL, 2, 0, _INET),
        (_EQUAL, 1, 0, _INET6),
        (_ANSWER, 0, 0, _NO_FAMILY),
        (_LOAD, 0, 0, 24),  # type
        (_MASK, 0, 0, _TYPE),
        (_EQUAL, 2, 0, _STREAM),
        (_EQUAL, 1, 0, _DATAGRAM),
        (_ANSWER, 0, 0, _NO_PROTOCOL),
        (_LOAD, 0, 0, 32),  # protocol: unread data of others is not counted
        (_EQUAL, 3, 0, 0),
        (_EQUAL, 2, 0, _TCP),
        (_EQUAL, 1, 0, _UDP),
        (_ANSWER, 0, 0, _NO_PROTOCOL),
        (_ANSWER, 0, 0, _ALLOW),
        (_EQUAL, 0, 4, socketpair),
        (_LOAD, 0, 0, 16),
        (_EQUAL, 1, 0, _UNIX),
        (_ANSWER, 0, 0, _NO_FAMILY),
        (_ANSWER, 0, 0, _ALLOW),
        (_EQUAL, 2, 0, prlimit),
        (_EQUAL, 3, 0, clone),
        (_EQUAL, 2, 5, unshare_),
        (_LOAD, 0, 0, 16),  # prlimit's first argument: 0 is the caller itself
        (_EQUAL, 3, 2, 0),
        (_LOAD, 0, 0, 16),  # the flags of the other two
        (_HAS, 0, 1, linux_isolation.NEWUSER),
        (_ANSWER, 0, 0, _EPERM),
    ]
