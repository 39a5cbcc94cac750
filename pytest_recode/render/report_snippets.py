"""The tables of ResearchCodeBench, by snippets and their code lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from pytest_recode.metrics import contamination, passing
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.passing import Passed, passed
from pytest_recode.render.report_ablation import ablations, impact
from pytest_recode.render.report_table import (
    IDENTITY,
    Column,
    Rows,
    Table,
    columns,
    identity,
    missing,
    name,
    percent,
    percents,
    plain,
    tasks,
)
from pytest_recode.render.words import plural

_PASSED = (
    *columns("percent", pass_at_1="Pass@1"),
    *columns("interval", pass_at_1_interval="95 %"),
    *columns("percent", scaled_pass_at_1="Scaled Pass@1"),
    *columns("interval", scaled_pass_at_1_interval="95 %"),
)
_COUNTS = (
    *columns("number", solved="solved"),
    *columns("count", snippets="of"),
    *columns("number", lines_solved="lines"),
    *columns("count", lines="of"),
)


def tables(
    rows: Rows,
    *,
    everything: Rows,
    detail: Sequence[Row],
    hard_threshold: float,
    known: Mapping[str, Set[str]],
) -> dict[str, Callable[[], Table | None]]:
    """Functions that create the tables, by name. They return None without data.

    `rows` are reported; `everything` has more rows, which define HARD; `detail` are the rows shown in papers and lengths;
    `known`: format -> all its tasks, played or not.
    """
    if not rows:
        return {}
    return {
        "scores": lambda: _scores(rows, missing(rows, known)),
        "ablation": lambda: ablations(rows),
        "impact": lambda: impact(rows),
        "contamination-first": lambda: _contaminations(rows, everything, "first_commit_date"),
        "contamination-last": lambda: _contaminations(rows, everything, "last_commit_date"),
        "hard": lambda: _hard(rows, everything, hard_threshold),
        "papers": lambda: _parts(rows, everything, detail, "papers", "paper", "paper", passing.by_paper),
        "lengths": lambda: _parts(rows, everything, detail, "lengths", "length", "code lines", passing.by_length),
    }


def _scores(rows: Rows, lacking: Mapping[Row, int]) -> Table:
    everything = set().union(*map(tasks, rows.values()))
    scores = {row: (passed(attempts), lacking[row]) for row, attempts in rows.items()}
    later = any(len(attempt.turns) > 1 for attempts in rows.values() for attempt in attempts)
    final = {row: passed(attempts, within=None) for row, attempts in rows.items()} if later else {}
    faulty = any(one.errors for one, _ in scores.values())
    notes = []
    if faulty:
        notes.append("errors: attempts without a verdict; they are in no share except the last two")
    if any(lacking.values()):
        notes.append(
            "missing: snippets that other rows or --tasks have; --common compares only snippets that every row played"
        )
    if later:
        notes.append("Pass@1 is only the first turn, before any feedback")
    return Table(
        name="scores",
        title=f"ResearchCodeBench: Pass@1 and Scaled Pass@1, {plural(len(everything), 'snippet')}",
        columns=(
            *IDENTITY,
            *_PASSED,
            *_COUNTS,
            *(columns("percent", final="solved in the end", final_scaled="scaled") if later else ()),
            *columns("count", errors="errors", missing="missing"),
            *(
                columns("percent", pass_at_1_at_least="errors as failed", scaled_pass_at_1_at_least="scaled")
                if faulty
                else ()
            ),
        ),
        rows=tuple(
            {
                **identity(row),
                **_values(one),
                "errors": one.errors,
                "missing": absent,
                "pass_at_1_at_least": percent(one.plain_at_least),
                "scaled_pass_at_1_at_least": percent(one.scaled_at_least),
                "final": percent(final[row].plain) if later else None,
                "final_scaled": percent(final[row].scaled) if later else None,
            }
            for row, (one, absent) in sorted(scores.items(), key=lambda item: -(item[1][0].scaled or 0))
        ),
        notes=tuple(notes),
    )


def _contaminations(rows: Rows, everything: Rows, date: str) -> Table:
    kind = date.removesuffix("_commit_date")
    safe = contamination.safe_papers((one for group in everything.values() for one in group), date=date)
    lines, unknown = [], []
    for row, attempts in rows.items():
        one = contamination.contamination(attempts, date=date)
        if one is None:
            unknown.append(row.model)
            continue
        on_safe = passed(_of_papers(attempts, safe))
        lines.append(
            {
                **identity(row),
                "cutoff": one.cutoff,
                "after_snippets": one.after.snippets,
                "after_pass_at_1": percent(one.after.plain),
                "after_scaled": percent(one.after.scaled),
                "before_snippets": one.before.snippets,
                "before_pass_at_1": percent(one.before.plain),
                "before_scaled": percent(one.before.scaled),
                "difference": percent(one.difference),
                "difference_interval": percents(one.interval),
                "undated": one.undated,
                "errors": one.after.errors + one.before.errors,
                "safe_pass_at_1": percent(on_safe.plain),
                "safe_scaled": percent(on_safe.scaled),
            }
        )
    notes = [f"safe: the {plural(len(safe), 'paper')} dated after every cutoff known here: {', '.join(safe) or 'none'}"]
    if unknown:
        notes.append(f"no known cutoff: {', '.join(unknown)}")
    return Table(
        name=f"contamination-{kind}",
        title=f"Contamination: papers whose {kind} commit is after the end of the model's knowledge, against the rest",
        columns=(
            *IDENTITY,
            *columns("text", cutoff="cutoff"),
            *columns("count", after_snippets="after"),
            *columns("percent", after_pass_at_1="Pass@1", after_scaled="scaled"),
            *columns("count", before_snippets="before"),
            *columns("percent", before_pass_at_1="Pass@1", before_scaled="scaled"),
            *columns("points", difference="scaled, after - before"),
            *columns("interval", difference_interval="95 %"),
            *columns("count", undated="undated", errors="errors"),
            *columns("percent", safe_pass_at_1="safe Pass@1", safe_scaled="safe scaled"),
        ),
        rows=tuple(sorted(lines, key=lambda one: -(one["safe_scaled"] or 0))),
        notes=tuple(notes),
    )


def _of_papers(attempts: Sequence[Attempt], papers: Sequence[str]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.snippet and attempt.snippet.paper in papers]


def _voters(everything: Rows) -> Rows:
    """The published models with the paper; with several files, those of the first."""
    found = {row: attempts for row, attempts in everything.items() if row.published and row.paper}
    first = next((row.source for row in found), "")
    return {row: attempts for row, attempts in found.items() if row.source == first}


def _hard(rows: Rows, everything: Rows, threshold: float) -> Table:
    voters = passing.votes(_voters(everything))
    shares = (*IDENTITY, *_PASSED, *_COUNTS, *columns("count", errors="errors"))
    hard = passing.hard(voters, threshold=threshold)
    if hard is None:
        return Table(
            name="hard",
            title="HARD",
            columns=shares,
            rows=(),
            notes=(
                "HARD needs the published results: give outputs/20llms_greedy/*/overall_stats.json of a clone as another FILE",
            ),
        )
    on_hard = {row: passed(one for one in group if one.task in hard.tasks) for row, group in rows.items()}
    alone = {row: _without_own_vote(row, group, voters, threshold) for row, group in rows.items()}
    return Table(
        name="hard",
        title=(
            f"HARD: the {len(hard.tasks)} snippets ({hard.lines} lines) that fewer than {100 * threshold:.1f} % of the"
            f" {hard.models} published models pass"
        ),
        columns=(
            *shares,
            *columns("percent", unbiased="without own vote", unbiased_scaled="scaled"),
            *columns("count", unbiased_snippets="of"),
        ),
        rows=tuple(
            {
                **identity(row),
                **_values(one),
                "errors": one.errors,
                "unbiased": percent(alone[row].plain),
                "unbiased_scaled": percent(alone[row].scaled),
                "unbiased_snippets": alone[row].snippets,
            }
            for row, one in sorted(on_hard.items(), key=lambda item: -(item[1].plain or 0))
        ),
        notes=(
            "the benchmark's authors do not define HARD: this is our definition (docs/reference/metrics.md)",
            "without own vote: HARD by the votes of the other published models, because a model's own failures make snippets HARD",
        ),
    )


def _without_own_vote(
    row: Row, attempts: Sequence[Attempt], voters: Mapping[Row, passing.Scored], threshold: float
) -> Passed:
    """The row on the snippets that are HARD by the published models with other names."""
    others = {one: scores for one, scores in voters.items() if plain(one) != plain(row)}
    found = passing.hard(others, threshold=threshold)
    return passed(one for one in attempts if found is not None and one.task in found.tasks)


def _parts(
    rows: Rows,
    everything: Rows,
    detail: Sequence[Row],
    table: str,
    key: str,
    head: str,
    split: Callable[..., Mapping[str, Passed]],
) -> Table:
    by_row = {row: split(attempts) for row, attempts in rows.items()}
    published = [split(attempts) for attempts in _voters(everything).values()]
    means = {part: sum(one[part].scaled or 0 for one in published) / len(published) for part in (published or [{}])[0]}
    return Table(
        name=table,
        title=f"By {head}",
        columns=(
            *IDENTITY,
            Column(key=key, head=head),
            *_PASSED,
            *_COUNTS,
            *columns("count", errors="errors"),
            *columns("percent", published_mean="published mean, scaled"),
        ),
        rows=tuple(
            {
                "row": name(row),
                **identity(row),
                key: part,
                **_values(one),
                "errors": one.errors,
                "published_mean": percent(means.get(part)),
            }
            for row, parts in by_row.items()
            for part, one in parts.items()
        ),
        shown=frozenset(map(name, detail)),
    )


def _values(one: Passed) -> dict[str, Any]:
    return {
        "pass_at_1": percent(one.plain),
        "pass_at_1_interval": percents(one.plain_interval),
        "scaled_pass_at_1": percent(one.scaled),
        "scaled_pass_at_1_interval": percents(one.scaled_interval),
        "solved": one.solved,
        "snippets": one.snippets,
        "lines_solved": one.lines_solved,
        "lines": one.lines,
    }
