"""The tables of failures: error classes, feedback categories, and answers that could not be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from pytest_recode.metrics import errors, published
from pytest_recode.metrics.answer_counts import answer_counts
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.categories import CATEGORIES, Sorted, categories
from pytest_recode.render.report_table import (
    COUNTS,
    Column,
    Rows,
    Table,
    columns,
    counts,
    identities,
    identity,
    missing,
    percent,
    published_identity,
)


def tables(rows: Rows, known: Mapping[str, Set[str]]) -> dict[str, Callable[[], Table | None]]:
    """Functions that create the tables, by name. They return None without data. `known`: format -> all its tasks."""
    if not rows:
        return {}
    beside = {row: counts(rows[row], lacking) for row, lacking in missing(rows, known).items()}
    return {
        "errors": lambda: _errors(rows, beside),
        "categories": lambda: _categories(rows),
        "answers": lambda: _answers(rows),
    }


def _errors(rows: Rows, beside: Mapping[Row, Mapping[str, int]]) -> Table:
    notes = ["by the exception type of most failed cases of the last turn (docs/reference/metrics.md)"]
    if any(attempt.snippet for attempts in rows.values() for attempt in attempts):
        notes.append(
            f"published for ResearchCodeBench, classified by a model, over 32 models: functional {errors.PUBLISHED_FUNCTIONAL} %"
        )
    return Table(
        name="errors",
        title="Errors of unsolved episodes, by class",
        columns=(
            *identities(rows),
            *columns("count", **{one: one for one in errors.CLASSES}),
            *columns("percent", functional_percent="functional %"),
            *columns("count", unsolved="of unsolved"),
            *COUNTS,
        ),
        rows=tuple({**_classes(row, attempts), **beside[row]} for row, attempts in rows.items()),
        notes=tuple(notes),
    )


def _classes(row: Row, attempts: Sequence[Attempt]) -> dict[str, Any]:
    numbers = errors.classes(attempts)
    total = sum(numbers.values())
    share = 100 * numbers["functional"] / total if total else None
    return {**identity(row), **numbers, "functional_percent": share, "unsolved": total}


def _categories(rows: Rows) -> Table | None:
    by_row = {row: categories(attempts) for row, attempts in rows.items()}
    if not any(one.items for one in by_row.values()):
        return None
    by_others = _published_rows() if any(row.format == published.FORMAT for row in by_row) else []
    notes = [
        "T0 structure, T1 correctness, T2 paper or instruction, T3 knowledge, T4 repository; one item of feedback per failing interface"
    ]
    if by_others:
        notes.append("published: RECODE-H's table 3, classified afterwards by a model, without T0")
    return Table(
        name="categories",
        title="Fault categories, as the researcher chose them: shares of feedback items",
        columns=(
            *identities(by_row),
            *columns("percent", **{one: f"{one} %" for one in CATEGORIES}),
            *columns("count", sorted="of items", unsorted="without category"),
            Column(key="sources", head="sorted by"),
        ),
        rows=(*({**identity(row), **_shares(one)} for row, one in by_row.items()), *by_others),
        notes=tuple(notes),
    )


def _answers(rows: Rows) -> Table | None:
    """The number of answers that could not be used, by row."""
    by_row = {row: attempts for row, attempts in rows.items() if any(one.answers for one in attempts)}
    if not by_row:
        return None
    return Table(
        name="answers",
        title="Answers of the model that could not be used",
        columns=(
            *identities(by_row),
            *columns("count", answers="answers", unparsed="not used"),
            *columns("percent", unparsed_percent="%"),
            *columns("count", asked_again="asked again", steps_lost="steps lost"),
        ),
        rows=tuple({**identity(row), **unparsed(attempts)} for row, attempts in by_row.items()),
        counted=("unparsed",),
        notes=(
            "nothing of such an answer is executed; the model is asked again, at no step, up to three times in a row"
            " (docs/reference/agents.md); turns that another episode played are not counted",
        ),
    )


def unparsed(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The number of answers, of those that could not be used, of those that were asked again, and of the steps that the others cost."""
    counts = answer_counts(attempts)
    return {
        "answers": counts.answers,
        "unparsed": counts.unusable,
        "unparsed_percent": 100 * counts.unusable / counts.answers if counts.answers else None,
        "asked_again": counts.asked_again,
        "steps_lost": counts.steps_lost,
    }


def _shares(one: Sorted) -> dict[str, Any]:
    shares = one.shares or (None,) * len(CATEGORIES)
    return {
        **{category: percent(share) for category, share in zip(CATEGORIES, shares, strict=True)},
        **{f"{category}_items": count for category, count in zip(CATEGORIES, one.counts, strict=True)},
        "sorted": one.items - one.none,
        "unsorted": one.none,
        "sources": ", ".join(f"{source or 'unknown'} {count}" for source, count in one.sources) or None,
    }


def _published_rows() -> list[dict[str, Any]]:
    return [
        {**published_identity(model, "all"), **dict(zip(CATEGORIES[1:], shares, strict=True)), "sources": "model"}
        for model, shares in published.ERROR_TYPES.items()
    ]
