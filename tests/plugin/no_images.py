"""A Docker daemon that answers and has no image."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class _NoImages(BaseHTTPRequestHandler):
    """A Docker daemon that has no image, and reaches no registry."""

    def do_GET(self) -> None:
        of_daemon = {"version": {"ApiVersion": "1.44", "MinAPIVersion": "1.24"}, "json": []}
        name = self.path.partition("?")[0].rpartition("/")[2]
        self._send(404 if "/images/" in self.path else 200, of_daemon.get(name, {"message": "no such image"}))

    def do_POST(self) -> None:
        self._send(500, {"message": "no route to the registry"})

    def _send(self, status: int, body: object) -> None:
        data = json.dumps(body if status == 200 else {"message": "no such image"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def daemon_without_images(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _NoImages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()
