"""Tables of the terminal's summary at the end of a session: episodes and replayed turns.

Called by `plugin/reports/summary.py`. `validation_summary.py` shows the checks of tasks, and the tables of `pytest-recode report` are in `report_*.py`. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pytest_recode.metrics.episodes import LEVELS
from pytest_recode.metrics.replays import Replayed
from pytest_recode.metrics.score import Score
from pytest_recode.render.report_twins import MEANING
from pytest_recode.settings import NO_FEEDBACK
from pytest_recode.wording import dollars

COLUMNS: Mapping[str, Callable[[Score], str]] = {
    "model": lambda score: _name(score),
    "agent": lambda score: score.row.agent,
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

EFFORT_COLUMNS: Mapping[str, Callable[[Score], str]] = {
    "turn 1 %": lambda score: _percent(score.effort.first_turn),
    "pass^k turn 1 %": lambda score: _percent(score.effort.all_first),
    "pass^k %": lambda score: _percent(score.effort.all_solved),
    "half solved by": lambda score: score.effort.half_level or "-",
    "highest level": lambda score: score.effort.highest_level or "-",
    "feedback tokens": lambda score: (
        "-" if score.effort.feedback_tokens is None else f"{score.effort.feedback_tokens:,.0f}"
    ),
}
"""Columns of the summary's second table, which follow the texts of the first one. k is a number of attempts."""

_ATTEMPTS_ONLY = ("pass^k turn 1 %", "pass^k %")
"""Columns of effort that are omitted unless a task has several attempts."""

LINES_ONLY = "scaled %"
"""The column that is omitted unless a task counts code lines."""

AGENTS_ONLY = "agent"
"""The column that is omitted unless a benchmark has episodes of several agents."""

TEXTS = ("model", "agent", "feedback")
"""Columns of text, which stand to the left."""

REPLAY_COLUMNS: Mapping[str, Callable[[Replayed], str]] = {
    "model": lambda replayed: _name(replayed.score),
    "agent": lambda replayed: replayed.score.row.agent,
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


def heads(scores: Sequence[Score]) -> list[str]:
    """The columns that these rows need."""
    omitted = {LINES_ONLY} if all(score.scaled is None for score in scores) else set()
    omitted |= set() if _several_agents(scores) else {AGENTS_ONLY}
    return [head for head in COLUMNS if head not in omitted]


def effort_rows(scores: Sequence[Score]) -> list[tuple[str, ...]]:
    """The heads of the columns of effort that these rows need, and the cells of each row. Empty if the first table has all their numbers."""
    attempts = max((score.effort.attempts for score in scores), default=0)
    omitted = set() if attempts > 1 else set(_ATTEMPTS_ONLY)
    if all(score.row.feedback == NO_FEEDBACK for score in scores):
        omitted = set(EFFORT_COLUMNS) - {"pass^k %"} | omitted
    shown = [head for head in EFFORT_COLUMNS if head not in omitted]
    if not shown or not any(score.episodes.played for score in scores):
        return []
    heads = tuple(head.replace("^k", f"^{attempts}") for head in shown)
    return [heads, *(tuple(EFFORT_COLUMNS[head](score) for head in shown) for score in scores)]


def _several_agents(scores: Sequence[Score]) -> bool:
    agents = {(score.row.format, score.row.agent) for score in scores}
    return len(agents) > len({task_format for task_format, _ in agents})


def summary(scores: Sequence[Score]) -> list[str]:
    """Lines without trailing newlines. With several benchmarks, each has its own rows."""
    if len({score.row.format for score in scores}) > 1:
        scores = [
            replace(score, row=replace(score.row, model=f"{score.row.model} [{score.row.format}]")) for score in scores
        ]
    shown = heads(scores)
    texts = [head for head in shown if head in TEXTS]
    lines = table([shown, *([COLUMNS[head](score) for head in shown] for score in scores)], texts=len(texts))
    if efforts := effort_rows(scores):
        names = [("effort", *[""] * (len(texts) - 1)), *([COLUMNS[head](score) for head in texts] for score in scores)]
        rows = [(*name, *cells) for name, cells in zip(names, efforts, strict=True)]
        lines += ["", *table(rows, texts=len(texts))]
    turns = max((score.episodes.turns for score in scores), default=0)
    if turns > 1:
        head = ("solved within turn", *[""] * (len(texts) - 1), *(str(turn) for turn in range(1, turns + 1)))
        lines += ["", *table([head, *(_curve(score, texts, turns) for score in scores)], texts=len(texts))]
    if ablation := _ablation(scores):
        lines += ["", *ablation]
    return [*lines, *_marks(scores)]


def twins(scores: Sequence[Score]) -> list[str]:
    """The summary of a session that plays impossible twins: solved ones, in all and by the level of feedback."""
    several = _several_agents(scores)
    columns: dict[str, Callable[[Score], str]] = {
        **{head: COLUMNS[head] for head in ("model", "agent", "feedback", "solved", "%", "95 % interval")},
        **{level: partial(_solved_at, place=place) for place, level in enumerate(LEVELS)},
        **{head: COLUMNS[head] for head in ("tokens", "cost $", "errors")},
    }
    shown = [head for head in columns if several or head != AGENTS_ONLY]
    texts = sum(head in TEXTS for head in shown)
    return [
        *table([shown, *([columns[head](score) for head in shown] for score in scores)], texts=texts),
        "",
        MEANING,
        *_marks(scores),
    ]


def _solved_at(score: Score, place: int) -> str:
    return str(score.episodes.solved_at[place])


def replay(run: str, replayed: Sequence[Replayed]) -> list[str]:
    """The summary of a session that replays turns of `run`."""
    several = _several_agents([turn.score for turn in replayed])
    shown = [head for head in REPLAY_COLUMNS if several or head != AGENTS_ONLY]
    texts = sum(head in TEXTS for head in shown)
    return [
        f"replay of {run}: single turns, not episodes, each played again from its starting point with its feedback cut to the level",
        "",
        *table([shown, *([REPLAY_COLUMNS[head](turn) for head in shown] for turn in replayed)], texts=texts),
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


def _curve(score: Score, texts: Sequence[str], turns: int) -> tuple[str, ...]:
    # an episode that ended early stays solved: later turns repeat the last count
    within = score.episodes.solved_within
    counts = within + within[-1:] * (turns - len(within))
    return (*(COLUMNS[head](score) for head in texts), *map(str, counts or (0,) * turns))


def _name(score: Score) -> str:
    impossible = ", impossible" if score.row.impossible else ""
    return (
        score.row.model + impossible + ("" if score.row.paper else ", no paper") + (" *" if score.row.simulated else "")
    )


def _ablation(scores: Sequence[Score]) -> list[str]:
    """The effect of the paper, for models that played with it and without."""
    played = {score.row: score.episodes for score in scores if score.episodes.played}
    several = _several_agents(scores)
    return [
        f"without the paper, {row.model} {f'{row.agent} ' if several else ''}{row.feedback}: {100 * (without.share - whole.share):+.1f} points "
        f"({without.solved}/{without.played} against {whole.solved}/{whole.played})"
        for row, whole in played.items()
        if row.paper and (without := played.get(replace(row, paper=False)))
    ]


def table(rows: Sequence[Iterable[str]], *, texts: int = 2) -> list[str]:
    """The first columns, which have `texts`, to the left; numbers to the right."""
    cells = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
