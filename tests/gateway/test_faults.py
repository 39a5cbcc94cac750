"""Sessions with workers in which something fails: whatever it is, every episode has one result, nothing is paid twice, nothing goes on running."""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.owned_directory import PREFIX
from tests import nursery
from tests.chat_server import Answer, ChatServer, Request, dropped, fault, malformed, say, silent
from tests.plugin.conftest import make_task  # noqa: F401  a fixture

RIGHT = "```python answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n```\n"
WRONG = "```python answer.py\ndef twice(x):\n    return x\n\n\ndef half(x):\n    return x / 2\n```\n"
TASKS = ("a", "b", "c", "d", "e", "f")
_LONG = 200  # seconds: a broken test ends some time
MakeTasks = Callable[[Sequence[str]], None]
Fault = Callable[[], Answer]


@pytest.fixture
def make_tasks(make_task: Callable[..., Path]) -> MakeTasks:  # noqa: F811
    """Tasks that name themselves in their prompts."""

    def make(names: Sequence[str]) -> None:
        for name in names:
            make_task(
                name, files={"instruction.md": f"This is the task {name}: answer.py with twice(x) and half(x).\n"}
            )

    return make


class Provider:
    """Answers each task once it has had the faults that its requests meet first. `held`: it answers when `go` is set."""

    def __init__(self, faults: Mapping[str, Sequence[Answer]] | None = None, *, held: int = 0) -> None:
        self._faults = {task: list(answers) for task, answers in (faults or {}).items()}
        self._lock = threading.Lock()
        self._held = held
        self.go, self.full = threading.Event(), threading.Event()
        self.answered: Counter[str] = Counter()
        self.server = ChatServer(self._answer)

    def _answer(self, request: Request) -> Answer:
        match = re.search(r"the task (\w+)", request.prompt)
        assert match is not None
        with self._lock:
            if self._faults.get(match[1]):
                return self._faults[match[1]].pop(0)
            self.answered[match[1]] += 1
            if self._held and sum(self.answered.values()) == self._held:
                self.full.set()
        return say(RIGHT, wait=self.go if self._held else None)


class Session:
    """A run in `place`. All its processes have `mark` in their environment."""

    def __init__(self, place: Path, process: subprocess.Popen[str], mark: str, temporary: Path) -> None:
        self.place, self.process, self._mark, self.temporary = place, process, mark, temporary

    @property
    def out(self) -> Path:
        return self.place / "out"

    def processes(self, *words: str) -> list[int]:
        """The pids of the run whose command has all of these words."""
        pids = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                environ, command = (path / "environ").read_bytes(), (path / "cmdline").read_bytes()
            except (OSError, ProcessLookupError):
                continue
            if self._mark.encode() in environ and all(word.encode() in command for word in words):
                pids.append(int(path.name))
        return sorted(pids)

    @property
    def gateway(self) -> int:
        [pid] = self.processes("pytest_recode.gateway")
        return pid

    def pids(self, kind: str) -> list[int]:
        """Of the controller, or of the workers: of the interpreters themselves, which get signals."""
        return [int(path.stem.partition("-")[2]) for path in self.place.glob(f"{kind}-*.pid")]

    def sends(self, provider: Provider) -> None:
        """Wait until the provider holds as many requests as it is to. Fails if the session ends before."""
        while not provider.full.wait(0.1):
            if self.process.poll() is not None:
                raise AssertionError(self.process.communicate()[0])

    def until(self, word: str) -> str:
        assert self.process.stdout is not None
        output = ""
        for line in self.process.stdout:
            output += line
            if word in line:
                return output
        raise AssertionError(output)

    def rest(self) -> str:
        output = self.process.communicate(timeout=_LONG)[0]
        print(output)
        assert "INTERNALERROR" not in output
        return output

    def ledger(self) -> list[dict[str, Any]]:
        lines = (self.out / "spending.jsonl").read_text().splitlines()
        return [entry for line in lines if "model" in (entry := json.loads(line))]

    def results(self) -> dict[str, dict[str, Any]]:
        """The records, by task. Each has one."""
        records = [json.loads(line) for line in (self.out / "results.jsonl").read_text().splitlines()]
        assert len({record["nodeid"] for record in records}) == len(records), "a result is there twice"
        return {record["task"]: record for record in records}

    def nothing_is_left(self) -> None:
        for pid in self.processes():
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            assert select.select([handle], [], [], 90)[0], f"process {pid} goes on"
            os.close(handle)
        assert self.process.returncode == -signal.SIGKILL or not self.directories()

    def directories(self) -> list[Path]:
        """Those of the controlling processes so far."""
        places = {self.temporary, Path("/tmp")}
        return [path for pid in self.pids("controller") for place in places for path in place.glob(f"{PREFIX}{pid}.*")]


