"""Which tests the default run of tox leaves to `tox -e slow`.

`@pytest.mark.slow` marks a test, or a parameter (`pytest.param(…, marks=pytest.mark.slow)`). `@pytest.mark.mostly_slow` marks all cases
of a test but a sample: as many as it takes for each value of each parameter to occur once, or every n-th case with `one_in=n`.
Of the tests of a module that run a session alone and with workers (the fixture `workers`), the first one runs it with workers by
default, and the others alone; `@pytest.mark.both_ways` keeps both. `@pytest.mark.alone` keeps only the session alone: of a test, or with
`pytestmark` of a module, in which workers do nothing that the same session of another module does not show.

A plugin of these tests: conftest.py imports its hooks.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Hashable

import pytest

END = "RECODE_TESTS_END"
"""Seconds since 1970 after which no slow test starts: CI is ended at a limit, and machines differ by a factor of three."""

MARKERS = (
    "slow: not in the default run of tox; `tox -e slow` runs it, and CI runs both",
    "both_ways: a session alone and one with workers are both in the default run",
    "alone: only a session alone is in the default run, not the one with workers",
    "mostly_slow(one_in=None): all cases but a sample are slow: each value of each parameter once, or one case in so many",
)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    families: dict[str, list[pytest.Function]] = defaultdict(list)
    first: dict[str, str] = {}  # by module, the test whose session with workers is kept
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        module, name = item.nodeid.split("::", 1)
        way = way_of(item)
        if way == "workers" and item.get_closest_marker("alone"):
            item.add_marker("slow")
        elif item.get_closest_marker("mostly_slow"):
            families[item.nodeid.partition("[")[0]].append(item)
        elif way and not any(item.get_closest_marker(other) for other in ("alone", "both_ways", "slow")):
            test = name.partition("[")[0]
            if (first.setdefault(module, test) == test) != (way == "workers"):
                item.add_marker("slow")
    for cases in families.values():
        mark = cases[0].get_closest_marker("mostly_slow")
        assert mark is not None
        number = mark.kwargs.get("one_in")
        kept = cases[::number] if number else covering(cases)
        for case in cases:
            if case not in kept:
                case.add_marker("slow")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of `tox -e slow` whose time has passed: those marked slow, and properties, which it runs with all their examples."""
    late = time.time() > float(os.environ.get(END, "inf"))
    if late and any(item.get_closest_marker(name) for name in ("slow", "hypothesis")):
        pytest.skip(f"the time of this run ({END}) is used up: run tox -e slow")


def way_of(item: pytest.Function) -> str | None:
    """Which case of the fixture `workers` it is ("alone", "workers"). None for a test that says itself how its session runs."""
    parts = item.callspec.id.split("-") if hasattr(item, "callspec") else []
    return next((way for way in ("alone", "workers") if "workers" in item.fixturenames and way in parts), None)


def covering(cases: list[pytest.Function]) -> list[pytest.Function]:
    """Some of the cases of a test, so that each value of each parameter occurs: whichever adds most values comes next,
    and of those the one whose other values are rarest."""
    values = {case: {(name, same(value)) for name, value in case.callspec.params.items()} for case in cases}
    kept: list[pytest.Function] = []
    missing = set().union(*values.values())
    used: Counter[tuple[str, object]] = Counter()
    while missing:
        best = max(cases, key=lambda case: (len(values[case] & missing), -sum(used[value] for value in values[case])))
        kept.append(best)
        missing -= values[best]
        used.update(values[best])
    return kept


def same(value: object) -> object:
    """Equal for the same value in different cases."""
    return value if isinstance(value, Hashable) else id(value)
