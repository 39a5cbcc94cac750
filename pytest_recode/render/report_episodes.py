"""The tables of episodes: turns, feedback, costs, attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from pytest_recode.metrics import published
from pytest_recode.metrics.attempt import Row
from pytest_recode.metrics.episodes import LEVELS, Episodes, episodes, most_attempts, pass_all, pass_at, tries
from pytest_recode.metrics.intervals import wilson
from pytest_recode.render import report_effort
from pytest_recode.render.report_table import (
    COUNTS,
    Column,
    Rows,
    Table,
    beside_published,
    columns,
    cost_notes,
    counts,
    identities,
    identity,
    missing,
    name,
    percent,
    percents,
    published_identity,
)


def tables(rows: Rows, known: Mapping[str, Set[str]]) -> dict[str, Callable[[], Table | None]]:
    """Functions that create the tables of rows with turns (of runs, not of published results), by name. They return None without data.

    `known`: format -> all its tasks, played or not.
    """
    if not rows:
        return {}
    by_row = {row: episodes(attempts) for row, attempts in rows.items()}
    beside = {row: counts(rows[row], lacking) for row, lacking in missing(rows, known).items()}
    longest = max(one.turns for one in by_row.values())
    return {
        "episodes": lambda: _episodes(by_row, beside),
        "effort": lambda: report_effort.table(rows, beside),
        "curves": lambda: _curves(by_row, beside, longest) if longest > 1 else None,
        "levels": lambda: _levels(by_row, beside) if longest > 1 else None,
        "costs": lambda: _costs(by_row),
        "attempts": lambda: _attempts(rows, beside),
    }


_Beside = Mapping[Row, Mapping[str, int]]


def _episodes(by_row: Mapping[Row, Episodes], beside: _Beside) -> Table:
    notes = []
    faulty = any(one.errors for one in by_row.values())
    if faulty:
        notes.append("errors: episodes without a verdict; they are in no share except the last ones")
    if any(one["missing"] for one in beside.values()):
        notes.append(
            "missing: tasks that another row or --tasks has; --common compares only tasks that every row played"
        )
    mixed = [name(row) for row, one in by_row.items() if one.mixed]
    if mixed:
        notes.append(f"verdicts of two kinds of isolation are mixed in: {'; '.join(mixed)}")
    if any(one.tampering for one in by_row.values()):
        notes.append("tampering: episodes in which a candidate interfered with its judge; such a turn is not solved")
    if any(one.flagged for one in by_row.values()):
        notes.append(
            "passed but flagged: episodes that are unsolved only because of findings of the shared judge: every case of a turn passed."
            " Read the findings: if all are wrong, this many more episodes are solved (docs/explanation/oracle-shared.md)"
        )
    settings, published_settings = beside_published(by_row)
    by_others = _published_rows(published_settings) if any(row.format == published.FORMAT for row in by_row) else []
    if by_others:
        notes.append("published: Recall@10 of 102 tasks, RECODE-H's table 2; its other cells were not available")
    return Table(
        name="episodes",
        title="Episodes: solved within all turns, and how",
        columns=(
            *identities(by_row),
            *columns("count", turns="turns at most"),
            *columns("percent", recall="recall"),
            *columns("interval", recall_interval="95 %"),
            *columns("count", solved="solved", played="of"),
            *columns("rate", mrr="MRR"),
            *columns("percent", cases_best="cases best", cases_last="cases last"),
            *columns("number", mean_turns="mean turns"),
            *columns("count", tampering="tampering", flagged="passed but flagged"),
            *columns("list", findings="flagged"),
            Column(key="isolation", head="isolation", fold=True),
            *columns("count", errors="errors", missing="missing"),
            *columns("percent", recall_at_least="errors as failed"),
            *(columns("rate", mrr_at_least="MRR") if faulty else ()),
            *(columns("percent", cases_best_at_least="cases best", cases_last_at_least="last") if faulty else ()),
        ),
        rows=(
            *(
                {**identity(row), "settings": settings[row] or None, **_numbers(one), **beside[row]}
                for row, one in by_row.items()
            ),
            *by_others,
        ),
        notes=tuple(notes),
    )


def _numbers(one: Episodes) -> dict[str, Any]:
    recall = one.recall[-1] if one.recall else None
    return {
        "turns": one.turns,
        "recall": percent(recall),
        "recall_interval": percents(one.interval),
        "solved": one.solved,
        "mrr": one.mrr,
        "cases_best": percent(one.cases_best),
        "cases_last": percent(one.cases_last),
        "mean_turns": one.mean_turns,
        "tampering": one.tampering,
        "flagged": len(one.flagged),
        "findings": list(one.flagged),
        "isolation": " + ".join(one.isolation),
        "recall_at_least": percent(one.at_least(recall)),
        "mrr_at_least": one.at_least(one.mrr),
        "cases_best_at_least": percent(one.at_least(one.cases_best)),
        "cases_last_at_least": percent(one.at_least(one.cases_last)),
    }


def _published_rows(settings: str) -> list[dict[str, Any]]:
    return [
        {
            **published_identity(model, level, settings),
            "turns": published.TURNS,
            "recall": 100 * solved / published.TASKS,
            "recall_interval": percents(wilson(solved, published.TASKS)),
            "solved": solved,
            "played": published.TASKS,
        }
        for model, levels in published.SOLVED.items()
        for level, solved in levels.items()
    ]


def _curves(by_row: Mapping[Row, Episodes], beside: _Beside, longest: int) -> Table:
    turns = range(1, longest + 1)
    return Table(
        name="curves",
        title="By turn: recall@n, and the share of hidden cases that pass",
        columns=(
            *identities(by_row),
            Column(key="what", head="%"),
            *(Column(key=f"turn_{n}", head=str(n), kind="percent") for n in turns),
            *COUNTS,
        ),
        rows=tuple(
            {
                **identity(row),
                "what": what,
                **{f"turn_{n}": percent(_at(values, n)) if n <= turns_given(row, one) else None for n in turns},
                **beside[row],
            }
            for row, one in by_row.items()
            for what, values in (("recall", one.recall), ("cases", one.cases_by_turn))
        ),
        notes=("an episode that ended early keeps its last value; -: the row had a lower limit on turns",),
    )


def turns_given(row: Row, one: Episodes) -> int:
    """The limit on turns of the row's episodes; later turns are unknown."""
    turns = dict(row.settings).get("turns", "")
    return max(int(turns) if turns.isdecimal() else 0, one.turns)


