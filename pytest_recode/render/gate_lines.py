"""The result of a comparison with a baseline, as lines for the terminal, JUnit and `pytest-recode gate`. Markdown: `markdown_summary.py`."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_recode.metrics.baseline import name
from pytest_recode.metrics.gate_comparison import Gate, RowGate
from pytest_recode.metrics.gate_verdict import ALLOWED, MOST_TASKS, GateVerdict
from pytest_recode.verdict import legible
from pytest_recode.wording import some_of

_MOST_NAMES = 10


def lines(gate: Gate) -> list[str]:
    """The conclusion is the first line. No text of a run can begin another one."""
    rows = [line for row in gate.rows for line in (f"  {sentence(row)}", *(f"    {more}" for more in details(row)))]
    return [legible(line, keep="") for line in (conclusion(gate), *rows, *(f"  {line}" for line in others(gate)))]


def conclusion(gate: Gate) -> str:
    """One line: whether the comparison passed, and why not."""
    verdicts = ", ".join(dict.fromkeys(row.verdict.value for row in gate.rows))
    if gate.passed:
        conditions = ", ".join(map(str, gate.conditions))
        return f"baseline {gate.baseline}: passed: {verdicts} (fails on {conditions})"
    return f"baseline {gate.baseline}: failed: {'; '.join(gate.failures)}"


def sentence(row: RowGate) -> str:
    """The verdict on one row, with its numbers."""
    return f"{name(row.key)}{' (simulated)' if row.simulated else ''}: {verdict(row)}{_numbers(row)}"


def verdict(row: RowGate) -> str:
    """The verdict in words, with the number of tasks that would suffice."""
    if row.verdict is not GateVerdict.FEW:
        return row.verdict.value
    if row.compared is None:
        return f"{row.verdict.value}: no task to compare"
    enough = (
        f"{row.enough} tasks like these would suffice"
        if row.enough
        else f"more than {MOST_TASKS} tasks like these would be needed"
    )
    return f"{row.verdict.value} whether it is within {100 * ALLOWED} points: {enough}"


def _numbers(row: RowGate) -> str:
    result = row.compared
    if result is None or row.p is None:
        return ""
    low, high = result.interval
    return (
        f"; {100 * result.first:.1f} % solved now, {100 * result.second:.1f} % before,"
        f" now - before {100 * result.difference:+.1f} points (95 %: {100 * low:+.1f} to {100 * high:+.1f}; p {row.p:.3f}; by {result.units})"
    )


def details(row: RowGate, most: int = _MOST_NAMES) -> Iterator[str]:
    """What a reader needs besides the verdict; lists name at most `most` tasks."""
    if row.cost is not None and row.turns is not None and row.turns.before is not None and row.turns.now is not None:
        before, now = (
            "unknown" if cost is None else f"{float(cost):.4f} USD" for cost in (row.cost.before, row.cost.now)
        )
        yield (
            f"per episode: cost {before} before, {now} now;"
            f" turns {float(row.turns.before):.1f} before, {float(row.turns.now):.1f} now"
        )
    for label, tasks in (
        ("lost", row.lost),
        ("gained", row.gained),
        ("changed files, not compared", row.changed),
        ("new, not compared", row.new),
        ("missing in this run, not compared", row.missing),
        ("errors, without a verdict", row.errors),
        ("errors in the baseline, not compared", row.errors_before),
        ("recorded values that differ (baseline / now)", row.differs),
    ):
        if tasks:
            yield f"{label}: {some_of(tasks, most)}"
            for task in tasks[:most]:
                if reason := row.reasons.get(task):
                    yield f"{task}: {reason}"


def others(gate: Gate) -> Iterator[str]:
    """Lines on rows that only one side has."""
    for label, keys in (("not in the baseline", gate.new), ("only in the baseline", gate.missing)):
        for key in keys:
            yield f"{name(key)}: {label}, not compared"
