"""Episodes with turns and feedback, against hand-computed cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.compare import compare
from pytest_recode.metrics.episodes import episodes, mrr, pass_at, recall, tries
from pytest_recode.metrics.intervals import wilson
from pytest_recode.metrics.published import SOLVED, TASKS
from pytest_recode.metrics.reading import read
from tests.metrics.samples import record, run, shared, turn


def attempts(*records: dict[str, Any]) -> list[Attempt]:
    from pytest_recode.metrics.record_attempts import from_record

    return [from_record(one, "run") for one in records]


def three() -> list[Attempt]:
    return attempts(
        record("a", (4,)),
        record("b", (0, 2, 4), levels=[None, "L0", "L1"]),
        record("c", (1, 3, 1, 2)),
        record("d", (2,), outcome="error"),
    )


def test_by_hand() -> None:
    numbers = episodes(three())
    assert (numbers.played, numbers.solved, numbers.errors, numbers.tasks, numbers.turns) == (3, 2, 1, 4, 4)
    assert numbers.recall == pytest.approx((1 / 3, 1 / 3, 2 / 3, 2 / 3))
    assert numbers.interval == wilson(2, 3)
    assert numbers.at_least(numbers.recall[-1]) == 0.5  # two of four, the error counted as unsolved
    assert numbers.mrr == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert numbers.cases_best == pytest.approx((1 + 1 + 0.75) / 3)
    assert numbers.cases_last == pytest.approx((1 + 1 + 0.5) / 3)
    assert numbers.cases_by_turn == pytest.approx(
        [(1 + 0 + 0.25) / 3, (1 + 0.5 + 0.75) / 3, (1 + 1 + 0.25) / 3, 2.5 / 3]
    )
    assert numbers.mean_turns == 2.0
    assert numbers.solved_at == (1, 0, 1, 0, 0, 0)  # none, L0, L1 …
    assert (numbers.tokens, numbers.tokens_per_solved) == (400, 200)
    assert (numbers.cost_usd, numbers.cost_per_solved) == (2.0, 1.0)


def test_recall_and_mrr_alone() -> None:
    assert [recall(three(), n) for n in (1, 2, 3, 10)] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert mrr(three()) == pytest.approx(4 / 9)


def test_recall_of_the_published_tasks_rounds_to_the_published_table() -> None:
    """As the notes on RECODE-H's table 2 give it, in per cent."""
    table = {
        "GPT-5": (29.4, 55.9, 71.6),
        "DeepSeek-V3.1": (10.8, 43.1, 70.6),
        "GPT-5-mini": (19.6, 47.1, 66.7),
        "Gemini-2.5-pro": (12.7, 37.3, 58.8),
        "Claude-Sonnet-4": (14.7, 33.3, 48.0),
    }
    assert {
        model: tuple(round(100 * levels[level] / TASKS, 1) for level in ("L0", "L2", "L4"))
        for model, levels in SOLVED.items()
    } == table


def test_every_number_with_errors_as_failed() -> None:
    numbers = episodes(three())
    assert numbers.at_least(numbers.mrr) == pytest.approx((1 + 1 / 3) / 4)
    assert numbers.at_least(numbers.cases_best) == pytest.approx((1 + 1 + 0.75) / 4)
    assert numbers.at_least(numbers.cases_last) == pytest.approx((1 + 1 + 0.5) / 4)
    assert episodes([]).at_least(None) is None


def test_recall_at_n_counts_what_ended_early() -> None:
    """Solved in turn 2 of 2 is solved within 3; an episode without a turn (its time was up) is played, and solved by none."""
    found = episodes(attempts(record("a", (0, 4)), record("b", (1, 2, 3)), record("c", ())))
    assert found.recall == pytest.approx((0, 1 / 3, 1 / 3))
    assert found.cases_by_turn == pytest.approx((1 / 12, (1 + 0.5) / 3, (1 + 0.75) / 3))


def test_a_shared_first_turn_is_paid_once_and_counted_for_each(tmp_path: Path) -> None:
    """Every episode of the samples took 100 tokens and 0.5 $; the shared turn 40 and 0.2 $."""
    first = record("a", (1, 4))
    directory = run(tmp_path / "run", [first, shared(first, feedback="L2"), shared(first, feedback="L4")])
    [source] = read([directory])
    by_level = {one.row.feedback: episodes([one]) for one in source.attempts}
    assert {one.tokens for one in by_level.values()} == {100}
    assert {one.tokens_per_solved for one in by_level.values()} == {100}
    assert {level: one.paid_tokens for level, one in by_level.items()} == {"L0": 100, "L2": 60, "L4": 60}
    assert {level: one.paid_usd for level, one in by_level.items()} == pytest.approx({"L0": 0.5, "L2": 0.3, "L4": 0.3})


