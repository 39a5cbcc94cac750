"""Opens the Run of a session that has options or tasks of this plugin, and registers the plugins that serve it.

In every process. The hooks of `plugin/__init__.py` call it, because a session without tasks has no Run.
"""

from __future__ import annotations

import sys

import pytest

from pytest_recode.plugin.collection import reruns
from pytest_recode.plugin.collection.collect import is_ours
from pytest_recode.plugin.collection.sharding import ShardSelection
from pytest_recode.plugin.reports.failure_blocks import FailureBlocks
from pytest_recode.plugin.reports.reporter import Reporter
from pytest_recode.plugin.run import limits, preflight
from pytest_recode.plugin.run.session import RUN, Run
from pytest_recode.stopping import await_children


def open_run(config: pytest.Config) -> Run:
    """This session's Run, opened at the first call."""
    if RUN in config.stash:
        return config.stash[RUN]
    await_children()
    config.stash[RUN] = run = Run(config)
    manager = config.pluginmanager  # plugins that are registered later are called first
    manager.register(RunLifetime(run), "recode-run")
    manager.register(reruns, reruns.NAME)
    manager.register(Reporter(run), "recode-reporter")
    manager.register(limits, "recode-limits")
    if run.worker is None:
        manager.register(FailureBlocks(run), "recode-failure-blocks")
    if run.worker is not None and run.calls_models:
        from pytest_recode.plugin.workers.worker_use import WorkerUse

        manager.register(WorkerUse(), "recode-worker-use")
    if run.settings.in_flight > 1:
        from pytest_recode.plugin.run.in_flight import InFlight

        manager.register(InFlight(run), "recode-in-flight")
    if run.settings.shard is not None:
        manager.register(ShardSelection(run, run.settings.shard), "recode-shard")
    return run


class RunLifetime:
    """Prepares the Run after collection, and closes it at the end of the session."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(trylast=True)  # pytest and other plugins report the collection first
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the requirements of the run, once there are items to run, and before the first model call."""
        # If -k or -m is invalid, pytest calls this with every item before it exits
        invalid = sys.exc_info()[0] is not None
        if invalid or self.run.worker is not None:
            return
        self.run.collected.ids = frozenset(item.nodeid for item in session.items if is_ours(item))
        if self.run.collected.ids and not session.config.option.collectonly:
            preflight.prepare(self.run)

    @pytest.hookimpl(trylast=True)  # others may still use the run's resources
    def pytest_unconfigure(self) -> None:
        self.run.close()
