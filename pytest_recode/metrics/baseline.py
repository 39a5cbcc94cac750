"""Baseline: the outcomes of a run by task and attempt, as a small sorted file that is committed and reviewed as a diff.

`pytest-recode bless` writes it, and gates (`metrics/gate_comparison.py`) compare a later run with it. The outcomes of a run are read into the same values.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, Row, Snippet
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from pytest_recode.metrics.run_notes import unended
from pytest_recode.records.results import parse_json
from pytest_recode.schema import stored_forms
from pytest_recode.schema.rules import INLINE, NOT_STORED, OPTIONAL, Count, Name, NonNegative, Number, Pairs, one_of
from pytest_recode.schema.stored_forms import dump

SCHEMA = 1
_BLESS = "write it with `pytest-recode bless RUN -o baseline.json`"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RowKey:
    """What identifies a row: rows of equal keys are compared. `paper`: whether it was in the prompt."""

    format: Name
    model: Name
    policy: Name
    agent: Name
    paper: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """One attempt. `outcome`: "solved", "unsolved" or "error" (no verdict, not counted). `cost_usd`: None if a price is unknown.

    `reason`: why it is not solved; only the outcomes of a run have it.
    """

    attempt: Number
    outcome: Annotated[str, one_of("solved", "unsolved", "error")]
    solved_turn: Number | None
    turns: Count
    cost_usd: NonNegative | None
    reason: Annotated[str, NOT_STORED] = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcomes:
    """The attempts at one task, by number. `digest`: hash of its files; "": unknown."""

    digest: str
    snippet: Annotated[Snippet | None, OPTIONAL] = None  # of ResearchCodeBench: its comparisons are by paper
    attempts: tuple[AttemptOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcomes:
    """The tasks of one row, by name. `settings` must be equal in rows that are compared; `recorded` values may differ, and are named then."""

    key: Annotated[RowKey, INLINE]
    simulated: bool
    settings: Pairs
    recorded: Pairs
    tasks: Mapping[str, TaskOutcomes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """A run or a baseline: its rows by key, and notes for the reader. `unended`: episodes of a whole run that have no record."""

    source: str
    rows: tuple[RowOutcomes, ...]
    notes: tuple[str, ...] = ()
    unended: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Baseline:
    """The file of a baseline."""

    schema: int = SCHEMA
    rows: tuple[RowOutcomes, ...]


def of_run(run: Path, *, only: Collection[str] | None = None) -> Outcomes:
    """The outcomes of the run in the directory `run`; `only`: those of episodes with these node ids, and `unended` is 0.

    Raises `UserError`.
    """
    [source] = read([run])
    chosen = [each for each in source.attempts if each.replay is None and (only is None or each.nodeid in only)]
    if any(attempt.row.impossible for attempt in chosen):
        raise UserError(
            f"{run}: played impossible twins (--recode-impossible), whose results are none of the tasks: give a run without that option,"
            " or read it with pytest-recode report"
        )
    if any(attempt.row.published for attempt in chosen):
        raise UserError(
            f"{run}: holds published results, which have no turns, costs and digests: give the directory of a run"
        )
    grouped = rows(chosen)
    keys = Counter(_key(row) for row in grouped)
    if twice := next((key for key, count in keys.items() if count > 1), None):
        raise UserError(f"{run}: has two rows of {name(twice)} with different settings: give a run with one")
    row_outcomes = sorted((_row(row, attempts) for row, attempts in grouped.items()), key=lambda row: row.key)
    place = run if run.is_dir() else run.parent
    return Outcomes(
        source=str(run),
        rows=tuple(row_outcomes),
        notes=source.notes,
        unended=len(unended(place, source.attempts)) if only is None else 0,
    )


def name(key: RowKey) -> str:
    """One line that identifies a row."""
    return f"{key.model}, {key.policy}, {'with' if key.paper else 'without'} paper, {key.agent} [{key.format}]"


def _key(row: Row) -> RowKey:
    return RowKey(format=row.format, model=row.model, policy=row.feedback, agent=row.agent, paper=row.paper)


def _row(row: Row, attempts: Sequence[Attempt]) -> RowOutcomes:
    tasks: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        tasks.setdefault(attempt.task, []).append(attempt)
    recorded: dict[str, set[str]] = {}
    for attempt in attempts:
        for fact, value in attempt.recorded:
            recorded.setdefault(fact, set()).add(value)
    return RowOutcomes(
        key=_key(row),
        simulated=row.simulated,
        settings=row.settings,
        recorded=tuple((fact, " + ".join(sorted(values))) for fact, values in sorted(recorded.items())),
        tasks={task: _outcomes(task, tasks[task]) for task in sorted(tasks)},
    )


def _outcomes(task: str, attempts: Sequence[Attempt]) -> TaskOutcomes:
    digests = {attempt.digest for attempt in attempts} - {""}
    if len(digests) > 1:
        raise UserError(
            f"{task}: its attempts were played with different files: give a run that played all of them with the same"
        )
    return TaskOutcomes(
        digest=next(iter(digests), ""),
        snippet=attempts[0].snippet,
        attempts=tuple(
            AttemptOutcome(
                attempt=attempt.number,
                outcome=attempt.outcome,
                solved_turn=attempt.solved_turn,
                turns=len(attempt.turns),
                cost_usd=None if attempt.cost_usd is None else round(attempt.cost_usd, 6),
                reason=attempt.reason,
            )
            for attempt in sorted(attempts, key=lambda attempt: attempt.number)
        ),
    )


def text(outcomes: Outcomes) -> str:
    """The file's text: sorted, and one line for each setting and each attempt, so that a diff shows what changed."""
    return _json(dump(_Baseline(rows=outcomes.rows)), "") + "\n"


