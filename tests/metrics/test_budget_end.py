"""The estimate of what a spent budget left undone, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recode.metrics.budget_end import budget_end
from pytest_recode.records.episode_summary import EpisodeSummary
from pytest_recode.render import words

from .test_score import episode

SPENT = {"kind": "budget", "message": "budget of 1.00 USD is spent"}


def ended(cost: float | None, **more: Any) -> EpisodeSummary:
    return episode("error", [], cost=cost, error=SPENT, **more)


def test_a_run_whose_budget_suffices_has_no_end_of_it() -> None:
    other = episode("error", [], error={"kind": "sandbox", "message": "died"})
    assert budget_end([episode("solved", [4]), other]) is None
    assert words.budget_end(None) == ""


def test_the_rest_costs_what_finished_episodes_of_the_same_row_cost() -> None:
    dear, cheap = {"model": "dear"}, {"model": "cheap"}
    records = [
        episode("solved", [4], cost=2.0, **dear),
        episode("unsolved", [1], cost=4.0, **dear),
        ended(0.5, **dear),  # 3 - 0.5
        episode("solved", [4], cost=0.1, **cheap),
        ended(0.0, **cheap),  # 0.1
        ended(9.0, **dear),  # has cost more already
    ]
    end = budget_end(records)
    assert end is not None
    assert (end.finished, end.ended) == (2, 3)
    assert end.rest_usd == pytest.approx(2.6)
    assert "after 2 episodes; the 3 episodes that it ended would have cost about 2.60 USD more" in words.budget_end(end)


def test_the_rest_is_unknown_if_a_row_has_no_finished_episode() -> None:
    end = budget_end([episode("solved", [4], model="one"), ended(0.1, model="two")])
    assert end is not None
    assert end.rest_usd is None
    assert "an unknown amount" in words.budget_end(end)


def test_an_episode_without_the_paper_is_none_of_the_row_with_it() -> None:
    end = budget_end([episode("solved", [4], cost=2.0, paper=True), ended(0.1, paper=False)])
    assert end is not None
    assert end.rest_usd is None
