"""1,000 episodes with 16 workers and a random fault every 30 s; started again with --recode-resume whenever the run ends. By hand or at night.

    python benchmarks/soak.py [--episodes 1000] [--every 30] [--workers 16] [--seed 1]

Checks at the end: every episode has exactly one result, and is solved; no request was sent that the ledger lacks; no answer was paid twice but
those that were lost with a killed process; nothing is left running, no socket and no temporary directory. Prints what happened.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gateway import provider, requests, tasks

LOADER = b"Loader that installs a program's modules"  # begins the code of `python -c` in every sandbox


class Soak:
    def __init__(self, place: Path, url: str, workers: int) -> None:
        self.place, self.url, self.workers = place, url, workers
        self.mark = f"SOAK={place}"
        self.runs = 0
        self.lost = 0  # calls in flight when a process was killed
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.runs += 1
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "bench", f"-n{self.workers}"),
            *("--recode-out=out", "--recode-sandbox=bubblewrap", "--recode-agent=one-shot", "--recode-model=local"),
            *(f"--recode-api-base={self.url}", *(["--recode-resume"] if self.runs > 1 else [])),
        ]
        environ = {**os.environ, "SOAK": str(self.place), "TMPDIR": str(self.place / "tmp")}
        with (self.place / f"run-{self.runs}.txt").open("wb") as output:
            self.process = subprocess.Popen(command, cwd=self.place, stdout=output, stderr=output, env=environ)

    def processes(self, word: str = "") -> list[int]:
        pids = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (path / "environ").read_bytes():
                    command = (path / "cmdline").read_bytes().decode()
                    pids += [int(path.name)] if word in command and command else []
            except (OSError, ProcessLookupError):
                continue
        return sorted(pids)

    def sandboxes(self, of: int | None = None) -> list[int]:
        """Processes of sandboxes: the children of process `of`, or all of this interpreter. Their environment is bare and has no mark."""
        words, pids = (LOADER, sys.executable.encode()), []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                command = (path / "cmdline").read_bytes()
                if all(word in command for word in words) and of in {None, parent}:
                    pids.append(int(path.name))
            except (OSError, ProcessLookupError):
                continue
        return sorted(pids)

    def sandbox_killed(self, controller: int) -> None:
        if pids := self.sandboxes(controller):
            self.lost += self.workers  # each worker's episode may end with an error, and is played again
            os.kill(random.choice(pids), signal.SIGKILL)

    def kill(self, word: str, number: int, lost: int) -> None:
        pids = self.processes(word)
        if pids:
            self.lost += lost
            os.kill(random.choice(pids), number)

    def fails(self, status: int) -> None:
        data = json.dumps({"status": status, "seconds": 5}).encode()
        request = urllib.request.Request(f"{self.url}/fault", data, {"Content-Type": "application/json"})
        urllib.request.urlopen(request).close()

    def faults(self) -> dict[str, Callable[[], None]]:
        controller = self.process.pid if self.process is not None else 0
        return {
            "429 for 5 s": lambda: self.fails(429),
            "500 for 5 s": lambda: self.fails(500),
            "529 for 5 s": lambda: self.fails(529),
            "resets for 5 s": lambda: self.fails(0),
            "gateway killed": lambda: self.kill("pytest_recode.gateway", signal.SIGKILL, self.workers),
            "worker killed": lambda: self.kill("sys.stdin.readline", signal.SIGKILL, 1),
            "warm sandbox killed": lambda: self.sandbox_killed(controller),
            "SIGTERM": lambda: os.kill(controller, signal.SIGTERM),
            "Ctrl-C": lambda: os.kill(controller, signal.SIGINT),
            "controller killed": lambda: self._controller_killed(controller),
        }

    def _controller_killed(self, controller: int) -> None:
        self.lost += self.workers
        os.kill(controller, signal.SIGKILL)


def ended(soak: Soak) -> None:
    """Wait until all of a run's processes have ended; 120 s is more than any may take."""
    deadline = time.monotonic() + 120
    while left := [*soak.processes(), *soak.sandboxes()]:
        if time.monotonic() > deadline:
            sys.exit(f"processes {left} go on after the end of run {soak.runs}")
        time.sleep(0.5)


def results(out: Path) -> list[dict[str, Any]]:
    path = out / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--every", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random.seed(options.seed)
    happened: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="soak-") as name, provider("--seconds=2", "--turns=3") as url:
        place = Path(name)
        (place / "tmp").mkdir()
        tasks(place, options.episodes)
        soak = Soak(place, url, options.workers)
        finished = False
        begun = time.monotonic()
        while not finished:
            soak.start()
            process = soak.process
            assert process is not None
            over = threading.Event()

            def disturb(over: threading.Event = over) -> None:
                while not over.wait(options.every):
                    fault = random.choice(list(soak.faults()))
                    happened[fault] += 1
                    print(f"{time.monotonic() - begun:6.0f} s: {fault}", flush=True)
                    soak.faults()[fault]()

            threading.Thread(target=disturb, daemon=True).start()
            process.wait()
            over.set()
            if process.returncode == pytest.ExitCode.USAGE_ERROR:
                sys.exit((place / f"run-{soak.runs}.txt").read_text())
            ended(soak)
            records = results(place / "out")
            outcomes = Counter(record["outcome"] for record in records)
            print(
                f"{time.monotonic() - begun:6.0f} s: run {soak.runs} ended with {process.returncode}: {dict(outcomes)}",
                flush=True,
            )
            finished = outcomes.keys() == {"solved"} and len(records) == options.episodes
        check(soak, options.episodes, requests(url))
        print(
            f"{options.episodes} episodes solved in {soak.runs} runs and {time.monotonic() - begun:.0f} s; {dict(happened)}"
        )


def check(soak: Soak, episodes: int, asked: list[tuple[float, str, int]]) -> None:
    found = results(soak.place / "out")
    assert len({record["nodeid"] for record in found}) == len(found) == episodes, "an episode has no result, or two"
    lines = [json.loads(line) for line in (soak.place / "out/spending.jsonl").read_text().splitlines()]
    booked = [line for line in lines if "model" in line and "fault" not in line]
    assert len(booked) >= len(asked), f"{len(asked)} requests, {len(booked)} in the ledger"
    answered = sum(status == 200 for _, _, status in asked)
    assert answered <= 3 * episodes + soak.lost, (
        f"{answered} answers for {3 * episodes} turns and {soak.lost} calls that may be lost"
    )
    assert not list((soak.place / "tmp").glob("recode-*")), "temporary directories are left"
    words = "\n".join(path.read_text(errors="replace") for path in soak.place.glob("run-*.txt"))
    assert "INTERNALERROR" not in words
    assert not re.search(r"^Traceback", words, re.MULTILINE), "a traceback"


if __name__ == "__main__":
    main()
