"""The terminal's summary of `--recode-validate`: a table of the checks, and what their findings are about.

Called by `plugin/reports/summary.py`, with the data that items attach to reports (`ValidationData` in `plugin/reports/report_data.py`). Pure functions.
Texts of a task are hostile: every line is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recode.metrics.validation import TaskFindings, by_task
from pytest_recode.render.mutant_survivors import survivor_lines
from pytest_recode.render.summary_tables import table
from pytest_recode.render.words import plural, share
from pytest_recode.verdict import legible


def summary(facts: Sequence[Mapping[str, Any]], *, verbosity: int = 0) -> list[str]:
    """A row per task and check, with the seconds of its slowest grading; then weak findings, and results of mutants.

    An interface without mutants has no row. `verbosity`: from 1 on also wrong answers that the tests detect, but not in the same cases
    under every seed; from 2 on also the sentences of the instruction that no wrong answer quotes.
    """
    rows = [("task", "check", "finding", "slowest s")]
    for fact in facts:
        words = finding(fact)
        if fact.get("tried"):
            words = f"{fact['noticed']} of {fact['tried']} detected" + (", problem" if fact["problem"] else "")
        elif words == "ok" and fact["check"].startswith("mutants-"):
            continue
        rows.append((fact["task"], _check_name(fact["check"]), words, f"{fact.get('seconds', 0):.2f}"))
    weak = [f"{fact['task']} ({fact['check']}): {fact['warning']}" for fact in facts if fact.get("warning")]
    noticed, tried = (sum(fact.get(key, 0) for fact in facts) for key in ("noticed", "tried"))
    survivors = [line for fact in facts for line in survivor_lines(fact["task"], fact.get("survivors", ()))]
    detected = (
        [f"small mutations that the tests detect: {noticed} of {tried}, {share(noticed, tried)}"] if tried else []
    )
    oracles = [fact["task"] for fact in facts if fact["check"] == "removed" and fact.get("problem")]
    blind = [f"weak oracles ({len(oracles)}), which pass without the block: {', '.join(oracles)}"] if oracles else []
    seeds = [
        f"{fact['task']} ({fact['check']}): {each['answer']}: {each['text']}"
        for fact in facts
        for each in fact.get("differences", ())
        if verbosity > 0 and not fact["problem"]
    ]
    tasks = by_task(facts)
    sentences = [
        line
        for task in tasks
        if verbosity > 1 and task.unquoted
        for line in (f"{task.task}: no wrong answer quotes:", *(f"    {sentence}" for sentence in task.unquoted))
    ]
    numbers = [f"{task.task}: {line}" for task in tasks if (line := in_one_line(task))]
    lines = [
        *table(rows),
        *weak,
        *seeds,
        *survivors,
        *blind,
        *_cases_without_proof(tasks),
        *sentences,
        *detected,
        *numbers,
    ]
    return [legible(line, keep="\t") for line in lines]


def finding(check: Mapping[str, Any]) -> str:
    """The finding of a check in one word."""
    return "error" if check["error"] else "problem" if check["problem"] else "weak" if check["warning"] else "ok"


def in_one_line(task: TaskFindings) -> str:
    """The numbers of a task for its documentation: of the mutants, wrong answers and seeds, those that are known; "" without the first two."""
    parts = []
    if task.mutants is not None:
        detected, tried = task.mutants
        parts.append(f"mutants {share(detected, tried)} of {tried}" if tried else "no mutants")
    if task.wrong is not None:
        detected, tried = task.wrong
        parts.append(("" if detected == tried else f"{detected} of ") + plural(tried, "wrong answer"))
    if parts and task.seeds is not None:
        parts.append(plural(task.seeds, "seed"))
    return ", ".join(parts)


def _cases_without_proof(tasks: Sequence[TaskFindings]) -> list[str]:
    """The cases of each task that failed for no mutant and no wrong answer, or for which tasks that is not known."""
    tasks = [task for task in tasks if task.detects]
    lines = [
        f"{task.task}: fail for no mutant and no wrong answer, so they prove nothing: {', '.join(task.never_failed)}"
        for task in tasks
        if task.never_failed
    ]
    unknown = [task.task for task in tasks if task.never_failed is None]
    if unknown:
        lines.append(
            f"cases that prove nothing: not known for {', '.join(unknown)}, because not all mutants and wrong answers were graded:"
            " run every check to its end, without -k and -m"
        )
    return lines


_CHECK_NAMES = {
    "brief": "what agents read",
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
    interface = f"proofs/right/{interface.removeprefix('right-')}" if interface.startswith("right-") else interface
    return f"{kind} of {interface}" if interface else _CHECK_NAMES.get(check, check)
