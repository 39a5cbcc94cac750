"""Somebody pauses a container in the middle of a grading: no fault of the candidate's, and no minutes of silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from docker.errors import APIError

from pytest_recode.faults import SandboxError
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import SandboxContext, docker_
from pytest_recode.sandboxes.conformance import Bench, until
from pytest_recode.sandboxes.container_config import RUN
from pytest_recode.sandboxes.daemon import client
from pytest_recode.task import Environment, Limits, Parts, Task
from pytest_recode.verdict import Outcome
from tests.sandboxes.conftest import IMAGE, usable

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32, test_seconds=5)
HANGS = b"import subprocess\n\n\ndef f():\n    subprocess.run(['sleep', '4321'])\n"
TEST = b"def test_f(candidate):\n    assert candidate.m.f() == 1\n"


@pytest.fixture
def run(context: SandboxContext) -> Iterator[str]:
    """None of the run's containers may be left."""
    usable("docker", context)
    name = f"paused-{uuid4().hex}"
    yield name
    daemon = client()
    left = {"all": True, "filters": {"label": f"{RUN}={name}"}}
    until(lambda: not daemon.containers(**left), "its containers went")
    daemon.close()


def pause(daemon: Any, container: str) -> None:
    """Under cgroup v1 runc gives up and thaws where a process forks just then ("unable to freeze"): once more."""

    def frozen() -> bool:
        try:
            daemon.pause(container)
        except APIError as refused:
            if "unable to freeze" not in str(refused.explanation):
                raise
            return False
        return True

    until(frozen, "the container is frozen")


def graded(run: str, meanwhile: Callable[[Any, list[str]], None]) -> Any:
    """The verdict on a candidate that hangs. `meanwhile` gets the grader's and the candidate's container once it does."""

    def wait() -> None:
        daemon = client()

        def found() -> list[str]:
            rows = daemon.containers(filters={"label": f"{RUN}={run}"})
            return [row["Id"] for row in sorted(rows, key=lambda row: row["Created"])]

        def hangs() -> bool:
            return any("4321" in " ".join(row) for container in found() for row in daemon.top(container)["Processes"])

        until(hangs, "the candidate hangs")
        grader, candidate = sorted(found(), key=lambda container: "4321" in str(daemon.top(container)["Processes"]))
        meanwhile(daemon, [grader, candidate])
        daemon.close()

    sandbox = docker_.Docker(SandboxContext(run=run, python="", image=IMAGE))
    parts = Parts(instruction="", paper=None, repo={"m.py": b""}, reference={"m.py": b""}, tests={"test_m.py": TEST})
    task = Task(
        id="t", title="t", format="t", manifest=Path("/tasks/t/task.yaml"), targets=("m.py",), interfaces=("m.f",),
        load=lambda: parts, limits=LIMITS,
    )  # fmt: skip
    thread = threading.Thread(target=wait)
    thread.start()
    try:
        return judge(task, parts, {"m.py": HANGS}, sandbox)
    finally:
        thread.join()
        sandbox.close()


@pytest.mark.slow
@pytest.mark.parametrize("whose", [0, 1], ids=["grader", "candidate"])
def test_a_paused_container_is_the_machines_fault(run: str, whose: int) -> None:
    with pytest.raises(SandboxError, match=r"^docker container \w{12} of .* was paused while its program ran"):
        graded(run, lambda daemon, containers: pause(daemon, containers[whose]))


@pytest.mark.slow
def test_one_that_runs_again_has_lost_time_that_was_not_its_own(run: str) -> None:
    def briefly(daemon: Any, containers: list[str]) -> None:
        pause(daemon, containers[1])
        daemon.unpause(containers[1])

    with pytest.raises(SandboxError, match="was paused"):
        graded(run, briefly)


@pytest.mark.slow
def test_without_a_pause_the_candidate_hangs_on_its_own_account(run: str) -> None:
    [case] = graded(run, lambda *_: None).cases
    assert (case.outcome, case.kind) == (Outcome.FAILED, "timeout")


@pytest.mark.slow
def test_one_that_is_paused_before_it_has_work(run: str) -> None:
    """It waits, ahead of its use, and is noticed long before its imports would be given up."""
    with (
        closing(client()) as daemon,
        closing(docker_.Docker(SandboxContext(run=run, python="", image=IMAGE))) as sandbox,
    ):
        bench = Bench(sandbox=sandbox, environment=Environment(preload=("json",)), limits=LIMITS)
        with bench.probe() as probe:  # leaves the wish for a spare behind
            assert probe.ask("result = 1") == 1
        filters = {"label": f"{RUN}={run}", "status": "running"}
        until(lambda: len(daemon.containers(filters=filters)) == 1, "the spare runs")
        [spare] = daemon.containers(filters=filters)
        pause(daemon, spare["Id"])
        with pytest.raises(SandboxError, match="was paused"), bench.probe() as probe:
            probe.ask("result = 1")
