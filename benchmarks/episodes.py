"""One-turn episodes of a trivial task, offline agent, bubblewrap, warm.

Goals: 200 of them cost at most 30 ms each over what starting their sandboxes costs; over 1,000 the pytest process grows by less
than 5 KiB each.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

from measure import cost, pytest_command

from pytest_recode.sandboxes import Program, SandboxContext
from pytest_recode.sandboxes.bubblewrap import KIND
from pytest_recode.task import Environment, Limits

EPISODES, MANY, WARM = 200, 1000, 50
FILES = {
    "task.yaml": "schema: 1\nid: trivial\ntitle: One\ntargets: [one.py]\n",
    "instruction.md": "Write one.py with one() that returns 1.\n",
    "repo/one.py": "",
    "reference/one.py": "def one():\n    return 1\n",
    "tests/test_one.py": "def test_one(candidate):\n    assert candidate.one.one() == 1\n",
}
IDLE = "def main(reader, writer):\n    writer.write(b'.')\n    reader.read(1)\n"
RSS = '''\
"""Says how large this process is after each episode."""

import os


def pytest_runtest_logfinish(nodeid):
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    with open("rss", "a") as file:
        file.write(f"{pages * os.sysconf('SC_PAGE_SIZE')}\\n")
'''


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        for path, text in FILES.items():
            (here / "trivial" / path).parent.mkdir(parents=True, exist_ok=True)
            (here / "trivial" / path).write_text(text)
        run = ("--recode-agent=reference", "--recode-sandbox=bubblewrap", "--recode-turns=1")
        few = cost(pytest_command(*run, f"--recode-attempts={WARM}", "--recode-out=few", "trivial"), here)
        all_ = cost(pytest_command(*run, f"--recode-attempts={WARM + EPISODES}", "--recode-out=all", "trivial"), here)
        episode = (all_.wall - few.wall) / EPISODES
        start = sandboxes()
        print(f"an episode               {1000 * episode:6.1f} ms")
        print(f"its three sandboxes      {1000 * start:6.1f} ms")
        print(f"over the sandboxes       {1000 * (episode - start):6.1f} ms   (goal: 30)")
        (here / "rss_plugin.py").write_text(RSS)
        cost(
            pytest_command(
                *run, "-p", "rss_plugin", f"--recode-attempts={WARM + MANY}", "--recode-out=many", "trivial"
            ),
            here,
        )
        sizes = [int(line) for line in (here / "rss").read_text().split()]
        print(f"growth per episode       {(sizes[-1] - sizes[WARM]) / MANY / 1024:6.2f} KiB  (goal: 5)")


def sandboxes() -> float:
    """Seconds to start and end the three sandboxes of an episode: workspace, grader, candidate."""
    sandbox = KIND.make(SandboxContext(run="benchmark", python=sys.executable))
    programs = [
        Program(name=name, modules={"idle": IDLE}, entry="idle", persistent=name == "workspace")
        for name in ("workspace", "grader", "candidate")
    ]
    try:
        for _ in range(5):
            _start(sandbox, programs)
        begin = time.perf_counter()
        for _ in range(EPISODES):
            _start(sandbox, programs)
        return (time.perf_counter() - begin) / EPISODES
    finally:
        sandbox.close()


def _start(sandbox: object, programs: list[Program]) -> None:
    deadline = time.monotonic() + 60
    running = [sandbox.launch(program, Environment(), Limits()) for program in programs]  # type: ignore[attr-defined]
    for connection in running:
        if not re.fullmatch(rb"\.", connection.receive(1, deadline)):
            sys.exit("a sandbox did not start")
        connection.kill()


if __name__ == "__main__":
    main()
