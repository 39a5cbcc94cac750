"""Scores against hand-computed cases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any, cast

import pytest

from pytest_recode.metrics.intervals import wilson
from pytest_recode.metrics.score import scores
from pytest_recode.records.episode_summary import EpisodeSummary, episode_summary
from pytest_recode.records.record import Record
from pytest_recode.render.summary_tables import AGENTS_ONLY, COLUMNS, LINES_ONLY, summary
from tests.metrics.samples import record

NUMBERS = itertools.count()


def episode(outcome: str, passed: Sequence[int], *, cost: float | None = 0.5, **more: Any) -> EpisodeSummary:
    """The summary of the record of an episode whose turns passed so many of four cases, at a task of its own."""
    task = more.pop("task", f"t{next(NUMBERS)}")
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "cost_usd": cost}
    return episode_summary(cast(Record, record(task, passed, outcome=outcome, usage=usage, replay=None, **more)))


def snippet(lines: int, paper: str = "p") -> dict[str, Any]:
    return {"paper": paper, "snippet": f"s{next(NUMBERS)}", "lines": lines}


def test_a_score_by_hand() -> None:
    [score] = scores(
        [
            episode("solved", [4]),
            episode("solved", [0, 2, 4]),
            episode("unsolved", [1, 3, 1]),
            episode("error", [2]),
        ]
    )
    assert (score.episodes.played, score.episodes.solved, score.episodes.errors) == (3, 2, 1)
    assert score.episodes.share == pytest.approx(2 / 3)
    assert score.episodes.mean_turns == 2.0
    assert score.episodes.cases_last == pytest.approx((1 + 1 + 0.25) / 3)
    assert score.episodes.solved_within == (1, 1, 2)
    # what an episode with a fault cost was paid
    assert (score.episodes.tokens, score.episodes.cost_usd) == (44, 2.0)


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    [score] = scores([episode("solved", [4]), episode("solved", [4], cost=None)])
    assert score.episodes.cost_usd is None


def test_only_errors_give_no_share() -> None:
    [score] = scores([episode("error", [])])
    assert (score.episodes.played, score.episodes.share, score.episodes.mean_turns) == (0, 0.0, None)
    assert (score.episodes.cases_last, score.episodes.interval) == (None, None)


def test_groups_by_model_and_policy_in_order() -> None:
    made = scores([episode("solved", [4], feedback="L4"), episode("solved", [4]), episode("solved", [4], model=None)])
    assert [(score.row.model, score.row.feedback) for score in made] == [("m", "L4"), ("m", "L0"), ("recode", "L0")]


def test_with_the_paper_and_without_are_two_rows_and_the_difference_is_told() -> None:
    results = scores(
        [
            *(episode("solved", [4]) for _ in range(3)),
            episode("unsolved", [2]),
            episode("solved", [4], paper=False),
            episode("unsolved", [2], paper=False),
        ]
    )
    assert [(score.row.paper, score.episodes.solved, score.episodes.played) for score in results] == [
        (True, 3, 4),
        (False, 1, 2),
    ]
    assert "without the paper, m L0: -25.0 points (1/2 against 3/4)" in summary(results)


def test_attempts_at_one_task_are_no_tasks() -> None:
    """Four tasks, ten attempts each, all or none of which solve it: as sure as four outcomes."""
    [score] = scores([episode(outcome, [4], task=f"t{task}") for task, outcome in enumerate(HALF) for _ in range(10)])
    assert score.episodes.interval is not None
    low, high = score.episodes.interval
    assert high - low > wilson(2, 4)[1] - wilson(2, 4)[0]
    [alone] = scores([episode(outcome, [4], task=f"t{task}") for task, outcome in enumerate(HALF)])
    assert alone.episodes.interval == wilson(2, 4)


def test_snippets_of_a_paper_hang_together_in_the_summary_too() -> None:
    whole = [
        episode(HALF[paper % 2], [4], facts=snippet(1, paper=f"p{paper}")) for paper in range(6) for _ in range(10)
    ]
    [score] = scores(whole)
    assert score.episodes.interval is not None
    low, high = score.episodes.interval
    assert low < 0.2 < 0.8 < high


def test_two_benchmarks_of_one_session_are_two_rows() -> None:
    both = [episode("solved", [4], format="directory"), episode("unsolved", [1], format="recode-h")]
    lines = summary(scores(both))
    assert [line.split()[:5] for line in lines[1:3]] == [
        ["m", "[directory]", "L0", "1/1", "100.0"],
        ["m", "[recode-h]", "L0", "0/1", "0.0"],
    ]
    assert "[directory]" not in summary(scores(both[:1]))[1]


def test_each_cell_stands_below_its_head() -> None:
    cells = [
        ("m", "L0", "1/2", "50.0", "9.5 to 90.5", "2.0", "75.0", "33", "1.50", "1"),
        ("m", "L4", "0/0", "-", "-", "-", "-", "11", "?", "1"),
    ]
    played = [episode("solved", [1, 4]), episode("unsolved", [2]), episode("error", [])]
    lines = summary(scores([*played, episode("error", [], feedback="L4", cost=None)]))
    heads = [head for head in COLUMNS if head not in (AGENTS_ONLY, LINES_ONLY)]
    assert [tuple(re.split(r"\s{2,}", line)) for line in lines[:3]] == [tuple(heads), *cells]


def test_lines_of_code_are_a_column_where_tasks_count_them() -> None:
    lines = summary(scores([episode("solved", [4], facts=snippet(3)), episode("unsolved", [1], facts=snippet(1))]))
    assert dict(zip(*(re.split(r"\s{2,}", line) for line in lines[:2]), strict=True))[LINES_ONLY] == "75.0"


HALF = ["solved", "unsolved"] * 2
