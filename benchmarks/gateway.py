"""Runs with many workers and a provider whose speed and limits are known: wall over ideal, CPU seconds, memory, wasted requests, overrun.

    python benchmarks/gateway.py                      all parts, one after the other
    python benchmarks/gateway.py whole allowed …      only these
    python benchmarks/gateway.py --small …            an eighth of the episodes and of the workers, to try the script

The provider is a process of its own, whose CPU time is not counted. Process sandbox.
"""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from episodes import FILES

HERE = Path(__file__).parent
SCALE = 8 if "--small" in sys.argv[1:] else 1
_SUBREAPER = 36
_EVERY = 0.5  # seconds between two looks at the memory

STARTS = """\
import os
import time
from pathlib import Path

seen = []


def pytest_runtest_setup(item):
    if not seen:
        seen.append(item)
        name = os.environ.get("PYTEST_XDIST_WORKER", "main")
        Path(os.environ["STARTS"], name).write_text(item.task.id)
"""


@contextmanager
def provider(*args: str) -> Iterator[str]:
    """Its URL."""
    command = [sys.executable, str(HERE / "stub_provider.py"), *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def requests(url: str) -> list[tuple[float, str, int]]:
    with urllib.request.urlopen(f"{url}/requests") as response:
        found: list[tuple[float, str, int]] = json.load(response)
    return found


def tasks(here: Path, count: int) -> None:
    for number in range(count):
        for path, text in FILES.items():
            place = here / "bench" / f"t{number}" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            text = text.replace("id: trivial", f"id: t{number}")
            place.write_text(f"This is the task t{number}. {text}" if path == "instruction.md" else text)


@dataclass
class Memory:
    """The largest sum of the Pss of all processes below one, in MiB, and how many there were. `of`: the last of each process, in KiB.

    `kinds`: at the time of the largest sum, MiB and number of processes of each kind. `seconds`: last seen CPU time of each process.
    """

    mib: float = 0.0
    processes: int = 0
    of: dict[int, int] = field(default_factory=dict)
    commands: dict[int, str] = field(default_factory=dict)
    kinds: dict[str, tuple[float, int]] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)

    def look(self, root: int) -> None:
        parents, seconds = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except (OSError, ProcessLookupError):
                continue
            parents[int(path.parent.name)] = int(fields[1])
            seconds[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        below, children = {root}, {root}
        while children:
            children = {pid for pid, parent in parents.items() if parent in children} - below
            below |= children
        now = {pid: pss for pid in below if (pss := _pss(pid))}
        self.of.update(now)
        self.seconds.update({pid: seconds[pid] for pid in now})
        for pid in now.keys() - self.commands.keys():
            try:
                self.commands[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, ProcessLookupError):
                continue
        if sum(now.values()) / 1024 > self.mib:
            self.mib, self.processes = sum(now.values()) / 1024, len(now)
            kinds: dict[str, list[int]] = {}
            for pid, pss in now.items():
                kinds.setdefault(self.kind(pid), []).append(pss)
            self.kinds = {kind: (sum(sizes) / 1024, len(sizes)) for kind, sizes in kinds.items()}

    def kind(self, pid: int) -> str:
        command = self.commands.get(pid, "")
        return next((kind for kind, mark in KINDS.items() if mark in command), "sandbox")

    def show(self) -> None:
        for kind in (*KINDS, "sandbox"):
            seconds = sum(used for pid, used in self.seconds.items() if self.kind(pid) == kind)
            mib, count = self.kinds.get(kind, (0.0, 0))
            print(f"    {kind:<12} {seconds:6.1f} s CPU, {mib:7.1f} MiB in {count} processes")


KINDS = {"gateway": "pytest_recode.gateway", "controller": " -m pytest -q", "worker": "sys.stdin.readline"}


def _pss(pid: int) -> int:
    """KiB."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except (OSError, ProcessLookupError):
        pass
    return 0


@dataclass(frozen=True, kw_only=True)
class Ran:
    started: float  # Unix time of the command
    wall: float
    cpu: float
    memory: Memory
    records: list[dict[str, Any]]
    first: dict[str, str]  # the first task of each worker
    output: str
    out: Path


def run(here: Path, url: str, workers: int, *args: str) -> Ran:
    """One session with the tasks in `here`. Its orphans become children of this process, so that their CPU time is counted."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    out, starts = here / f"out-{len(list(here.glob('out-*')))}", Path(tempfile.mkdtemp(dir=here))
    (here / "conftest.py").write_text(STARTS)
    command = [
        *(
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "bench",
            f"-n{workers}",
            f"--recode-out={out}",
        ),
        *(
            "--recode-sandbox=process",
            "--recode-agent=one-shot",
            "--recode-model=local",
            f"--recode-api-base={url}",
            *args,
        ),
    ]
    environ = {**os.environ, "STARTS": str(starts)}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or pytest compiles all plugins again in every worker
    memory, done = Memory(), threading.Event()
    started, start = time.time(), time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environ,
    )

    def watch() -> None:
        while not done.wait(_EVERY):
            memory.look(process.pid)

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert process.stdout is not None
    output = process.stdout.read()
    wall = time.perf_counter() - start
    done.set()
    watcher.join()
    _, _, used = os.wait4(process.pid, 0)
    cpu = used.ru_utime + used.ru_stime + _orphans()
    lines = (out / "results.jsonl").read_text().splitlines() if (out / "results.jsonl").exists() else []
    first = {path.name: path.read_text() for path in starts.iterdir()}
    records = [json.loads(line) for line in lines]
    return Ran(started=started, wall=wall, cpu=cpu, memory=memory, records=records, first=first, output=output, out=out)


