"""Scores against hand-computed cases."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pytest_recode.metrics.intervals import wilson
from pytest_recode.metrics.score import scores
from pytest_recode.render.table import summary

NUMBERS = itertools.count()


def record(outcome: str, solved_turn: int | None, passed: list[int], *, cost: float | None = 0.5, **more: Any) -> Any:
    return {
        "task": f"t{next(NUMBERS)}",
        "model": "m",
        "agent": "recode",
        "feedback": "L0",
        "paper": True,
        "simulated": False,
        "outcome": outcome,
        "solved_turn": solved_turn,
        "turns": [{"passed": n, "total": 4} for n in passed],
        "usage": {"prompt_tokens": 10, "completion_tokens": 1, "cost_usd": cost},
        **more,
    }


def test_a_score_by_hand() -> None:
    [score] = scores(
        [
            record("solved", 1, [4]),
            record("solved", 3, [0, 2, 4]),
            record("unsolved", None, [1, 3, 1]),
            record("error", None, [2]),
        ]
    )
    assert (score.episodes, score.solved, score.errors) == (3, 2, 1)
    assert score.share == pytest.approx(2 / 3)
    assert score.mean_turns == 2.0
    assert score.cases == pytest.approx((1 + 1 + 0.25) / 3)
    assert score.solved_by_turn == (1, 1, 2)
    # what an episode with a fault cost was paid
    assert (score.prompt_tokens, score.completion_tokens, score.cost_usd) == (40, 4, 2.0)


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    [score] = scores([record("solved", 1, [4]), record("solved", 1, [4], cost=None)])
    assert score.cost_usd is None


def test_only_errors_give_no_share() -> None:
    [score] = scores([record("error", None, [])])
    assert (score.episodes, score.share, score.mean_turns, score.cases) == (0, 0.0, None, None)
    assert score.interval == (0.0, 1.0)


def test_groups_by_model_and_policy_in_order() -> None:
    made = scores(
        [record("solved", 1, [4], feedback="L4"), record("solved", 1, [4]), record("solved", 1, [4], model=None)]
    )
    assert [(score.model, score.feedback) for score in made] == [("m", "L4"), ("m", "L0"), ("recode", "L0")]


def test_with_the_paper_and_without_are_two_rows_and_the_difference_is_told() -> None:
    made = scores(
        [
            *(record("solved", 1, [4]) for _ in range(3)),
            record("unsolved", None, [2]),
            record("solved", 1, [4], paper=False),
            record("unsolved", None, [2], paper=False),
        ]
    )
    assert [(score.paper, score.solved, score.episodes) for score in made] == [(True, 3, 4), (False, 1, 2)]
    assert "without the paper, m L0: -25.0 points (1/2 against 3/4)" in summary(made)


def test_attempts_at_one_task_are_no_tasks() -> None:
    """Four tasks, ten attempts each, all or none of which solve it: as sure as four outcomes."""
    [score] = scores(
        [record(outcome, turn, [4], task=task) for task, (outcome, turn) in enumerate(HALF) for _ in range(10)]
    )
    low, high = score.interval
    assert high - low > wilson(2, 4)[1] - wilson(2, 4)[0]
    [alone] = scores([record(outcome, turn, [4], task=task) for task, (outcome, turn) in enumerate(HALF)])
    assert alone.interval == wilson(2, 4)


def test_snippets_of_a_paper_hang_together_in_the_summary_too() -> None:
    whole = [record(*HALF[paper % 2], [4], source_paper=f"p{paper}", lines=1) for paper in range(6) for _ in range(10)]
    [score] = scores(whole)
    assert score.interval[0] < 0.2
    assert score.interval[1] > 0.8


def test_two_benchmarks_of_one_session_are_two_rows() -> None:
    both = [record("solved", 1, [4], format="directory"), record("unsolved", None, [1], format="recode-h")]
    lines = summary(scores(both))
    assert [line.split()[:5] for line in lines[1:3]] == [
        ["m", "[directory]", "L0", "1/1", "100.0"],
        ["m", "[recode-h]", "L0", "0/1", "0.0"],
    ]
    assert "[directory]" not in summary(scores(both[:1]))[1]


HALF = [("solved", 1), ("unsolved", None)] * 2
