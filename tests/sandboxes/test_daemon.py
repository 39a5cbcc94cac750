"""A docker daemon that goes down in the middle is a `SandboxError`, whoever asks it for what."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from pytest_recode.faults import SandboxError
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox, SandboxContext, docker_
from pytest_recode.sandboxes.conformance import Bench, until
from pytest_recode.sandboxes.container_config import RUN
from pytest_recode.sandboxes.daemon import client
from pytest_recode.task import Environment, Limits, Parts, Task
from tests.sandboxes.conftest import IMAGE, usable
from tests.sandboxes.daemon_proxy import DaemonProxy

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)
GONE = r"docker on unix:///\S+: the daemon does not answer "
WORD = "daemon-goes-down"


@pytest.fixture
def run(context: SandboxContext) -> Iterator[str]:
    """The containers of a run, which end with their wire: none may be left, whatever could no longer be asked for."""
    usable("docker", context)
    name = f"down-{uuid4().hex}"
    daemon = client()
    yield name
    left = {"all": True, "filters": {"label": f"{RUN}={name}"}}
    until(lambda: not daemon.containers(**left), "its containers went")
    daemon.close()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[DaemonProxy]:
    daemon = DaemonProxy(until=WORD.encode())
    monkeypatch.setenv("DOCKER_HOST", daemon.url)
    yield daemon
    daemon.close()


@pytest.fixture
def bench(run: str, proxy: DaemonProxy) -> Bench:
    sandbox = docker_.Docker(SandboxContext(run=run, python="", image=IMAGE))
    return Bench(sandbox=sandbox, environment=Environment(), limits=LIMITS)


def closes(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match=GONE):
        sandbox.close()


def loses(bench: Bench, proxy: DaemonProxy) -> None:
    with bench.probe() as probe:
        assert probe.ask("result = 2") == 2
        proxy.close()
        assert probe.connection.receive(1, time.monotonic() + 60) == b""


def test_before_anything_was_asked(bench: Bench, proxy: DaemonProxy) -> None:
    proxy.close()
    with pytest.raises(SandboxError, match=GONE):
        bench.sandbox.ready(Environment())
    with pytest.raises(SandboxError, match=GONE):
        docker_.find_image("", [].append)
    bench.sandbox.close()  # it has nothing to remove
    assert re.match(GONE, docker_.KIND.check(SandboxContext(run="x", python="")) or "")


@pytest.mark.slow
def test_while_a_program_runs_and_a_spare_waits(bench: Bench, proxy: DaemonProxy) -> None:
    with bench.probe() as first:  # leaves the wish for a spare behind
        assert first.ask("result = 1") == 1
    with pytest.raises(SandboxError, match=GONE):
        loses(bench, proxy)
    with pytest.raises(SandboxError, match=GONE), bench.probe():
        pass
    closes(bench.sandbox)


@pytest.mark.slow
def test_in_the_middle_of_a_grading(bench: Bench) -> None:
    """The candidate's wire ends as it does where the candidate ends, and that is no failed case."""
    tests = f"def test_f(candidate):\n    assert candidate.m.f({WORD[:6]!r} + {WORD[6:]!r}) == 1\n"
    parts = Parts(
        instruction="", paper=None, repo={"m.py": b""}, reference={"m.py": b""}, tests={"test_m.py": tests.encode()}
    )
    task = Task(
        id="t", title="t", format="t", manifest=Path("/tasks/t/task.yaml"), targets=("m.py",), interfaces=("m.f",),
        load=lambda: parts, limits=LIMITS,
    )  # fmt: skip
    with pytest.raises(SandboxError, match=GONE):
        judge(task, parts, {"m.py": b"def f(x): return 1\n"}, bench.sandbox)
    closes(bench.sandbox)


def test_a_connection_that_breaks_is_not_the_programs_end(bench: Bench, proxy: DaemonProxy) -> None:
    """The daemon is there again at once, as one that was restarted is, and does not say that the container was killed."""

    def breaks() -> None:
        with bench.probe() as probe:
            assert probe.ask("result = 2") == 2
            proxy.cut()
            assert probe.connection.receive(1, time.monotonic() + 60) == b""

    with pytest.raises(SandboxError, match=r"^docker on \S+ lost container \w{12}: its stream ended without a report"):
        breaks()
    bench.sandbox.close()


def test_between_two_launches(bench: Bench, proxy: DaemonProxy) -> None:
    with bench.probe() as probe:
        assert probe.ask("result = 1") == 1
    proxy.close()
    with pytest.raises(SandboxError, match=GONE), bench.probe():
        pass
    closes(bench.sandbox)
