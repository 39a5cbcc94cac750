"""The door: an HTTP server on the loopback of the sandbox. The host answers its requests, over the wire of the workspace.

Runs in the workspace process while a program that plays is running (`workspace_server.op_play`). Must answer nothing by itself but what
it cannot take, and must not hold more than MAX_BODY bytes of a request, MAX_HELD of all, or MAX_OPEN connections: an untrusted program
sends them. A connection whose request is not complete gives way to a new one, so that it keeps no request waiting.

Frames to the host: `{"asks": NUMBER, "method", "path", "headers", "body"}`, `{"left": NUMBER}` if the program does not wait for the answer
any more, and `{"over": True}` when no more will come. From the host: `{"answers": NUMBER, "status", "headers"}` once, `{"answers": NUMBER,
"data"}`, `{"answers": NUMBER, "ended": True}`; `{"seconds": S}` gives the program so many seconds more; `{"over": True}` answers the same.

Stdlib and the wire, Python 3.9+.
"""

from __future__ import annotations

import http.server
import queue
import socket
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Optional, Union

from ..wire import frames

MAX_BODY = 32 << 20  # bytes of a request: the longest context window of a model is a fifth of that
MAX_HELD = 64 << 20  # bytes of all requests
MAX_OPEN = 32  # connections at a time; further ones wait until one that is asked has its answer
SILENT_SECONDS = 60.0  # until a connection that sends nothing is closed
_FRAME = 64 << 20
_PIECE = 1 << 18  # bytes of a body that are read at a time: only what has come is held
_LINE = 1 << 10  # bytes of a line in a chunked body


class Door:
    """Listens on a port of 127.0.0.1 as long as the workspace lives, and serves while `serving`."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(MAX_OPEN)
        self.port: int = self._socket.getsockname()[1]
        self._numbers = 0
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._writing = threading.Lock()
        self._holding = threading.Lock()
        self._room = MAX_HELD
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
            with self._writing:
                self._over = True
                frames.write_message(writer, {"over": True})
            hearing.join()  # which has told every request that is still open to end
            server.end_connections()
            server.shutdown()
            accepting.join()

    def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Generator[dict[str, Any], None, None]:
        """What the host answers, part by part; it ends with the answer, or with the door."""
        answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._writing:
            if self._over:
                return
            self._numbers += 1
            number = self._numbers
            request = {"method": method, "path": path, "headers": headers, "body": body}
            self._answers[number] = answer
            try:
                frames.write_message(self._writer, {"asks": number, **request})
            except frames.WireError:  # more headers than a frame may have
                del self._answers[number]
                return
        try:
            while True:
                part = answer.get()
                if part.get("ended"):
                    del self._answers[number]
                    return
                yield part
        finally:
            with self._writing:
                if self._answers.pop(number, None) is not None and not self._over:
                    frames.write_message(self._writer, {"left": number})

    def hold(self, size: int) -> bool:
        """Take room for so many bytes of a request, if there is any; negative: give it back."""
        with self._holding:
            if size > self._room:
                return False
            self._room -= size
            return True

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
            answer_of: Optional[queue.SimpleQueue[dict[str, Any]]] = self._answers.get(message["answers"])
            if answer_of is not None:
                answer_of.put(message)


class _DoorServer(http.server.ThreadingHTTPServer):
    daemon_threads = True  # what is left of a connection ends with this process at the latest
    block_on_close = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._open: dict[socket.socket, bool] = {}  # whether each connection may give way to a new one, in their order
        self._changed = threading.Condition()
        self._ending = False

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            while len(self._open) >= MAX_OPEN and not self._ending:
                idle = next((connection for connection, idle in self._open.items() if idle), None)
                if idle is not None:
                    self._open[idle] = False
                    _shut(idle)
                self._changed.wait()
            self._open[request] = True
        try:
            super().process_request(request, client_address)
        except BaseException:  # the program has used up the processes
            self._close(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._close(request)

    def _close(self, request: Any) -> None:
        with self._changed:
            self._open.pop(request, None)
            self._changed.notify()

    def keep(self, connection: socket.socket) -> bool:
        """Let a connection, whose request is complete, give way to no other; False if it has done that already."""
        with self._changed:
            idle, self._open[connection] = self._open[connection], False
            return idle

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left in the middle of an exchange is no fault."""

    def end_connections(self) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify()
            for connection in self._open:
                _shut(connection)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _DoorHandler(http.server.BaseHTTPRequestHandler):
    server: _DoorServer
    asked: Door
    held: int  # bytes of this request
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
        self.close_connection = True
        self.held = 0
        try:
            body = self._body()
            if isinstance(body, int):
                self.send_error(body)
                return
            if not self.server.keep(self.connection):
                return
            with closing(self.asked.ask(self.command, self.path, {**self.headers}, body)) as parts:
                self._answer(parts)
        finally:
            self.asked.hold(-self.held)

    def _answer(self, parts: Iterator[dict[str, Any]]) -> None:
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

    def _body(self) -> Union[bytes, int]:
        """The body of a request, or the HTTP status of why it is not taken."""
        body = bytearray()
        try:
            if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
                return self._read(body, int(self.headers.get("Content-Length") or 0)) or bytes(body)
            while size := int(self.rfile.readline(_LINE).partition(b";")[0].strip() or b"0", 16):
                refused = self._read(body, size)
                if refused:
                    return refused
                self.rfile.readline(_LINE)
        except ValueError:
            return 400
        while self.rfile.readline(_LINE).strip():
            pass
        return bytes(body)

    def _read(self, body: bytearray, size: int) -> int:
        """Append so many bytes; returns 0, or the HTTP status of why they are not taken."""
        if size < 0:
            return 400
        if len(body) + size > MAX_BODY:
            return 413
        while size:
            data = self.rfile.read(min(size, _PIECE))
            if not data:
                return 400  # it left in the middle of it
            if not self.asked.hold(len(data)):
                return 503
            self.held += len(data)
            body += data
            size -= len(data)
        return 0
