"""Replayed turns: the same state, other feedback. What RECODE-H's `replay-feedback-level` was meant to show.

A replayed turn is no episode and is in no number of episodes. It is held against the turn that was really played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.metrics.attempt import Attempt, Replay, TurnScore
from pytest_recode.metrics.compare import Comparison, contrast


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
    originals = {(Path(one.row.source).name, one.nodeid): one for one in episodes}
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
        solving=contrast([(task, really.solved, again.solved) for task, again, _, really in pairs], unpaired=unpaired),
        gaining=contrast(
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
