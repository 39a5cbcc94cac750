"""Programs that stay between their turns: they are stopped, whatever they try, and nothing reads files that they may change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest

from pytest_recode.agents import CommandResult, Refused
from pytest_recode.agents.door_requests import Playing
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap, docker_
from pytest_recode.sandboxes.conformance.probe import marked, running
from pytest_recode.task import Brief, Environment, Limits

from .test_attacks import Unanswered

IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")
LOOKS = 30
"""Reads of a file that a running program changes thousands of times meanwhile."""

BEGIN = """
import ctypes, os, signal, sys, threading, time


def begun():
    return os.read(0, 99)


def over(turn):
    os.write(0, turn)


def write(text):
    with open("new", "w") as file:
        file.write(str(text))
    os.rename("new", "answer.py")


def count():
    number = 0
    while True:
        number += 1
        write(number)


def wait_for(text):
    while text not in open("answer.py").read():
        pass
"""
PLAYS = """
last = ""
while turn := begun():
    while (now := open("answer.py").read()) in ("", last):
        pass
    last = now
    over(turn)
"""
"""In each turn, until the count has gone on."""


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.slow)])
def workspace(request: pytest.FixtureRequest) -> Iterator[SandboxWorkspace]:
    if request.param == "docker" and not IMAGE:
        pytest.skip("RECODE_TEST_IMAGE names no docker image with Python and pytest")
    context = SandboxContext(run="staying", python=sys.executable, image=IMAGE)
    made: Sandbox = bubblewrap.make(context) if request.param == "bubblewrap" else docker_.Docker(context)
    made.ready(Environment())
    with opened(made) as space:
        yield space
    made.close()


def opened(sandbox: Sandbox) -> SandboxWorkspace:
    brief = Brief(
        task="a", title="", instruction="", paper="", repo={"answer.py": b""}, targets=("answer.py",), interfaces=()
    )
    return SandboxWorkspace(sandbox, brief, Environment(), Limits())


def turn(
    workspace: SandboxWorkspace,
    code: str = "",
    *,
    seconds: float = 60.0,
    mark: str = "",
    stays: Literal["stays", "last"] = "stays",
) -> CommandResult:
    """A turn of a new program, or of the one that stayed."""
    workspace.place()
    argv = ("python3", "-c", BEGIN + code, mark) if code else ()
    playing = Playing(argv=argv, env={}, files={"in": b""}, entered="in", seconds=seconds, stays=stays)
    return workspace.play(playing, Unanswered(waits=False))


def texts(workspace: SandboxWorkspace) -> set[bytes]:
    """All that is read of the target now, in every way that leaves the workspace."""
    seen = {workspace.targets()["answer.py"] for _ in range(LOOKS)}
    return {*seen, workspace.changes().versions["answer.py"][0]}


def holds(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end


THREAD = f"threading.Thread(target=count, daemon=True).start(){PLAYS}"
CHILD = f"if not os.fork():\n    count(){PLAYS}"
CHAIN = f"""
if not os.fork():
    os.setsid()
    number = 0
    while True:
        number += 1
        write(number)
        if os.fork():
            os._exit(0)
{PLAYS}"""
"""Each process of it lives for one number, and starts the next."""


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "code",
    [
        pytest.param(CHILD, id="a child"),
        pytest.param(THREAD, id="a thread"),
        pytest.param(CHAIN, id="a chain of processes"),
    ],
)
def test_what_it_leaves_running_is_stopped_and_goes_on_in_the_next_turn(code: str, workspace: SandboxWorkspace) -> None:
    result = turn(workspace, code)
    assert (result.status, result.timed_out, result.stays) == (0, False, True), result
    (first,) = texts(workspace)
    assert turn(workspace).stays
    (second,) = texts(workspace)
    assert int(second) > int(first)


WAKES = """
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_char * 64)]


try:
    libc = ctypes.CDLL("librt.so.1")
except OSError:
    libc = ctypes.CDLL(None)
timer = ctypes.c_void_p()
assert not libc.timer_create(1, ctypes.byref(Event(signo=signal.SIGCONT)), ctypes.byref(timer))
turn = begun()
assert not libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 1, 0), None)
write(0)
over(turn)
count()
"""
"""A second after it was over, a timer sends it the signal that lets a stopped process go on."""


def is_woken(pid: int) -> bool:
    """Whether a process has a CPU, or waits for one."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"


