"""Which row is better, and is the difference significant: the sentences at the top of the overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Row
from pytest_recode.metrics.compare import Comparison, compare
from pytest_recode.metrics.episodes import share_of
from pytest_recode.metrics.intervals import Interval, holm
from pytest_recode.metrics.rows import differences
from pytest_recode.render.report_table import Rows, listed
from pytest_recode.render.table_formats import shown
from pytest_recode.render.words import plural

LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The best row against another one. `differ`: what else than the name distinguishes them. `adjusted`: the p value, adjusted; None: no
    common task. `equal`: both solved the same share of the tasks that both played."""

    other: str
    differ: str
    difference: str = ""
    interval: str = ""
    tasks: str = "none"
    p: str = ""
    p_adjusted: str = ""
    significant: bool = False
    equal: bool = False
    adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkAnswer:
    """The answer for the rows of one benchmark."""

    benchmark: str
    headline: str
    contrasts: tuple[Contrast, ...]


def answers(rows: Rows, names: Mapping[Row, str]) -> tuple[BenchmarkAnswer, ...]:
    """One answer for each benchmark with a played episode of the user's own rows."""
    per_benchmark = []
    for benchmark in dict.fromkeys(row.format for row in rows):
        shares = {
            row: share
            for row, attempts in rows.items()
            if row.format == benchmark
            and (share := share_of(attempts, lambda attempt: attempt.solved_within())) is not None
        }
        if shares:
            per_benchmark.append(_answer(benchmark, rows, shares, names))
    return tuple(per_benchmark)


def _answer(
    benchmark: str, rows: Rows, shares: Mapping[Row, tuple[float, Interval]], names: Mapping[Row, str]
) -> BenchmarkAnswer:
    # The first of equally good rows, so that the order of the files decides and no accident does
    best = max(shares, key=lambda row: shares[row][0])
    share, (low, high) = shares[best]
    played = sum(attempt.played for attempt in rows[best])
    result = (
        f"{names[best]} solved {round(share * played)} of {plural(played, 'episode')}: {100 * share:.1f} %"
        f" (95 % interval: {shown('interval', (100 * low, 100 * high))})."
    )
    others = sorted((row for row in shares if row is not best), key=lambda row: -shares[row][0])
    contrasts, limit = _contrasts(best, others, rows, names)
    return BenchmarkAnswer(benchmark=benchmark, headline=f"{result} {_verdict(contrasts, limit)}", contrasts=contrasts)


def _verdict(contrasts: Sequence[Contrast], limit: str) -> str:
    if not contrasts:
        return "There is no other row to compare it with."
    significant = [each.other for each in contrasts if each.significant]
    open_ = [each.other for each in contrasts if not (each.significant or each.equal)]
    equal = [each.other for each in contrasts if each.equal]
    sentences = []
    if equal:
        sentences.append(f"Equally good on the tasks that both played: {listed(equal, 'and')}.")
    if significant:
        sentences.append(f"It is better than {listed(significant, 'and')} (adjusted p < {LEVEL}).")
    if open_:
        sentences.append(
            f"The difference from {listed(open_, 'or')} is not significant (adjusted p is not below {LEVEL})."
        )
        sentences.append(limit)
    return " ".join(filter(None, sentences))


def _contrasts(
    best: Row, others: Sequence[Row], rows: Rows, names: Mapping[Row, str]
) -> tuple[tuple[Contrast, ...], str]:
    """The contrasts, and a sentence if no difference could be significant with so few tasks and so many rows."""
    results = [compare(rows[best], rows[other]) for other in others]
    tested = [result for result in results if result is not None]
    # The best row was chosen among all pairs, so the p values are adjusted for all of them
    everything = (len(others) + 1) * len(others) // 2
    adjusted = iter(holm([*(result.p for result in tested), *[1.0] * (everything - len(tested))]))
    contrasts = tuple(
        _contrast(
            names[other],
            "; ".join(differences((best, rows[best]), (other, rows[other]))) or "nothing recorded",
            result,
            next(adjusted) if result is not None else None,
        )
        for other, result in zip(others, results, strict=True)
    )
    least, units = min(((result.least_p, result.units) for result in tested), default=(0.0, ""))
    return contrasts, _limit(least, units, everything)


def _limit(least: float, units: str, pairs: int) -> str:
    if least * pairs < LEVEL:
        return ""
    of = f" and {pairs} pairs of rows" if pairs > 1 else ""
    return f"With {units}{of}, no difference can be significant: the smallest possible adjusted p is {shown('p', min(1.0, least * pairs))}."


def _contrast(other: str, differ: str, result: Comparison | None, adjusted: float | None) -> Contrast:
    if result is None or adjusted is None:
        return Contrast(other=other, differ=differ)
    return Contrast(
        other=other,
        differ=differ,
        difference=shown("points", 100 * result.difference),
        interval=shown("interval", (100 * result.interval[0], 100 * result.interval[1])),
        tasks=f"{len(result.only_first)} / {len(result.only_second)} of {result.pairs}",
        p=shown("p", result.p),
        p_adjusted=shown("p", adjusted),
        significant=adjusted < LEVEL,
        equal=result.difference == 0,
        adjusted=adjusted,
    )
