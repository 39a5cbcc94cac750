"""Pass@1 and Scaled Pass@1 against hand-computed cases."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recode.metrics import contamination, passing
from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.intervals import wilson
from pytest_recode.metrics.record_attempts import from_record
from tests.metrics.samples import record, snippet


def attempts(*records: dict[str, Any]) -> list[Attempt]:
    return [from_record(one, "run") for one in records]


def test_by_hand() -> None:
    result = passing.passed(
        attempts(
            snippet("A", "one", 1, solved=True),
            snippet("A", "two", 9, solved=False),
            snippet("B", "one", 30, solved=True),
            snippet("B", "two", 10, solved=True, outcome="error"),
        )
    )
    assert (result.snippets, result.solved, result.lines, result.lines_solved) == (3, 2, 40, 31)
    assert (result.errors, result.errors_only) == (1, 1)
    assert result.plain == pytest.approx(2 / 3)
    assert result.scaled == pytest.approx(31 / 40)
    assert result.plain_interval == wilson(2, 3)
    # what could not be played, as if it had not passed
    assert result.plain_at_least == pytest.approx(2 / 4)
    assert result.scaled_at_least == pytest.approx(31 / 50)


def test_nothing_played_has_no_share() -> None:
    found = passing.passed(attempts(snippet("A", "one", 3, solved=False, outcome="error")))
    assert (found.plain, found.scaled, found.plain_interval, found.scaled_interval) == (None, None, None, None)
    assert found.scaled_at_least == 0.0


def test_several_attempts_at_a_snippet_are_averaged() -> None:
    result = passing.passed(
        attempts(
            *(snippet("A", "one", 4, solved=n < 3, attempt=n) for n in (1, 2, 3, 4)),
            snippet("A", "two", 16, solved=True, attempt=1),
        )
    )
    assert result.plain == pytest.approx((0.5 + 1) / 2)
    assert result.scaled == pytest.approx((4 * 0.5 + 16) / 20)


def test_pass_at_1_is_the_first_turn() -> None:
    facts = {"paper": "A", "snippet": "one", "lines": 4}
    found = attempts(record("A/one", (1, 4), facts=facts), record("A/two", (4,), facts={**facts, "snippet": "two"}))
    assert passing.passed(found).plain == 0.5
    assert passing.passed(found, within=None).plain == 1.0


def test_by_paper_and_by_length() -> None:
    played = attempts(
        snippet("A", "one", 1, solved=True),
        snippet("A", "two", 4, solved=False),
        snippet("B", "one", 72, solved=True),
    )
    papers = passing.by_paper(played)
    assert {paper: one.scaled for paper, one in papers.items()} == {"A": pytest.approx(1 / 5), "B": 1.0}
    assert {band: one.plain for band, one in passing.by_length(played).items()} == {"1": 1.0, "2-4": 0.0, "20+": 1.0}
    assert [passing.band(n) for n in (1, 2, 4, 5, 9, 10, 19, 20, 72)] == [
        *("1", "2-4", "2-4", "5-9", "5-9", "10-19", "10-19", "20+", "20+"),
    ]


@pytest.mark.parametrize(
    ("cutoff", "day"),
    [("2024-02", "2024-02-29"), ("2024-7", "2024-07-31"), ("2024-07-17", "2024-07-17"), ("2023", "2023-12-31")],
)
def test_a_cutoff_ends_with_its_month(cutoff: str, day: str) -> None:
    assert contamination.last_day(cutoff) == day


@pytest.mark.parametrize("cutoff", ["", "unknown", "2024-13", "24-01", "2024-02-30", "2024-02-00", "2024-00", "0000"])
def test_what_is_no_cutoff(cutoff: str) -> None:
    with pytest.raises(ValueError, match="date such as 2024-10"):
        contamination.last_day(cutoff)


def test_contamination_by_hand() -> None:
    result = contamination.contamination(
        attempts(
            snippet("old", "a", 10, solved=True, cutoff="2024-06", dates={"first_commit_date": "2024-06-30"}),
            snippet("new", "a", 10, solved=False, cutoff="2024-06", dates={"first_commit_date": "2024-07-01"}),
            snippet("new", "b", 30, solved=True, cutoff="2024-06", dates={"first_commit_date": "2024-07-01"}),
            snippet("undated", "a", 5, solved=True, cutoff="2024-06", dates={"first_commit_date": ""}),
        )
    )
    assert result is not None
    assert (result.before.scaled, result.after.scaled, result.undated) == (1.0, 0.75, 1)
    assert result.difference == -0.25
    assert result.interval is None  # one paper on a side tells no spread


def test_no_cutoff_no_contamination() -> None:
    assert contamination.contamination(attempts(snippet("A", "a", 1, solved=True))) is None


def test_the_papers_worth_by_hand() -> None:
    with_paper = attempts(
        snippet("A", "a", 10, solved=True), snippet("A", "b", 30, solved=False), snippet("B", "a", 60, solved=True)
    )
    without = attempts(
        snippet("A", "a", 10, solved=False, paper=False),
        snippet("A", "b", 30, solved=True, paper=False),
        snippet("C", "a", 5, solved=True, paper=False),
    )
    result = passing.ablation(with_paper, without)
    assert result is not None
    assert (result.snippets, result.unpaired) == (2, 2)
    assert (result.scaled_with, result.scaled_without) == (0.25, 0.75)
    assert result.scaled.value == -0.5
    assert result.plain.value == 0.0
    assert result.units == "2 snippets"
    assert (result.only_with, result.only_without) == (("A/a",), ("A/b",))
    assert passing.ablation(with_paper, []) is None


def test_hard_needs_published_results() -> None:
    assert passing.hard({}) is None
