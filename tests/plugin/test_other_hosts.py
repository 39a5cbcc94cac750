"""Workers on other hosts, without a shared file system: mount namespaces with their own disks over the places of the run's directory
and of temporary files, and network namespaces without any interface.

Most are started by execnet as a Python, with the tasks at the same place as on this host. `ssh=True`: by a program `ssh` that enters
a host, and ends at Ctrl-C as ssh does; there, the tasks are on the host's own disk.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.agents.vectors_server import embedded
from tests.chat_server import Answer, ChatServer, Request, say
from tests.messages import assert_message
from tests.test_docs import commands

from .conftest import words

RIGHT = "```python answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n```\n"
WRONG = "```python answer.py\ndef twice(x):\n    return x\n```\n"
TASKS = ("a", "b", "c", "d")
_LONG = 300  # seconds: a broken test ends some time

HOST = """\
#!/bin/sh
[ -e {dead} ] && exit 255
exec unshare --mount --net --propagation private sh -c '
    mount -t tmpfs disk {records} && mount -t tmpfs disk {tmp} && mount -t tmpfs disk {there} || exit 1
    cp -R bench conftest.py {there} && cd {there} && {more} && cd {place} && exec "$@"' sh "$@"
"""

SSH = """\
#!/bin/sh
for command; do :; done
cat | setsid --wait {host} sh -c "$command" | cat
"""

IN_EVERY_PROCESS = """\
import os
from pathlib import Path

HERE = Path({place!r})


def pytest_configure(config):
    given = getattr(config, "workerinput", None)
    if given is None:
        return
    (HERE / f"{{given['workerid']}}.pid").write_text(str(os.getpid()))
    assert not any((HERE / "records").iterdir()), "this is not the disk of another host"


def pytest_runtest_teardown(item):
    given = item.config.workerinput
    secret = given["recode_file_server"]["secret"].encode()
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                found = (process / name).read_bytes()
            except OSError:
                continue
            assert secret not in found, f"{{process / name}} shows the secret"
    for path in Path(os.environ["TMPDIR"]).rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), f"{{path}} has the secret"
