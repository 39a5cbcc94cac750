"""Frames: the message format between programs that do not trust each other.

Runs in the host, the graders, the candidate and the workspace. Called by each end of a connection. Must not allocate
more than the caller's limit for a message. Malformed data raises `WireError`, never another exception.

A frame is a fixed prefix, a JSON header (a tagged tree) and a body (the raw buffers the tree points to), as
`codec.py` makes and reads them:

    magic 4 | kind 1 | sequence 8 | header length u32 | body length u64 | header | body

Stdlib and the codec, Python 3.9+.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from . import codec

MAGIC = b"rcd1"
PREFIX = struct.Struct("!4sc8sIQ")
TO_HOST = b"H"  # a message for the other end of the pipe
TO_CANDIDATE = b"C"  # a message that the host forwards to the candidate, unread
FROM_CANDIDATE = b"A"  # the candidate's answer
PART, LAST, LOST = b"P", b"E", b"X"  # an answer on its way to the grader: a piece, the last piece, "there is no answer"
NO_SEQUENCE = bytes(8)

CHUNK = 1 << 20
_JOIN = 1 << 18  # frames below this size go out in one write

WireError = codec.WireError


class Frame(NamedTuple):
    """The prefix of a frame; lengths in bytes."""

    kind: bytes
    sequence: bytes
    header: int
    body: int


class HostPipe(Protocol):
    """The host's end of a pipe (see `pytest_recode/sandboxes`)."""

    def send(self, data: bytes | memoryview, deadline: float) -> None: ...
    def receive(self, size: int, deadline: float) -> bytes: ...


Fill = Callable[[memoryview], None]
Put = Callable[[codec.Buffer], None]


def put_frame(
    put: Put,
    kind: bytes,
    message: Any,
    sequence: bytes = NO_SEQUENCE,
    refer: codec.Refer = codec.cannot_travel,
    refer_subclass: codec.ReferSubclass | None = None,
) -> None:
    """Send one message. Raises `WireError` before anything is sent."""
    header, body = codec.dump(message, refer, refer_subclass)
    size = sum(map(len, body))
    start = PREFIX.pack(MAGIC, kind, sequence, len(header), size) + header
    if size <= _JOIN:
        put(b"".join((start, *body)))
        return
    put(start)
    for data in body:
        put(data)


def fill_prefix(fill: Fill, limit: int) -> Frame:
    """Read a frame's prefix. Raises `WireError` where the bytes are no prefix, and for a frame of more than `limit` bytes."""
    data = bytearray(PREFIX.size)
    fill(memoryview(data))
    magic, *fields = PREFIX.unpack(data)
    frame = Frame(*fields)
    if magic != MAGIC:
        raise WireError("bytes that are no frame")
    if frame.header > codec.MAX_HEADER or frame.header + frame.body > limit:
        raise WireError(f"a frame of more than {limit >> 20} MiB")
    return frame


def fill_message(fill: Fill, frame: Frame, resolve: codec.Resolve | None = None) -> Any:
    """Read and decode the rest of a frame."""
    header, body = bytearray(frame.header), bytearray(frame.body)
    fill(memoryview(header))
    if body:
        fill(memoryview(body))
    return codec.parse(header, body, resolve)


# --- inside a sandbox: unbuffered binary files


def filler(reader: Any) -> Fill:
    """Read from a file; raises `EOFError` where it ends."""

    def fill(view: memoryview) -> None:
        while view:
            count = reader.readinto(view)
            if not count:
                raise EOFError("the other side closed the pipe")
            view = view[count:]

    return fill


def putter(writer: Any) -> Put:
    def put(data: codec.Buffer) -> None:
        view = memoryview(data)
        while view:
            view = view[writer.write(view) :]

    return put


def write_message(writer: Any, message: dict[str, Any]) -> None:
    put_frame(putter(writer), TO_HOST, message)


def read_message(reader: Any, limit: int) -> dict[str, Any]:
    """Read a message. Raises `EOFError` where the pipe ends, `WireError` for anything but a message of at most `limit` bytes."""
    return _dict(fill_message(filler(reader), fill_prefix(filler(reader), limit)))


def _dict(message: Any) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise WireError("a message that is not a dict")
    return message


# --- on the host: a HostPipe, with a deadline (`time.monotonic()`)


def connection_filler(connection: HostPipe, deadline: float) -> Fill:
    """Read from a connection. Raises `EOFError` when the program has ended, `TimeoutError` at the deadline."""

    def fill(view: memoryview) -> None:
        while view:
            data = connection.receive(min(len(view), CHUNK), deadline)
            if not data:
                raise EOFError("the program has ended")
            view[: len(data)] = data
            view = view[len(data) :]

    return fill


def send_message(
    connection: HostPipe,
    message: Any,
    deadline: float,
    kind: bytes = TO_HOST,
    sequence: bytes = NO_SEQUENCE,
) -> None:
    put_frame(
        lambda data: connection.send(data if isinstance(data, memoryview) else bytes(data), deadline),
        kind,
        message,
        sequence,
    )


def receive_message(connection: HostPipe, limit: int, deadline: float) -> dict[str, Any]:
    fill = connection_filler(connection, deadline)
    return _dict(fill_message(fill, fill_prefix(fill, limit)))
