"""Connections to the gateway's Unix socket, and HTTP requests over them. Imports only the standard library, so that workers stay small."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

STARTING = 60.0
"""Seconds to wait for the gateway to listen: it may be starting, or starting again."""
PAUSE = 0.05


class UnixConnection(http.client.HTTPConnection):
    """An HTTP connection over a connected Unix socket."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__("gateway")
        self.sock = connected


def connected(path: str) -> socket.socket:
    """Connect to the gateway; waits until it listens. Raises `OSError` if it does not, or has removed its directory."""
    deadline = time.monotonic() + STARTING
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            if time.monotonic() >= deadline or not Path(path).parent.exists():
                raise
            time.sleep(PAUSE)
        else:
            return connection


@contextmanager
def response_of(
    connection: socket.socket, method: str, path: str, token: str, headers: Mapping[str, str], body: str | bytes | None
) -> Iterator[http.client.HTTPResponse]:
    """Send a request on a new connection, and close it afterwards. Raises `OSError` and `http.client.HTTPException`."""
    client = UnixConnection(connection)
    try:
        client.request(method, path, body, {"Authorization": f"Bearer {token}", **headers})
        yield client.getresponse()
    finally:
        client.close()
