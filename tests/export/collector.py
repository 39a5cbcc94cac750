"""A real HTTP server on 127.0.0.1 that takes traces by OTLP (protobuf), as a collector of OpenTelemetry does.

with Collector() as collector:
    ...                 # send to collector.url
collector.spans         # what came
"""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """`status`: the answer to every request. `paths`: what was asked for; `requests`: the decoded bodies."""

    def __init__(self, status: int = 200) -> None:
        self.paths: list[str] = []
        self.requests: list[ExportTraceServiceRequest] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.paths.append(self.path)
                collector.requests.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def attributes(of: Any) -> dict[str, Any]:
    """The attributes of a span, an event or a link, as Python values."""
    values = {}
    for each in of.attributes:
        value = getattr(each.value, each.value.WhichOneof("value"))
        values[each.key] = [item.string_value for item in value.values] if each.value.HasField("array_value") else value
    return values
