"""Reports the versions of installed packages.

Runs in a sandbox of its own. Called by the validation of a task. Must not import any of the packages.

Reads one JSON line, a list of distribution names; writes one, name -> version or null.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any


def main(reader: Any, writer: Any) -> None:
    line = b""
    while not line.endswith(b"\n"):
        data = reader.read(65536)
        if not data:
            return
        line += data
    writer.write(json.dumps({name: _version(name) for name in json.loads(line.decode())}).encode() + b"\n")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
