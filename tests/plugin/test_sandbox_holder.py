"""The sandbox of a process: an error of one host moves the next episodes to another, and ends none that still plays."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.plugin.collection.collected import CollectedTasks
from pytest_recode.plugin.collection.registry import Registry
from pytest_recode.plugin.run.sandbox_holder import SandboxHolder
from pytest_recode.sandboxes import process
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.settings import Settings
from pytest_recode.task import Environment, Limits

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)


@pytest.mark.parametrize("in_flight", [1, 2])
def test_a_failed_host_keeps_the_programs_of_episodes_in_flight(tmp_path: Path, in_flight: int) -> None:
    holder = SandboxHolder(
        settings=Settings(
            sandbox="many", docker_hosts=("unix:///one", "unix:///two"), python=sys.executable, in_flight=in_flight
        ),
        registry=Registry(offers={"sandboxes": {"many": replace(process.KIND, hosts=True)}}),
        collected=CollectedTasks(),
        run=f"holder-{in_flight}",
        out=tmp_path / "out",
        root=tmp_path,
    )
    first = holder.get()
    with Bench(sandbox=first, environment=Environment(), limits=LIMITS).probe() as probe:
        assert probe.ask("result = 1") == 1
        holder.failed()
        assert holder.get() is not first
        if in_flight > 1:
            assert probe.ask("result = 2") == 2
        holder.drop()
        with pytest.raises((EOFError, ConnectionError)):
            probe.ask("result = 3")
