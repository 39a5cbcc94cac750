"""`--recode-otel`: a collector gets each episode during the run, and no failure of it changes a result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.export.collector import Collector, attributes
from tests.projects import Command

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

PLAYED = ("--recode-model=sim/graduate", "--recode-feedback=L0", "--recode-feedback=L4", "--recode-turns=2")
GIVEN = (*PLAYED, "--recode-seed=5", "--recode-out=out")

AGENTS = '''\
import time
from pathlib import Path

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move


class Second:
    """In the second task, waits until the collector has the first."""

    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        while brief.task == "second" and not Path("arrived").exists():
            time.sleep(0.01)
        return Move(steps=1)


SECOND = AgentKind(make=Second, needs_model=False)
'''


def ids(collector: Collector) -> set[tuple[bytes, bytes, bytes]]:
    return {(span.trace_id, span.span_id, span.parent_span_id) for span in collector.spans}


@pytest.mark.slow
def test_a_run_sends_what_an_export_sends_later(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str, command: Command
) -> None:
    for task in ("one", "two"):
        make_task(task)
    with Collector() as live:
        done = recode(workers, *GIVEN, f"--recode-otel={live.url}")
    assert "--recode-otel" not in words(done)
    with Collector() as later:
        assert command(pytester.path, "export", "out", "--to", "otel", "-o", later.url).returncode == 0
    assert ids(live) == ids(later)
    assert len(live.spans) == len(later.spans)
    roots = [span for span in live.spans if not span.parent_span_id]
    assert {attributes(span)["gen_ai.conversation.id"] for span in roots} == {each["nodeid"] for each in results()}
    assert any(span.links for span in roots)  # two levels share the first turn


@pytest.mark.slow
def test_an_episode_is_sent_while_the_next_one_is_played(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task("first")
    make_task("second")
    pytester.makepyfile(second_agent=AGENTS)
    pytester.syspathinsert()
    with Collector() as collector:
        ended = threading.Event()

        def signal() -> None:
            while not collector.requests and not ended.wait(0.01):
                pass
            (pytester.path / "arrived").touch()

        thread = threading.Thread(target=signal)
        thread.start()
        given = ("--recode-agent=second_agent:SECOND", "--recode-feedback=none", "--recode-out=out")
        recode("-n0", *given, f"--recode-otel={collector.url}")
        ended.set()
        thread.join()
    assert len(collector.requests) == 2


@pytest.mark.slow
def test_an_endpoint_that_fails_changes_no_result(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    make_task("one")
    with Collector(status=400) as collector:
        failing = recode(workers, *GIVEN, f"--recode-otel={collector.url}")
    without = recode(workers, *PLAYED, "--recode-seed=5", "--recode-out=other")
    assert failing.ret == without.ret
    outcomes = [{each["nodeid"]: each["outcome"] for each in results(out)} for out in ("out", "other")]
    assert outcomes[0] == outcomes[1]
    text = words(failing)
    assert f"--recode-otel={collector.url}/v1/traces: 2 of 2 episodes were not sent" in text
    assert f"--to otel -o {collector.url} sends them" in text
    assert len(collector.requests) == 1  # nothing is sent after a failure
    assert "opentelemetry" not in text.lower()


@pytest.mark.parametrize("url", ["nowhere", "ftp://host", "http://"])
def test_an_address_that_is_none_is_one_line(make_task: MakeTask, recode: Run, url: str) -> None:
    make_task("one")
    done = recode("-n0", *GIVEN, f"--recode-otel={url}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--recode-otel={url}: is not the URL of an OTLP endpoint (HTTP): give http://HOST:4318" in words(done)


def test_without_the_extra_it_is_one_line(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task("one")
    pytester.makepyfile(
        no_extra="import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name.startswith('opentelemetry') else find(name, *rest)\n"
    )
    pytester.syspathinsert()
    done = recode("-n0", "-p", "no_extra", *GIVEN, "--recode-otel=http://127.0.0.1:4318")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "pip install 'pytest-recode[otel]'" in words(done)
