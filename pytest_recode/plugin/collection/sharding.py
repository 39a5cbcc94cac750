"""`--recode-shard`: select the items of one shard, describe the shard for its directory, and end well if it is empty.

Registered in every process of a session with this option. Workers select; the controller, which collects nothing, learns from them
whether anything was selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode import VERSION
from pytest_recode.faults import RecordsError, UserError
from pytest_recode.plugin.collection.items import TaskItem
from pytest_recode.plugin.collection.task_lists import TaskList, of_directory, of_manifest
from pytest_recode.settings import NOT_COMPARED

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_recode.formats import Format
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.settings import Settings
    from pytest_recode.shard import Shard
    from pytest_recode.shards.shard_file import FormatSettings, ShardFile
    from pytest_recode.task import Task

_OUTPUT = "recode_shard"
"""The key of a worker's output with its numbers of items: of this shard, and of others."""


def listed(run: Run, task_format: Format, manifest: Path, tasks: Sequence[Task]) -> TaskList:
    """The list to which `tasks`, all tasks of `manifest`, belong."""
    root, known = run.config.rootpath, run.collected.task_lists
    task_list = (
        of_directory(root, manifest, known)
        if task_format.single
        else of_manifest(root, manifest, [task.id for task in tasks])
    )
    return known.setdefault(task_list.name, task_list)


def dealt(run: Run, task_format: Format, manifest: Path, tasks: Sequence[Task]) -> Callable[[Task, int], Shard | None]:
    """The shard of an attempt at one of `tasks`, all tasks of `manifest`; always None without `--recode-shard`."""
    shard = run.settings.shard
    own = None if shard is None else listed(run, task_format, manifest, tasks)

    def shard_of(task: Task, attempt: int) -> Shard | None:
        if shard is None or own is None:
            return None
        return own.shard(manifest.parent.name if task_format.single else task.id, attempt, shard.count)

    return shard_of


def content(run: Run) -> ShardFile | None:
    """The content of shard.json for this session; None without `--recode-shard`."""
    if run.settings.shard is None:
        return None
    from pytest_recode.shards.shard_file import SCHEMA

    return {
        "schema": SCHEMA,
        "shard": str(run.settings.shard),
        "version": VERSION,
        "models": list(run.settings.models),
        "formats": {name: _format(owns) for name, owns in sorted(run.collected.by_format.items())},
        "task_lists": {name: found.digest for name, found in sorted(run.collected.task_lists.items())},
        "episodes": sorted(run.collected.ids),
    }


def _format(owns: Sequence[Settings]) -> FormatSettings:
    """`owns`: the settings of each agent."""
    from pytest_recode.shards.shard_file import joined

    return {
        "attempts": max(own.attempts for own in owns),
        "feedback": list(dict.fromkeys(policy for own in owns for policy in own.feedbacks)),
        "paper": [True, False] if owns[0].ablation else [owns[0].paper],
        "others": joined({own.agent: _others(own) for own in owns}),
    }


def _others(own: Settings) -> Mapping[str, Any]:
    from pytest_recode.episode.setup import setup

    compared = {key: value for key, value in setup(own).items() if key not in NOT_COMPARED}
    return {
        "agent": own.agent,
        "feedback_model": own.feedback_model,
        "seed": own.seed,
        "replay_feedback": own.replay_feedback and own.replay_feedback.resolve().name,
        **compared,
    }


class ShardSelection:
    """The plugin of one session."""

    def __init__(self, run: Run, shard: Shard) -> None:
        self.run = run
        self.shard = shard
        self._selected = 0
        self._fault = ""
        self._written = False

    @property
    def _empty(self) -> bool:
        """Whether the user selected items of tasks, and all of them are in other shards."""
        return self._selected == 0 < self.run.collected.in_other_shards

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the items of other shards, after `-k` and `-m`, whose empty selection must not pass for an empty shard."""
        others = {item for item in items if isinstance(item, TaskItem) and item.shard != self.shard}
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item in others])
            items[:] = [item for item in items if item not in others]
        self._count(sum(isinstance(item, TaskItem) for item in items), len(others))
        if self.run.worker is not None:
            output: Any = config
            output.workeroutput[_OUTPUT] = (self._selected, len(others))

    def _count(self, selected: int, others: int) -> None:
        self._selected, self.run.collected.in_other_shards = selected, others

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Controller: a worker has ended. All workers collect the same; one that crashed sends nothing."""
        if (counts := getattr(node, "workeroutput", {}).get(_OUTPUT)) is not None:
            self._count(*counts)

    def pytest_report_header(self) -> str:
        return f"recode: shard {self.shard}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End an empty shard with exit status 0, because 5 (no tests) would fail one job of a matrix for a correct division. Write its
        directory, so that it is not taken for a shard that is missing."""
        if self.run.worker is not None or not self._empty:
            return
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
        ended = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        settings = self.run.settings
        if not ended or settings.validate or self.run.skip_reason or session.config.option.collectonly:
            return
        from pytest_recode.plugin.run import directory

        try:
            directory.claim(self.run.out, settings, (), self.run.check_settings, self.run.notify, content(self.run))
            self._written = True
        except (RecordsError, UserError) as error:
            self._fault = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._empty:
            return
        others = self.run.collected.in_other_shards
        noun = "item is in another shard" if others == 1 else "items are in other shards"
        terminalreporter.section("recode", sep="=")
        terminalreporter.line(f"shard {self.shard} is empty: {others} selected {noun}")
        if self._written:
            terminalreporter.line(f"records: {self.run.out} (for pytest-recode merge)")
        if self._fault:
            terminalreporter.line(f"ERROR: {self._fault}", red=True)
