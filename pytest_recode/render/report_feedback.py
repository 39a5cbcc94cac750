"""The tables of feedback: adoption and resolution by level and by category, and leaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pytest_recode.episode import Audit
from pytest_recode.metrics import leakage as leaks
from pytest_recode.metrics.adoption import Advice, by_rule, rate
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.transcripts import FROM_FILES, TranscriptReader
from pytest_recode.render.report_table import IDENTITY, Column, Rows, Table, columns, identity, percents
from pytest_recode.render.words import plural

LEVELS = ("L1", "L2", "L3", "L4")
CATEGORIES = ("T0", "T1", "T2", "T3", "T4")

Judge = Callable[[Rows], tuple[Mapping[Row, Sequence[Advice]], Sequence[str]]]
"""A model's judgements of the same items, and notes; called when a table needs them."""

_NUMBERS = (
    *columns("count", items="items"),
    *columns("percent", adopted="adopted %"),
    *columns("interval", adopted_interval="95 %"),
    *columns("percent", adopted_partly="partly %", resolved="resolved %", resolved_partly="partly %"),
    *columns("percent", both="resolved, of them adopted or partly %"),
)


def tables(
    rows: Rows, judge: Judge | None = None, transcripts: TranscriptReader = FROM_FILES
) -> dict[str, Callable[[], Table | None]]:
    """Functions that create the tables of feedback, by name. They return None without feedback."""

    @cache
    def by_rules() -> dict[Row, tuple[list[Advice], int]]:
        return {row: _ruled(attempts, transcripts) for row, attempts in rows.items()}

    @cache
    def by_model() -> tuple[Mapping[Row, Sequence[Advice]], Sequence[str]]:
        return judge(rows) if judge is not None else ({}, ())

    def table(name: str, title: str, key: str, groups: Sequence[str]) -> Table | None:
        ruled = by_rules()
        judged, notes = by_model()
        lost = sum(missing for _, missing in ruled.values())
        all_notes = [*notes, "judge rule: from verdicts and from the agent's changes (docs/reference/metrics.md)"]
        if lost:
            all_notes.append(f"{plural(lost, 'episode')} omitted: the transcript is missing")
        lines = [
            {**identity(row), "judge": judge, key: group, **_numbers(chosen)}
            for row in rows
            for judge, advice in (("rule", ruled[row][0]), ("model", judged.get(row, ())))
            for group in groups
            if (chosen := [one for one in advice if getattr(one, key) == group])
        ]
        if not lines:
            return None
        return Table(
            name=name,
            title=title,
            columns=(*IDENTITY, Column(key="judge", head="judge", fold=True), Column(key=key, head=key), *_NUMBERS),
            rows=tuple(lines),
            notes=tuple(all_notes),
        )

    return {
        "adoption": lambda: table("adoption", "Adoption and resolution of feedback, by level", "level", LEVELS),
        "adoption-categories": lambda: table(
            "adoption-categories", "Adoption and resolution of feedback, by category", "category", CATEGORIES
        ),
        "leaks": lambda: _leaks(rows, transcripts),
    }


def _leaks(rows: Rows, transcripts: TranscriptReader) -> Table | None:
    lines = []
    for row, attempts in rows.items():
        if row.feedback == "none":
            continue
        by_source: dict[str, list[Audit]] = {}
        for attempt in attempts:
            for source, audit in transcripts.audits(attempt.transcript) or ():
                by_source.setdefault(source, []).append(audit)
        for source, audits in by_source.items():
            leak = leaks.leaking(audits)
            lines.append(
                {
                    **identity(row),
                    "words": source,
                    "feedbacks": leak.feedbacks,
                    "leaked": leak.leaked,
                    "passages": leak.passages,
                    "encoded": leak.encoded,
                    "reference_run": leak.reference_run,
                    "reference_share": 100 * leak.reference_share,
                    "tests_run": leak.tests_run,
                    "tests_share": 100 * leak.tests_share,
                }
            )
    if not lines:
        return None
    return Table(
        name="leaks",
        title="Leaks: text that feedback repeated from reference and hidden tests, before it was cut",
        columns=(
            *IDENTITY,
            Column(key="words", head="words by"),
            *columns("count", feedbacks="feedbacks", leaked="cut in", passages="passages", encoded="of them encoded"),
            *columns("count", reference_run="longest of reference"),
            *columns("percent", reference_share="% of words"),
            *columns("count", tests_run="longest of tests"),
            *columns("percent", tests_share="% of words"),
        ),
        rows=tuple(lines),
        notes=(
            "longest: consecutive tokens that instruction, paper, repository and candidate do not have",
            "encoded: passages that are no natural language; in no longest run and no share",
        ),
        counted=("leaked", "passages"),
    )


def _ruled(attempts: Sequence[Attempt], transcripts: TranscriptReader) -> tuple[list[Advice], int]:
    advice, missing = [], 0
    for attempt in attempts:
        if len(attempt.turns) < 2:  # no turn followed a feedback
            continue
        pairs = transcripts.pairs(attempt.transcript)
        missing += pairs is None
        advice += [replace(one, task=attempt.task) for pair in pairs or () for one in by_rule(pair)]
    return advice, missing


def _numbers(advice: Sequence[Advice]) -> dict[str, Any]:
    rates = rate(advice)
    return {
        "items": rates.items,
        "adopted": 100 * rates.adopted / rates.items,
        "adopted_interval": percents(rates.interval),
        "adopted_partly": 100 * rates.adopted_partly / rates.items,
        "resolved": 100 * rates.resolved / rates.items,
        "resolved_partly": 100 * rates.resolved_partly / rates.items,
        "both": 100 * rates.both / rates.resolved if rates.resolved else None,
    }
