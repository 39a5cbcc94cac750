"""Disks that fill up, turn read-only or vanish in the middle of a run: nothing more is paid, nothing passes without its record."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.chat_server import Answer, ChatServer, Request, say
from tests.messages import assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

RIGHT = "```python answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n```\n"
TASKS = ("a", "b", "c", "d", "e", "f", "g", "h")


def mounted(*args: str) -> None:
    """Skips the test where this process may not mount."""
    done = subprocess.run(["mount", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mount {' '.join(args)}: {done.stderr.strip()}")


@pytest.fixture
def disk(pytester: pytest.Pytester) -> Iterator[Path]:
    """A small file system of its own, mounted as long as the test runs."""
    place = pytester.path / "disk"
    place.mkdir()
    mounted("-t", "tmpfs", "-o", "size=12m", "tmpfs", str(place))
    yield place
    subprocess.run(["umount", "-R", str(place)], check=True)


def fill(disk: Path) -> None:
    """Until not one byte more fits on it."""
    with (disk / "of-somebody-else").open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


def read_only(place: Path) -> None:
    """New writes are refused, whatever is open goes on."""
    mounted("--bind", str(place), str(place))
    mounted("-o", "remount,ro,bind", str(place))


FAULTS: dict[str, Callable[[Path], object]] = {
    "full": fill,
    "read-only": lambda disk: read_only(disk / "out"),
    "deleted": lambda disk: shutil.rmtree(disk / "out"),
    "ledger": lambda disk: (disk / "out/spending.jsonl").unlink(),
}
SAID = {
    "full": "No space left on device",
    "read-only": "Read-only file system",
    "deleted": "No such file or directory",
    "ledger": "No such file or directory",
}


class Breaks:
    """A provider whose disk breaks while it works on a request: the `at`th, counted from 0."""

    def __init__(self, at: int, fault: Callable[[], object]) -> None:
        self._at = at
        self._fault = fault
        self._lock = threading.Lock()
        self.before = 0  # requests that had come when it broke
        self.server = ChatServer(self._answer)

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            if request.number == self._at:
                self._fault()
                self.before = len(self.server.requests)
        return say(RIGHT)


def stopped(result: pytest.RunResult, line: str) -> None:
    """The run ended at once, and said why in one line."""
    text = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
    messages = [each for each in result.outlines if each.startswith("!") and line in each]
    assert len(messages) == 1, text


def passed_in_junit(pytester: pytest.Pytester) -> set[str]:
    """The ids of the episodes that JUnit has as passed and nothing else."""
    ends: dict[str, set[str]] = {}
    for case in ElementTree.parse(pytester.path / "junit.xml").getroot().iter("testcase"):
        place = case.attrib["classname"].removesuffix(".task.yaml").replace(".", "/")
        outcomes = {each.tag for each in case} & {"failure", "error", "skipped"}
        ends.setdefault(f"{place}/task.yaml::{case.attrib['name']}", set()).update(outcomes)
    return {nodeid for nodeid, outcomes in ends.items() if not outcomes}


def booked(path: Path) -> list[dict[str, Any]]:
    """Of a ledger, what stands for a request."""
    return [entry for line in path.read_text().splitlines() if "model" in (entry := json.loads(line))]


@pytest.mark.slow
@pytest.mark.parametrize("what", FAULTS)
def test_a_disk_that_breaks_ends_the_run_before_another_request_is_sent(
    make_task: MakeTask, recode: Run, disk: Path, pytester: pytest.Pytester, workers: str, what: str
) -> None:
    for name in TASKS:
        make_task(name)
    breaks = Breaks(3, lambda: FAULTS[what](disk))
    with breaks.server as server:
        result = recode(
            workers, "-v", "--recode-agent=one-shot", f"--recode-out={disk}/out", "--recode-model=local",
            f"--recode-api-base={server.url}", "--junitxml=junit.xml",
        )  # fmt: skip
        # of another worker, one that was on its way
        assert len(server.requests) <= breaks.before + (workers == "-n2")
    stopped(result, SAID[what])
    text = words(result)
    assert "= recode =" in re.sub("=+", "=", text)
    assert "not played: " in text
    if what != "deleted":
        solved = re.findall(r"::a?.*?SOLVED@1", text)
        records = [json.loads(line) for line in (disk / "out/results.jsonl").read_text().splitlines()]
        assert len(solved) == len(records)
        assert passed_in_junit(pytester) == {record["nodeid"] for record in records}
        if what == "ledger":
            assert not (disk / "out/spending.jsonl").exists(), "no other one takes its place"
        else:
            assert len(booked(disk / "out/spending.jsonl")) >= len(server.requests)
    else:
        assert "passed" not in result.parseoutcomes()
        assert not passed_in_junit(pytester)


@pytest.mark.slow
def test_a_disk_without_room_is_found_before_anything_is_asked(make_task: MakeTask, recode: Run, disk: Path) -> None:
    make_task()
    mounted("-o", "remount,size=64k", str(disk))
    with ChatServer([]) as server:
        result = recode(
            "--recode-agent=one-shot", f"--recode-out={disk}/out", "--recode-model=local",
            f"--recode-api-base={server.url}",
        )  # fmt: skip
        assert not server.requests
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--recode-out={disk}/out: 64 KiB are free there" in words(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "args", "full"),
    [
        (
            "12m",
            ["-n2"],
            "disk is full",
        ),  # the controlling process launches, and a worker has to learn the kind of its error
        ("20m", [], "when the disk of its files was full"),
    ],
    ids=["before the launch", "while the grader writes its files"],
)
def test_a_full_temporary_directory_is_a_fault_of_the_machine(
    make_task: MakeTask,
    recode: Run,
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytester: pytest.Pytester,
    size: str,
    args: list[str],
    full: str,
) -> None:
    """The grader cannot write its files there, and would end without a word. Python chooses the directory once, and not a full one."""
    (make_task() / "tests/data.bin").write_bytes(b"x" * (24 << 20))
    mounted("-o", f"remount,size={size}", str(disk))
    monkeypatch.setenv("TMPDIR", str(disk))
    result = recode("--recode-agent=reference", "--recode-out=out", *args, fresh=True)
    result.assert_outcomes(errors=1)
    [record] = [json.loads(line) for line in (pytester.path / "out/results.jsonl").read_text().splitlines()]
    assert record["error"]["kind"] == "machine"
    assert_message(record["error"]["message"], full, "free space there", "TMPDIR")


NO_LOCKS = """\
import errno
import fcntl
import os