PIDS = """\
import os
from pathlib import Path


def pytest_configure(config):
    kind = "worker" if hasattr(config, "workerinput") else "controller"
    Path(os.environ["PLACE"], f"{kind}-{os.getpid()}.pid").touch()
"""

Start = Callable[..., AbstractContextManager[Session]]


@pytest.fixture
def start(pytester: pytest.Pytester, quick_python: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Start:
    """`with start(provider.server.url, "-n2") as session`: a run of the tasks in `bench`; `fresh`: in real interpreters."""
    runs: list[str] = []
    temporary = tmp_path_factory.mktemp("t")  # a short path, because sockets are there
    pytester.makeconftest(PIDS)

    @contextmanager
    def started(url: str, *args: str, place: Path = pytester.path, fresh: bool = False) -> Iterator[Session]:
        mark = f"RUN_UNDER_TEST={pytester.path}/{len(runs)}/"
        runs.append(mark)
        python = (sys.executable,) if fresh else quick_python
        own = () if fresh else ("-p", nursery.PLUGIN)
        for pid in place.glob("*.pid"):
            pid.unlink()
        command = [
            *(*python, "-m", "pytest", "-v", *own, "-p", "no:cacheprovider"),
            *("bench", "--recode-sandbox=process"),
            *(
                "--recode-agent=one-shot",
                f"--recode-out={place}/out",
                "--recode-model=local",
                f"--recode-api-base={url}",
            ),
            *args,
        ]
        environ = {**os.environ, "TMPDIR": str(temporary), "PLACE": str(place), **dict([mark.split("=", 1)])}
        with subprocess.Popen(
            command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ
        ) as process:
            session = Session(place, process, mark, temporary)
            try:
                yield session
            finally:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
            session.nothing_is_left()

    return started


def solved(session: Session, tasks: Sequence[str] = TASKS) -> None:
    assert {task: record["outcome"] for task, record in session.results().items()} == dict.fromkeys(tasks, "solved")


FAULTS: dict[str, Fault] = {
    "429": lambda: fault(429),
    "429-with-a-time": lambda: fault(429, retry_after="0.2"),
    "500": lambda: fault(500),
    "reset": lambda: dropped("before"),
    "half-a-body": lambda: dropped("middle"),
    "no-json": malformed,
}


@pytest.mark.slow
def test_faults_of_the_provider_cost_nothing_but_time(make_tasks: MakeTasks, start: Start) -> None:
    make_tasks(TASKS)
    provider = Provider({task: [each()] for task, each in zip(TASKS, FAULTS.values(), strict=True)})
    with provider.server as server:
        with start(server.url, "-n2") as session:
            session.rest()
        solved(session)
        assert provider.answered == dict.fromkeys(TASKS, 1)
        whys = Counter(line.get("unanswered") for line in session.ledger())
        assert whys == {None: 6, "rate-limit": 2, "server": 2, "connection": 2}
        assert len(session.ledger()) == len(server.requests)


@pytest.mark.slow
@pytest.mark.parametrize("what", [*FAULTS, "hang", "slow", "all"])
def test_a_provider_that_fails_for_twenty_seconds_costs_nothing_but_time(
    make_tasks: MakeTasks,
    start: Start,
    what: str,
) -> None:
    """Every second request fails until 20 s have passed since the first one. Eight workers."""
    tasks = [f"t{number}" for number in range(24)]
    make_tasks(tasks)
    over, first, luck = threading.Event(), threading.Event(), random.Random(1)
    faults = {**FAULTS, "hang": silent, "slow": lambda: say(RIGHT, wait=over)}
    answered: Counter[str] = Counter()

    def answer(request: Request) -> Answer:
        if not first.is_set():
            first.set()
            timer = threading.Timer(20.0, over.set)
            timer.daemon = True
            timer.start()
        match = re.search(r"the task (\w+)", request.prompt)
        assert match is not None
        if not over.is_set() and luck.random() < 0.5:
            kind = luck.choice(list(FAULTS)) if what == "all" else what
            answered[match[1]] += kind == "slow"
            return faults[kind]()
        answered[match[1]] += 1
        return say(RIGHT)

    with ChatServer(answer) as server:
        with start(server.url, "-n8", f"--recode-call-seconds={3 if what == 'hang' else 60}") as session:
            session.rest()
        outcomes = Counter(record["outcome"] for record in session.results().values())
        assert sum(outcomes.values()) == 24
        assert len(session.ledger()) == len(server.requests)
        lost = {task for task, record in session.results().items() if record["outcome"] == "error"}
        assert not lost or what not in ("429", "429-with-a-time", "slow"), "a healthy provider"
        over.set()  # the first run may have ended earlier, and this one would wait for a hanging call as long as by default
        with start(server.url, "-n8", "--recode-resume") as session:
            session.rest()
        solved(session, tasks)
        assert set(answered.values()) == {1}


@pytest.mark.slow
def test_a_gateway_that_is_killed_costs_the_calls_in_flight(make_tasks: MakeTasks, start: Start) -> None:
    make_tasks(TASKS)
    provider = Provider(held=2)
    with provider.server as server:
        with start(server.url, "-n2") as session:
            session.sends(provider)
            os.kill(session.gateway, signal.SIGKILL)
            said = session.until("started again")
            provider.go.set()
            output = said + session.rest()
        lost = {task for task, record in session.results().items() if record["outcome"] == "error"}
        assert len(lost) == 2
        assert {session.results()[task]["error"]["kind"] for task in lost} == {"model:gateway"}
        assert "the gateway, which calls the models, died (signal 9): it is started again" in output
        assert Counter(line.get("unanswered") for line in session.ledger()) == {"cut off": 2, None: 4}
        assert len(session.ledger()) == len(server.requests)
        with start(server.url, "-n2", "--recode-resume") as session:
            session.rest()
        solved(session)
        assert provider.answered == {task: 1 + (task in lost) for task in TASKS}


@pytest.mark.slow
def test_the_answer_to_a_worker_that_was_killed_is_booked(make_tasks: MakeTasks, start: Start) -> None:
    make_tasks(TASKS)
    provider = Provider(held=2)
    with provider.server as server:
        with start(server.url, "-n2") as session:
            session.sends(provider)
            os.kill(session.pids("worker")[0], signal.SIGKILL)
            output = session.until("crashed")
            provider.go.set()
            print(output)
            session.rest()
        lost = {task for task, record in session.results().items() if record["outcome"] == "error"}
        assert len(lost) == 1
        assert {session.results()[task]["error"]["kind"] for task in lost} == {"worker"}
        assert [line.get("prompt_tokens") for line in session.ledger()] == [11] * 6
        assert provider.answered == dict.fromkeys(TASKS, 1)
        with start(server.url, "-n2", "--recode-resume") as session:
            session.rest()
        solved(session)
        assert provider.answered == dict.fromkeys(TASKS, 1)


@pytest.mark.slow
def test_a_run_whose_controller_is_killed_ends_in_order_and_is_resumed(
    make_tasks: MakeTasks,
    start: Start,
) -> None:
    """What was asked is booked and in the transcripts; no other request is sent; then workers and gateway end."""
    make_tasks(TASKS)
    provider = Provider(held=2)
    with provider.server as server:
        with start(server.url, "-n2") as session:
            session.sends(provider)
            os.kill(session.process.pid, signal.SIGKILL)
            session.process.wait(_LONG)
            provider.go.set()
        assert len(server.requests) == 2
        assert [line.get("prompt_tokens") for line in session.ledger()] == [11, 11]
        left = session.directories()
        assert left, "only the next run can remove them"
        with start(server.url, "-n2", "--recode-resume") as session:
            session.rest()
        assert not any(path.exists() for path in left)
        solved(session)
        assert provider.answered == dict.fromkeys(TASKS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["worker", "gateway"])
def test_a_stopped_process_is_named_and_goes_on_when_the_run_stops(
    make_tasks: MakeTasks, start: Start, what: str
) -> None:
    make_tasks(TASKS[:2])
    provider = Provider(held=1)
    with provider.server, start(provider.server.url, "-n1") as session:
        session.sends(provider)
        pid = session.gateway if what == "gateway" else session.pids("worker")[0]
        os.kill(pid, signal.SIGSTOP)
        output = session.until("is stopped: the run waits")
        assert f"(process {pid})" in output
        assert f"kill -CONT {pid}" in output
        os.kill(session.pids("controller")[0], signal.SIGTERM)
        output = session.until("waiting up to 60 s")
        provider.go.set()
        assert "stopped by SIGTERM" in output + session.rest()
    assert [line.get("prompt_tokens") for line in session.ledger()] == [11]


@pytest.mark.slow
def test_a_queued_call_is_not_sent_after_the_run_was_stopped(make_tasks: MakeTasks, start: Start) -> None:
    make_tasks(TASKS)
    provider = Provider(held=1)
    with provider.server as server:
        with start(server.url, "-n3", "--recode-limit=*=concurrency:1") as session:
            session.sends(provider)
            os.kill(session.pids("controller")[0], signal.SIGTERM)
            said = session.until("waiting up to 60 s")
            provider.go.set()
            output = said + session.rest()
        assert len(server.requests) == 1
        assert [line.get("prompt_tokens") for line in session.ledger()] == [11]
        assert "error" not in {record["outcome"] for record in session.results().values()}
        assert "stopped by SIGTERM" in output
        with start(server.url, "-n3", "--recode-resume") as session:
            session.rest()
        solved(session)
        assert provider.answered == dict.fromkeys(TASKS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--recode-feedback=L0", "--recode-feedback=L4")])
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "worker", "controller", "group"])
def test_a_call_is_answered_once_wherever_the_run_is_cut(
    make_tasks: MakeTasks, start: Start, how: str, options: tuple[str, ...]
) -> None:
    """Episodes of three turns. Three sessions are cut, each during a call of a later turn, and a fourth one ends."""
    make_tasks(TASKS[:2])
    answered: Counter[str] = Counter()
    held, go = threading.Event(), threading.Event()
    cut = 0

    def answer(request: Request) -> Answer:
        answered[request.prompt] += 1
        turn = request.prompt.count("Feedback on turn")
        if turn == cut:
            held.set()
        return say(RIGHT if turn == 2 else WRONG, wait=go if turn == cut else None)

    workers = "-n1" if how == "worker" else "-n2"  # the worker that is killed is the one that plays
    with ChatServer(answer) as server:
        for cut in range(3):
            held.clear()
            go.clear()
            resume = ["--recode-resume"] if cut else []
            with start(server.url, workers, "--recode-turns=3", *options, *resume) as session:
                assert held.wait(_LONG)
                if how == "worker":
                    os.kill(session.pids("worker")[0], signal.SIGKILL)
                    session.until("crashed")
                elif how == "controller":
                    os.kill(session.process.pid, signal.SIGKILL)
                elif how == "group":  # all but the gateway, which has a session of its own
                    for pid in (*session.pids("controller"), *session.pids("worker")):
                        os.kill(pid, signal.SIGKILL)
                else:
                    os.kill(session.pids("controller")[0], signal.Signals[how])
                    session.until("waiting up to 60 s")
                go.set()
                session.rest()
        cut = 3
        with start(server.url, "-n2", "--recode-turns=3", "--recode-resume", *options) as session:
            session.rest()
        records = [json.loads(line) for line in (session.out / "results.jsonl").read_text().splitlines()]
        assert [record["outcome"] for record in records] == ["solved"] * 2 * max(len(options), 1)
        assert set(answered.values()) == {1}
        assert [line.get("prompt_tokens") for line in session.ledger()] == [11] * len(server.requests)


