"""Real gateways, forked from a process that has imported litellm, and workers' connections to them."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.gateway import GatewayConfig, supervisor, token
from pytest_recode.gateway.connection import UnixConnection, connected
from pytest_recode.gateway.supervisor import GatewayProcess, new_address
from pytest_recode.models import Caller, GatewayAddress
from pytest_recode.records.run_directory import LEDGER
from tests.chat_server import chat_server  # noqa: F401  a fixture

EPISODE = Caller(episode="bench/tiny/task.yaml::episode[local]")


def gone(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([handle], [], [], 60)[0], f"process {pid} goes on"
    os.close(handle)


@dataclass(kw_only=True)
class Gateway:
    """One that runs, the ledger that it writes, and what it told the user."""

    process: GatewayProcess
    ledger: Path
    notified: list[str] = field(default_factory=list)

    @property
    def address(self) -> GatewayAddress:
        return self.process.address

    @property
    def pid(self) -> int:
        return self.process._process.pid

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the process that listens, and after SIGKILL, wait for its end.

        Not to `pid`: that may only stand for an interpreter, and the gateway would answer until its nursery has noticed.
        """
        with connected(self.address.socket) as connection:
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, _, _ = struct.unpack("3i", peer)
        os.kill(pid, number)
        if number == signal.SIGKILL:
            gone(pid)

    def lines(self) -> list[dict[str, Any]]:
        """What the ledger says of requests."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        return [entry for line in lines if "model" in (entry := json.loads(line))]

    def ask(self, path: str = "/v1/chat/completions", caller: Caller = EPISODE, **body: Any) -> Asked:
        """Send a request as a worker does, which gets events."""
        headers = {"Authorization": f"Bearer {token(self.address.secret, caller)}", "Accept": "application/x-ndjson"}
        given = {"model": "local", "messages": [{"role": "user", "content": "hi"}], **body}
        return Asked(self, path, headers, given)


class Asked:
    """A request that a worker has sent."""

    def __init__(self, gateway: Gateway, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
        self.connection = UnixConnection(connected(gateway.address.socket))
        self.connection.request("POST", path, json.dumps(body), dict(headers))
        self.response = self.connection.getresponse()

    def event(self) -> dict[str, Any]:
        """The next one; empty if the gateway has ended."""
        line = self.response.readline()
        return json.loads(line) if line else {}

    def until(self, kind: str) -> dict[str, Any]:
        while (event := self.event()) and event["event"] != kind:
            pass
        return event

    def leave(self) -> None:
        self.response.close()
        self.connection.close()


Start = Callable[..., Gateway]


@pytest.fixture
def start_gateway(quick_python: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Start]:
    """`start_gateway(url, max_cost=…)`: a gateway whose models are at `url`. It listens when this returns. `out`: of an earlier run."""
    monkeypatch.setattr(supervisor, "interpreter", quick_python)
    started: list[Gateway] = []

    def start(url: str, out: Path | None = None, **config: Any) -> Gateway:
        if out is None:
            out = tmp_path / f"run-{len(started)}"
            out.mkdir()
        ledger = out / LEDGER
        ledger.touch()  # as the controlling process does
        notified: list[str] = []
        server = GatewayProcess(
            GatewayConfig(address=new_address(), out=str(out), api_base=url, **{"workers": 8, **config}),
            notified.append,
        )
        started.append(Gateway(process=server, ledger=ledger, notified=notified))
        connected(server.address.socket).close()
        return started[-1]

    yield start
    for gateway in started:
        gateway.process.close()
