"""The door's HTTP server: whatever is sent to it, it asks the host what was asked, or refuses it, and holds no more than its bounds."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_recode.inside.wire import frames
from pytest_recode.inside.workspace.door import MAX_BODY, MAX_HELD, MAX_OPEN, Door


class Host:
    """Answers each request of a door with its own body."""

    def __init__(self, *, wait: bool) -> None:
        self.door = Door()
        self.came, self.go = threading.Event(), threading.Event()
        if not wait:
            self.go.set()
        self.asked: list[dict[str, Any]] = []
        (door_end, to_door), (from_door, door_out) = os.pipe(), os.pipe()
        self._reader, self._writer = os.fdopen(from_door, "rb"), os.fdopen(to_door, "wb", buffering=0)
        self.door_reader, self.door_writer = os.fdopen(door_end, "rb"), os.fdopen(door_out, "wb", buffering=0)

    def answer(self) -> None:
        while True:
            message = frames.read_message(self._reader, 1 << 30)
            if "over" in message:
                frames.write_message(self._writer, {"over": True})
                return
            if "left" in message:
                continue
            self.asked.append(message)
            self.came.set()
            self.go.wait()
            number = message["asks"]
            for part in ({"status": 200, "headers": {}}, {"data": message["body"]}, {"ended": True}):
                frames.write_message(self._writer, {"answers": number, **part})

    def send(self, data: bytes) -> bytes:
        """The whole answer to these bytes, which end what is sent."""
        with socket.create_connection(("127.0.0.1", self.door.port)) as connection:
            answer = bytearray()
            with suppress(OSError):  # the door may have closed it already
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while more := connection.recv(1 << 16):
                    answer += more
            return bytes(answer)


@contextmanager
def serving(*, wait: bool = False) -> Iterator[Host]:
    host = Host(wait=wait)
    answering = threading.Thread(target=host.answer)
    answering.start()
    with host.door.serving(host.door_reader, host.door_writer):
        yield host
    answering.join()
    assert host.door._room == MAX_HELD


def posted(body: bytes) -> bytes:
    return b"POST /v1/messages HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def chunked(parts: list[bytes], extension: bytes = b"") -> bytes:
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts if part)
    return b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


NO_LIMITS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def test_bodies_arrive_as_they_were_sent() -> None:
    with serving() as host:

        @NO_LIMITS
        @given(st.lists(st.binary(max_size=300), max_size=5), st.sampled_from([b"", b";a=b", b" "]))
        def check(parts: list[bytes], extension: bytes) -> None:
            body = b"".join(parts)
            for request in (posted(body), chunked(parts, extension)):
                assert host.send(request).endswith(b"\r\n\r\n" + body)
                assert host.asked.pop()["body"] == body

        check()


LONG = b"a line that is too long"


def test_what_is_no_request_harms_nobody() -> None:
    """Any bytes, also such as begin as a request does, and the next request is answered."""
    lines = st.sampled_from(
        [
            b"POST / HTTP/1.1",
            b"GET /../x HTTP/1.0",
            b"Content-Length: -1",
            b"Content-Length: x",
            b"Content-Length: 9" * 9,
            b"Transfer-Encoding: chunked",
            b"-1",
            b"ffffffffffffffff",
            b"0x3",
            b"zz",
            b"",
            b"\x00\xff",
            LONG,
        ]
    )
    with serving() as host:

        @NO_LIMITS
        @given(st.lists(st.one_of(lines, st.binary(max_size=20)), max_size=8))
        def check(found: list[bytes]) -> None:
            host.send(b"\r\n".join(found).replace(LONG, b"a" * 70_000))
            assert host.send(posted(b"hello")).endswith(b"hello")

        check()


def test_a_body_that_is_too_long_is_refused_unread() -> None:
    with serving() as host:
        head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
        assert b" 413 " in host.send(head % (MAX_BODY + 1))
        assert b" 413 " in host.send(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % (MAX_BODY + 1))
        assert b" 400 " in host.send(head % 10 + b"half")
        assert host.send(posted(b"x" * MAX_BODY)).endswith(b"xxx")
        assert len(host.asked) == 1


def test_all_bodies_together_have_a_bound() -> None:
    """Bodies that never end: those beyond the bound are refused, and they hold no room any more when they have left."""
    with serving() as host:
        head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % MAX_BODY
        most = MAX_HELD // MAX_BODY
        open_ones = [socket.create_connection(("127.0.0.1", host.door.port)) for _ in range(most + 2)]
        for each in open_ones:
            with suppress(OSError):  # refused in the middle of it
                each.sendall(head + b"x" * (MAX_BODY - 1))
        refused: set[socket.socket] = set()
        while len(refused) < len(open_ones) - most:  # the test's own time-out ends this wait
            refused |= set(select.select([each for each in open_ones if each not in refused], [], [])[0])
        assert select.select([each for each in open_ones if each not in refused], [], [], 0)[0] == []
        for each in open_ones:
            each.close()
        assert host.send(posted(b"hello")).endswith(b"hello")


HALVES = [b"", b"POST /v1", b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % MAX_BODY, b"POST / HTTP/1.1\r\nA: b\r\n"]


@pytest.mark.parametrize("half", HALVES, ids=["nothing", "a line", "no body", "no end"])
def test_connections_without_a_request_keep_none_waiting(half: bytes) -> None:
    with serving() as host:
        idle = [socket.create_connection(("127.0.0.1", host.door.port)) for _ in range(3 * MAX_OPEN)]
        for each in idle:
            with suppress(OSError):  # it gave way already
                each.sendall(half)
        assert host.send(posted(b"hello")).endswith(b"hello")
        for each in idle:
            each.close()


def test_a_request_that_waits_gives_way_to_none() -> None:
    """The host answers only when later connections have come."""
    with serving(wait=True) as host:
        waiting = socket.create_connection(("127.0.0.1", host.door.port))
        waiting.sendall(posted(b"hello"))
        assert host.came.wait(60)
        idle = [socket.create_connection(("127.0.0.1", host.door.port)) for _ in range(2 * MAX_OPEN)]
        assert {idle[0].recv(1), idle[1].recv(1)} == {b""}, "the oldest of them gave way"
        host.go.set()
        answer = b""
        while more := waiting.recv(1 << 16):
            answer += more
        assert answer.endswith(b"hello")
        for each in (*idle, waiting):
            each.close()


@pytest.mark.parametrize("more", [b"", b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nmore"])
@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nContent-Length: 50",
        b"Content-Length: 5\r\nTransfer-Encoding: identity",
        b"Content-Length: 5\r\nX: a\r\n Content-Length: 50",
        b"Content-Length: 5\r\nTransfer-Encoding : chunked",
    ],
)
def test_one_connection_is_one_request(head: bytes, more: bytes) -> None:
    """Whatever length its headers say that it has, and whatever follows it."""
    with serving() as host:
        host.send(b"POST / HTTP/1.1\r\n" + head + b"\r\n\r\nhello" + more)
        assert [each["body"] for each in host.asked] in ([b"hello"], [])


def test_more_headers_than_a_frame_has_room_for_are_no_request() -> None:
    head = b"".join(b"h%d: %s\r\n" % (number, b"\xff" * 65_000) for number in range(90))
    with serving() as host:
        assert host.send(b"POST / HTTP/1.1\r\n" + head + b"\r\n") in (b"",) or host.asked
        assert host.send(posted(b"hello")).endswith(b"hello")