"""

MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]


class Hosts:
    """Other hosts than this one."""

    def __init__(self, place: Path, tmp: Path) -> None:
        self.place = place
        self.records = place / "records"
        self.there = place / "there"  # the tasks on the disk of a host
        self.tmp = tmp
        self.dead = place / "dead"  # a file; while it is there, no host can be reached
        self.host, self.ssh = place / "host", place / "bin/ssh"
        for path in (self.records, self.there, self.ssh.parent):
            path.mkdir()
        self.make()

    def make(self, more: str = "true") -> None:
        """`more`: a command of the shell that each host runs first, beside its copy of the tasks."""
        parts = {"dead": self.dead, "records": self.records, "tmp": self.tmp, "there": self.there, "place": self.place}
        self.host.write_text(HOST.format(more=more, **{name: shlex.quote(str(part)) for name, part in parts.items()}))
        self.ssh.write_text(SSH.format(host=shlex.quote(str(self.host))))
        for path in (self.host, self.ssh):
            path.chmod(0o755)

    def command(self, *args: str, workers: int = 2, ssh: bool = False) -> list[str]:
        """Arguments of pytest with a worker on each of `workers` hosts. `ssh`: the command of the page on this, for two hosts."""
        given = ("-p", "no:cacheprovider", "-p", "no:rerunfailures", "--recode-sandbox=process", "--ignore=there")
        tx = ("--dist=worksteal", f"--tx={workers}*popen//python={self.host} {sys.executable}")
        if ssh:
            [printed] = [command for page, command in commands() if page == "run-on-several-machines.md"]
            for there, here in (
                ("/home/me/venv/bin/python", sys.executable),
                ("/home/me/bench", self.there),
                ("8*", ""),
            ):
                assert there in printed
                printed = printed.replace(there, str(here))
            tx = tuple(arg for arg in shlex.split(printed)[1:] if not arg.startswith("--recode"))
        return [sys.executable, "-m", "pytest", *given, *tx, "--recode-out=records/out", *args]

    def run(self, *args: str, workers: int = 2, ssh: bool = False) -> pytest.RunResult:
        with self.started(*args, workers=workers, ssh=ssh) as session:
            output = session.communicate(timeout=_LONG)[0]
        print(output)
        return pytest.RunResult(session.returncode, output.splitlines(), [], 0.0)

    def started(self, *args: str, workers: int = 2, ssh: bool = False) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*args, workers=workers, ssh=ssh),
            cwd=self.place,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def pid(self, worker: str) -> int:
        return int((self.place / f"{worker}.pid").read_text())


@pytest.fixture
def hosts(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosts]:
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "mount", "-t", "tmpfs", "disk", "/mnt"], capture_output=True, check=False
    )
    if tried.returncode != 0:
        pytest.skip(
            f"hosts need namespaces with their own disks, which only root can make here: {tried.stderr.decode()}"
        )
    tmp = tempfile.mkdtemp(prefix="hosts-", dir="/tmp")
    made = Hosts(pytester.path, Path(tmp))
    monkeypatch.setenv("TMPDIR", tmp)
    monkeypatch.setenv("PATH", str(made.ssh.parent), prepend=os.pathsep)
    pytester.makeconftest(IN_EVERY_PROCESS.format(place=str(pytester.path)))
    yield made
    shutil.rmtree(tmp)


@pytest.fixture
def records(hosts: Hosts) -> Callable[[], dict[str, dict[str, Any]]]:
    """The records of a run, by node id, each of which is there once."""

    def read() -> dict[str, dict[str, Any]]:
        found = [json.loads(line) for line in (hosts.records / "out/results.jsonl").read_text().splitlines()]
        by_id = {record["nodeid"]: record for record in found}
        assert len(by_id) == len(found)
        return by_id

    return read


Records = Callable[[], dict[str, dict[str, Any]]]


def events(hosts: Hosts, record: dict[str, Any]) -> list[str]:
    lines = (hosts.records / "out" / record["transcript"]).read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


@pytest.mark.slow
def test_everything_is_recorded_where_the_run_was_started_and_a_resumed_run_plays_only_the_rest(
    make_task: MakeTask, hosts: Hosts, records: Records
) -> None:
    for name in ("a", "b"):
        make_task(name)
    options = ("--recode-model=sim/graduate", "--recode-feedback=L0", "--recode-feedback=L4", "--recode-turns=3")
    first = hosts.run(*options, ssh=True)
    assert first.ret in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    played = records()
    assert len(played) == 4
    assert "2 episodes share their first turn with another: paid once" in words(first)
    unsolved = [record for record in played.values() if record["outcome"] == "unsolved"]
    seen = words(first).partition("short test summary info")[0]  # which repeats the texts if CI is set
    assert seen.count("first failing case: ") == len(unsolved) > 0  # which only the transcript has
    for record in played.values():
        assert record["error"] is None
        assert events(hosts, record)[0] == "episode"
        assert events(hosts, record)[-1] == "end"
    spent = (hosts.records / "out/spending.jsonl").read_text()

    lost = next(iter(played))
    results = hosts.records / "out/results.jsonl"
    results.write_text("".join(f"{json.dumps(each)}\n" for nodeid, each in played.items() if nodeid != lost))
    before = {nodeid: events(hosts, record) for nodeid, record in played.items()}
    again = hosts.run(*options, "--recode-resume", ssh=True)
    assert again.ret == first.ret
    assert records().keys() == played.keys()
    for nodeid, record in records().items():
        if nodeid == lost:  # its turns are stored: only its record is written again
            assert events(hosts, record)[: len(before[nodeid])] == before[nodeid]
            assert "resumed" in events(hosts, record)
        else:
            assert events(hosts, record) == before[nodeid]
    assert (hosts.records / "out/spending.jsonl").read_text().startswith(spent)
    calls = [line for line in (hosts.records / "out/spending.jsonl").read_text().splitlines() if "prompt" in line]
    assert len(calls) == spent.count("prompt")


class Provider:
    """A provider that answers the first `free` requests, and every other once `go` is set. `full`: `held` requests wait."""

    def __init__(self, free: int, held: int, text: str = RIGHT) -> None:
        self._free, self._held, self._text = free, held, text
        self.go, self.full = threading.Event(), threading.Event()
        self.server = ChatServer(self._answer)

    def _answer(self, request: Request) -> Answer:
        if request.number + 1 == self._free + self._held:
            self.full.set()
        return say(self._text, wait=None if request.number < self._free else self.go)


def asking(url: str) -> tuple[str, ...]:
    return ("--recode-agent=one-shot", "--recode-model=local", f"--recode-api-base={url}")


def read_until(session: subprocess.Popen[str], text: str) -> str:
    """The output of a session until a line with `text`."""
    assert session.stdout is not None
    output = ""
    while text not in output:
        output += (line := session.stdout.readline())
        assert line, output
    return output


def ledger(hosts: Hosts) -> list[dict[str, Any]]:
    lines = (hosts.records / "out/spending.jsonl").read_text().splitlines()
    return [entry for line in lines if "model" in (entry := json.loads(line))]


TABLE = "cheap:\n  model: openai/cheap\n  price: {prompt: 1000, completion: 1000}\n"


@pytest.mark.slow
def test_a_budget_holds_for_all_hosts(
    make_task: MakeTask, hosts: Hosts, records: Records, pytester: pytest.Pytester
) -> None:
    for name in TASKS:
        make_task(name)
    pytester.path.joinpath("models.yaml").write_text(TABLE)
    with Provider(free=1, held=100).server as server:
        hosts.run(
            "--recode-agent=one-shot", "--recode-model=cheap", f"--recode-api-base={server.url}",
            "--recode-models-file=models.yaml", "--recode-max-cost=0.000001",
        )  # fmt: skip
        asked = len(server.requests)
    assert asked == len(ledger(hosts)) == 1
    stops = [record["stop"] for record in records().values()]
    assert len(stops) == len(TASKS)
    assert stops.count("budget") == len(TASKS) - 1


@pytest.mark.slow
def test_a_cassette_is_recorded_and_replayed_on_the_controlling_host(
    make_task: MakeTask, hosts: Hosts, records: Records
) -> None:
    for name in ("a", "b"):
        make_task(name)
    with ChatServer(lambda request: RIGHT if "Feedback on turn 2" in request.prompt else WRONG) as server:
        options = (*asking(server.url), "--recode-feedback=L0", "--recode-cassette=tape")
        hosts.run(*options, ssh=True).assert_outcomes(passed=2)
        asked = len(server.requests)
    assert asked > 0
    shutil.rmtree(hosts.records / "out")
    again = hosts.run(*options, "--recode-cassette-mode=replay", ssh=True)
    again.assert_outcomes(passed=2)
    assert f"cassette: {asked} answers replayed" in words(again)
    assert [record["outcome"] for record in records().values()] == ["solved"] * 2


@pytest.mark.slow
def test_the_vectors_of_a_repository_are_asked_for_once(make_task: MakeTask, hosts: Hosts, records: Records) -> None:
    for name in ("a", "b"):
        make_task(name, files={"repo/more.py": "def triple(x):\n    return 3 * x\n"})
    search = "```search\nthree times\n```"
    with ChatServer(lambda each: embedded(each) if each.path.endswith("/embeddings") else say(search)) as server:
        url = f"--recode-api-base={server.url}"
        hosts.run("--recode-model=openai/any", "--recode-search-model=openai/e", url, "--recode-turns=1")
        asked = [json.dumps(each.body) for each in server.requests if each.path.endswith("/embeddings")]
    assert sum("def triple" in text for text in asked) == 1
    assert len(asked) > len(records()) == 2
    [vectors] = (hosts.records / "out/retrieval").glob("*.json")
    assert json.loads(vectors.read_text())["texts"] > 0


@pytest.mark.slow
def test_a_lost_host_costs_its_running_episode_and_no_finished_one(
    make_task: MakeTask, hosts: Hosts, records: Records
) -> None:
    for name in TASKS:
        make_task(name)
    provider = Provider(free=1, held=2)
    with provider.server as server:
        with hosts.started(*asking(server.url)) as session:
            assert provider.full.wait(_LONG)
            os.kill(hosts.pid("gw0"), signal.SIGKILL)
            provider.go.set()
            output = session.communicate(timeout=_LONG)[0]
        print(output)
        assert session.returncode == pytest.ExitCode.TESTS_FAILED
        outcomes = [record["outcome"] for record in records().values()]
        assert sorted(outcomes) == ["error", "solved", "solved", "solved"]
        [lost] = [record for record in records().values() if record["outcome"] == "error"]
        assert lost["error"]["kind"] == "worker"
        assert events(hosts, lost)[0] == "episode"
        assert len([line for line in ledger(hosts) if "prompt_tokens" in line]) == len(TASKS)  # also of the lost one

        hosts.run(*asking(server.url), "--recode-resume")
        assert len(server.requests) == len(TASKS)  # the answer to the lost worker is used
    assert {record["outcome"] for record in records().values()} == {"solved"}


@pytest.mark.slow
@pytest.mark.parametrize(("held", "lost"), [(2, "dead"), (1, "dead"), (2, "without its options")])
def test_a_host_that_cannot_be_reached_again_is_left_out(
    make_task: MakeTask, hosts: Hosts, records: Records, held: int, lost: str
) -> None:
    """The provider holds a call of each worker, so that none of them has finished."""
    for name in TASKS:
        make_task(name)
    table, gone = hosts.tmp / "models.yaml", hosts.place / "gone"
    for path in (table, hosts.place / "models.yaml"):
        path.write_text(TABLE)
    hosts.make(f"{{ [ -e {shlex.quote(str(gone))} ] || cp {shlex.quote(str(hosts.place))}/models.yaml {table}; }}")
    provider = Provider(free=0, held=held)
    with provider.server as server:
        options = (*asking(server.url), f"--recode-models-file={table}")
        with hosts.started(*options, workers=held) as session:
            assert provider.full.wait(_LONG)
            (hosts.dead if lost == "dead" else gone).touch()
            os.kill(hosts.pid("gw0"), signal.SIGKILL)
            output = read_until(session, "cannot be started again")
            provider.go.set()
            output += session.communicate(timeout=_LONG)[0]
        print(output)
        outcomes = sorted(record["outcome"] for record in records().values())
        assert outcomes == (["error", "solved", "solved", "solved"] if held == 2 else ["error"])
        assert "INTERNALERROR" not in output
        [line] = [line for line in output.splitlines() if line.startswith("recode: worker gw")]
        assert_message(line, "worker", "other workers play its episodes" if held == 2 else "resume the run")
        for path in (hosts.dead, gone):
            path.unlink(missing_ok=True)
        hosts.run(*options, "--recode-resume")
        assert len(server.requests) == len(TASKS)  # the answer to the lost worker is used
    assert [record["outcome"] for record in records().values()] == ["solved"] * len(TASKS)


OLD = """\
mkdir -p {tmp}/old/pytest_recode-0.0.1.dist-info &&
    printf "Metadata-Version: 2.1\\nName: pytest-recode\\nVersion: 0.0.1\\n" > {tmp}/old/pytest_recode-0.0.1.dist-info/METADATA &&
    export PYTHONPATH={tmp}/old"""
DIFFERENCES = {
    "a path": ("true", ("bench",), ("bench", "without it", "//chdir=")),
    "another version": (OLD, (), ("worker gw0", "0.0.1", "install that version")),
    "other files": ("echo more >> bench/a/instruction.md", (), ("worker", "the task a", "copy the same version")),
    "no tasks": (
        "[ -e {place}/second ] && rm -r bench || touch {place}/second",
        (),
        ("worker", "finds 0", "copy the same tasks"),
    ),
    "no file of an option": ("true", ("--recode-models-file=models.yaml",), ("worker", "models.yaml", "on its host")),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", DIFFERENCES)
def test_a_host_that_differs_is_named_before_anything_is_spent(make_task: MakeTask, hosts: Hosts, what: str) -> None:
    more, args, texts = DIFFERENCES[what]
    make_task("a")
    (hosts.place / "models.yaml").write_text(TABLE)
    hosts.make(more.format(place=shlex.quote(str(hosts.place)), tmp=hosts.tmp))
    result = hosts.run("--recode-model=sim/graduate", *args, ssh=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.outlines if line.startswith("ERROR: ")]
    assert_message(line, *texts)
    assert not (hosts.records / "out/results.jsonl").exists()


@pytest.mark.slow
def test_a_host_without_the_tasks_is_named_before_anything_is_asked(make_task: MakeTask, hosts: Hosts) -> None:
    root = make_task("a")
    hosts.make(f"mount -t tmpfs disk {shlex.quote(str(root.parent))}")
    result = hosts.run("--recode-model=sim/graduate", "bench/a")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.outlines if line.startswith("ERROR: ")]
    assert_message(line, "worker gw0", "bench/a", "//chdir=")
    assert not (hosts.records / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_here_stops_all_hosts_and_records_the_answers_in_progress(
    make_task: MakeTask, hosts: Hosts, records: Records, number: signal.Signals
) -> None:
    for name in TASKS:
        make_task(name)
    provider = Provider(free=1, held=2)
    with provider.server as server:
        with hosts.started(*asking(server.url), ssh=True) as session:
            assert provider.full.wait(_LONG)
            os.killpg(session.pid, number)
            output = read_until(session, "waiting up to 60 s")
            provider.go.set()
            output += session.communicate(timeout=_LONG)[0]
        print(output)
        asked = len(server.requests)
    assert session.returncode == pytest.ExitCode.INTERRUPTED
    assert asked == 3
    assert [line["prompt_tokens"] for line in ledger(hosts)] == [11] * asked
    found = [path.read_text() for path in (hosts.records / "out/episodes").iterdir()]
    assert sum(text.count('"event": "usage"') for text in found) == asked
    assert sum(text.count('"event": "interrupted"') for text in found) == 2
    assert "interrupted: 2 of 4 episodes" in output


@pytest.mark.slow
def test_a_full_disk_of_the_directory_stops_all_hosts(make_task: MakeTask, hosts: Hosts) -> None:
    for name in TASKS:
        make_task(name)
    small = hosts.records
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "disk", str(small)], check=True)
    try:
        provider = Provider(free=1, held=2)
        with provider.server as server:
            with hosts.started(*asking(server.url)) as session:
                assert provider.full.wait(_LONG)
                with (small / "of-somebody-else").open("wb", buffering=0) as file, suppress(OSError):
                    while True:
                        file.write(bytes(1 << 12))
                provider.go.set()
                output = session.communicate(timeout=_LONG)[0]
            print(output)
            assert len(server.requests) == 3
        assert session.returncode == pytest.ExitCode.INTERRUPTED
        [line] = [line for line in output.splitlines() if line.startswith("! ")]
        assert_message(line, str(small), "cannot be written", "free space there")
        assert len([line for line in ledger(hosts) if "prompt_tokens" in line]) == 3
    finally:
        subprocess.run(["umount", str(small)], check=True)