def test_one_that_wakes_itself_is_ended_before_anything_is_read(workspace: SandboxWorkspace) -> None:
    mark = marked()
    assert turn(workspace, WAKES, mark=mark).stays
    holds(lambda: any(is_woken(pid) for pid in running(mark)))
    assert len(texts(workspace)) == 1
    assert not running(mark)
    with pytest.raises(Refused, match="it ran while its turn was over, or was killed"):
        turn(workspace)


TRACED = """
if not os.fork():
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    write("0")
    while True:
        pass
turn = begun()
wait_for("0")
over(turn)
begun()
"""
"""A traced process is not stopped by the signal, but waits for its tracer."""


@pytest.mark.slow
def test_one_that_cannot_be_stopped_is_killed(workspace: SandboxWorkspace) -> None:
    mark = marked()
    result = turn(workspace, TRACED, mark=mark)
    assert (result.stays, result.timed_out) == (False, False)
    assert result.killed == "its processes could not be stopped at the end of its turn"
    assert not running(mark)
    assert texts(workspace) == {b"0"}


def test_its_time_stops_it_and_it_goes_on_in_the_next_turn(workspace: SandboxWorkspace) -> None:
    late = "first = begun()\nwrite('late')\nsecond = begun()\nprint(first, second, flush=True)\nover(first)\nover(second)\nbegun()\n"
    result = turn(workspace, late, seconds=4.0)
    assert (result.timed_out, result.stays, result.output) == (True, True, "")
    assert texts(workspace) == {b"late"}
    result = turn(workspace)
    assert (result.timed_out, result.stays, result.output) == (False, True, "b'1\\n' b'2\\n'\n")


def test_an_answer_of_an_earlier_turn_ends_no_later_one(workspace: SandboxWorkspace) -> None:
    """Also one that was sent before the turn had begun."""
    code = (
        "first = begun()\nover(first)\nover(b'2\\n')\nbegun()\nover(first)\nwrite('worked')\nover(b'2\\n')\nbegun()\n"
    )
    turn(workspace, code)
    turn(workspace)
    assert workspace.targets() == {"answer.py": b"worked"}


def test_the_last_turn_leaves_nothing_and_the_input_ends(workspace: SandboxWorkspace) -> None:
    mark = marked()
    ends = "over(begun())\nlast = begun()\nif not os.fork():\n    count()\nover(last)\nwait_for('0')\nprint(begun())\n"
    assert turn(workspace, ends, mark=mark).stays
    result = turn(workspace, stays="last")
    assert (result.status, result.stays, result.output) == (0, False, "b''\n")
    assert len(texts(workspace)) == 1
    assert not running(mark)


def test_one_that_ends_is_not_there_any_more(workspace: SandboxWorkspace) -> None:
    result = turn(workspace, "begun()\nsys.exit(3)")
    assert (result.status, result.stays) == (3, False)
    with pytest.raises(Refused):
        turn(workspace)
    assert turn(workspace, CHILD).stays


def test_it_is_ended_with_its_workspace_or_by_a_command(workspace: SandboxWorkspace) -> None:
    for end in (lambda: workspace.run("true"), workspace.close):
        mark = marked()
        turn(workspace, CHILD, mark=mark)
        assert running(mark)
        end()
        holds(lambda mark=mark: not running(mark))  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_it_is_ended_with_its_run(number: signal.Signals, tmp_path: Path) -> None:
    mark = marked()
    host = f"""
import sys
from tests.command_line.test_staying import *
space = opened(bubblewrap.make(SandboxContext(run="killed", python=sys.executable)))
turn(space, CHILD, mark={mark!r})
print("at rest", flush=True)
sys.stdin.read()
"""
    root = Path(__file__).parents[2]
    run = subprocess.Popen(
        [sys.executable, "-c", host],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    with run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"at rest\n"
        assert [pid for pid in running(mark) if pid != run.pid]
        run.send_signal(number)
        run.communicate(timeout=60)
    holds(lambda: not running(mark))
