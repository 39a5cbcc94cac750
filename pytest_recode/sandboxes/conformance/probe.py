"""Programs under test in a sandbox, and what the host sees of their processes. Used by the checks of this package."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pytest_recode.sandboxes import Connection, Sandbox
from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Environment, Limits

SECONDS = 60.0  # limit of one answer


class Probe:
    """A launch of `inside/probes/conformance_probe.py`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def ask(self, source: str, seconds: float = SECONDS) -> Any:
        """Run `source` in the sandbox and return its `result`. Raises an `AssertionError` with the traceback from the sandbox."""
        self.send(source, seconds)
        deadline = time.monotonic() + seconds
        answer = json.loads(self.read(int.from_bytes(self.read(4, deadline), "big"), deadline))
        if "error" in answer:
            raise AssertionError(f"inside the sandbox:\n{answer['error']}")
        return answer["value"]

    def send(self, source: str, seconds: float = SECONDS) -> None:
        data = source.encode()
        self.connection.send(len(data).to_bytes(4, "big") + data, time.monotonic() + seconds)

    def read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.connection.receive(size - len(data), deadline)
            assert part, f"the program ended: {self.connection.kill()!r}"
            data += part
        return bytes(data)

    def ended(self, source: str, seconds: float = SECONDS) -> str:
        """Run `source`, which must end the program, and return how it ended."""
        self.send(source, seconds)
        deadline = time.monotonic() + seconds
        while self.connection.receive(1 << 16, deadline):
            pass
        return self.connection.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A sandbox under test, with the environment and limits of its programs."""

    sandbox: Sandbox
    environment: Environment
    limits: Limits

    @contextmanager
    def probe(self, *, persistent: bool = False, limits: Limits | None = None) -> Iterator[Probe]:
        probe = program("conformance-probe", "probes.conformance_probe", persistent=persistent)
        connection = self.sandbox.launch(probe, self.environment, limits or self.limits)
        try:
            yield Probe(connection)
        finally:
            connection.kill()


def marked() -> str:
    """A unique command-line argument that identifies the processes of one check."""
    return f"recode-check-{uuid4().hex}"


def running(mark: str) -> list[int]:
    """The processes of the host that have `mark` as an argument, as seen from outside the sandbox."""
    pids = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit() and int(directory.name) != os.getpid():
            try:
                arguments = (directory / "cmdline").read_bytes()
                zombie = (directory / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            if mark.encode() in arguments and not zombie:
                pids.append(int(directory.name))
    return pids


def until(condition: Callable[[], Any], what: str, seconds: float = SECONDS) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.01)


def answer_or_end(probe: Probe, value: str) -> int | None:
    """The answer to `value` of a program that still has to answer an earlier `send`; None if the program ended."""
    try:
        return int(probe.ask(f"result = {value}"))
    except (AssertionError, ConnectionError):
        return None
