"""Results of collection: tasks, settings and ids of this run's items. In the controller of pytest-xdist, of its workers' items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recode.plugin.collection.task_lists import TaskList
    from pytest_recode.settings import Settings
    from pytest_recode.task import Environment, Task


@dataclass(slots=True, kw_only=True)
class CollectedTasks:
    """Filled while pytest collects; complete when the first item runs."""

    tasks: dict[str, Path] = field(default_factory=dict)
    """The manifest of each task, by the task's id."""
    by_format: dict[str, tuple[Settings, ...]] = field(default_factory=dict)
    """The settings of each format, by its name: one for each agent."""
    subsets: set[str] = field(default_factory=set)
    """The subsets of all tasks, also of those that `--recode-subset` or the default of their format leaves out."""
    task_lists: dict[str, TaskList] = field(default_factory=dict)
    """With `--recode-shard`, the lists of tasks that are dealt to the shards, by their names."""
    in_other_shards: int = 0
    """With `--recode-shard`, the number of items of tasks that the user selected and that other shards play."""
    ids: frozenset[str] = frozenset()
    """The node ids of the selected items."""
    environments: Mapping[Environment, Sequence[str]] = field(default_factory=dict)
    """The environments of the tasks of these items, with the ids of the tasks."""
    scripted: Sequence[Task] = ()
    """Those of these tasks that a script of their own judges."""

    twinless: Sequence[Task] = ()
    """Those of these tasks that have no impossible twin, because their hidden tests have no process of their own."""

    def select(self, tasks: Iterable[Task]) -> None:
        """Note the tasks of the selected items; one may come several times."""
        selected = {task.id: task for task in tasks}
        environments: dict[Environment, list[str]] = {}
        for task in selected.values():
            environments.setdefault(task.environment, []).append(task.id)
        self.environments = {environment: tuple(ids) for environment, ids in environments.items()}
        self.twinless = tuple(task for task in selected.values() if task.oracle.isolation != "separate")
        self.scripted = tuple(task for task in selected.values() if task.oracle.verifier is not None)

    @property
    def settings(self) -> list[Settings]:
        """The settings of all formats and agents."""
        return [own for owns in self.by_format.values() for own in owns]
