"""Which tests the default run of tox leaves to `tox -e slow`.

`@pytest.mark.slow` marks a test, or a parameter (`pytest.param(…, marks=pytest.mark.slow)`). `@pytest.mark.mostly_slow` marks all cases
of a test but a sample: as many as it takes for each value of each parameter to occur once, or every n-th case with `one_in=n`.

A plugin of these tests: conftest.py imports its hooks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

import pytest

MARKERS = (
    "slow: not in the default run of tox; `tox -e slow` runs it, and CI runs both",
    "mostly_slow(one_in=None): all cases but a sample are slow: each value of each parameter once, or one case in so many",
)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    families: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("mostly_slow"):
            families[item.nodeid.partition("[")[0]].append(item)
    for cases in families.values():
        mark = cases[0].get_closest_marker("mostly_slow")
        assert mark is not None
        number = mark.kwargs.get("one_in")
        kept = cases[::number] if number else covering(cases)
        for case in cases:
            if case not in kept:
                case.add_marker("slow")


def covering(cases: list[pytest.Function]) -> list[pytest.Function]:
    """Some of the cases of a test, so that each value of each parameter occurs: whichever adds most values comes next."""
    values = {case: {(name, same(value)) for name, value in case.callspec.params.items()} for case in cases}
    kept: list[pytest.Function] = []
    missing = set().union(*values.values())
    while missing:
        best = max(cases, key=lambda case: len(values[case] & missing))
        kept.append(best)
        missing -= values[best]
    return kept


def same(value: object) -> object:
    """Equal for the same value in different cases."""
    return value if isinstance(value, Hashable) else id(value)
