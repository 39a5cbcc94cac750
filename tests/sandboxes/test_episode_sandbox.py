"""Episodes in flight share a sandbox: each ends its own programs and its own waits, and no other's."""

from __future__ import annotations

import sys
import threading

import pytest

from pytest_recode.episode_stops import EpisodeStops
from pytest_recode.faults import Stopped
from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.sandboxes.episode_sandbox import EpisodeSandbox
from pytest_recode.stopping import Stops
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import KINDS, opened

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)


@pytest.fixture(params=["process", "bubblewrap", "docker"])
def shared(request: pytest.FixtureRequest, context: SandboxContext, sandboxes: dict[str, Sandbox]) -> Sandbox:
    assert request.param in KINDS
    return opened(request.param, context, sandboxes)


def bench(sandbox: Sandbox) -> Bench:
    return Bench(sandbox=sandbox, environment=Environment(python=sys.executable), limits=LIMITS)


@pytest.mark.mostly_slow
def test_closing_one_leaves_the_programs_of_others(shared: Sandbox) -> None:
    one, other = (EpisodeSandbox(shared, lambda: None) for _ in range(2))
    with bench(one).probe() as lost, bench(other).probe() as stays:
        assert lost.ask("result = 1") == 1
        one.close()
        assert stays.ask("result = 2") == 2
    other.close()


@pytest.mark.mostly_slow
def test_what_ends_an_episode_ends_its_wait(shared: Sandbox) -> None:
    stops = EpisodeStops(Stops())
    sandbox = EpisodeSandbox(shared, stops.check)
    with bench(sandbox).probe() as probe:
        assert probe.ask("result = 1") == 1
        threading.Timer(0.5, stops.end, [Stopped("Ctrl-C")]).start()
        with pytest.raises(Stopped, match="Ctrl-C"):
            probe.ask("import time; time.sleep(600)")
        with pytest.raises(Stopped):
            sandbox.launch(*([None] * 3))  # type: ignore[arg-type]  it launches nothing any more
    sandbox.close()
