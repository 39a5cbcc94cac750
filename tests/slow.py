"""Which tests the default run of tox leaves to `tox -e slow`.

`@pytest.mark.slow` marks a test, or a parameter (`pytest.param(…, marks=pytest.mark.slow)`). Of a test with `@pytest.mark.mostly_slow`, the
first case is in the default run, and all others are slow. Of a test that runs a session alone and with workers (the fixture `workers`), the default run has
the session alone.

A plugin of these tests: conftest.py imports its hooks.
"""

from __future__ import annotations

import os
import time

import pytest

END = "RECODE_TESTS_END"
"""Seconds since 1970 after which no slow test starts: CI is ended at a limit, and machines differ by a factor of three."""

MARKERS = (
    "slow: not in the default run of tox; `tox -e slow` runs it, and CI runs both",
    "mostly_slow: all cases but the first are slow",
    "invariant(name): tries to break this invariant (docs/explanation/invariants.md); `tox -e quick` runs these",
)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    begun: set[str] = set()
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        test = item.nodeid.partition("[")[0]
        if with_workers(item) or (item.get_closest_marker("mostly_slow") and test in begun):
            item.add_marker("slow")
        else:
            begun.add(test)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of `tox -e slow` whose time has passed: those marked slow, and properties, which it runs with all their examples."""
    late = time.time() > float(os.environ.get(END, "inf"))
    if late and any(item.get_closest_marker(name) for name in ("slow", "hypothesis")):
        pytest.skip(f"the time of this run ({END}) is used up: run tox -e slow")


def with_workers(item: pytest.Function) -> bool:
    """Whether it is the case of the fixture `workers` with workers; not of a test that says itself how its session runs."""
    return "workers" in item.fixturenames and hasattr(item, "callspec") and "workers" in item.callspec.id.split("-")
