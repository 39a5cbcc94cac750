"""Collection: from a manifest to items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.checked_tasks import tasks_of
from pytest_recode.plugin.collection import sharding
from pytest_recode.plugin.collection.episode_names import episode_stem
from pytest_recode.plugin.collection.items import EpisodeItem, FaultItem, TaskItem, ValidateItem
from pytest_recode.plugin.run.environments import placed
from pytest_recode.plugin.run.session import run_of

if TYPE_CHECKING:
    from pytest_recode.settings import Settings
    from pytest_recode.shard import Shard
    from pytest_recode.task import Task


class TaskDirectory(pytest.Directory):
    """A directory with a manifest. It yields only the manifest, because items of a Directory have ids that cannot be selected; and parts
    of it that the user named by path, whose error explains how to select tasks instead."""

    of_tasks = True

    def __init__(self, *, manifest: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.manifest = manifest

    def collect(self) -> Iterator[pytest.Collector]:
        yield Manifest.from_parent(self, path=self.path / self.manifest)
        yield from _given(self, self.path / self.manifest)


class PartDirectory(pytest.Directory):
    """A directory that belongs to a manifest above it, so that it contains no ordinary tests."""

    of_tasks = True

    def __init__(self, *, manifest: Path, **rest: Any) -> None:
        super().__init__(**rest)
        self.manifest = manifest

    def collect(self) -> Iterator[pytest.Collector]:
        if below := list(_given(self, self.manifest)):
            yield from below
            return
        raise UserError(
            f"{self.path}: belongs to {self.manifest}: select its tasks with -k, as in"
            f" pytest {self.manifest.parent} -k {self.path.name}, or by id, {self.manifest}::TASK/…"
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, UserError) else super().repr_failure(excinfo)


def belongs(parent: pytest.Collector, path: Path, manifest: Path) -> pytest.Collector | None:
    """The PartDirectory for `path`; None if the format does not claim it, because other projects may have a file of the manifest's name."""
    task_format = run_of(parent.config).registry.format(manifest.name)
    if task_format is None or task_format.owns is None or not task_format.owns(manifest, path):
        return None
    part: pytest.Collector = PartDirectory.from_parent(parent, path=path, manifest=manifest)
    return part


def _given(parent: pytest.Directory, manifest: Path) -> Iterator[pytest.Collector]:
    """The directories of the manifest in this one that the user named, or below which the user named something. Without a node for each
    directory on the way, pytest only reports "not found"."""
    selected = partial(parent.session.isinitpath, with_parents=True)
    if selected(parent.path):
        for path in sorted(filter(selected, parent.path.iterdir())):
            if path.is_dir() and (part := belongs(parent, path, manifest)) is not None:
                yield part


class Manifest(pytest.File):
    """A manifest file, whose items are the episodes of its tasks."""

    _shard_of: Callable[[Task, int], Shard | None]

    def collect(self) -> Iterator[pytest.Item]:
        run = run_of(self.config)
        task_format = run.registry.format(self.path.name)
        if task_format is None:
            raise UserError(f"{self.path}: no task format claims this file")
        owns = run.settings_for(task_format)
        every_task = tasks_of(task_format, self.path)
        run.collected.subsets.update(subset for task in every_task for subset in task.subsets)
        tasks = _of_subset(every_task, owns[0].subset)
        self._shard_of = sharding.dealt(run, task_format, self.path, tasks)
        for task in tasks:
            self._claim(run.collected.tasks, task)
            task = replace(task, environment=placed(task.environment, run.settings.environments))
            prefix = "" if task_format.single else f"{task.id}/"
            if task.fault:
                yield self._item(FaultItem, f"{prefix}unreadable", task=task)
            else:
                yield from self._items(task, prefix, owns)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, UserError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def _claim(self, known: dict[str, Path], task: Task) -> None:
        first = known.setdefault(task.id, self.path)
        if first != self.path:
            raise UserError(
                f"{self.path}: task id {task.id!r} is already used by {first}: change one of the two ids, "
                "or collect one directory at a time"
            )

    def _items(self, task: Task, prefix: str, owns: Sequence[Settings]) -> Iterator[pytest.Item]:
        if owns[0].validate:  # the only one: no agent can be chosen
            from pytest_recode.validation.checks import checks

            task = _limited(task, owns[0])
            for check in checks(task, right_mutants=owns[0].validate_right_mutants):
                yield self._item(ValidateItem, f"{prefix}validate[{check.name}]", task=task, check=check.name)
        elif owns[0].replay_feedback is not None:
            yield from self._replays(task, prefix, {own.agent: own for own in owns})
        else:
            for own in owns:
                yield from self._episodes(_limited(task, own), prefix, own, several=len(owns) > 1)

    def _episodes(self, task: Task, prefix: str, settings: Settings, *, several: bool) -> Iterator[pytest.Item]:
        """The episodes of one agent. `several`: whether there are others."""
        # without a model, a task still has an item, which can be selected, and is skipped with the reason
        shown = (settings, replace(settings, paper=False)) if settings.ablation else (settings,)
        for model in settings.models or (None,):
            for policy in settings.feedbacks:
                for own in shown:
                    suffix = "" if own.paper or not settings.ablation else "-no-paper"
                    for attempt in range(1, settings.attempts + 1):
                        stem = episode_stem(
                            settings.agent, model, policy, several=several, impossible=settings.impossible
                        )
                        name = f"{stem}{suffix}" + (f"-{attempt}" if attempt > 1 else "")
                        facts = {"model": model, "policy": policy, "attempt": attempt}
                        yield self._item(EpisodeItem, f"{prefix}episode[{name}]", task=task, settings=own, **facts)

    def _replays(self, task: Task, prefix: str, by_agent: Mapping[str, Settings]) -> Iterator[pytest.Item]:
        for replay in run_of(self.config).replays:
            facts = replay.facts
            if (facts["task"], facts["format"]) != (task.id, task.format):
                continue
            settings = by_agent[facts["agent"]]
            origin = facts["nodeid"].rpartition("[")[2].removesuffix("]")
            played = {"settings": replay.settings(settings), "model": facts["model"], "attempt": facts["attempt"]}
            for policy in settings.feedbacks:
                name = f"{prefix}replay[{origin}-turn{replay.turn}-{policy}]"
                limited = _limited(task, settings)
                yield self._item(EpisodeItem, name, task=limited, policy=policy, replay=replay, **played)

    def _item(self, kind: type[TaskItem], name: str, **facts: Any) -> pytest.Item:
        # pass the whole id: from the name alone, pytest 9.2 does not find the part in brackets, and --lf loses the item
        item = kind.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", **facts)
        item.shard = self._shard_of(item.task, facts.get("attempt", 1))
        return item


def _of_subset(tasks: Sequence[Task], subset: str | None) -> Sequence[Task]:
    """The tasks of a subset, and those that cannot be read: what they belong to is unknown."""
    if subset is None:
        return tasks
    return [task for task in tasks if task.fault or subset in task.subsets]


def _limited(task: Task, settings: Settings) -> Task:
    """The task with the time limit of the settings."""
    if settings.test_seconds is None:
        return task
    return replace(task, limits=replace(task.limits, test_seconds=settings.test_seconds))


def is_ours(item: pytest.Item) -> bool:
    return isinstance(item, EpisodeItem | ValidateItem)
