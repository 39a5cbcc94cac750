"""Replayed turns: the same state with other feedback, as RECODE-H's `replay-feedback-level` intended.

A replayed turn is not an episode, and does not count as one. It is compared with the original turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from pytest_recode.metrics.attempt import Attempt, OriginalTurn, Row, TurnScore
from pytest_recode.metrics.compare import Comparison, turns
from pytest_recode.metrics.score import Score, row_of, scores
from pytest_recode.records.episode_summary import EpisodeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    """Replayed turns of one Row. In comparisons, the replay is the first side, and the original turn the second.

    A pair is a played replay with its original. `errors` counts replays that could not be played, and `unpaired` those whose
    stored run is not among the files.
    """

    replayed: int
    errors: int
    unpaired: int
    solved: int  # of all played replays
    solving: Comparison | None  # whether every hidden case passed
    gaining: Comparison | None  # whether more hidden cases passed than in the turn before


def replays(replayed: Sequence[Attempt], episodes: Iterable[Attempt]) -> Replays:
    """Share = turns that solve (gain) / pairs, on each side."""
    by_episode: dict[tuple[str, str], list[Attempt]] = {}
    for one in episodes:
        by_episode.setdefault((Path(one.row.source).name, one.nodeid), []).append(one)
    # A replay names the directory of its run; two runs of that name are ambiguous
    originals = {key: same[0] for key, same in by_episode.items() if len(same) == 1}
    pairs = [
        (attempt.task, attempt.turns[-1], *sides)
        for attempt in replayed
        if attempt.played and attempt.replay and attempt.turns and (sides := _original(attempt.replay, originals))
    ]
    played = [attempt for attempt in replayed if attempt.played]
    unpaired = len(played) - len(pairs)
    return Replays(
        replayed=len(replayed),
        errors=len(replayed) - len(played),
        unpaired=unpaired,
        solved=sum(attempt.outcome == "solved" for attempt in played),
        solving=turns([(task, again.solved, really.solved) for task, again, _, really in pairs], unpaired=unpaired),
        gaining=turns(
            [
                (task, again.passed > before.passed, really.passed > before.passed)
                for task, again, before, really in pairs
            ],
            unpaired=unpaired,
        ),
    )


def _original(replay: OriginalTurn, episodes: Mapping[tuple[str, str], Attempt]) -> tuple[TurnScore, TurnScore] | None:
    """The turn before the original one, and the original one."""
    episode = episodes.get((replay.run, replay.nodeid))
    if episode is None or not 2 <= replay.turn <= len(episode.turns):
        return None
    return episode.turns[replay.turn - 2], episode.turns[replay.turn - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One model's turns, replayed at one level: a row of the summary of a run with replays.

    `before`, `really` and the share of the replays are means over played turns of the share of hidden cases that passed; None
    without played turns. Where `score` says episodes, it counts turns.
    """

    score: Score
    before: float | None  # share after the previous turn, where the replay started
    really: float | None  # share of the original turn, with its own feedback
    again: float | None


def replayed(
    records: Iterable[EpisodeSummary], stored: Mapping[tuple[str, int], tuple[float, float]]
) -> tuple[Replayed, ...]:
    """`stored`: the shares `before` and `really` of each replayed turn, by node id and number."""
    groups: dict[Row, list[EpisodeSummary]] = {}
    for record in records:
        groups.setdefault(row_of(record), []).append(record)
    return tuple(_replayed(group, stored) for group in groups.values())


def _replayed(group: Sequence[EpisodeSummary], stored: Mapping[tuple[str, int], tuple[float, float]]) -> Replayed:
    [score] = scores(group)
    played = [record for record in group if record["outcome"] != "error"]
    replayed_turns = [replay for record in played if (replay := record["replay"])]
    shares = [stored[turn["nodeid"], turn["turn"]] for turn in replayed_turns]
    return Replayed(
        score=score,
        before=fmean(before for before, _ in shares) if shares else None,
        really=fmean(really for _, really in shares) if shares else None,
        again=score.episodes.cases_last,
    )
