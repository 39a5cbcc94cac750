"""Cut off in the middle: records whole, nothing left running, the next item undisturbed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import nursery

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

# Tells through a pipe that it is at work in its sandbox, by the name of its task, and its process; then hangs there.
AGENT = """\
import os
import select

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move

RIGHT = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"


class Hangs:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        workspace.write("answer.py", RIGHT)
        if brief.task.startswith("hang"):
            with open(os.environ["AT_WORK"], "w") as pipe:
                pipe.write(f"{os.getpid()}\\n")
            workspace.run("exec sleep 100000")
        return Move(steps=1)


HANGS = AgentKind(make=Hangs, needs_model=False)
"""
OPTIONS = ("-v", "-p", "no:cacheprovider", "--recode-agent=hanging:HANGS", "--recode-out=out")


@pytest.fixture
def at_work(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    pipe = pytester.path / "at-work"
    os.mkfifo(pipe)
    monkeypatch.setenv("AT_WORK", str(pipe))
    pytester.makepyfile(hanging=AGENT)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    return pipe


@pytest.fixture(params=["process", "bubblewrap", "docker"])
def sandbox(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options for each kind; unavailable ones are skipped, but not in CI."""
    kind: str = request.param
    image = os.environ.get("RECODE_TEST_IMAGE", "")
    missing = {
        "process": False,
        "bubblewrap": subprocess.run(["which", "bwrap"], capture_output=True, check=False).returncode != 0,
        "docker": not image or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode != 0,
    }[kind]
    if missing and "CI" not in os.environ:
        pytest.skip(f"{kind} is not available here")
    return (f"--recode-sandbox={kind}", *([f"--recode-image={image}"] if kind == "docker" else []))


def start(pytester: pytest.Pytester, *args: str, python: tuple[str, ...] = (sys.executable,)) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*python, "-m", "pytest", *OPTIONS, *args],
        cwd=pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def left_running() -> list[str]:
    """Processes that hang where the agent hung, in whatever sandbox (their pids are visible from outside)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode().strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if line == "sleep 100000":
            found.append(path.parent.name)
    return found


def gone(pids: list[str]) -> None:
    """Wait until they have ended; the test's own time-out ends this wait."""
    for pid in pids:
        try:
            handle = os.pidfd_open(int(pid))
        except ProcessLookupError:
            continue
        assert select.select([handle], [], [], 30)[0], f"process {pid} outlived its run"
        os.close(handle)


