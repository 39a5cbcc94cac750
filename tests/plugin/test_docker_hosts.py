"""Several Docker hosts: episodes are divided among them, and continue on the others if one fails."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.plugin.run.sandbox_holder import order_of
from pytest_recode.sandboxes.conformance import until
from tests.messages import assert_message
from tests.sandboxes.ssh_server import SshServer
from tests.second_daemon import IMAGE, SecondDaemon

from .conftest import MakeTask, words

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]

FIRST = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
"""The daemon of this machine."""
NOWHERE = "unix:///nowhere/docker.sock"
WITH_TESTS = f"import sys\n\nsys.path.append({str(Path(__file__).parents[2])!r})\n"
"""The tests are not installed, and a session in another directory does not find them."""
AGENTS = '''\
import os
from pathlib import Path

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move
from tests.second_daemon import kill

RIGHT = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"


class Writer:
    """In the session's first episode, the daemon of `DOCKERD_PIDFILE` is killed between two operations on files."""

    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        workspace.write("answer.py", "")
        if pidfile := os.environ.pop("DOCKERD_PIDFILE", ""):
            kill(Path(pidfile))
        workspace.write("answer.py", RIGHT)
        return Move(steps=1)


WRITER = AgentKind(make=Writer, needs_model=False)
'''


@pytest.fixture
def session(run_pytest: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a session on the hosts that it names."""
    pytester.makepyfile(own_agents=WITH_TESTS + AGENTS)

    def run(*args: str, hosts: tuple[str, ...]) -> pytest.RunResult:
        given = [f"--recode-docker-host={host}" for host in hosts]
        return run_pytest(
            *("--recode-agent=own_agents:WRITER", f"--recode-image={IMAGE or 'none'}", "--recode-out=out", "-rA"),
            *given,
            *args,
        )

    return run


def told(records: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [
        (each["task"], each["outcome"], each["sandbox_host"]) for each in sorted(records, key=lambda it: it["task"])
    ]


@pytest.mark.slow
def test_a_host_that_is_killed_costs_its_running_episode(
    session: Run, make_task: MakeTask, results: Results, second_daemon: SecondDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        make_task(name)
    monkeypatch.setenv("DOCKERD_PIDFILE", str(second_daemon.pidfile))
    result = session("-n0", hosts=(second_daemon.url, FIRST))
    seen = words(result)
    records = results()
    assert told(records) == [("a", "error", second_daemon.url), ("b", "solved", FIRST), ("c", "solved", FIRST)], seen
    [error] = [each["error"] for each in records if each["error"]]
    assert error["kind"] == "sandbox"
    assert_message(error["message"], "docker", second_daemon.url, "--recode-docker-host")
    assert f"recode: docker on {second_daemon.url}, {FIRST}" in seen
    assert (
        f"sandbox: docker (1 episode on {second_daemon.url}, 2 episodes on {FIRST}); memory limit: control group of the container"
        in seen
    )
    second_daemon.start()
    until(lambda: not second_daemon.containers(), "the daemon that is back removed the containers of the lost episode")


@pytest.mark.slow
def test_without_a_host_that_is_left_every_episode_is_an_error(
    session: Run, make_task: MakeTask, results: Results, second_daemon: SecondDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        make_task(name)
    monkeypatch.setenv("DOCKERD_PIDFILE", str(second_daemon.pidfile))
    session("-n0", hosts=(second_daemon.url, second_daemon.other_url))
    records = results()
    assert Counter((each["outcome"], each["error"]["kind"]) for each in records) == {("error", "sandbox"): 3}
    assert {each["sandbox_host"] for each in records} == {second_daemon.url, second_daemon.other_url}
    for each in records:
        assert_message(each["error"]["message"], "docker", each["sandbox_host"], "--recode-docker-host")


@pytest.mark.slow
def test_workers_are_divided_among_the_hosts(
    session: Run, make_task: MakeTask, results: Results, second_daemon: SecondDaemon
) -> None:
    for name in "abcdef":
        make_task(name)
    seen = words(session("-n2", "--dist=load", hosts=(FIRST, second_daemon.url)))
    assert Counter(each["outcome"] for each in results()) == {"solved": 6}, seen
    assert {each["sandbox_host"] for each in results()} == {FIRST, second_daemon.url}, seen
    assert not second_daemon.containers()


@pytest.mark.slow
def test_a_worker_whose_host_is_gone_when_it_starts_takes_another(
    session: Run, make_task: MakeTask, results: Results, second_daemon: SecondDaemon, pytester: pytest.Pytester
) -> None:
    """The controller has checked the hosts by then."""
    make_task("a")
    pytester.makeconftest(
        f"{WITH_TESTS}from pathlib import Path\n\nimport pytest\n\nfrom tests.second_daemon import kill\n\n\n"
        "@pytest.hookimpl(trylast=True)\ndef pytest_runtest_setup(item):\n"
        f"    kill(Path({str(second_daemon.pidfile)!r}))\n"
    )
    seen = words(session("-n0", hosts=(second_daemon.url, FIRST)))
    assert told(results()) == [("a", "solved", FIRST)], seen
    assert second_daemon.url in seen


@pytest.mark.slow
def test_docker_host_of_the_environment_over_ssh(
    session: Run, make_task: MakeTask, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        make_task(name)
    with SshServer(tmp_path) as server:
        monkeypatch.setenv("PATH", str(server.bin), prepend=":")
        monkeypatch.setenv("DOCKER_HOST", server.url)
        seen = words(session("-n2", "--recode-sandbox=docker", hosts=()))
        until(lambda: not server.sessions(), "every process closed its connection")
    assert told(results()) == [(name, "solved", server.url) for name in "abc"], seen
    assert f"3 episodes on {server.url}" in seen


def test_a_host_that_is_down_stops_the_run_before_it_starts(
    session: Run, make_task: MakeTask, pytester: pytest.Pytester
) -> None:
    make_task()
    result = session("-n0", hosts=(NOWHERE,))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR")]
    assert_message(line, f"--recode-docker-host={NOWHERE}", "start Docker there", "name other hosts")
    assert not (pytester.path / "out").exists()


@pytest.mark.parametrize(
    ("host", "more", "next_step"),
    [
        ("somewhere", "not an address", "tcp://HOST:PORT"),
        ("tcp://somewhere", "no port", "tcp://HOST:PORT"),
        ("ssh://-oProxyCommand=ls", "no host", "ssh://"),
        ("ssh://me:secret@somewhere", "has a password", "leave it out"),
        ("unix://docker.sock", "no absolute path", "unix:///SOCKET"),
        (f"{NOWHERE} --recode-docker-host={NOWHERE}", "twice", "keep one"),
        (f"{NOWHERE} --recode-sandbox=bubblewrap", "no effect", "leave one"),
    ],
)
def test_what_no_host_is(session: Run, make_task: MakeTask, host: str, more: str, next_step: str) -> None:
    make_task()
    address, *args = host.split()
    result = session("-n0", *args, hosts=(address,))
    [line] = [line for line in result.errlines if line.startswith("ERROR")]
    assert_message(line, "--recode-docker-host", next_step)
    assert more.split()[-1] in line
    assert "secret" not in words(result) + "".join(result.errlines)


@pytest.mark.parametrize("hosts", [1, 2, 3, 5])
def test_workers_are_spread_evenly_before_and_after_a_failure(hosts: int) -> None:
    names = [f"h{number}" for number in range(hosts)]
    orders = [order_of(names, worker) for worker in range(hosts * max(hosts - 1, 1) * 2)]
    assert all(sorted(order) == names for order in orders)
    assert len(set(Counter(order[0] for order in orders).values())) == 1
    for lost in names if hosts > 1 else ():
        moved = Counter(order[1] for order in orders if order[0] == lost)
        assert len(moved) == hosts - 1
        assert len(set(moved.values())) == 1
