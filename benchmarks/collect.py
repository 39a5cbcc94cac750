"""Collecting 1,000 task directories, beside a bare plugin that makes 1,000 items from the same 1,000 YAML files.

Goal: at most 1.5 times.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from measure import pytest_command, show, side_by_side

TASKS = 1000
BARE = '''\
"""A bare plugin: a YAML file is an item."""

import pytest
import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def pytest_collect_file(file_path, parent):
    if file_path.name == "task.yaml":
        return Manifest.from_parent(parent, path=file_path)


class Manifest(pytest.File):
    def collect(self):
        with self.path.open("rb") as file:
            data = yaml.load(file, Loader=Loader)
        yield Item.from_parent(self, name=data["id"], data=data)


class Item(pytest.Item):
    def __init__(self, *, data, **rest):
        super().__init__(**rest)
        self.data = data

    def runtest(self):
        pass
'''


def main() -> None:
    tiny = Path(__file__).resolve().parents[1] / "tasks" / "sinkhorn"
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        for number in range(TASKS):
            root = here / "bench" / f"task{number:04}"
            shutil.copytree(tiny, root)
            manifest = root / "task.yaml"
            manifest.write_text(manifest.read_text().replace("id: sinkhorn", f"id: task{number:04}"))
        (here / "bare.py").write_text(BARE)
        common = ("--collect-only", "bench")
        costs = side_by_side(
            {
                # the bare plugin descends into nothing but the task's own folder, as ours does
                "bare plugin": pytest_command(
                    "-p", "bare", "-p", "no:recode", *common, "--ignore-glob=*/repo", "--ignore-glob=*/tests",
                    "--ignore-glob=*/reference", "--ignore-glob=*/environment",
                ),
                "pytest-recode": pytest_command(*common),
            },
            here,
            rounds=7,
        )  # fmt: skip
    show(costs)
    print(f"ratio: {costs['pytest-recode'].wall / costs['bare plugin'].wall:.2f}")


if __name__ == "__main__":
    main()
