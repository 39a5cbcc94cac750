"""Shares of the fault categories that the researcher chose, computed by hand."""

from __future__ import annotations

import pytest

from pytest_recode.metrics.categories import categories
from pytest_recode.metrics.published import ERROR_TYPES
from pytest_recode.metrics.record_attempts import from_record
from tests.metrics.samples import record, sorted_turn, turn


def test_by_hand() -> None:
    one = record("a", turns=[turn(1, 0), sorted_turn(2, ["T1", "T2"]), sorted_turn(3, ["T2", ""], source="derived")])
    other = record("b", turns=[turn(1, 0), sorted_turn(2, ["T4"])], outcome="error")
    shares = categories([from_record(each, "run") for each in (one, other)])
    assert (shares.items, shares.none) == (5, 1)
    assert shares.counts == (0, 1, 2, 0, 1)
    assert shares.shares == pytest.approx((0, 1 / 4, 2 / 4, 0, 1 / 4))
    assert shares.sources == (("model", 3), ("derived", 2))


def test_records_of_before_have_none() -> None:
    found = categories([from_record(record("a", (0, 4)), "run")])
    assert (found.items, found.shares, found.sources) == (0, None, ())


def test_the_published_shares_are_of_everything() -> None:
    for shares in ERROR_TYPES.values():
        assert sum(shares) == pytest.approx(100, abs=0.15)  # four numbers of one digit
