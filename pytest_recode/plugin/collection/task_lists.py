"""Which shard plays which task and attempt (`--recode-shard`): lists of tasks that are dealt to the shards in turn.

A list is what a directory or a benchmark's manifest contains, whatever of it the session selects or collects. So an item has the same
shard in every session, with any `-k`, `-m`, `--lf`, node ids, models, levels and number of attempts, and a list is divided evenly.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.shard import Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskList:
    """`name`: relative to pytest's root directory. `places`: the place of each task in the list, from 0. `start`: where dealing starts."""

    name: str
    places: Mapping[str, int]
    start: int

    def shard(self, task: str, attempt: int, count: int) -> Shard:
        """The shard, of `count`, that plays this attempt, from 1, of a task. All policies and models of an attempt are in one shard.

        The tasks are dealt in turn, first their first attempts, then their second ones. So the number of pairs of task and attempt
        differs by at most 1 between shards, and further attempts move no earlier one.
        """
        turn = self.start + (attempt - 1) * len(self.places) + self.places[task]
        return Shard(number=turn % count + 1, count=count)

    @property
    def digest(self) -> str:
        return hashlib.sha256("\0".join(self.places).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def task_list(name: str, tasks: Collection[str]) -> TaskList:
    """Each list starts at another shard, because many short lists would all begin at the first one."""
    start = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()[:8])
    return TaskList(name=name, places={task: place for place, task in enumerate(sorted(set(tasks)))}, start=start)


def of_manifest(root: Path, manifest: Path, tasks: Collection[str]) -> TaskList:
    """The list of a manifest that defines several tasks, with their ids. `root`: pytest's root directory."""
    return task_list(_relative(manifest, root), tasks)


def of_directory(root: Path, manifest: Path, known: Mapping[str, TaskList]) -> TaskList:
    """The list of a manifest that defines one task: the names of all directories beside its own that have such a manifest.

    `known`: lists that have been read, by name.
    """
    own = manifest.parent
    if root.is_relative_to(own):  # what is beside the root directory does not belong to the project
        return task_list(_relative(manifest, root), [own.name])
    name = _relative(own.parent / "*" / manifest.name, root)
    return known.get(name) or task_list(
        name, [path.name for path in own.parent.iterdir() if (path / manifest.name).is_file()]
    )


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()
