"""The lines that show the progress of a run: a table for a terminal, a sentence for a log."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.records.transcript_follow import Progress
from pytest_recode.render.words import plural
from pytest_recode.verdict import legible
from pytest_recode.wording import dollars

_ENOUGH = 3
"""Finished episodes before the time that remains is estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Numbers of the whole run. `seconds`: since its first episode. `cost_usd` and `tokens` include the episodes being played. `cost_usd`: None
    if the price of a call is unknown.
    """

    done: int
    solved: int
    errors: int
    episodes: int
    cost_usd: float | None
    max_cost: float | None
    tokens: int
    seconds: float
    finished_here: int  # of `done`, those that this session played


def totals_text(totals: Totals) -> str:
    """One line, such as `12 of 64 done: 9 solved, 1 error; 0.42 of 2.00 USD, 310,000 tokens; about 4 min left`."""
    errors = f", {plural(totals.errors, 'error')}" if totals.errors else ""
    budget = "" if totals.max_cost is None else f" of {totals.max_cost:.2f}"
    cost = "cost unknown" if totals.cost_usd is None else f"{dollars(totals.cost_usd)}{budget} USD"
    parts = [
        f"{totals.done} of {totals.episodes} done: {totals.solved} solved{errors}",
        f"{cost}, {totals.tokens:,} tokens",
    ]
    if totals.finished_here >= _ENOUGH and totals.done < totals.episodes:
        left = totals.seconds / totals.finished_here * (totals.episodes - totals.done)
        parts.append(f"about {_duration(left)} left")
    return "; ".join(parts)


def turn_text(episode: Progress) -> str:
    """The latest judged turn of an episode, such as `bpe, gpt-5, escalate: turn 3 of 10 with feedback L1: 14 of 19 cases, 5,200 tokens in this turn`."""
    tokens = f", {episode.judged_tokens:,} tokens in this turn" if episode.judged_tokens else ""
    level = f" with feedback {episode.judged_with}" if episode.judged_with else ""
    who = ", ".join(legible(each, keep="") for each in (episode.task, episode.model, episode.policy))
    return f"{who}: turn {episode.judged} of {episode.turns}{level}: {episode.passed} of {episode.total} cases{tokens}"


def table(episodes: Sequence[Progress], totals: Totals, now: float, *, width: int, rows: int) -> list[str]:
    """Lines with ANSI codes, none wider than `width` columns: a line for each of at most `rows` episodes, and the totals.

    Needs rich. The longest waits come first.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "left", "left", "left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True, overflow="ellipsis")
    shown = sorted(episodes, key=lambda episode: episode.since)[:rows]
    for episode in shown:
        cases = "" if episode.passed is None else f"{episode.passed}/{episode.total} cases"
        turn = f"turn {episode.turn}/{episode.turns}" if episode.turns else ""
        grid.add_row(
            Text(legible(episode.task, keep=""), style="bold"),
            Text(legible(episode.model, keep="")),
            Text(legible(episode.policy, keep="")),
            Text(turn),
            Text(episode.level),
            Text(cases),
            Text(
                f"{episode.waiting} {_duration(max(now - episode.since, 0))}" if episode.since else episode.waiting,
                style="dim",
            ),
        )
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, highlight=False, legacy_windows=False)
    console.print(grid)
    hidden = len(episodes) - len(shown)
    more = f"{hidden} more being played; " if hidden else ""
    console.print(Text(f"{more}{totals_text(totals)}", style="cyan"), no_wrap=True, overflow="ellipsis", crop=True)
    return [line for line in out.getvalue().split("\n") if line]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
