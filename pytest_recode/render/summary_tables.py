"""Tables of the terminal's summary at the end of a session: episodes, replayed turns, validation.

Called by `plugin/summary.py`. The tables of `pytest-recode report` are in `report_*.py`. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_recode.metrics.replays import Replayed
from pytest_recode.metrics.score import Score

COLUMNS: Mapping[str, Callable[[Score], str]] = {
    "model": lambda score: _name(score),
    "feedback": lambda score: score.feedback,
    "solved": lambda score: f"{score.solved}/{score.episodes}",
    "%": lambda score: _percent(score.share if score.episodes else None),
    "95 % interval": lambda score: (
        "{:.1f} to {:.1f}".format(*(100 * end for end in score.interval)) if score.episodes else "-"
    ),
    "scaled %": lambda score: _percent(score.scaled),
    "turns": lambda score: "-" if score.mean_turns is None else f"{score.mean_turns:.1f}",
    "cases %": lambda score: _percent(score.cases),
    "tokens": lambda score: f"{score.prompt_tokens + score.completion_tokens:,}",
    "cost $": lambda score: "?" if score.cost_usd is None else f"{score.cost_usd:.2f}",
    "errors": lambda score: str(score.errors),
}
"""Columns of the summary, in their order: head -> cell of a row. docs/explanation/concepts.md explains each head."""

LINES_ONLY = "scaled %"
"""The column that is omitted unless a task counts code lines."""

REPLAY_COLUMNS: Mapping[str, Callable[[Replayed], str]] = {
    "model": lambda found: _name(found.score),
    "feedback": lambda found: found.score.feedback,
    "turns": lambda found: str(found.score.episodes),
    "solved": lambda found: str(found.score.solved),
    "cases % before": lambda found: _percent(found.before),
    "as played": lambda found: _percent(found.really),
    "replayed": lambda found: _percent(found.again),
    "tokens": lambda found: COLUMNS["tokens"](found.score),
    "cost $": lambda found: COLUMNS["cost $"](found.score),
    "errors": lambda found: COLUMNS["errors"](found.score),
}
"""Columns of the summary of a run that replays stored turns."""


def summary(scores: Sequence[Score]) -> list[str]:
    """Lines without trailing newlines. With several benchmarks, each has its own rows."""
    if len({score.format for score in scores}) > 1:
        scores = [replace(score, model=f"{score.model} [{score.format}]") for score in scores]
    counts_lines = any(score.scaled is not None for score in scores)
    heads = [head for head in COLUMNS if counts_lines or head != LINES_ONLY]
    lines = _table([heads, *([COLUMNS[head](score) for head in heads] for score in scores)])
    turns = max((len(score.solved_by_turn) for score in scores), default=0)
    if turns > 1:
        head = ("solved within turn", "", *(str(turn) for turn in range(1, turns + 1)))
        lines += ["", *_table([head, *(_curve(score, turns) for score in scores)])]
    if ablation := _ablation(scores):
        lines += ["", *ablation]
    return [*lines, *_marks(scores)]


def replay(run: str, found: Sequence[Replayed]) -> list[str]:
    """The summary of a session that replays turns of `run`."""
    return [
        f"replay of {run}: single turns, not episodes, each played again from its starting point with its feedback cut to the level",
        "",
        *_table([REPLAY_COLUMNS, *([cell(each) for cell in REPLAY_COLUMNS.values()] for each in found)]),
        "",
        "cases %: hidden cases that pass before the turn, after the original turn, and after the replay",
        *_marks([each.score for each in found]),
    ]


def _marks(scores: Sequence[Score]) -> list[str]:
    """Explanations of the marks in a table, if it has any."""
    lines = []
    if any(score.simulated for score in scores):
        lines += [
            "",
            "* simulated: an offline model that breaks and repairs the reference; it says nothing about a real one",
        ]
    if any(score.cost_usd is None for score in scores):
        lines += ["", "cost ?: the price of at least one call is unknown"]
    return lines


def validation(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """A row per task and check, with the seconds of its slowest grading; then weak findings, and results of mutants.

    A check that had nothing to grade has no row: a task without right answers, an interface without mutants.
    """
    rows = [("task", "check", "finding", "slowest s")]
    for fact in facts:
        finding = "error" if fact["error"] else "problem" if fact["problem"] else "weak" if fact["warning"] else "ok"
        if fact.get("tried"):
            finding = f"{fact['noticed']} of {fact['tried']} detected" + (", problem" if fact["problem"] else "")
        elif finding == "ok" and not fact["answers"]:
            continue
        rows.append((fact["task"], _check_name(fact["check"]), finding, f"{fact.get('seconds', 0):.2f}"))
    weak = [f"{fact['task']} ({fact['check']}): {fact['warning']}" for fact in facts if fact.get("warning")]
    noticed, tried = (sum(fact.get(key, 0) for fact in facts) for key in ("noticed", "tried"))
    survivors = [
        line
        for fact in facts
        for survivor in fact.get("survivors", ())
        for line in ["", f"{fact['task']}: survives every case: {survivor}"]
    ]
    share = (
        [f"small mutations that the tests detect: {noticed} of {tried}, {100 * noticed / tried:.1f} %"] if tried else []
    )
    oracles = [fact["task"] for fact in facts if fact["check"] == "removed" and fact.get("problem")]
    blind = [f"weak oracles ({len(oracles)}), which pass without the block: {', '.join(oracles)}"] if oracles else []
    return [*_table(rows), *weak, *survivors, *blind, *share]


_CHECK_NAMES = {
    "untouched": "untouched repository",
    "empty": "empty target",
    "constant": "constant answers",
    "right": "right answers",
    "wrong": "wrong answers",
    "removed": "removed block",
}
"""What a check grades, where the name in its node id does not say it."""


def _check_name(check: str) -> str:
    kind, _, interface = check.partition("-")
    return f"{kind} of {interface}" if interface else _CHECK_NAMES.get(check, check)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _curve(score: Score, turns: int) -> tuple[str, ...]:
    # an episode that ended early stays solved: later turns repeat the last count
    counts = score.solved_by_turn + score.solved_by_turn[-1:] * (turns - len(score.solved_by_turn))
    return (_name(score), score.feedback, *map(str, counts or (0,) * turns))


def _name(score: Score) -> str:
    return score.model + ("" if score.paper else ", no paper") + (" *" if score.simulated else "")


def _ablation(scores: Sequence[Score]) -> list[str]:
    """The effect of the paper, for models that played with it and without."""
    found = {(score.model, score.feedback, score.paper): score for score in scores if score.episodes}
    return [
        f"without the paper, {model} {feedback}: {100 * (without.share - score.share):+.1f} points "
        f"({without.solved}/{without.episodes} against {score.solved}/{score.episodes})"
        for (model, feedback, paper), score in found.items()
        if paper and (without := found.get((model, feedback, False)))
    ]


def _table(rows: Sequence[Iterable[str]]) -> list[str]:
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