def flock(file, operation):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


fcntl.flock = flock
"""


def test_a_file_system_without_locks_is_one_line_and_leaves_no_run(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task()
    pytester.makeconftest(NO_LOCKS)
    result = recode("--recode-agent=reference", "--recode-out=out")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert_message(line, "out/controller.lock", "No locks available", "directory on another disk")
    assert not list((pytester.path / "out").iterdir())


@pytest.mark.slow
def test_a_directory_that_is_gone_when_the_run_ends_is_no_success(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, agents: None, workers: str
) -> None:
    """No model is asked here: an agent of one's own gives the answers."""
    make_task("a")
    make_task("b")
    pytester.makeconftest(
        "import shutil\n\n\ndef pytest_sessionfinish(session):\n"
        "    if not hasattr(session.config, 'workerinput'):\n        shutil.rmtree('out')\n"
    )
    result = recode(workers, "--recode-agent=reference", "--recode-out=out")
    assert result.ret != 0
    assert "results.jsonl" in words(result)


GONE = """\
import shutil

ended = []


def pytest_runtest_logfinish(nodeid):
    if CONFIG[0] is not None:
        ended.append(nodeid)
        if len(ended) == 2:
            shutil.rmtree("out")


def pytest_configure(config):
    CONFIG[0] = None if hasattr(config, "workerinput") else config


CONFIG = [None]
"""


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--recode-fail-under=1",)], ids=["each", "share"])
def test_what_passed_before_its_record_vanished_is_an_error_in_junit(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str, more: tuple[str, ...]
) -> None:
    make_task("a")
    make_task("b")
    pytester.makeconftest(GONE)
    result = recode(workers, "--recode-agent=reference", "--recode-out=out", "--junitxml=junit.xml", *more)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "passed" not in result.parseoutcomes()
    assert result.parseoutcomes()["unrecorded"] == 2
    assert not passed_in_junit(pytester)
    assert "records lost: " in words(result)
    assert ("and 2 of 2 have no verdict" in words(result)) == bool(more)
    assert (pytester.path / "junit.xml").read_text().count("its record is lost: ") >= 2


LIMITED = """\
import resource


def pytest_sessionstart():
    resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))
"""


@pytest.mark.slow
def test_a_file_that_may_not_grow_ends_the_run(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    for name in TASKS:
        make_task(name)
    pytester.makeconftest(LIMITED.format(size=1 << 20))
    long = say(RIGHT + "x" * (3 << 20))
    with ChatServer(lambda _: long) as server:
        result = recode(
            workers, "-v", "--recode-agent=one-shot", "--recode-out=out", "--recode-model=local",
            f"--recode-api-base={server.url}",
        )  # fmt: skip
        assert len(server.requests) <= (1 if workers == "-n0" else 2)
        assert len(booked(pytester.path / "out/spending.jsonl")) == len(server.requests)
    stopped(result, "File too large")


ELSEWHERE = """\
#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs tmpfs "$0" && exec {python} "$@"' {disk} "$@"
"""


@pytest.mark.slow
def test_workers_that_do_not_see_the_directory_write_to_it_all_the_same(
    make_task: MakeTask, recode: Run, disk: Path, pytester: pytest.Pytester
) -> None:
    """Workers whose disk is another one, mounted over the controller's."""
    make_task("a")
    make_task("b")
    shell = pytester.path / "elsewhere"
    shell.write_text(ELSEWHERE.format(python=sys.executable, disk=disk))
    shell.chmod(0o755)
    with ChatServer(lambda _: say(RIGHT)) as server:
        recode(
            "--dist=load", f"--tx=2*popen//python={shell}", "--recode-agent=one-shot", f"--recode-out={disk}/out",
            "--recode-model=local", f"--recode-api-base={server.url}", fresh=True,
        )  # fmt: skip
        assert len(booked(disk / "out/spending.jsonl")) == len(server.requests) == 2
    records = [json.loads(line) for line in (disk / "out/results.jsonl").read_text().splitlines()]
    assert [record["outcome"] for record in records] == ["solved", "solved"]
    assert all((disk / "out" / record["transcript"]).exists() for record in records)
