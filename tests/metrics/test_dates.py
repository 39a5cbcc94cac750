"""Dates of papers and ends of knowledge, against cases counted by hand and the published data."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.contamination import last_day
from pytest_recode.metrics.dates import by_year, timeline
from pytest_recode.metrics.passing import impact
from pytest_recode.metrics.published import year_of
from pytest_recode.metrics.published_results import from_published
from pytest_recode.metrics.record_attempts import from_record
from tests.metrics.samples import record, snippet, stats


def attempts(*records: dict[str, Any]) -> list[Attempt]:
    return [from_record(one, "run") for one in records]


def test_a_timeline_by_hand() -> None:
    old = {"first_commit_date": "2024-06-30", "last_commit_date": "2025-01-01"}
    new = {"first_commit_date": "2024-07-01"}
    dated = timeline(
        attempts(
            *(
                snippet(paper, name, lines, solved=True, dates=dates, model=model, cutoff=cutoff)
                for model, cutoff in (("early", "2024-05"), ("june", "2024-6"), ("late", "2024-07-01"), ("none", ""))
                for paper, name, lines, dates in (("new", "a", 5, new), ("old", "a", 3, old), ("old", "b", 4, old))
            )
        )
    )
    assert [(one.name, one.snippets, one.lines, dict(one.ended)) for one in dated.papers] == [
        # 2024-6 ends with June: neither of its papers is after it on the 30th, and one is on 1 July
        ("old", 2, 7, {"first_commit_date": 1, "last_commit_date": 3}),
        ("new", 1, 5, {"first_commit_date": 2}),
    ]
    assert [
        (one.cutoff, one.models, [paper.name for paper in one.after["first_commit_date"]]) for one in dated.cutoffs
    ] == [
        ("2024-05", ("early",), ["old", "new"]),
        ("2024-06", ("june",), ["new"]),
        ("2024-07-01", ("late",), []),
    ]
    assert (dated.models, dated.unknown) == (3, ("none",))


def test_the_published_timeline() -> None:
    dated = timeline(from_published(stats()))
    assert (len(dated.papers), dated.models, dated.unknown) == (20, 32, ())
    # 13 papers are after every cutoff by first commit, as the benchmark's authors say
    assert sum(one.ended["first_commit_date"] == 32 for one in dated.papers) == 13
    assert len(dated.cutoffs[-1].after["first_commit_date"]) == 13
    ends = [last_day(one.cutoff) for one in dated.cutoffs]
    assert ends == sorted(set(ends))
    # Written 2024-7 and 2024-07 alike
    assert sum(len(one.models) for one in dated.cutoffs if one.cutoff == "2024-08") == 3


def test_years_are_those_of_the_authors_scripts() -> None:
    """100 of the 102 tasks: their lists name 60 twice, and 70 and 79 never; 11 and 37 are no tasks."""
    years = {index: year_of(index) for index in range(1, 105)}
    known = [year for year in years.values() if year]
    assert [known.count(year) for year in (2023, 2024, 2025)] == [17, 53, 30]
    assert sorted(index for index, year in years.items() if year is None) == [11, 37, 70, 79]
    assert year_of("1") is None
    assert year_of(None) is None


def test_by_year_the_unknown_stand_last() -> None:
    groups = by_year(
        attempts(*(record(f"annotation_{n}", format="recode-h", facts={"annotation": n}) for n in (70, 4, 1, 2, 5)))
    )
    assert {year: len(group) for year, group in groups.items()} == {2023: 1, 2024: 2, 2025: 1, None: 1}
    assert list(groups)[-1] is None


def test_the_impact_of_the_paper_by_hand() -> None:
    """Two models; one of them has two attempts at a snippet without the paper."""
    one = (
        attempts(snippet("p", "a", 2, solved=True), snippet("p", "b", 3, solved=False)),
        attempts(
            snippet("p", "a", 2, solved=False, paper=False),
            snippet("p", "a", 2, solved=True, paper=False, attempt=2),
            snippet("p", "b", 3, solved=True, paper=False),
            snippet("p", "c", 1, solved=True, paper=False),
        ),
    )
    other = (attempts(snippet("p", "a", 2, solved=True)), attempts(snippet("p", "a", 2, solved=False, paper=False)))
    found = impact([one, other])
    assert [(each.task, each.lines, each.pairs, each.with_paper, each.without) for each in found] == [
        ("p/a", 2, 2, 1.0, pytest.approx(0.25)),
        ("p/b", 3, 1, 0.0, 1.0),
    ]
    assert impact([]) == ()
