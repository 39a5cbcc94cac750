"""Replayed turns: the same state, other feedback. What RECODE-H's `replay-feedback-level` was meant to show.

A replayed turn is no episode and is in no number of episodes. It is held against the turn that was really played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from pytest_recode.metrics.attempt import Attempt, Replay, TurnScore
from pytest_recode.metrics.compare import Comparison, turns
from pytest_recode.metrics.score import Score, case_share, scores
from pytest_recode.records.episode_summary import EpisodeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    """Turns of one Row, played anew; in comparisons the turn that was really played is the first side, the replay the second.

    A pair is a replay that could be played and whose original is at hand: of the rest, `errors` could not be played, and of
    `unpaired` the stored run is not among the files.
    """

    replayed: int
    errors: int
    unpaired: int
    solved: int  # of all replays that could be played
    solving: Comparison | None  # whether every hidden case passed
    gaining: Comparison | None  # whether more hidden cases passed than in the turn before


def replays(replayed: Sequence[Attempt], episodes: Iterable[Attempt]) -> Replays:
    """share = turns that solve (gain) / pairs, on either side."""
    found: dict[tuple[str, str], list[Attempt]] = {}
    for one in episodes:
        found.setdefault((Path(one.row.source).name, one.nodeid), []).append(one)
    # A replay names the directory of its run: of two of that name nobody knows which it was
    originals = {key: same[0] for key, same in found.items() if len(same) == 1}
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
        solving=turns([(task, really.solved, again.solved) for task, again, _, really in pairs], unpaired=unpaired),
        gaining=turns(
            [
                (task, really.passed > before.passed, again.passed > before.passed)
                for task, again, before, really in pairs
            ],
            unpaired=unpaired,
        ),
    )


def _original(replay: Replay, episodes: Mapping[tuple[str, str], Attempt]) -> tuple[TurnScore, TurnScore] | None:
    """The turn before the one that was played, and that one."""
    episode = episodes.get((replay.run, replay.nodeid))
    if episode is None or not 2 <= replay.turn <= len(episode.turns):
        return None
    return episode.turns[replay.turn - 2], episode.turns[replay.turn - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One model's turns, played again at one level: of a run that replays, as its own terminal says it.

    Means over the turns that could be played of the share of hidden cases that passed; None where there was none. `score`
    counts turns where it says episodes.
    """

    score: Score
    before: float | None  # after the turn before: where each began
    really: float | None  # as it was played, with the feedback that it really had
    again: float | None


def replayed(
    records: Iterable[EpisodeSummary], stored: Mapping[tuple[str, int], tuple[float, float]]
) -> tuple[Replayed, ...]:
    """`stored`: of each turn that was played again, by node id and number, the shares `before` and `really`."""
    groups: dict[tuple[str, str, bool, str], list[EpisodeSummary]] = {}
    for record in records:
        key = (record["model"] or "", record["feedback"], record["paper"], record.get("format", ""))
        groups.setdefault(key, []).append(record)
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
        again=fmean(map(case_share, played)) if played else None,
    )
