"""Keep plugins from repeating episodes, because the better of two answers is not a valid result.

Registered in every process that collects a task. Recode items bypass pytest-rerunfailures, lose pytest-retry's marker,
and are not multiplied by pytest-flakefinder and pytest-repeat. A plugin that runs an item again by itself (flaky) gets the
first result: see `Run.plays`. These plugins repeat ordinary tests of the session as usual.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_recode.plugin.collection.items import TaskItem
from pytest_recode.plugin.workers import distributed

_PLUGIN = "rerunfailures"
NAME = "recode-reruns"
"""The name under which this module is registered as a plugin."""
_LINE = "not to recode items: each episode is played once, and --recode-attempts=N plays more"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Bypass pytest-rerunfailures, which would run the item itself, and more than once."""
    manager = item.config.pluginmanager
    reruns = manager.get_plugin(_PLUGIN)
    if reruns is None or not isinstance(item, TaskItem):
        return None
    found = item.config.hook.pytest_runtest_protocol.get_hookimpls()  # called from last to first
    own = next(place for place, each in enumerate(found) if each.plugin is manager.get_plugin(NAME))
    called = {each.plugin for each in found[own:]}
    rest: Any = manager.subset_hook_caller("pytest_runtest_protocol", {*called, reruns})
    return rest(item=item, nextitem=nextitem)


def _left_alone() -> None:
    """A stand-in for the `function` of recode items, while pytest-flakefinder searches for tests to multiply."""


_left_alone._pytest_duplicated = True  # type: ignore[attr-defined]  # pytest-flakefinder's mark of functions that it has multiplied already


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Make pytest-flakefinder skip recode items. It reads `item.function` of every item, which would fail."""
    task_items: list[Any] = [item for item in items if isinstance(item, TaskItem)]
    if not config.getoption("flake_finder_enable", False):
        task_items = []
    for item in task_items:
        item.function = _left_alone
    try:
        yield
    finally:
        for item in task_items:
            del item.function


def pytest_report_header(config: pytest.Config) -> list[str]:
    options = [_given(config)]
    if config.getoption("flake_finder_enable", False):
        options.append("--flake-finder")
    if config.pluginmanager.hasplugin("repeat") and config.getoption("count", 1) > 1:
        options.append("--count")
    return [f"recode: {option} applies to ordinary tests, {_LINE}" for option in options if option]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remove the `flaky` marker from recode items: pytest-retry's option marks every item, and the session ends at an item
    that is not a function. With pytest-xdist, the workers collect, and the first one reports."""
    from pytest_recode.plugin.run.log_warnings import warn

    config = session.config
    marked = [item for item in session.items if isinstance(item, TaskItem) and item.get_closest_marker("flaky")]
    for item in marked:
        item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "flaky"]
    if marked and not _given(config) and distributed.speaks(config):
        warn(config, f"the flaky marker applies to ordinary tests, {_LINE}", __file__, 0)


def _given(config: pytest.Config) -> str:
    """The option by which this session's tests are rerun, if any."""
    if not config.pluginmanager.hasplugin(_PLUGIN):
        return ""
    for option, value in (
        ("--force-reruns", config.getoption("force_reruns", None)),
        ("--reruns", config.getoption("reruns", None)),
        ("reruns", config.getini("reruns")),
    ):
        if value is not None and value != "":
            return option if str(value).strip() != "0" else ""
    return ""
