"""Measures unread data in the sockets of this network namespace, memory that no process is charged for.

Runs in the process that monitors a launch. Called by `monitor.py` as part of the memory limit. Must not raise where
the kernel lacks sock_diag(7): it reports 0.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_UNIX_QUEUE, _UNIX_MEMORY, _INET_MEMORY = 4, 5, 7  # attributes
_UNIX = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, 0x10 | 0x20, 0xFFFFFFFF, 0xFFFFFFFF)
_INET = [
    struct.pack("=BBBBI48x", family, protocol, 1 << _INET_MEMORY - 1, 0, 0xFFFFFFFF)
    for family in (socket.AF_INET, socket.AF_INET6)
    for protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP)
]


def unread() -> int:
    """The number of unread bytes; 0 where the kernel lacks sock_diag(7)."""
    total = 0
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asker:
            asker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            asker.settimeout(1.0)
            for attributes in _dump(asker, _UNIX, 16):
                queue = struct.unpack_from("=I", attributes.get(_UNIX_QUEUE, bytes(4)))[0]
                # a closed sender is not listed; what it sent is in the receiver's queue
                total += max(_memory_of(attributes.get(_UNIX_MEMORY)), queue)
            for request in (
                _INET if _may_have_ip_sockets() else ()
            ):  # the query scans a table that all network namespaces share
                total += sum(_memory_of(attributes.get(_INET_MEMORY)) for attributes in _dump(asker, request, 72))
    except OSError:
        return total
    return total


def _may_have_ip_sockets() -> bool:
    """Whether there may be a socket of TCP or UDP in this network namespace."""
    try:
        for name in ("sockstat", "sockstat6"):
            with open(f"/proc/self/net/{name}") as file:
                for line in file:
                    words = line.split()
                    if words[0].startswith(("TCP", "UDP")) and words[1:3] != ["inuse", "0"]:
                        return True
    except FileNotFoundError:  # without IPv6 there is only the first file; without the first, assume yes
        return name == "sockstat"
    return False


def _memory_of(memory: bytes | None) -> int:
    """Memory of one socket: received, sent, and queued to be sent (`SK_MEMINFO_…`)."""
    if memory is None:
        return 0
    received, _, sent, _, _, queued = struct.unpack_from("=6I", memory)
    return int(received) + max(int(sent), int(queued))


def _dump(asker: socket.socket, request: bytes, header: int) -> Iterator[dict[int, bytes]]:
    """The attributes of each socket."""
    asker.send(struct.pack("=IHHII", 16 + len(request), _BY_FAMILY, _DUMP, 1, 0) + request)
    while True:
        data = asker.recv(1 << 18)
        at = 0
        while at + 16 <= len(data):
            length, kind = struct.unpack_from("=IH", data, at)
            if kind in (_DONE, _ERROR):
                return
            yield _attributes(data[at + 16 + header : at + length])
            at += (length + 3) & ~3


def _attributes(data: bytes) -> dict[int, bytes]:
    attributes = {}
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        attributes[kind] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return attributes
