"""A forwarded socket: connections in another process end at a socket of this one, over one connection of execnet."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import execnet
import pytest

from pytest_recode.gateway.forwarding import forward

_LONG = 60.0  # seconds: a broken test ends some time
LARGE = 8 << 20
"""Bytes, more than all buffers between both ends."""

OTHER = """
import os, socket
from pytest_recode.gateway.forwarding import ForwardedSocket

forwarded = ForwardedSocket(channel.receive())

def connected():
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(60)
    made.connect(forwarded.path)
    return made

first, second = connected(), connected()
first.sendall(b"much\\n")
first.recv(1)
second.sendall(b"little\\n")
channel.send(second.makefile("rb").readline())
channel.send(1 + len(first.makefile("rb").read()))
forwarded.close()
channel.send(os.path.exists(os.path.dirname(forwarded.path)))
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The path of a socket whose server answers a line, and closes the connection."""

    def answer(taken: socket.socket) -> None:
        with taken:
            asked = taken.makefile("rb").readline()
            taken.sendall(bytes(LARGE) if asked == b"much\n" else b"answer to " + asked)

    def serve() -> None:
        while True:
            try:
                taken, _ = listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=answer, args=(taken,), daemon=True).start()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        threading.Thread(target=serve, daemon=True).start()
        yield str(tmp_path / "socket")
        listener.shutdown(socket.SHUT_RDWR)


def test_an_answer_that_nobody_reads_yet_holds_up_no_other(served: str) -> None:
    group = execnet.Group(execmodel="main_thread_only")
    try:
        gateway: Any = group.makegateway("popen")
        channel, forwarding = gateway.remote_exec(OTHER), gateway.newchannel()
        forward(forwarding, served)
        channel.send(forwarding)
        assert channel.receive(_LONG) == b"answer to little\n"
        assert channel.receive(_LONG) == LARGE
        assert channel.receive(_LONG) is False
    finally:
        group.terminate(timeout=1.0)