def events(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    """Every line of every transcript; each must be whole."""
    return [
        json.loads(line)
        for path in sorted((pytester.path / "out/episodes").iterdir())
        for line in path.read_text().splitlines()
    ]


IGNORES_SIGCHLD = (
    *(sys.executable, "-c"),
    "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])",
)


@pytest.mark.slow
def test_a_parent_that_ignores_sigchld_changes_nothing(make_task: MakeTask, pytester: pytest.Pytester) -> None:
    """bwrap would wait for its child, and `subprocess` would take every exit status for 0."""
    make_task("a")
    options = ("-p", "no:cacheprovider", "--recode-agent=reference", "--recode-sandbox=bubblewrap")
    result = pytester.run(*IGNORES_SIGCHLD, "-m", "pytest", *options, timeout=60)
    assert "timed out" not in words(result)
    result.assert_outcomes(passed=1)


@pytest.fixture
def cut_off(
    make_task: MakeTask, pytester: pytest.Pytester, at_work: Path, sandbox: tuple[str, ...], results: Results
) -> Callable[..., int]:
    """Cut a session off in its second episode: the first has its record, and nothing is left running."""

    def run(cut: Callable[[int], None]) -> int:
        """`cut` gets the session's process; its exit status comes back."""
        make_task("a")
        make_task("hangs")
        before = set(left_running())
        with start(pytester, *sandbox) as process:
            with at_work.open() as pipe:
                assert pipe.readline()
            cut(process.pid)
            output, _ = process.communicate(timeout=60)
        print(output)
        assert [record["task"] for record in results()] == ["a"]
        gone([pid for pid in left_running() if pid not in before])
        return process.returncode

    return run


@pytest.mark.slow
def test_ctrl_c_leaves_whole_records_and_nothing_running(
    cut_off: Callable[..., int], pytester: pytest.Pytester
) -> None:
    assert cut_off(lambda pid: os.kill(pid, signal.SIGINT)) == pytest.ExitCode.INTERRUPTED
    assert [event["by"] for event in events(pytester) if event["event"] == "interrupted"] == ["KeyboardInterrupt"]


@pytest.mark.slow
def test_a_session_that_is_killed_leaves_whole_lines_and_nothing_running(
    cut_off: Callable[..., int], pytester: pytest.Pytester
) -> None:
    assert cut_off(lambda pid: os.killpg(pid, signal.SIGKILL)) == -signal.SIGKILL
    assert events(pytester)[-1]["event"] != "end"


@pytest.mark.slow
def test_a_time_out_of_the_users_ends_the_episode_not_the_run(
    make_task: MakeTask, recode: Run, results: Results, at_work: Path, sandbox: tuple[str, ...]
) -> None:
    make_task("a")
    make_task("hangs")
    make_task("z")
    before = set(left_running())
    reader = os.open(at_work, os.O_RDONLY | os.O_NONBLOCK)
    limit = "--timeout=30"
    workers = "-n2" if "bubblewrap" in sandbox[0] else "-n0"
    result = recode(*OPTIONS, *sandbox, workers, limit, "--timeout-method=signal")
    os.close(reader)
    result.assert_outcomes(passed=2, errors=1)
    found = {record["task"]: record for record in results()}
    assert found["hangs"]["outcome"] == "error", "no turn was graded"
    assert found["hangs"]["error"]["kind"] == "time"
    assert found["a"]["outcome"] == found["z"]["outcome"] == "solved"
    gone([pid for pid in left_running() if pid not in before])


@pytest.mark.slow
def test_a_worker_that_is_killed_is_an_error_of_its_item_alone(
    make_task: MakeTask, pytester: pytest.Pytester, at_work: Path, results: Results, quick_python: tuple[str, ...]
) -> None:
    make_task("a")
    make_task("hangs")
    make_task("z")
    before = set(left_running())
    with start(pytester, "-p", nursery.PLUGIN, "--recode-sandbox=process", "-n2", python=quick_python) as process:
        with at_work.open() as pipe:
            os.kill(int(pipe.readline()), signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
    found = {record["task"]: record for record in results()}
    assert found["hangs"]["outcome"] == "error", output
    assert found["hangs"]["error"]["kind"] == "worker"
    assert found["a"]["outcome"] == found["z"]["outcome"] == "solved"
    assert "worker" in found["hangs"]["error"]["message"]
    gone([pid for pid in left_running() if pid not in before])


@pytest.mark.slow
def test_a_worker_that_dies_before_an_episode_begins_is_an_error_of_its_item_alone(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results, recode: Run
) -> None:
    """Its transcript is there, and has no line."""
    make_task("a")
    make_task("dies")
    make_task("z")
    pytester.makeconftest(
        "import os\nimport signal\nfrom dataclasses import replace\n\n"
        "from pytest_recode.formats.directory import FORMAT\n\n\n"
        "def dies():\n    os.kill(os.getpid(), signal.SIGKILL)\n\n\n"
        "def load(path):\n"
        "    return [replace(task, load=dies) if task.id == 'dies' else task for task in FORMAT.load(path)]\n\n\n"
        "def pytest_recode_formats():\n    return {'task.yaml': replace(FORMAT, load=load)}\n"
    )
    result = recode("--recode-agent=reference", "--recode-sandbox=process", "--recode-out=out", "-n2")
    assert "INTERNALERROR" not in words(result)
    result.assert_outcomes(passed=2, errors=1)
    assert {record["task"]: record["outcome"] for record in results()} == {"a": "solved", "z": "solved"}
    assert "crashed while running" in words(result)


@pytest.mark.slow
def test_an_episode_that_is_cut_off_at_work_after_a_graded_turn_is_unsolved(
    make_task: MakeTask, recode: Run, results: Results, at_work: Path, pytester: pytest.Pytester, workers: str
) -> None:
    pytester.makepyfile(hanging=AGENT.replace('brief.task.startswith("hang")', "feedback").replace("x / 2", "x"))
    make_task("hangs")
    reader = os.open(at_work, os.O_RDONLY | os.O_NONBLOCK)
    result = recode(*OPTIONS, workers, "--timeout=20", "--timeout-method=thread")
    os.close(reader)
    result.assert_outcomes(failed=1)
    [record] = results()
    assert (record["outcome"], record["stop"], len(record["turns"])) == ("unsolved", "time", 1)
    assert "not solved within its time limit (1 turn in " in words(result)
    assert "still failing: answer.half" in words(result)
    assert "Stack of" not in words(result)
