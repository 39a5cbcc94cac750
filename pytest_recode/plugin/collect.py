"""From a manifest to items."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.plugin import run_of
from pytest_recode.plugin.items import EpisodeItem, ValidateItem

if TYPE_CHECKING:
    from pytest_recode.task import Task


class TaskDirectory(pytest.Directory):
    """A claimed directory: all it yields is its manifest (a Directory that yields items has ids nobody can select)."""

    def __init__(self, *, manifest: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.manifest = manifest

    def collect(self) -> Iterator[pytest.Collector]:
        yield Manifest.from_parent(self, path=self.path / self.manifest)


class Manifest(pytest.File):
    """The file that describes tasks; its items are their episodes."""

    def collect(self) -> Iterator[pytest.Item]:
        run = run_of(self.config)
        task_format = run.registry.format(self.path.name)
        if task_format is None:
            raise UserError(f"{self.path}: no task format claims this file")
        tasks = task_format.load(self.path)
        for task in tasks:
            self._claim(run.tasks, task)
            prefix = f"{task.id}/" if len(tasks) > 1 else ""
            yield from self._items(task, prefix)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, UserError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def _claim(self, known: dict[str, Path], task: Task) -> None:
        first = known.setdefault(task.id, self.path)
        if first != self.path:
            raise UserError(
                f"{self.path}: task id {task.id!r} is taken by {first}: give one of the two another id, "
                "or collect one directory at a time"
            )

    def _items(self, task: Task, prefix: str) -> Iterator[pytest.Item]:
        settings = run_of(self.config).settings
        if settings.validate:
            for check in ValidateItem.CHECKS:
                yield self._item(ValidateItem, f"{prefix}validate[{check}]", task=task, check=check)
            return
        # without a model an item still stands for the task: it is shown, selected, and skipped with the reason
        for model in settings.models or (None,):
            for policy in settings.feedbacks:
                for attempt in range(1, settings.attempts + 1):
                    name = f"{model or settings.agent}-{policy}" + (f"-{attempt}" if attempt > 1 else "")
                    yield self._item(
                        EpisodeItem,
                        f"{prefix}episode[{name}]",
                        task=task,
                        model=model,
                        policy=policy,
                        attempt=attempt,
                    )

    def _item(self, kind: type[EpisodeItem] | type[ValidateItem], name: str, **facts: Any) -> pytest.Item:
        # the id is given whole: from the name alone, pytest 9.2 does not find the part in brackets, and --lf forgets the item
        item: pytest.Item = kind.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", **facts)
        return item


def is_ours(item: pytest.Item) -> bool:
    return isinstance(item, EpisodeItem | ValidateItem)
