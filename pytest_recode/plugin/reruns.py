"""Each episode is played once, also where a plugin repeats tests: the better of two answers is no result.

Registered in every process that meets a task. pytest-rerunfailures is bypassed for recode items, pytest-retry's marker is taken off
them, and pytest-flakefinder and pytest-repeat multiply none of them. A plugin that runs an item again by itself (flaky) gets the
result of the first time: see `Run.plays`. Ordinary tests of the session are repeated as those plugins do it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

from pytest_recode.plugin import distributed
from pytest_recode.plugin.items import TaskItem

_PLUGIN = "rerunfailures"
_LINE = "not to recode items: each episode is asked once, and --recode-attempts=N asks for more"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Go on without pytest-rerunfailures, which would run the item itself, and more than once."""
    manager = item.config.pluginmanager
    reruns = manager.get_plugin(_PLUGIN)
    if reruns is None or not isinstance(item, TaskItem):
        return None
    found = item.config.hook.pytest_runtest_protocol.get_hookimpls()  # called from last to first
    own = next(place for place, each in enumerate(found) if each.plugin is sys.modules[__name__])
    called = {each.plugin for each in found[own:]}
    rest: Any = manager.subset_hook_caller("pytest_runtest_protocol", {*called, reruns})
    return rest(item=item, nextitem=nextitem)


def _left_alone() -> None:
    """The `function` of recode items, which are no functions, while pytest-flakefinder looks for tests to multiply."""


_left_alone._pytest_duplicated = True  # type: ignore[attr-defined]  # as pytest-flakefinder marks what it multiplied before


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Let pytest-flakefinder pass over recode items. It reads `item.function` of every item, and the session would end there."""
    ours: list[Any] = [item for item in items if isinstance(item, TaskItem)]
    if not config.getoption("flake_finder_enable", False):
        ours = []
    for item in ours:
        item.function = _left_alone
    try:
        yield
    finally:
        for item in ours:
            del item.function


def pytest_report_header(config: pytest.Config) -> list[str]:
    given = [_given(config)]
    if config.getoption("flake_finder_enable", False):
        given.append("--flake-finder")
    if config.pluginmanager.hasplugin("repeat") and config.getoption("count", 1) > 1:
        given.append("--count")
    return [f"recode: {option} applies to ordinary tests, {_LINE}" for option in given if option]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take the marker of such plugins off recode items: pytest-retry, whose option marks every item, ends the session at one
    that is no function. The marker is known to whoever collects: with pytest-xdist to the workers, of which the first speaks."""
    from pytest_recode.plugin.log_warnings import warn

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