def test_where_the_episode_that_paid_has_no_record_the_first_that_shares_stands_for_it(tmp_path: Path) -> None:
    lost = record("a", (1, 4))
    directory = run(tmp_path / "run", [shared(lost, feedback="L2"), shared(lost, feedback="L4")])
    [source] = read([directory])
    assert [episodes([one]).paid_tokens for one in source.attempts] == [100, 60]


def test_an_unknown_price_of_a_shared_turn_makes_what_was_paid_unknown(tmp_path: Path) -> None:
    first = record("a", (1, 4))
    other = shared(first, feedback="L2")
    other["turns"][0]["usage"]["cost_usd"] = None
    [source] = read([run(tmp_path / "run", [first, other])])
    assert episodes([source.attempts[1]]).paid_usd is None
    assert episodes([source.attempts[1]]).cost_usd == 0.5


def test_nothing_played() -> None:
    found = episodes(attempts(record("a", (), outcome="error")))
    assert (found.played, found.errors, found.recall, found.interval, found.mrr) == (0, 1, (), None, None)
    assert found.tokens_per_solved is None


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    free = {"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": None}
    assert episodes(attempts(record("a"), record("b", usage=free))).cost_usd is None


def test_isolation_of_two_kinds_is_told() -> None:
    assert episodes(attempts(record("a"), record("b", isolation="shared"))).mixed
    assert not episodes(attempts(record("a"), record("b"))).mixed


def test_tampering_is_counted_by_episode() -> None:
    turns = [turn(1, 4, tampering=["unittest was replaced", "numpy was replaced"]), turn(2, 3, level="L0")]
    assert episodes(attempts(record("a", turns=turns), record("b"))).tampering == 1


def test_passed_but_flagged_is_what_findings_alone_made_unsolved() -> None:
    """An episode that failed a case anyway, was solved later, or could not be played lost nothing by a finding."""
    flags = {"tampering": ["import of gc", "exec"]}
    lost = record("lost", turns=[turn(1, 4, **flags), turn(2, 3, level="L0", tampering=["more"])], outcome="unsolved")
    failed = record("failed", turns=[turn(1, 3, **flags)])
    later = record("later", turns=[turn(1, 4, **flags), turn(2, 4, level="L0")])
    broken = record("broken", turns=[turn(1, 4, **flags)], outcome="error")
    found = episodes(attempts(lost, failed, later, broken))
    assert (found.flagged, found.tampering) == (("lost: import of gc; exec",), 4)


def test_pass_at_k_over_tasks() -> None:
    played = attempts(
        *(record("a", (4,) if n == 1 else (0,), attempt=n) for n in (1, 2, 3)),
        *(record("b", (0,), attempt=n) for n in (1, 2, 3)),
        record("c", (4,), attempt=1),
        record("c", (0,), attempt=2, outcome="error"),
    )
    assert pass_at(tries(played), 1) == (pytest.approx((1 / 3 + 0 + 1) / 3), 3)
    assert pass_at(tries(played), 2) == (pytest.approx((2 / 3 + 0) / 2), 2)  # c has but one that was played
    assert pass_at(tries(played), 4) is None
    assert pass_at(tries(played, errors_as_failed=True), 2) == (pytest.approx((2 / 3 + 0 + 1) / 3), 3)


def test_two_rows_against_each_other() -> None:
    first = attempts(record("a", (4,)), record("b", (4,)), record("c", (0,)), record("d", (0,)), record("e", (4,)))
    second = attempts(
        record("a", (4,)), record("b", (0,)), record("c", (4,)), record("d", (0,)), record("e", (0,), outcome="error")
    )
    comparison = compare(first, second)
    assert comparison is not None
    assert (comparison.pairs, comparison.unpaired, comparison.both, comparison.neither) == (4, 1, 1, 1)
    assert (comparison.only_first, comparison.only_second) == (("b",), ("c",))
    assert (comparison.difference, comparison.p) == (0.0, 1.0)
    assert compare(first, attempts(record("z"))) is None


def test_a_clear_difference_is_seen() -> None:
    names = [f"t{n}" for n in range(12)]
    comparison = compare(
        attempts(*(record(name, (4,)) for name in names)), attempts(*(record(name, (0,)) for name in names))
    )
    assert comparison is not None
    assert comparison.difference == 1.0
    assert comparison.p == pytest.approx(2 / 2**12)
    # 12 of 12, and yet not certain: Bonett and Price's interval of the same begins at 0.59
    assert comparison.interval == (0.6, 1.0)
