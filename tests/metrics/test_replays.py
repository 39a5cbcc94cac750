"""Replayed turns against the original turns, computed by hand; they do not count as episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.record_attempts import from_record
from pytest_recode.metrics.replays import replayed, replays
from pytest_recode.records.episode_summary import EpisodeSummary, episode_summary
from pytest_recode.records.record import Record
from pytest_recode.render.summary_tables import replay as summary
from tests.metrics.samples import record, replay, run


def played() -> list[dict[str, Any]]:
    return [
        record("a", (0, 4)),  # its second turn solved it
        record("b", (1, 1, 2)),  # the second gained nothing, the third did
        record("c", (2, 0)),
    ]


def attempts(records: list[dict[str, Any]], source: str) -> list[Attempt]:
    return [from_record(one, source) for one in records]


def again() -> list[dict[str, Any]]:
    a, b, c = played()
    return [
        replay(a, 2, 3),
        replay(b, 2, 4),
        replay(b, 3, 1),
        replay(c, 2, 3),
        replay(c, 2, 0, outcome="error", attempt=2),
    ]


def test_by_hand() -> None:
    found = replays(attempts(again(), "again"), attempts(played(), "run"))
    assert (found.replayed, found.errors, found.unpaired, found.solved) == (5, 1, 0, 1)
    solving, gaining = found.solving, found.gaining
    assert solving is not None
    assert gaining is not None
    # a was solved in the turn that was played and is not by the replay; b's second turn the other way round
    assert (solving.pairs, solving.both, solving.neither) == (4, 0, 2)
    assert (solving.only_first, solving.only_second) == (("b",), ("a",))
    assert (solving.difference, solving.p) == (0.0, 1.0)
    # more cases than in the turn before: played a2 and b3, replayed a2, b2 and c2
    assert (gaining.both, gaining.only_first, gaining.only_second) == (1, ("b", "c"), ("b",))
    assert gaining.difference == pytest.approx((3 - 2) / 4)


def test_a_replay_of_a_run_that_is_not_here_is_unpaired_and_counted() -> None:
    for elsewhere in ([], attempts(played(), "another")):
        found = replays(attempts(again(), "again"), elsewhere)
        assert (found.replayed, found.errors, found.unpaired) == (5, 1, 4)
        assert found.solving is None


def test_tampering_solves_nothing() -> None:
    a, *_ = played()
    one = replay(a, 2, 4)
    one["turns"][-1]["tampering"] = ["unittest was replaced"]
    found = replays(attempts([one], "again"), attempts(played(), "run"))
    assert found.solving is not None
    assert found.solving.only_second == ("a",)


def test_a_run_is_known_by_the_name_of_its_directory_also_where_two_have_one(tmp_path: Path) -> None:
    one = run(tmp_path / "x/run", played())
    other = run(tmp_path / "y/more", again())
    sources = read([one, run(tmp_path / "y/run", [record("z", model="other")]), other])
    everything = [attempt for source in sources for attempt in source.attempts]
    found = replays([one for one in everything if one.replay], [one for one in everything if not one.replay])
    assert found.unpaired == 0


def test_of_two_runs_of_one_name_with_the_same_episode_nobody_knows_which_it_was(tmp_path: Path) -> None:
    one, other = run(tmp_path / "x/run", played()), run(tmp_path / "y/run", [record("a", (0, 0))])
    sources = read([one, other, run(tmp_path / "again", again())])
    everything = [attempt for source in sources for attempt in source.attempts]
    found = replays([one for one in everything if one.replay], [one for one in everything if not one.replay])
    assert found.unpaired == 1  # that of a; b and c are in one of the runs alone


def test_a_run_that_replays_says_what_passed_before_then_and_now() -> None:
    """By hand; an error is in no mean, and its cost is paid all the same."""

    def one(level: str, turn: int, *passed: int, **more: Any) -> EpisodeSummary:
        of = {"run": "run", "nodeid": "x", "turn": turn, "level": "L1"}
        usage = {"prompt_tokens": 10, "completion_tokens": 1, "cost_usd": 0.5}
        found = record("t", passed, feedback=level, simulated=True, usage=usage, replay=of, **more)
        return episode_summary(cast(Record, found))

    records = [one("L0", 2, 1), one("L0", 3, 2), one("L4", 2, 4), one("L4", 3, outcome="error")]
    low, high = replayed(records, {("x", 2): (0.0, 0.5), ("x", 3): (0.5, 1.0)})
    assert (low.before, low.really, low.again) == (0.25, 0.75, 0.375)
    assert (high.before, high.really, high.again, high.score.episodes.errors) == (0.0, 0.5, 1.0, 1)
    lines = [line.split() for line in summary("old/run", [low, high])]
    assert " ".join(lines[0]).startswith("replay of old/run: single turns")
    assert ["m", "*", "L0", "2", "0", "25.0", "75.0", "37.5", "22", "1.00", "0"] in lines
    assert ["m", "*", "L4", "1", "1", "0.0", "50.0", "100.0", "22", "1.00", "1"] in lines
    assert any("simulated:" in line for line in lines)
