"""How much the memory of workers and controller grows per episode, over 2,000 episodes with `-n 2`, beside as many trivial tests without the plugin.

Private memory after a full garbage collection, between the first and the last measurement. Reference agent, process sandbox.

    python benchmarks/growth.py [--episodes 2000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from gateway import tasks
from measure import pytest_command

EVERY = 250
"""Items between two measurements of a process."""

MEASURING = f"""\
import gc
import json
import os
import re

items = 0
points = []


def private():
    gc.collect()
    text = open("/proc/self/smaps_rollup").read()
    return sum(int(number) for number in re.findall(r"^Private_\\w+: +(\\d+)", text, re.MULTILINE))


def pytest_runtest_logreport(report):
    global items
    if report.when == "teardown":
        items += 1
        if items % {EVERY} == 0:
            points.append([items, private()])


def pytest_unconfigure(config):
    name = os.environ.get("PYTEST_XDIST_WORKER", "controller")
    with open(os.path.join(os.environ["POINTS"], name), "w") as file:
        json.dump(points, file)
"""
TRIVIAL = """\
import pytest


@pytest.mark.parametrize("number", range(NUMBER))
def test_nothing(number):
    pass
"""


def growth(here: Path, command: list[str]) -> dict[str, float]:
    """KiB per item, of the controller and, on average, of the workers."""
    points = here / "points"
    points.mkdir()
    subprocess.run(
        [*command, "-n2", "-q", "-p", "measuring"],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(here), "POINTS": str(points)},
        check=True,
        capture_output=True,
    )
    rates: dict[str, list[float]] = {}
    for path in points.iterdir():
        (first, before), *_, (last, after) = json.loads(path.read_text())
        rates.setdefault(path.name.rstrip("0123456789"), []).append((after - before) / (last - first))
    return {name: sum(values) / len(values) for name, values in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--episodes", type=int, default=2000)
    episodes = parser.parse_args().episodes
    results = {}
    for name in ("episodes", "trivial tests"):
        with tempfile.TemporaryDirectory() as directory:
            here = Path(directory)
            (here / "pytest.ini").write_text("[pytest]\n")
            (here / "measuring.py").write_text(MEASURING)
            if name == "episodes":
                tasks(here, 10)
                given = ["bench", "--recode-agent=reference", "--recode-sandbox=process"]
                command = pytest_command(*given, f"--recode-attempts={episodes // 10}")
            else:
                (here / "test_trivial.py").write_text(TRIVIAL.replace("NUMBER", str(episodes)))
                command = pytest_command("-p", "no:recode")
            results[name] = growth(here, command)
    for process in ("gw", "controller"):
        ours, plain = results["episodes"][process], results["trivial tests"][process]
        print(
            f"{'a worker' if process == 'gw' else process}: {ours:.1f} KiB per episode, {plain:.1f} KiB per trivial test"
        )


if __name__ == "__main__":
    main()
