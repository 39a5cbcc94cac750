"""A way to the docker daemon that can go down while the daemon itself stays up."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import docker.utils


class DaemonProxy:
    """Passes on whatever comes to `url`; `close` cuts every connection. `until`: bytes to the daemon that close it."""

    def __init__(self, until: bytes = b"") -> None:
        path = Path(tempfile.mkdtemp(prefix="daemon-")) / "docker.sock"  # a name that a socket can have is short
        base = docker.utils.kwargs_from_env().get("base_url", "unix:///var/run/docker.sock")
        self._daemon = "/" + base.split("://", 1)[-1].lstrip("/")
        self._path = path
        self._until = until
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self._closed = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        self.url = f"unix://{path}"

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._path.unlink()
            self._path.parent.rmdir()
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()

    def cut(self) -> None:
        """End every connection; new ones are taken, unless this is closed."""
        with self._lock:
            for end in self._ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            self._ends.clear()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._daemon)
            except OSError:
                return
            with self._lock:
                if self._closed:
                    near.close()
                    far.close()
                    return
                self._ends += [near, far]
            for source, sink, until in ((near, far, self._until), (far, near, b"")):
                threading.Thread(target=self._pass_on, args=(source, sink, until), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, until: bytes) -> None:
        seen = b""
        with suppress(OSError):
            while data := source.recv(1 << 16):
                seen = (seen + data)[-len(data) - len(until) :]
                if until and until in seen:
                    self.close()
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