def _at(values: Sequence[float], n: int) -> float | None:
    return values[min(n, len(values)) - 1] if values else None


def _levels(by_row: Mapping[Row, Episodes], beside: _Beside) -> Table:
    return Table(
        name="levels",
        title="Solved with feedback of which level (none: in the first turn)",
        columns=(
            *identities(by_row),
            *columns("count", **{level: level for level in LEVELS}, solved="solved"),
            *COUNTS,
        ),
        rows=tuple(
            {**identity(row), **dict(zip(LEVELS, one.solved_at, strict=True)), "solved": one.solved, **beside[row]}
            for row, one in by_row.items()
        ),
    )


def _costs(by_row: Mapping[Row, Episodes]) -> Table:
    shared = any(one.paid_tokens != one.tokens for one in by_row.values())
    notes = []
    if shared:
        notes.append(
            "paid: a first turn that several episodes share is counted once, in the row that played it;"
            " tokens, cost and values per solved task count it for each of these episodes"
        )
    notes += cost_notes([one.cost_usd for one in by_row.values()])
    return Table(
        name="costs",
        title="Cost: tokens and dollars of all episodes, including unsolved ones",
        columns=(
            *identities(by_row),
            *columns("count", tokens="tokens", tokens_per_solved="tokens per solved"),
            *(columns("count", paid_tokens="tokens paid") if shared else ()),
            *columns("money", cost_usd="cost $", cost_per_solved="$ per solved"),
            *(columns("money", paid_usd="$ paid") if shared else ()),
            *columns("count", solved="solved", episodes="episodes"),
        ),
        rows=tuple(
            {
                **identity(row),
                "tokens": one.tokens,
                "tokens_per_solved": one.tokens_per_solved,
                "paid_tokens": one.paid_tokens,
                "cost_usd": one.cost_usd,
                "cost_per_solved": one.cost_per_solved,
                "paid_usd": one.paid_usd,
                "solved": one.solved,
                "episodes": one.played + one.errors,
            }
            for row, one in by_row.items()
        ),
        notes=tuple(notes),
    )


def _attempts(rows: Rows, beside: _Beside) -> Table | None:
    most = max(map(most_attempts, rows.values()), default=0)
    if most < 2:
        return None
    ks = sorted({k for k in (1, 2, 4, 5, 8, 10, 16, 32, 64, 100) if k < most} | {most})
    lines = []
    for row, attempts in rows.items():
        one: dict[str, Any] = {**identity(row), **beside[row]}
        played, all_of_them = tries(attempts), tries(attempts, errors_as_failed=True)
        for k in ks:
            value, tasks = pass_at(played, k) or (None, 0)
            at_least, _ = pass_at(all_of_them, k) or (None, 0)
            every, _ = pass_all(played, k) or (None, 0)
            one |= {
                f"pass_at_{k}": percent(value),
                f"pass_all_{k}": percent(every),
                f"tasks_{k}": tasks,
                f"pass_at_{k}_at_least": percent(at_least),
            }
        lines.append(one)
    faulty = any(one["errors"] for one in beside.values())
    return Table(
        name="attempts",
        title="pass@k (any of k attempts) and pass^k (all of k attempts), unbiased",
        columns=(
            *identities(rows),
            *(
                column
                for k in ks
                for column in (
                    Column(key=f"pass_at_{k}", head=f"pass@{k}", kind="percent"),
                    *((Column(key=f"pass_all_{k}", head=f"pass^{k}", kind="percent"),) if k > 1 else ()),
                    Column(key=f"tasks_{k}", head="of tasks", kind="count"),
                )
            ),
            *columns("count", played="attempts", errors="errors", missing="missing"),
            *(columns("percent", **{f"pass_at_{k}_at_least": f"errors as failed, @{k}" for k in ks}) if faulty else ()),
        ),
        rows=tuple(lines),
        notes=("of tasks: those with at least k played attempts; with fewer there is no estimate",),
    )
