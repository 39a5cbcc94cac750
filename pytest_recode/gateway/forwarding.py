"""Forward the gateway's Unix socket to a worker on another host, over the connection that pytest-xdist has with it (execnet's).

So a worker needs no address of the controlling process, no port is opened, and ssh encrypts what is sent over ssh. The worker listens
on a Unix socket of its own. Each connection to it becomes a channel of execnet, and in the controlling process a connection to the
gateway. Used by threads: any number of connections may be open at the same time.
"""

from __future__ import annotations

import shutil
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from pytest_recode.gateway.connection import connected
from pytest_recode.owned_directory import new_socket

_PIECE = 1 << 16  # bytes


class Channel(Protocol):
    """The part of `execnet.Channel` that is used here."""

    gateway: Any

    def send(self, item: object) -> None: ...

    def receive(self) -> Any: ...

    def setcallback(self, callback: Any, endmarker: Any = ...) -> None: ...

    def close(self) -> None: ...


def forward(channel: Channel, path: str) -> None:
    """Controlling process: connect every channel that the worker sends on `channel` to the socket at `path`. Returns immediately."""
    _exclude_threads(channel)

    def opened(stream: Channel | None) -> None:
        if stream is not None:
            threading.Thread(target=_connect, args=(stream, path), name="recode-forward", daemon=True).start()

    channel.setcallback(opened, endmarker=None)


def _connect(stream: Channel, path: str) -> None:
    try:
        to = connected(path)
    except OSError:
        stream.close()
    else:
        _copy(to, stream)


class ForwardedSocket:
    """Worker: a Unix socket at `path` whose connections are forwarded over `channel`. It is removed when the channel or this process ends."""

    def __init__(self, channel: Channel) -> None:
        _exclude_threads(channel)
        self._channel = channel
        self.path = new_socket()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        threading.Thread(target=self._accept, name="recode-forward", daemon=True).start()
        channel.setcallback(lambda _: self.close(), endmarker=None)

    def _accept(self) -> None:
        while True:
            try:
                taken, _ = self._listener.accept()
                stream = self._channel.gateway.newchannel()
                self._channel.send(stream)
            except OSError:  # closed
                return
            threading.Thread(target=_copy, args=(taken, stream), name="recode-forward", daemon=True).start()

    def close(self) -> None:
        # first: a caller that finds no directory does not wait
        shutil.rmtree(Path(self.path).parent, ignore_errors=True)
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _copy(end: socket.socket, stream: Channel) -> None:
    """Copy in both directions until one side ends."""
    # In a thread, and not by a callback of execnet: that would be called by the one thread that receives for all channels, and this
    # socket's reader may be waiting for another of them.
    back = threading.Thread(target=_copy_back, args=(stream, end), name="recode-forward", daemon=True)
    back.start()
    with suppress(OSError):
        while data := end.recv(_PIECE):
            stream.send(data)
    with suppress(OSError):  # the connection to the other host has ended
        stream.close()
    back.join()
    end.close()


def _copy_back(stream: Channel, end: socket.socket) -> None:
    with suppress(OSError, EOFError):  # one of the sides has ended
        while True:
            end.sendall(stream.receive())
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _exclude_threads(channel: Channel) -> None:
    """Let one thread at a time write to the connection: execnet does not, for sockets."""
    io = channel.gateway._io
    if not hasattr(io, "sock") or hasattr(io, "_recode_lock"):
        return
    lock, write = threading.Lock(), io.write

    def write_alone(data: bytes) -> None:
        with lock:
            write(data)

    io.write, io._recode_lock = write_alone, lock
