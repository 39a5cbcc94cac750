"""Real command-line agents: seconds to the first request and memory of one, and many of them at the same time.

    python benchmarks/agents.py                                  all parts, with all agents
    python benchmarks/agents.py start codex opencode             one episode of three turns, alone
    python benchmarks/agents.py many codex --at-once 8 16 32     so many episodes at the same time, in one process

The agents are those that pytest-recode installs, in bubblewrap, behind the real gateway. The provider is a process of its own that answers
at once, so that the time is that of the agents and of pytest-recode. `start` needs a quiet machine: it shows the load. After each run, nothing
may be left: no process, no control group, nothing in the directory for temporary files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway import _pss as pss_kib
from gateway import provider, requests, tasks

from pytest_recode.agents.installed_programs import cache

AGENTS = ("claude-code", "codex", "opencode", "gemini-cli", "aider")
EVERY = 0.05  # seconds between two looks
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Program:
    """A process of an agent and its children: Unix time of its start, largest Pss of all of them in KiB, CPU seconds."""

    started: float
    largest: int = 0
    cpu: float = 0.0


@dataclass(slots=True)
class Watch:
    """What the processes below `root` take. `kinds`: largest Pss in KiB of each kind; `programs`: by the process id of the agent's own."""

    root: int
    programs_too: bool
    kinds: dict[str, int] = field(default_factory=dict)
    programs: dict[int, Program] = field(default_factory=dict)
    largest: int = 0
    most: int = 0  # programs at the same time
    over: threading.Event = field(default_factory=threading.Event)
    commands: dict[int, str] = field(default_factory=dict)

    def run(self) -> None:
        while not self.over.wait(EVERY if self.programs_too else 10 * EVERY):
            self.look()

    def look(self) -> None:
        parents, times = _processes()
        below = _below(self.root, parents)
        sizes = {pid: pss_kib(pid) for pid in below}
        for pid in below:
            self.commands[pid] = _command(pid) or self.commands.get(pid, "")
        now: Counter[str] = Counter()
        tops = [pid for pid in below if self._is_program(pid) and not self._is_program(parents[pid])]
        inside = {each: pid for pid in tops for each in _below(pid, parents)}
        for pid, size in sizes.items():
            now["programs" if pid in inside else self._kind(pid)] += size
        for kind, size in now.items():
            self.kinds[kind] = max(self.kinds.get(kind, 0), size)
        self.largest = max(self.largest, now.total())
        self.most = max(self.most, len(tops))
        for pid in tops:
            tree = [each for each, top in inside.items() if top == pid]
            program = self.programs.setdefault(pid, Program(_boot() + times[pid][0]))
            program.largest = max(program.largest, sum(sizes[each] for each in tree))
            program.cpu = max(program.cpu, sum(times[each][1] for each in tree))

    def _is_program(self, pid: int) -> bool:
        command = self.commands.get(pid, "")
        return str(cache()) in command and "bwrap" not in command and "recode.runtime" not in command

    def _kind(self, pid: int) -> str:
        if pid == self.root:
            return "controller"
        return "gateway" if "pytest_recode.gateway" in self.commands.get(pid, "") else "sandboxes"


def _processes() -> tuple[dict[int, int], dict[int, tuple[float, float]]]:
    """Parents of all processes; their starts in seconds since the boot, and CPU seconds."""
    parents, times = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (OSError, ProcessLookupError):
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        times[pid] = (int(fields[19]) / TICKS, (int(fields[11]) + int(fields[12])) / TICKS)
    return parents, times


def _below(root: int, parents: dict[int, int]) -> set[int]:
    below, children = {root}, {root}
    while children:
        children = {pid for pid, parent in parents.items() if parent in children} - below
        below |= children
    return below


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except (OSError, ProcessLookupError):
        return ""


def _boot() -> float:
    return time.time() - float(Path("/proc/uptime").read_text().split()[0])


@dataclass(frozen=True, kw_only=True)
class Ran:
    wall: float
    watch: Watch
    asked: list[float]  # Unix times of the requests
    outcomes: Counter[str]
    left: str


