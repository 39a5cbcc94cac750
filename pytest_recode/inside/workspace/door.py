"""The door: an HTTP server on the loopback of the sandbox. The host answers its requests, over the wire of the workspace.

Runs in the workspace process while a program that plays is running (`workspace_server.op_play`). Must not answer anything by itself, and
must not hold more than MAX_BODY bytes of a request or serve more than MAX_OPEN connections: an untrusted program sends them.

Frames to the host: `{"asks": NUMBER, "method", "path", "headers", "body"}`, and `{"over": True}` when no more will come. From the host:
`{"answers": NUMBER, "status", "headers"}` once, `{"answers": NUMBER, "data"}`, `{"answers": NUMBER, "ended": True}`; `{"seconds": S}`
gives the program so many seconds more; `{"over": True}` answers the same.

Stdlib and the wire, Python 3.9+.
"""

from __future__ import annotations

import http.server
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Optional

from ..wire import frames

MAX_BODY = 32 << 20  # bytes of a request: the longest context window of a model is a fifth of that
MAX_OPEN = 32  # connections at a time; further ones wait
SILENT_SECONDS = 60.0  # until a connection that sends nothing is closed
_FRAME = 64 << 20


class Door:
    """Listens on a port of 127.0.0.1 as long as the workspace lives, and serves while `serving`."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(MAX_OPEN)
        self.port: int = self._socket.getsockname()[1]
        self._numbers = 0
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._writer: Any = None
        self._over = True  # no frame may be sent: another operation uses the wire
        self.deadline = 0.0

    @contextmanager
    def serving(self, reader: Any, writer: Any) -> Iterator[None]:
        """Serve requests. Nothing else may use the wire meanwhile."""
        self._writer, self._over = writer, False
        door = self

        class Handler(_DoorHandler):
            asked = door

        server = _DoorServer(("127.0.0.1", self.port), Handler, bind_and_activate=False)
        server.socket.close()
        server.socket = self._socket
        hearing = threading.Thread(target=self._hear, args=[reader])
        accepting = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        hearing.start()
        accepting.start()
        try:
            yield
        finally:
            with self._lock:
                self._over = True
                frames.write_message(writer, {"over": True})
            hearing.join()  # which has told every request that is still open to end
            server.shutdown()
            accepting.join()
            server.end_connections()

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Iterator[dict[str, Any]]:
        """What the host answers, part by part; it ends with the answer, or with the door."""
        answer: queue.Queue[dict[str, Any]] = queue.Queue()
        with self._lock:
            if self._over:
                return
            self._numbers += 1
            number = self._numbers
            self._answers[number] = answer
            request = {"method": method, "path": path, "headers": headers, "body": body}
            frames.write_message(self._writer, {"asks": number, **request})
        try:
            while True:
                part = answer.get()
                if part.get("ended"):
                    return
                yield part
        finally:
            self._answers.pop(number, None)

    def seconds_left(self) -> float:
        """Until the program that plays must end."""
        return self.deadline - time.monotonic()

    def _hear(self, reader: Any) -> None:
        """Read frames of the host until the door is over."""
        while True:
            try:
                message = frames.read_message(reader, _FRAME)
            except EOFError:  # the host has ended: `command_runner` notices it, too, and ends this process
                message = {"over": True}
            if "over" in message:
                for answer in list(self._answers.values()):
                    answer.put({"ended": True})
                return
            if "seconds" in message:
                self.deadline += message["seconds"]
                continue
            answer_of: Optional[queue.Queue[dict[str, Any]]] = self._answers.get(message["answers"])
            if answer_of is not None:
                answer_of.put(message)


class _DoorServer(http.server.ThreadingHTTPServer):
    daemon_threads = True  # what is left of a connection ends with this process at the latest
    block_on_close = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._room = threading.BoundedSemaphore(MAX_OPEN)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._room.acquire()
        self._open.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.discard(request)
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left in the middle of an exchange is no fault."""

    def end_connections(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _DoorHandler(http.server.BaseHTTPRequestHandler):
    asked: Door
    protocol_version = "HTTP/1.1"
    timeout = SILENT_SECONDS

    def do_POST(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def log_message(self, *_: Any) -> None: ...

    def _serve(self) -> None:
        body = self._body()
        if body is None:
            self.send_error(413)
            return
        parts = self.asked.ask(self.command, self.path, {**self.headers}, body)
        self.close_connection = True
        first = next(parts, None)
        if first is None:
            return
        self.send_response(first["status"])
        for name, value in first["headers"].items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        for part in parts:
            self.wfile.write(part["data"])
            self.wfile.flush()

    def _body(self) -> Optional[bytes]:
        """The body of a request; None if it is too long."""
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            length = int(self.headers.get("Content-Length") or 0)
            return None if not 0 <= length <= MAX_BODY else self.rfile.read(length)
        body = b""
        while size := int(self.rfile.readline(1 << 10).partition(b";")[0] or b"0", 16):
            if size < 0 or len(body) + size > MAX_BODY:
                return None
            body += self.rfile.read(size)
            self.rfile.readline(1 << 10)
        while self.rfile.readline(1 << 10).strip():
            pass
        return body
