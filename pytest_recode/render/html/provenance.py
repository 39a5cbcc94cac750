"""Where the numbers come from, and whether they can be trusted: warnings, settings, versions, digests of the tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.episodes import episodes as totals
from pytest_recode.metrics.rows import set_of
from pytest_recode.render.report_faults import unparsed
from pytest_recode.render.report_table import (
    Column,
    Rows,
    Table,
    changed_files,
    columns,
    listed,
    missing,
)
from pytest_recode.render.table_formats import shown
from pytest_recode.render.words import error_kind_text, plural
from pytest_recode.wording import some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """A reason to trust a number less. `what`: in a few words."""

    what: str
    text: str


def caveats(rows: Rows, names: Mapping[Row, str], notes: Sequence[str]) -> tuple[Caveat, ...]:
    """What weakens the numbers of these rows; empty if nothing does. `notes`: what the files of the runs have and the numbers have not."""
    return (*_caveats(rows, names), *(Caveat(what="Not in the numbers", text=note) for note in notes))


def _caveats(rows: Rows, names: Mapping[Row, str]) -> Iterator[Caveat]:
    simulated = list(dict.fromkeys(row.model for row in rows if row.simulated))
    if simulated:
        yield Caveat(
            what="Simulated models",
            text=f"Each of these is an offline model that breaks and repairs the reference: {listed(simulated, 'and')}. Its results say nothing about real models.",
        )
    attempts = [attempt for group in rows.values() for attempt in group]
    shared = sum(attempt.isolation == "shared" and bool(attempt.turns) for attempt in attempts)
    if shared:
        yield Caveat(
            what="Shared judging",
            text=f"{plural(shared, 'episode')} of {len(attempts)} were judged in one process with the tests; such verdicts are weaker evidence.",
        )
    by_script = sum(attempt.isolation == "verifier" and bool(attempt.turns) for attempt in attempts)
    if by_script:
        yield Caveat(
            what="Judged by the task's own script",
            text=f"{plural(by_script, 'episode')} of {len(attempts)} were judged by a script of the task that may run the candidate beside its tests; such verdicts are weaker evidence.",
        )
    beside = sum(attempt.isolation == "verifier-shared" and bool(attempt.turns) for attempt in attempts)
    if beside:
        yield Caveat(
            what="Judged in the agent's own sandbox",
            text=f"{plural(beside, 'episode')} of {len(attempts)} were judged by a script of the task where the agent had worked, so it may have changed what the script runs; such verdicts are weak evidence.",
        )
    unprotected = sum(attempt.isolation == "process" and bool(attempt.turns) for attempt in attempts)
    if unprotected:
        yield Caveat(
            what="No sandbox",
            text=f"{plural(unprotected, 'episode')} of {len(attempts)} ran without a sandbox, so a candidate could reach its judge.",
        )
    tampered = sum(bool(attempt.tampering) for attempt in attempts)
    if tampered:
        yield Caveat(
            what="Tampering",
            text=f"In {plural(tampered, 'episode')}, a candidate interfered with its judge. Such a turn does not count as solved.",
        )
    flagged = [f"{attempt.task}: {'; '.join(attempt.flagged)}" for attempt in attempts if attempt.flagged]
    if flagged:
        yield Caveat(
            what="Passed but flagged",
            text=f"{plural(len(flagged), 'episode')} passed all cases and count as unsolved only because of findings: {listed(flagged, 'and', 10)}",
        )
    lost = [
        f"{names[row]}: {found['unparsed']} of {found['answers']}, which cost {plural(found['steps_lost'], 'step')}"
        for row, found in _unparsed(rows)
    ]
    if lost:
        yield Caveat(
            what="Unusable answers",
            text=f"Answers of the model of which nothing was executed: {listed(lost, 'and')}. The steps of the episodes have the reasons.",
        )
    if errors := [attempt for attempt in attempts if not attempt.played]:
        yield Caveat(
            what="Errors",
            text=f"{plural(len(errors), 'episode')} of {len(attempts)} ended with an error of a model or of infrastructure, and are in no share:"
            f" {listed(list(_causes(errors)), 'and')}.",
        )
    lacking = {row: number for row, number in missing(rows, {}).items() if number}
    if lacking:
        text = listed([f"{names[row]}: {number}" for row, number in lacking.items()], "and")
        yield Caveat(
            what="Missing tasks",
            text=f"Tasks that another row has, and this one has not: {text}. Pairs leave them out.",
        )
    changed = changed_files(rows)
    if changed:
        yield Caveat(what="Changed tasks", text="; ".join(changed))
    few = [
        names[row] for row, group in rows.items() if len({attempt.task for attempt in group if attempt.played}) < _FEW
    ]
    if few:
        of = "all rows" if len(few) == len(rows) else listed(few, "and")
        yield Caveat(
            what="Few tasks",
            text=f"Fewer than {_FEW} tasks were played by {of}. Intervals are wide, and small differences cannot be seen.",
        )


_FEW = 20


def _causes(errors: Sequence[Attempt]) -> Iterator[str]:
    """For each kind of error, what it means, with the number of its episodes and their tasks."""
    kinds: dict[str, list[Attempt]] = {}
    for attempt in errors:
        kinds.setdefault(attempt.reason.partition(" error: ")[0], []).append(attempt)
    for kind, group in kinds.items():
        tasks = list(dict.fromkeys(attempt.task for attempt in group))
        yield f"{error_kind_text(kind) or 'unknown'}: {len(group)}, of {some_of(tasks, 3)}"


_CHECKS = {
    "Shared judging": "judging in one process with the tests",
    "No sandbox": "episodes without a sandbox",
    "Tampering": "candidates that interfered with their judge",
    "Passed but flagged": "flagged passes",
    "Unusable answers": "unusable answers of the model",
    "Errors": "errors",
    "Missing tasks": "missing tasks",
    "Changed tasks": "task files that differ between rows",
}
"""What `caveats` looks for, as a reader knows it."""


def clear(entries: Sequence[Caveat]) -> str:
    """What was looked for and not found, as a list in a sentence; "" if everything was found."""
    names = {entry.what for entry in entries}
    return ", ".join(words for what, words in _CHECKS.items() if what not in names)


def _unparsed(rows: Rows) -> Iterator[tuple[Row, Mapping[str, int]]]:
    for row, attempts in rows.items():
        found = unparsed(attempts)
        if found["unparsed"]:
            yield row, found


Times = Mapping[Row, tuple[float, float]]
"""When the first episode of a row began, and when the last one ended, in seconds since 1970."""


def spent(rows: Rows, times: Times) -> str:
    """What all rows cost together, when they were played, and by which version: one sentence each."""
    attempts = [attempt for group in rows.values() for attempt in group]
    sums = [totals(group) for group in rows.values()]
    tokens = sum(one.paid_tokens for one in sums)
    costs = [one.paid_usd for one in sums]
    known = [cost for cost in costs if cost is not None]
    dollars = f"{shown('money', sum(known))} US dollars" if len(known) == len(costs) else "an unknown number of dollars"
    shared = (
        " A first turn that several episodes share is counted once."
        if any(one.paid_tokens != one.tokens for one in sums)
        else ""
    )
    words = f"All rows together: {plural(len(attempts), 'episode')}, {tokens:,} tokens, {dollars}.{shared}"
    if times:
        words += (
            f" Played {_between(min(begun for begun, _ in times.values()), max(ended for _, ended in times.values()))}"
        )
        versions = sorted({value for attempt in attempts for key, value in attempt.recorded if key == "version"})
        words += f" with pytest-recode {' and '.join(versions)}." if versions else "."
    return words


def _between(begun: float, ended: float) -> str:
    first, last = (datetime.fromtimestamp(time, UTC) for time in (begun, ended))
    if first.date() == last.date():
        return f"{first:%Y-%m-%d}, {first:%H:%M} to {last:%H:%M} UTC"
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def settings_tables(rows: Rows, names: Mapping[Row, str], times: Times) -> tuple[Table, ...]:
    """The settings and recorded values that all rows share, one on each line, then those in which rows differ, one row on each line."""
    facts = {
        row: {**_facts(row, group), **({"played": _between(*times[row])} if row in times else {})}
        for row, group in rows.items()
    }
    keys = list(dict.fromkeys(key for values in facts.values() for key in values))
    shared = [key for key in keys if len({values.get(key) for values in facts.values()}) == 1]
    first = next(iter(facts.values()), {})
    tables = [
        Table(
            name="settings",
            title="Settings and recorded values that all rows share"
            if len(facts) > 1
            else "Settings and recorded values",
            columns=columns("text", setting="setting", value="value"),
            rows=tuple({"setting": key, "value": first.get(key)} for key in shared),
            notes=(
                "feedback-code, steps, turns … are options: --recode-feedback-code, --recode-steps, --recode-turns …",
            ),
        )
    ]
    differing = [key for key in keys if key not in shared]
    if differing:
        tables.append(
            Table(
                name="settings-of-rows",
                title="Settings and recorded values in which rows differ",
                columns=(
                    *columns("text", row="row"),
                    *(Column(key=f"setting_{place}", head=key) for place, key in enumerate(differing)),
                ),
                rows=tuple(
                    {"row": names[row], **{f"setting_{place}": values.get(key) for place, key in enumerate(differing)}}
                    for row, values in facts.items()
                ),
            )
        )
    return tuple(tables)


_LABELS = {"version": "version of pytest-recode", "researcher": "feedback-model", "isolation": "judging"}
_OPTIONS = ("call seconds", "image")
"""Recorded values, other than settings that rows are compared by, that are the values of options."""


def _label(key: str) -> str:
    return _LABELS.get(key) or key.replace(" ", "-")


def _value(key: str, value: str) -> str:
    return "not set" if value == "none" and key != "test output" else value


def _facts(row: Row, attempts: Sequence[Attempt]) -> dict[str, str]:
    by_name: dict[str, dict[str, None]] = {}
    for attempt in attempts:
        for key, value in (*attempt.recorded, ("knowledge cutoff", attempt.cutoff)):
            if value:
                by_name.setdefault(key, {})[value] = None
    seeds = {seed for attempt in attempts for seed in attempt.seeds}
    return {
        "run": row.source,
        "model": row.model,
        "simulated": "yes" if row.simulated else "no",
        "agent": row.agent,
        "feedback": row.feedback,
        "paper in the prompt": "yes" if row.paper else "no",
        "benchmark format": row.format,
        **{_label(key): _value(key, value) for key, value in row.settings},
        **{
            _label(key) if key in _OPTIONS else _LABELS.get(key, key): " + ".join(sorted(values))
            for key, values in by_name.items()
        },
        "task set": set_of(attempts),
        "attempts at a task": str(max((attempt.number for attempt in attempts), default=0)),
        "seeds of gradings": f"{len(seeds)} different" if len(seeds) > 1 else "".join(map(str, seeds)),
    }


def tasks_table(rows: Rows) -> Table:
    """The digest of each task's files, with the number of its episodes. Several digests: the files changed."""
    by_task: dict[tuple[str, str], tuple[dict[str, None], int]] = {}
    for row, attempts in rows.items():
        for attempt in attempts:
            digests, number = by_task.get((row.format, attempt.task), ({}, 0))
            by_task[row.format, attempt.task] = (
                digests | ({attempt.digest: None} if attempt.digest else {}),
                number + 1,
            )
    return Table(
        name="tasks",
        title="Tasks, with the digest of their files",
        columns=(
            *columns("text", task="task", format="format"),
            *columns("count", episodes="episodes"),
            *columns("text", digest="digest"),
        ),
        rows=tuple(
            {"task": task, "format": task_format, "episodes": number, "digest": " + ".join(digests) or None}
            for (task_format, task), (digests, number) in sorted(by_task.items(), key=lambda item: item[0])
        ),
    )
