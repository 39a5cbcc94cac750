"""A docker daemon that is reached over TLS, as the service `docker:dind` of GitLab CI is."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import docker.tls
import docker.utils
import pytest
from docker.context import ContextAPI

from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import SandboxContext, docker_
from pytest_recode.sandboxes.addresses import in_use
from pytest_recode.sandboxes.daemon import client
from pytest_recode.task import Limits, Parts, Task
from tests.messages import assert_message
from tests.sandboxes.conftest import IMAGE, usable

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)
LONG = 300_000
"""Characters that travel each way: more than one record of TLS holds (16 KiB), and more than a socket takes at once."""


def certificate(place: Path) -> None:
    """`cert.pem`, by itself its own authority, and `key.pem`: under the names that docker looks for."""
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run(
        [*command.split(), "-keyout", "key.pem", "-out", "cert.pem"], cwd=place, check=True, capture_output=True
    )
    (place / "ca.pem").write_bytes((place / "cert.pem").read_bytes())


async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
    sink.close()


class TlsDaemon:
    """Passes on to the daemon of this machine what comes to `port` over TLS."""

    def __init__(self, place: Path) -> None:
        base = docker.utils.kwargs_from_env().get("base_url", "unix:///var/run/docker.sock")
        self._daemon = "/" + base.split("://", 1)[-1].lstrip("/")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(place / "cert.pem", place / "key.pem")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)

    async def _serve(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        far, far_out = await asyncio.open_unix_connection(self._daemon)
        await asyncio.gather(pass_on(near, far_out), pass_on(far, near_out))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsDaemon]:
    certificate(tmp_path)
    daemon = TlsDaemon(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", f"tcp://localhost:{daemon.port}")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    yield daemon
    daemon.close()


@pytest.mark.slow
def test_a_grading_with_much_data_each_way(context: SandboxContext, tls: TlsDaemon) -> None:
    usable("docker", context)
    tests = f"""
def test_f(candidate):
    assert candidate.m.f("x" * {LONG}) == "x" * {LONG} + "."

def test_g(candidate):
    assert candidate.m.g() == 2
"""
    parts = Parts(
        instruction="", paper=None, repo={"m.py": b""}, reference={"m.py": b""}, tests={"test_m.py": tests.encode()}
    )
    task = Task(
        id="t", title="t", format="t", manifest=Path("/tasks/t/task.yaml"), targets=("m.py",), interfaces=("m.f", "m.g"),
        load=lambda: parts, limits=LIMITS,
    )  # fmt: skip
    sandbox = docker_.Docker(SandboxContext(run=f"tls-{uuid4().hex}", python="", image=IMAGE))
    try:
        verdict = judge(task, parts, {"m.py": b"def f(x): return x + '.'\ndef g(): return 1\n"}, sandbox)
    finally:
        sandbox.close()
    assert [case.outcome for case in verdict.cases] == ["passed", "failed"]


def test_the_active_context_gives_address_and_certificates(
    context: SandboxContext, tls: TlsDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usable("docker", context)
    for name in ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text('{"currentContext": "build"}')
    files = docker.tls.TLSConfig(
        client_cert=(str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")),
        ca_cert=str(tmp_path / "ca.pem"),
        verify=True,
    )
    address = f"tcp://localhost:{tls.port}"
    ContextAPI.create_context("build", host=address, tls_cfg=files)
    [stored] = (tmp_path / "contexts").rglob("meta.json")
    stored.write_text(stored.read_text().replace("https://", "tcp://"))  # as `docker context create` writes it
    assert in_use("") == address
    with client() as daemon:
        assert daemon.version()["Version"]
    monkeypatch.setenv("DOCKER_CONTEXT", "default")
    assert in_use("") == ""
    monkeypatch.setenv("DOCKER_CONTEXT", "another")
    problem = docker_.KIND.check(context)
    assert problem is not None
    assert_message(problem, "DOCKER_CONTEXT=another", "docker context use", "DOCKER_HOST")
