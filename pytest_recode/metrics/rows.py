"""Rows of a report: group attempts, merge parts of one experiment, and list the differences of two rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.records.task_set import task_set
from pytest_recode.wording import some_of

Rows = Mapping[Row, Sequence[Attempt]]


def rows(attempts: Sequence[Attempt]) -> dict[Row, tuple[Attempt, ...]]:
    """Group attempts by Row: runs in the given order, and within a run by model and level.

    Runs with the same settings that share no (task, attempt) are parts of one experiment. They become one row, named after both,
    if their assignment is unambiguous. `differs` of a row lists its differences from other rows of its format.
    """
    groups: dict[Row, list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault(attempt.row, []).append(attempt)
    merged: list[list[Attempt]] = []
    for group in groups.values():
        candidates = [other for other in merged if _one_experiment(other, group)]
        if len(candidates) == 1:
            candidates[0] += group
        else:
            merged.append(list(group))
    runs = {source: place for place, source in enumerate(dict.fromkeys(row.source for row in groups))}
    named = map(_named, sorted(merged, key=lambda group: (runs[group[0].row.source], *_order(group[0].row))))
    return _distinguished(dict(named))


def differences(first: tuple[Row, Sequence[Attempt]], second: tuple[Row, Sequence[Attempt]]) -> list[str]:
    """List the differences of two rows except their source, each as "turns 10 / 3"; tasks with other files are last."""
    one, other = (_chosen(row, _facts(row, attempts)) for row, attempts in (first, second))
    lines = [
        f"{key} {' + '.join(one[key])} / {' + '.join(other[key])}"
        for key in one
        if key in other and one[key] != other[key]
    ]
    sets = [set_of(attempts) for _, attempts in (first, second)]
    if all(sets) and sets[0] != sets[1]:
        lines.append(f"task set {' / '.join(sets)}")
    if changed := changed_tasks(first[1], second[1]):
        lines.append(f"files of {len(changed)} task{'s' * (len(changed) > 1)} ({some_of(changed, 3)})")
    return lines


def changed_tasks(first: Sequence[Attempt], second: Sequence[Attempt]) -> list[str]:
    """Tasks that both played, with different files."""
    one, other = _digests(first), _digests(second)
    return [task for task in one if one[task] and other.get(task) and one[task] != other[task]]


def set_of(attempts: Sequence[Attempt]) -> str:
    """The fingerprint of the tasks of these attempts; "" if no digest is known."""
    return task_set((attempt.task, attempt.digest) for attempt in attempts)


def _digests(attempts: Sequence[Attempt]) -> dict[str, set[str]]:
    digests: dict[str, set[str]] = {}
    for attempt in attempts:
        digests.setdefault(attempt.task, set()).update({attempt.digest} - {""})
    return digests


def _facts(row: Row, attempts: Sequence[Attempt]) -> dict[str, tuple[str, ...]]:
    """All known settings and recorded values of a row, by name, with several values if its attempts differ. Unknown ones (of
    published results) are missing."""
    facts: dict[str, set[str]] = {}
    for attempt in attempts:
        for key, value in attempt.recorded:
            facts.setdefault(key, set()).add(value)
    drawn = {seed for attempt in attempts for seed in attempt.seeds}
    if drawn:
        facts["seed"] = {str(*drawn) if len(drawn) == 1 and sum(len(one.turns) for one in attempts) > 1 else "drawn"}
    return {
        "model": (row.model,),
        "agent": (row.agent,),
        "feedback": (row.feedback,),
        "paper": ("yes" if row.paper else "no",),
        **{key: (value,) for key, value in row.settings},
        "attempts": (str(max((attempt.number for attempt in attempts), default=0)),),
        **{key: tuple(sorted(values)) for key, values in facts.items()},
    }


def _chosen(row: Row, facts: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The facts without those that follow from the policy: an episode without feedback has one turn."""
    return {key: values for key, values in facts.items() if not (key == "turns" and row.feedback == "none")}


_COLUMNS = ("model", "agent", "feedback", "paper")
"""Values that have their own column in tables."""


def _distinguished(grouped: Rows) -> dict[Row, tuple[Attempt, ...]]:
    """Set `differs` of every row: differences from other rows of its format, and between its own attempts."""
    facts = {row: _chosen(row, _facts(row, attempts)) for row, attempts in grouped.items()}
    named: dict[Row, tuple[Attempt, ...]] = {}
    for row, attempts in grouped.items():
        beside = [facts[other] for other in grouped if other.format == row.format]
        differing = [
            f"{key} {' + '.join(values)}"
            for key, values in facts[row].items()
            if key not in _COLUMNS and (len(values) > 1 or any(one.get(key, values) != values for one in beside))
        ]
        if differing:
            whole = replace(row, differs=", ".join(differing))
            named[whole] = tuple(replace(attempt, row=whole) for attempt in attempts)
        else:
            named[row] = tuple(attempts)
    return named


def _order(row: Row) -> tuple[object, ...]:
    return (
        ()
        if row.published
        else (row.format, row.model, row.agent, row.feedback, row.settings, "" if row.paper else "without")
    )


def _one_experiment(one: Sequence[Attempt], other: Sequence[Attempt]) -> bool:
    first, second = one[0].row, other[0].row
    return (
        not first.published
        and replace(first, source="") == replace(second, source="")
        and not ({(each.task, each.number) for each in one} & {(each.task, each.number) for each in other})
        and not changed_tasks(one, other)
    )


def _named(group: Sequence[Attempt]) -> tuple[Row, tuple[Attempt, ...]]:
    row = replace(group[0].row, source=" + ".join(dict.fromkeys(attempt.row.source for attempt in group)))
    return row, tuple(attempt if attempt.row == row else replace(attempt, row=row) for attempt in group)
