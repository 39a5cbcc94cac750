"""Run a command and say what it cost: wall seconds, CPU seconds, peak MiB."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    wall: float
    cpu: float
    mib: float


def cost(command: Sequence[str], cwd: Path) -> Cost:
    """Raises `SystemExit` with the output where the command fails."""
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}:\n{output.decode()}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def side_by_side(commands: dict[str, Sequence[str]], cwd: Path, rounds: int) -> dict[str, Cost]:
    """Medians, the commands in turn, so that whatever else the machine does falls on all of them."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(cost(command, cwd))
    return {
        name: Cost(*(statistics.median(column) for column in zip(*found, strict=True))) for name, found in costs.items()
    }


def pytest_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]


def show(costs: dict[str, Cost]) -> None:
    for name, found in costs.items():
        print(f"{name:<28} {found.wall:7.3f} s wall  {found.cpu:7.3f} s CPU  {found.mib:7.1f} MiB")