def _orphans() -> float:
    """CPU seconds of orphans that have ended; those that have not are none of the run's."""
    seconds = 0.0
    while True:
        try:
            pid, _, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return seconds
        if pid == 0:
            return seconds
        seconds += used.ru_utime + used.ru_stime


def outcomes(ran: Ran) -> str:
    counted = Counter(record["outcome"] for record in ran.records)
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(counted.items())) or ran.output[-2000:]


def whole(here: Path) -> None:
    """64 episodes of 3 turns, 2 s per call, 16 workers: 24 s would be ideal."""
    tasks(here, 64 // SCALE)
    with provider("--seconds=2") as url:
        ran = run(here, url, 16 // SCALE)
        firsts = [min(at for at, task, _ in requests(url) if task == first) for first in ran.first.values()]
    latest = max(firsts) - ran.started
    print(
        f"whole: {outcomes(ran)}; wall over ideal {ran.wall / 24:.2f} ({ran.wall:.1f} s), CPU {ran.cpu:.1f} s,", end=" "
    )
    print(
        f"Pss {ran.memory.mib:.0f} MiB in {ran.memory.processes} processes, last worker's first request after {latest:.1f} s"
    )


def in_flight(here: Path) -> None:
    """The same 64 episodes as in `whole`, 16 and 64 at once in one process: 24 s and 6 s would be ideal. Then 100 of one turn and 60 s per call."""
    tasks(here, 64 // SCALE)
    for number in (16 // SCALE, 64 // SCALE):
        with provider("--seconds=2") as url:
            shown(f"{number} in flight", run(here, url, 0, f"--recode-in-flight={number}"), 64 / SCALE * 6 / number)
    tasks(here, 100 // SCALE)
    with provider("--seconds=60", "--turns=1") as url:
        shown("100 in flight, 60 s", run(here, url, 0, f"--recode-in-flight={100 // SCALE}"), 60.0)


def shown(what: str, ran: Ran, ideal: float) -> None:
    print(
        f"{what}: {outcomes(ran)}; wall over ideal {ran.wall / ideal:.2f} ({ran.wall:.1f} s), CPU {ran.cpu:.1f} s,"
        f" Pss {ran.memory.mib:.0f} MiB in {ran.memory.processes} processes"
    )


def hundred(here: Path) -> None:
    """100 episodes of one turn, 60 s per call, 100 workers on this machine: 60 s would be ideal."""
    tasks(here, 100 // SCALE)
    with provider("--seconds=60", "--turns=1") as url:
        ran = run(here, url, 100 // SCALE)
    print(
        f"hundred: {outcomes(ran)}; wall over ideal {ran.wall / 60:.2f} ({ran.wall:.1f} s), CPU {ran.cpu:.1f} s,"
        f" Pss {ran.memory.mib:.0f} MiB in {ran.memory.processes} processes"
    )


def replay(here: Path) -> None:
    """The run of `whole` from its cassette, without the provider: wall time, and records compared but for their times."""
    tasks(here, 64 // SCALE)
    with provider("--seconds=0") as url:
        recorded = run(here, url, 16 // SCALE, "--recode-cassette=tape")
    for workers in (16 // SCALE, 2):  # nothing is waited for: more workers than cores only take longer to start
        ran = run(here, "http://127.0.0.1:9/v1", workers, "--recode-cassette=tape", "--recode-cassette-mode=replay")
        same = sorted(map(timeless, ran.records)) == sorted(map(timeless, recorded.records))
        print(
            f"replay with {workers} workers: {outcomes(ran)}; {ran.wall:.1f} s, records {'identical' if same else 'DIFFERENT'} except times and cost"
        )


TIMES = {"seconds", "waited", "queued", "cost_usd", "api_base", "transcript"}


def timeless(value: Any) -> str:
    """A record without times, costs (a replay costs nothing) and the provider's address."""
    if isinstance(value, dict):
        return json.dumps({key: timeless(each) for key, each in value.items() if key not in TIMES}, sort_keys=True)
    return json.dumps([timeless(each) for each in value]) if isinstance(value, list) else json.dumps(value)


def allowed(here: Path) -> None:
    """The provider allows 4 calls; 16 workers."""
    tasks(here, 24 // SCALE)
    with provider("--seconds=2", "--allowed=4") as url:
        ran = run(here, url, 16 // SCALE)
        asked = requests(url)
    refused = [at for at, _, status in asked if status != 200]
    ideal = (len(asked) - len(refused)) / 4 * 2
    busy = asked[-1][0] + 2 - asked[0][0]
    print(
        f"4 allowed: {outcomes(ran)}; {len(refused)} of {len(asked)} requests wasted ({len(refused) / len(asked):.1%}),",
        end=" ",
    )
    print(f"wall over ideal {busy / ideal:.2f} from the first request on, {ran.wall / ideal:.2f} with start and end")


def retry_after(here: Path) -> None:
    """The provider allows 2 calls, and asks to wait for 1 s; 8 workers."""
    tasks(here, 16 // SCALE)
    with provider("--seconds=2", "--allowed=2", "--retry-after=1", "--turns=1") as url:
        ran = run(here, url, max(8 // SCALE, 2))
        asked = requests(url)
    refused = sum(status != 200 for _, _, status in asked)
    errors = sum(record["outcome"] == "error" for record in ran.records)
    print(f"2 allowed, Retry-After: {outcomes(ran)}; {errors} errors, {refused} of {len(asked)} requests wasted")


def budget(here: Path) -> None:
    """2.00 dollars, calls of some 0.10 dollars, 8 workers: some 20 calls are within the limit."""
    tasks(here, 32 // SCALE)
    price = "local: {model: openai/local, price: {prompt: 50, completion: 950}, params: {max_tokens: 110}}\n"
    (here / "models.yaml").write_text(price)
    with provider("--seconds=0.5") as url:
        ran = run(here, url, max(8 // SCALE, 2), "--recode-models-file=models.yaml", "--recode-max-cost=2.0")
    lines = [json.loads(line) for line in (ran.out / "spending.jsonl").read_text().splitlines()]
    costs = [line["cost_usd"] for line in lines if line.get("cost_usd")]
    over = max(sum(costs) - 2.0, 0) / statistics.mean(costs)
    print(f"budget: spent {sum(costs):.2f} of 2.00 dollars: {over:.1f} calls too many")


def episode_memory(here: Path) -> None:
    """One task, 100 and 900 attempts, two workers: how the memory of worker and controller grows."""
    tasks(here, 1)
    grown: dict[str, list[float]] = {}
    with provider("--turns=1") as url:
        for attempts in (100 // SCALE, 900 // SCALE):
            ran = run(here, url, 2, f"--recode-attempts={attempts}", "--recode-feedback=L0")
            of, commands = ran.memory.of, ran.memory.commands
            kinds = {
                "controller": [of[pid] for pid in of if " -m pytest -q" in commands.get(pid, "")],
                "worker": [of[pid] for pid in of if "sys.stdin.readline" in commands.get(pid, "")],
            }
            for kind, sizes in kinds.items():
                grown.setdefault(kind, []).append(statistics.mean(sizes))
    for kind, (small, large) in grown.items():
        episodes = (900 // SCALE - 100 // SCALE) / (2 if kind == "worker" else 1)
        print(
            f"memory: {kind} {small / 1024:.1f} MiB and {large / 1024:.1f} MiB, {(large - small) / episodes:.1f} KiB per episode"
        )


PARTS = {
    each.__name__: each for each in (whole, in_flight, hundred, replay, allowed, retry_after, budget, episode_memory)
}


def main() -> None:
    for name in [each for each in sys.argv[1:] if each != "--small"] or PARTS:
        with tempfile.TemporaryDirectory() as place:
            PARTS[name](Path(place))


if __name__ == "__main__":
    main()
