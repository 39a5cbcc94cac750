"""What the plugin costs a session that has no task: one trivial test, with and without it.

Goal: at most 0.03 s and 3 MiB.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from measure import pytest_command, show, side_by_side


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "test_one.py").write_text("def test_one():\n    pass\n")
        costs = side_by_side({"without": pytest_command("-p", "no:recode"), "with": pytest_command()}, here, rounds=15)
    show(costs)
    plain, ours = costs["without"], costs["with"]
    print(
        f"merely installed: {ours.cpu - plain.cpu:+.3f} s CPU, {ours.wall - plain.wall:+.3f} s wall, {ours.mib - plain.mib:+.1f} MiB"
    )


if __name__ == "__main__":
    main()
