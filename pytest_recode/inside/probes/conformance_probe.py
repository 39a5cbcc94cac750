"""Runs the source in each request: how the conformance suite inspects a sandbox from inside.

Runs in a sandbox of its own, as the program under test. Called by `sandboxes/conformance/probe.py`. Must not be shipped
with any other program: it runs whatever it is sent.

Each request is four bytes of length and Python source; the answer four bytes of length and JSON: the value of the
name `result` after the source ran, as `{"value": …}`, or `{"error": traceback}`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import json
import traceback
from typing import Any


def read(reader: Any, size: int) -> bytes:
    parts = []
    while size:
        part = reader.read(min(size, 1 << 20))
        if not part:
            raise SystemExit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write(writer: Any, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[writer.write(view) :]


def main(reader: Any, writer: Any) -> None:
    names: dict[str, Any] = {"reader": reader, "writer": writer, "read": read, "write": write}
    while True:
        source = read(reader, int.from_bytes(read(reader, 4), "big")).decode()
        names["result"] = None
        try:
            exec(source, names)
            answer = json.dumps({"value": names["result"]})
        except Exception:  # noqa: BLE001 - reported in the answer
            answer = json.dumps({"error": traceback.format_exc()})
        data = answer.encode()
        write(writer, len(data).to_bytes(4, "big") + data)
