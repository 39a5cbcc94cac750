"""Effort against cases computed by hand, and the same numbers in the summary and in the report."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.effort import common_attempts, effort
from pytest_recode.metrics.episodes import episodes
from pytest_recode.metrics.record_attempts import from_record
from pytest_recode.metrics.score import scores
from pytest_recode.records.episode_summary import episode_summary
from pytest_recode.records.record import Record
from pytest_recode.render.summary_tables import summary
from tests.metrics import samples

LEVELS = (None, "L0", "L1", "L2", "L3", "L4")


def escalating(task: str, number: int, *passed: int, characters: int | None = 350, **more: Any) -> Record:
    """A record of an episode with rising levels, each feedback with so many characters."""
    turns = []
    for place, (count, level) in enumerate(zip(passed, LEVELS, strict=False), 1):
        feedback: dict[str, Any] = {
            "source": "task",
            "model": None,
            "prompt": None,
            "audit": samples.AUDIT,
            "items": [],
        }
        if characters is not None:
            feedback["characters"] = characters
        turns.append(samples.turn(place, count, level=level, feedback=feedback if level else None))
    return cast(Record, samples.record(task, turns=turns, attempt=number, feedback="escalate", replay=None, **more))


RECORDS = (
    escalating("a", 1, 4),
    escalating("a", 2, 4),
    escalating("b", 1, 4),
    escalating("b", 2, 1, 4),
    escalating("c", 1, 0, 1, 2, 4),
    escalating("c", 2, 0, 0, 0),
    escalating("d", 1, 0, outcome="error"),
)
"""By task: both at once; one at once and one after L0; one after L2 and one unsolved after L1; an error."""


def attempts(*records: Record) -> list[Attempt]:
    return [from_record(record, "run") for record in records]


def test_effort_by_hand() -> None:
    found = effort(attempts(*RECORDS), 2)
    assert found.first_turn == pytest.approx(3 / 6)
    assert found.interval is not None
    assert found.interval[0] < 0.5 < found.interval[1]
    assert (found.attempts, found.tasks) == (2, 3)
    assert found.all_first == pytest.approx(1 / 3)
    assert found.all_solved == pytest.approx(2 / 3)
    assert (found.half_level, found.highest_level) == ("none", "L2")
    assert found.feedback_tokens == pytest.approx(100 * (1 + 3 + 2) / 6)


def test_the_first_turn_is_that_of_the_curve() -> None:
    everything = attempts(*RECORDS)
    assert effort(everything, 2).first_turn == episodes(everything).recall[0]


def test_the_level_that_solves_half() -> None:
    unsolved, late = escalating("u", 1, 0, 0), escalating("v", 1, 0, 0, 4)
    assert effort(attempts(late), 1).half_level == "L1"
    assert effort(attempts(late, unsolved), 1).half_level == "L1"
    few = effort(attempts(late, unsolved, escalating("w", 1, 0)), 1)
    assert (few.half_level, few.highest_level) == (None, "L1")
    assert effort(attempts(unsolved), 1).highest_level is None


def test_the_level_of_an_episode_is_its_highest() -> None:
    fallen = samples.record("a", (0, 0, 4), levels=[None, "L3", "L1"])
    assert effort(attempts(cast(Record, fallen)), 1).highest_level == "L3"


def test_one_record_without_characters_makes_the_tokens_unknown() -> None:
    old = escalating("a", 1, 0, 4, characters=None)
    assert effort(attempts(*RECORDS, old), 2).feedback_tokens is None
    assert effort(attempts(escalating("a", 1, 4, characters=None)), 1).feedback_tokens == 0


def test_nothing_played() -> None:
    found = effort(attempts(RECORDS[-1]), common_attempts([attempts(RECORDS[-1])]) or 1)
    assert (found.first_turn, found.interval, found.all_solved, found.tasks) == (None, None, None, 0)
    assert (found.half_level, found.highest_level, found.feedback_tokens) == (None, None, None)


def test_a_summary_computes_the_same_as_a_report() -> None:
    [score] = scores(map(episode_summary, RECORDS))
    assert score.effort == effort(attempts(*RECORDS), common_attempts([attempts(*RECORDS)]))


def effort_table(*records: Record) -> list[str]:
    """The lines of the summary's second table, without the texts of its rows."""
    lines = summary(scores(map(episode_summary, records)))
    start = next((place for place, line in enumerate(lines) if line.startswith("effort")), len(lines))
    block = lines[start:]
    return [" ".join(line.split()) for line in block[: block.index("") if "" in block else None]]


def test_the_summary_shows_it() -> None:
    assert effort_table(*RECORDS) == [
        "effort turn 1 % pass^2 turn 1 % pass^2 % half solved by highest level feedback tokens",
        "m escalate 50.0 33.3 66.7 none L2 100",
    ]


def test_one_attempt_has_no_pass_k() -> None:
    assert effort_table(RECORDS[3])[0] == "effort turn 1 % half solved by highest level feedback tokens"
    assert effort_table(RECORDS[5])[1] == "m escalate 0.0 - - 200"


def test_without_feedback_only_several_attempts_need_the_table() -> None:
    once = [cast(Record, samples.record("a", (4,), feedback="none", replay=None, attempt=number)) for number in (1, 2)]
    assert effort_table(once[0]) == []
    assert effort_table(*once) == ["effort pass^2 %", "m none 100.0"]
    assert effort_table(escalating("d", 1, outcome="error")) == []