@pytest.mark.slow
def test_two_runs_at_once_have_nothing_in_common(
    make_tasks: MakeTasks,
    start: Start,
    pytester: pytest.Pytester,
) -> None:
    make_tasks(TASKS)
    places = [pytester.path / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
    providers = [Provider(held=2), Provider(held=2)]
    with providers[0].server as one, providers[1].server as two:
        with start(one.url, "-n2", place=places[0]) as first, start(two.url, "-n2", place=places[1]) as second:
            for session, provider in ((first, providers[0]), (second, providers[1])):
                session.sends(provider)
            assert first.gateway != second.gateway
            os.kill(first.gateway, signal.SIGKILL)
            for provider in providers:
                provider.go.set()
            first.rest()
            second.rest()
        assert Counter(record["outcome"] for record in first.results().values()) == {"error": 2, "solved": 4}
        solved(second)
        assert len(first.ledger()) == len(one.requests)
        assert len(second.ledger()) == len(two.requests) == 6


TELLS = """\
import json
import os
import sys
from pathlib import Path


def pytest_runtest_call(item):
    if hasattr(item.config, "workerinput"):
        told = [Path(f"/proc/self/{name}").read_text() for name in ("environ", "cmdline")]
        told += [json.dumps(dict(os.environ)), str("litellm" in sys.modules)]
        gateway = item.config.workerinput["recode_gateway"]
        Path(__file__).with_name("socket-path").write_text(gateway["socket"])
        Path(__file__).with_name("secret").write_text(gateway["secret"])
        Path(__file__).with_name(f"told-{os.getpid()}.json").write_text(json.dumps(told))
"""


@pytest.mark.invariant("no-secret-in-a-sandbox")
@pytest.mark.parametrize("fresh", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_workers_have_no_key_and_the_secret_is_on_no_command_line(
    make_tasks: MakeTasks,
    start: Start,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    fresh: bool,
) -> None:
    """The table of models names a variable of the user's own. Only real interpreters (`fresh`) tell what they import."""
    make_tasks(["a"])
    pytester.makeconftest(PIDS + TELLS)
    keys = {"OPENAI_API_KEY": "sk-not-for-workers", "HOUSE_PASS": "not-for-workers-either"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    (pytester.path / "models.yaml").write_text("local: {model: openai/local, api_key_env: HOUSE_PASS}\n")
    provider = Provider(held=1)
    with provider.server as server:
        with start(server.url, "-n2", "--recode-models-file=models.yaml", fresh=fresh) as session:
            session.sends(provider)
            secret = (pytester.path / "secret").read_text()
            for pid in session.processes():
                shown = [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("environ", "cmdline")]
                assert all(secret.encode() not in text for text in shown)
                assert all(value.encode() not in shown[1] for value in keys.values())
            place = Path((pytester.path / "socket-path").read_text()).parent
            assert place.name.startswith(PREFIX)
            assert place.stat().st_mode & 0o777 == 0o700
            provider.go.set()
            session.rest()
        assert server.requests[0].headers["authorization"] == "Bearer not-for-workers-either"
        solved(session, ["a"])
    [told] = pytester.path.glob("told-*.json")
    *shown, imported = json.loads(told.read_text())
    assert not fresh or imported == "False"
    assert all(value not in text for value in keys.values() for text in shown)