def _json(value: Any, indent: str, *, element: bool = False) -> str:
    """JSON with one value on a line; elements of lists without further lists or objects are on one line."""
    parts: Sequence[tuple[str, Any]] = ()
    if isinstance(value, dict):
        parts = [(f"{json.dumps(key)}: ", item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [("", item) for item in value]
    if not parts or (element and not any(isinstance(item, dict | list) for _, item in parts)):
        return json.dumps(value)
    inner = f"{indent} "
    rows = [f"{inner}{label}{_json(item, inner, element=isinstance(value, list))}" for label, item in parts]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(rows) + f"\n{indent}{closing}"


def load(path: Path) -> Outcomes:
    """Read and check a baseline. Raises `UserError`."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such baseline: {_BLESS}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; {_BLESS}") from None
    content = parse_json(data)
    if not isinstance(content, dict) or "schema" not in content:
        raise UserError(f"{path}: is not a baseline: {_BLESS}")
    if type(content["schema"]) is not int or content["schema"] != SCHEMA:
        version = json.dumps(content["schema"])[:40]
        raise UserError(f"{path}: schema {version}: this version reads {SCHEMA}: {_BLESS}, or update pytest-recode")
    try:
        rows = stored_forms.load(_Baseline, content).rows
        wrong = _doubtful(rows)
    except stored_forms.DamagedError as error:
        wrong = str(error)
    if wrong:
        raise UserError(f"{path}: is not a baseline of schema {SCHEMA}: {wrong}; {_BLESS}")
    return Outcomes(source=str(path), rows=tuple(sorted(map(_in_order, rows), key=lambda row: row.key)))


def _in_order(row: RowOutcomes) -> RowOutcomes:
    return replace(row, tasks=dict(sorted(row.tasks.items())))


def _doubtful(rows: Sequence[RowOutcomes]) -> str:
    """What no run can have: a row or an attempt twice, a turn that solved an episode that is not solved, or is not among its turns."""
    if twice := next((key for key, count in Counter(row.key for row in rows).items() if count > 1), None):
        return f"has two rows of {name(twice)}"
    for row in rows:
        for task, outcomes in row.tasks.items():
            if len({attempt.attempt for attempt in outcomes.attempts}) < len(outcomes.attempts):
                return f"has an attempt at {task} twice"
            for attempt in outcomes.attempts:
                if (attempt.outcome == "solved") != (attempt.solved_turn is not None) or (
                    attempt.solved_turn or 0
                ) > attempt.turns:
                    return f"solved_turn of {task}, attempt {attempt.attempt}, does not fit its outcome and turns"
    return ""
