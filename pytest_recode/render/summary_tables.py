"""Tables of the terminal's summary at the end of a session: episodes and replayed turns.

Called by `plugin/reports/summary.py`. `validation_summary.py` shows the checks of tasks, and the tables of `pytest-recode report` are in `report_*.py`. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_recode.metrics.replays import Replayed
from pytest_recode.metrics.score import Score
from pytest_recode.wording import dollars

COLUMNS: Mapping[str, Callable[[Score], str]] = {
    "model": lambda score: _name(score),
    "feedback": lambda score: score.row.feedback,
    "solved": lambda score: f"{score.episodes.solved}/{score.episodes.played}",
    "%": lambda score: _percent(score.episodes.share if score.episodes.played else None),
    "95 % interval": lambda score: (
        "{:.1f} to {:.1f}".format(*(100 * end for end in score.episodes.interval)) if score.episodes.interval else "-"
    ),
    "scaled %": lambda score: _percent(score.scaled),
    "turns": lambda score: "-" if score.episodes.mean_turns is None else f"{score.episodes.mean_turns:.1f}",
    "cases %": lambda score: _percent(score.episodes.cases_last),
    "tokens": lambda score: f"{score.episodes.tokens:,}",
    "cost $": lambda score: "?" if score.episodes.cost_usd is None else dollars(score.episodes.cost_usd),
    "errors": lambda score: str(score.episodes.errors),
}
"""Columns of the summary, in their order: head -> cell of a row. docs/explanation/concepts.md explains each head."""

LINES_ONLY = "scaled %"
"""The column that is omitted unless a task counts code lines."""

REPLAY_COLUMNS: Mapping[str, Callable[[Replayed], str]] = {
    "model": lambda replayed: _name(replayed.score),
    "feedback": lambda replayed: replayed.score.row.feedback,
    "turns": lambda replayed: str(replayed.score.episodes.played),
    "solved": lambda replayed: str(replayed.score.episodes.solved),
    "cases % before": lambda replayed: _percent(replayed.before),
    "as played": lambda replayed: _percent(replayed.really),
    "replayed": lambda replayed: _percent(replayed.again),
    "tokens": lambda replayed: COLUMNS["tokens"](replayed.score),
    "cost $": lambda replayed: COLUMNS["cost $"](replayed.score),
    "errors": lambda replayed: COLUMNS["errors"](replayed.score),
}
"""Columns of the summary of a run that replays stored turns."""


def summary(scores: Sequence[Score]) -> list[str]:
    """Lines without trailing newlines. With several benchmarks, each has its own rows."""
    if len({score.row.format for score in scores}) > 1:
        scores = [
            replace(score, row=replace(score.row, model=f"{score.row.model} [{score.row.format}]")) for score in scores
        ]
    counts_lines = any(score.scaled is not None for score in scores)
    heads = [head for head in COLUMNS if counts_lines or head != LINES_ONLY]
    lines = table([heads, *([COLUMNS[head](score) for head in heads] for score in scores)])
    turns = max((score.episodes.turns for score in scores), default=0)
    if turns > 1:
        head = ("solved within turn", "", *(str(turn) for turn in range(1, turns + 1)))
        lines += ["", *table([head, *(_curve(score, turns) for score in scores)])]
    if ablation := _ablation(scores):
        lines += ["", *ablation]
    return [*lines, *_marks(scores)]


def replay(run: str, replayed: Sequence[Replayed]) -> list[str]:
    """The summary of a session that replays turns of `run`."""
    return [
        f"replay of {run}: single turns, not episodes, each played again from its starting point with its feedback cut to the level",
        "",
        *table([REPLAY_COLUMNS, *([cell(turn) for cell in REPLAY_COLUMNS.values()] for turn in replayed)]),
        "",
        "cases %: hidden cases that pass before the turn, after the original turn, and after the replay",
        *_marks([turn.score for turn in replayed]),
    ]


def _marks(scores: Sequence[Score]) -> list[str]:
    """Explanations of the marks in a table, if it has any."""
    lines = []
    if any(score.row.simulated for score in scores):
        lines += [
            "",
            "* simulated: an offline model that breaks and repairs the reference; it says nothing about a real one",
        ]
    if any(score.episodes.cost_usd is None for score in scores):
        lines += [
            "",
            "cost ?: the price of at least one call is unknown; --recode-models-file can have prices (docs/how-to/use-a-local-model.md)",
        ]
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _curve(score: Score, turns: int) -> tuple[str, ...]:
    # an episode that ended early stays solved: later turns repeat the last count
    within = score.episodes.solved_within
    counts = within + within[-1:] * (turns - len(within))
    return (_name(score), score.row.feedback, *map(str, counts or (0,) * turns))


def _name(score: Score) -> str:
    return score.row.model + ("" if score.row.paper else ", no paper") + (" *" if score.row.simulated else "")


def _ablation(scores: Sequence[Score]) -> list[str]:
    """The effect of the paper, for models that played with it and without."""
    played = {score.row: score.episodes for score in scores if score.episodes.played}
    return [
        f"without the paper, {row.model} {row.feedback}: {100 * (without.share - whole.share):+.1f} points "
        f"({without.solved}/{without.played} against {whole.solved}/{whole.played})"
        for row, whole in played.items()
        if row.paper and (without := played.get(replace(row, paper=False)))
    ]


def table(rows: Sequence[Iterable[str]]) -> list[str]:
    """Text columns to the left (the first two), numbers to the right."""
    cells = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
