"""What every sandbox keeps to, as a check to be run on yours (`pytest_recode.testing.check_sandbox`)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from pytest_recode.sandboxes import Connection, Sandbox
from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Environment, Limits

SECONDS = 60.0  # for any one answer


class Probe:
    """A launch of `inside/probes/conformance_probe.py`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def ask(self, source: str, seconds: float = SECONDS) -> Any:
        """The value of `result` after `source` ran inside. Raises `AssertionError` with the traceback from in there."""
        self.tell(source, seconds)
        deadline = time.monotonic() + seconds
        answer = json.loads(self.read(int.from_bytes(self.read(4, deadline), "big"), deadline))
        if "error" in answer:
            raise AssertionError(f"inside the sandbox:\n{answer['error']}")
        return answer["value"]

    def tell(self, source: str, seconds: float = SECONDS) -> None:
        data = source.encode()
        self.connection.send(len(data).to_bytes(4, "big") + data, time.monotonic() + seconds)

    def read(self, size: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < size:
            part = self.connection.receive(size - len(found), deadline)
            assert part, f"the program ended: {self.connection.kill()!r}"
            found += part
        return bytes(found)

    def ended(self, source: str, seconds: float = SECONDS) -> str:
        """How the program ended after `source`, which must be its end."""
        self.tell(source, seconds)
        deadline = time.monotonic() + seconds
        while self.connection.receive(1 << 16, deadline):
            pass
        return self.connection.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A sandbox under examination."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """`walls` promises are not made by a sandbox whose `isolation` is "process"."""

    name: str
    walls: bool
    check: Callable[[Bench], None]


@cache
def promises() -> tuple[Promise, ...]:
    from pytest_recode.sandboxes import conformance_basics, conformance_jail, conformance_walls

    found = []
    for module, walls in ((conformance_basics, False), (conformance_jail, False), (conformance_walls, True)):
        for name, check in vars(module).items():
            if name.startswith("check_"):
                found.append(Promise(name=name.removeprefix("check_"), walls=walls, check=check))
    return tuple(found)


def promised(isolation: str) -> tuple[str, ...]:
    """The names of what a sandbox of this isolation ("separate", "process") promises."""
    return tuple(promise.name for promise in promises() if isolation == "separate" or not promise.walls)


def check_sandbox(
    sandbox: Sandbox,
    environment: Environment | None = None,
    limits: Limits | None = None,
    *,
    only: Sequence[str] | None = None,
) -> None:
    """Raises `AssertionError` where the sandbox breaks what `pytest_recode.sandboxes` promises.

    All that its `isolation` promises, or `only` some of it, by the names in `promised`. Programs that attack run inside
    `sandbox`: one that claims walls it has not got harms this machine.
    """
    bench = Bench(
        sandbox=sandbox,
        environment=environment or Environment(),
        limits=limits or Limits(memory_mb=256, disk_mb=32, pids=32),
    )
    names = promised(sandbox.isolation) if only is None else only
    unknown = set(names) - set(promised(sandbox.isolation))
    assert not unknown, f"a sandbox with isolation {sandbox.isolation!r} promises nothing called {sorted(unknown)}"
    for promise in promises():
        if promise.name in names:
            try:
                promise.check(bench)
            except AssertionError as exc:
                raise AssertionError(f"{sandbox.name}: {promise.name.replace('_', ' ')}: {exc}") from exc


def marked() -> str:
    """An argument that tells a process of this check among all others."""
    return f"recode-check-{uuid4().hex}"


def running(mark: str) -> list[int]:
    """The processes of this machine with `mark` among their arguments, seen from outside the sandbox."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit() and int(directory.name) != os.getpid():
            try:
                arguments = (directory / "cmdline").read_bytes()
                zombie = (directory / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            if mark.encode() in arguments and not zombie:
                found.append(int(directory.name))
    return found


def until(condition: Callable[[], Any], what: str, seconds: float = SECONDS) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.01)
