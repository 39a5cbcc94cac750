"""Turns until solved against cases computed by hand, and against the test of `comparisons`."""

from __future__ import annotations

import pytest

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.compare import compare
from pytest_recode.metrics.turns_until_solved import compare_turns

ROW = Row(source="run", model="m", agent="recode", feedback="L0", paper=True, format="directory")


def attempt(task: str, solved: int | None, number: int = 1, *, outcome: str = "") -> Attempt:
    return Attempt(
        row=ROW, task=task, number=number, outcome=outcome or ("solved" if solved else "unsolved"), solved_turn=solved
    )


def test_by_hand() -> None:
    first = [attempt("a", 1), attempt("a", 3, 2), attempt("b", None), attempt("c", 1), attempt("d", 1)]
    second = [attempt("a", 4), attempt("b", None), attempt("c", 7), attempt("d", None, outcome="error")]
    found = compare_turns(first, second, 10)
    assert found is not None
    assert (found.limit, found.tasks) == (10, 3)
    assert (found.first, found.second) == pytest.approx(((2 + 11 + 1) / 3, (4 + 11 + 7) / 3))
    assert found.difference == pytest.approx(-8 / 3)
    assert found.p == 0.5
    assert found.interval[0] < found.difference < 0 < found.interval[1]
    assert found.swapped().swapped() == found
    assert found.swapped().difference == pytest.approx(8 / 3)


def test_a_turn_beyond_the_limit_is_unsolved() -> None:
    found = compare_turns([attempt("a", 5)], [attempt("a", None)], 4)
    assert found is not None
    assert (found.first, found.second, found.p) == (5, 5, 1)


def test_nothing_in_common() -> None:
    assert compare_turns([attempt("a", 1)], [attempt("b", 1)], 10) is None
    assert compare_turns([attempt("a", None, outcome="error")], [attempt("a", 1)], 10) is None


def test_a_limit_of_one_turn_is_the_test_of_first_turns() -> None:
    first = [attempt(f"t{number}", 1 if number % 3 else 2) for number in range(12)]
    second = [attempt(f"t{number}", 2 if number % 4 else 1) for number in range(12)]
    found, shares = compare_turns(first, second, 1), compare(first, second, within=1)
    assert found is not None
    assert shares is not None
    assert (found.p, found.difference) == pytest.approx((shares.p, -shares.difference))
    assert found.interval == pytest.approx((-shares.interval[1], -shares.interval[0]))


def test_rows_that_solve_everything_can_differ() -> None:
    fast, slow = ([attempt(f"t{number}", turn) for number in range(8)] for turn in (1, 3))
    found, shares = compare_turns(fast, slow, 10), compare(fast, slow)
    assert found is not None
    assert shares is not None
    assert (found.difference, found.p) == (-2, 2 / 2**8)
    assert found.interval[1] < 0
    assert shares.p == 1