def run(agent: str, episodes: int, at_once: int, *args: str, programs_too: bool) -> Ran:
    with tempfile.TemporaryDirectory(prefix="agents-") as name, provider("--turns=3") as url:
        here = Path(name)
        tasks(here, episodes)
        (here / "tmp").mkdir()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "bench", "-n0", "--recode-out=out"]
        command += [f"--recode-agent={agent}", "--recode-model=local", f"--recode-api-base={url}"]
        command += ["--recode-sandbox=bubblewrap", f"--recode-in-flight={at_once}", "--recode-turns=3", *args]
        environ = {**os.environ, "TMPDIR": str(here / "tmp")}
        start = time.perf_counter()
        with (here / "output").open("wb") as output:
            process = subprocess.Popen(command, cwd=here, stdout=output, stderr=output, env=environ)
        watch = Watch(process.pid, programs_too)
        watcher = threading.Thread(target=watch.run)
        watcher.start()
        process.wait()
        wall = time.perf_counter() - start
        watch.over.set()
        watcher.join()
        path = here / "out/results.jsonl"
        if not path.exists():
            sys.exit((here / "output").read_text())
        records = [json.loads(line) for line in path.read_text().splitlines()]
        outcomes = Counter(str((record.get("error") or {}).get("message") or record["outcome"]) for record in records)
        asked = [at for at, _, _ in requests(url)]
        left = _left(here, process.pid)
    return Ran(wall=wall, watch=watch, asked=asked, outcomes=outcomes, left=left)


def _left(here: Path, controller: int) -> str:
    slots = "pytest-recode-slots-"  # of all runs of a user, which stays
    found: list[Any] = [path.name for path in (here / "tmp").iterdir() if not path.name.startswith(slots)]
    found += [root for root, _, _ in os.walk("/sys/fs/cgroup") if f"pytest-recode.{controller}." in root]
    found += [
        pid for pid in _processes()[0] if f"{here}/tmp".encode() in _environ(pid) or str(cache()) in _command(pid)
    ]
    return f"LEFT: {found}" if found else "nothing left"


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except (OSError, ProcessLookupError):
        return b""


def start(agent: str) -> None:
    """Seconds from the start of the program to its first request at the provider, in the first and in later turns; the memory of its processes."""
    load = os.getloadavg()[0]
    ran = run(agent, 1, 1, programs_too=True)
    programs = sorted(ran.watch.programs.values(), key=lambda each: each.started)
    waited = [
        min((at for at in ran.asked if at >= program.started), default=float("nan")) - program.started
        for program in programs
    ]
    if not programs:
        sys.exit(f"{agent}: its program was not seen: {dict(ran.outcomes)}")
    later = f"{statistics.median(waited[1:]):.1f}" if waited[1:] else "-"
    print(
        f"{agent:<12} {dict(ran.outcomes)}: first request after {waited[0]:.1f} s, in later turns {later} s;"
        f" {max(each.largest for each in programs) / 1024:.0f} MiB, {statistics.median(each.cpu for each in programs):.1f} s CPU a turn;"
        f" {len(ran.asked)} requests; load before {load:.1f}; {ran.left}",
        flush=True,
    )


def many(agent: str, at_once: list[int]) -> None:
    """So many episodes at the same time in one process. The memory of the controller per episode is the slope over these numbers."""
    controllers = []
    for number in at_once:
        ran = run(agent, number, number, programs_too=False)
        kinds = {
            kind: ran.watch.kinds.get(kind, 0) / 1024 for kind in ("controller", "gateway", "sandboxes", "programs")
        }
        controllers.append(kinds["controller"])
        shown = ", ".join(f"{kind} {mib:.0f}" for kind, mib in kinds.items())
        print(
            f"{agent:<12} {number} at once: {dict(ran.outcomes)}; {ran.wall:.0f} s, {len(ran.asked)} requests; MiB at most: {shown},"
            f" together {ran.watch.largest / 1024:.0f}; {ran.watch.most} programs at the same time; {ran.left}",
            flush=True,
        )
    if len(at_once) > 1:
        slope = (controllers[-1] - controllers[0]) / (at_once[-1] - at_once[0])
        print(f"{agent:<12} controller: {slope:.2f} MiB per episode in flight", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="PART or AGENT")
    parser.add_argument("--at-once", type=int, nargs="+", default=[8, 16, 32])
    options = parser.parse_args()
    parts = [name for name in options.names if name in {"start", "many"}] or ["start", "many"]
    agents = [name for name in options.names if name not in {"start", "many"}] or list(AGENTS)
    for agent in agents:
        if "start" in parts:
            start(agent)
        if "many" in parts:
            many(agent, options.at_once)


if __name__ == "__main__":
    main()
