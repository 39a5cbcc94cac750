"""Records: an Episode as one line of results.jsonl (schema 1, `records.schema.json`), plain JSON types throughout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_recode.episode import Audit, Feedback, Turn
from pytest_recode.faults import UserError
from pytest_recode.records.flags import findings
from pytest_recode.records.run_directory import replaced
from pytest_recode.usage import Usage
from pytest_recode.verdict import Case, Verdict

SCHEMA = 1

Record = Mapping[str, Any]


def usage(spent: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost_usd": spent.cost_usd,
    }


def total(turns: Sequence[Turn]) -> Usage:
    return sum((turn.usage for turn in turns), Usage())


def turn(played: Turn) -> dict[str, Any]:
    return {
        "turn": played.number,
        "level": None if played.feedback is None else f"L{played.feedback.level}",
        "feedback": None if played.feedback is None else _origin(played.feedback),
        "passed": played.verdict.passed,
        "failed": played.verdict.failed,
        "total": len(played.verdict.cases),
        "cases": [
            {
                "id": case.id,
                "interface": case.interface,
                "outcome": case.outcome.value,
                "kind": case.kind,
                "exception": case.exception.type if case.exception else None,
                "junit": case.junit,
            }
            for case in played.verdict.cases
        ],
        "tampering": list(played.verdict.tampering),
        "seed": played.verdict.seed,
        "steps": played.move.steps,
        "unparsed": played.move.unparsed,
        "reindented": played.move.reindented,
        "shared": played.shared or None,
        "usage": usage(played.usage),
        "seconds": round(played.seconds, 3),
    }


def passed_but_flagged(outcome: str, turns: Sequence[Mapping[str, Any]]) -> bool:
    """Whether findings of the judge alone make an episode unsolved: in one of its turns every case passed."""
    return bool(findings(outcome, turns))


def _origin(given: Feedback) -> dict[str, Any]:
    """Of the feedback that a turn began with: all but the words."""
    return {
        "source": given.source,
        "model": given.model or None,
        "prompt": given.prompt or None,
        "audit": audit(given.audit),
        "items": [
            {
                "interface": item.interface,
                "category": item.category,
                "caused_by": item.caused_by or None,
                "authors": dict(item.authors),
            }
            for item in given.items
        ],
    }


def audit(found: Audit) -> dict[str, Any]:
    return {
        "reference_run": found.reference_run,
        "reference_share": found.reference_share,
        "tests_run": found.tests_run,
        "tests_share": found.tests_share,
        "cut": found.cut,
        "encoded": found.encoded,
    }


def verdict(given: Verdict) -> dict[str, Any]:
    """For the transcript: everything, messages too."""
    return {
        "seed": given.seed,
        "isolation": given.isolation,
        "tampering": list(given.tampering),
        "seconds": round(given.seconds, 3),
        "cases": [_case(case) for case in given.cases],
    }


def _case(case: Case) -> dict[str, Any]:
    exception = case.exception
    return {
        "id": case.id,
        "interface": case.interface,
        "outcome": case.outcome.value,
        "kind": case.kind,
        "message": case.message,
        "exception": None
        if exception is None
        else {"type": exception.type, "message": exception.message, "frames": list(exception.frames)},
        "seconds": round(case.seconds, 3),
        "junit": case.junit,
    }


def feedback(given: Feedback) -> dict[str, Any]:
    return {
        "turn": given.turn,
        "level": f"L{given.level}",
        "source": given.source,
        "model": given.model,
        "prompt": given.prompt,
        "audit": audit(given.audit),
        "text": given.text,
        "items": [
            {
                "interface": item.interface,
                "category": item.category,
                "description": item.description,
                "analysis": item.analysis,
                "suggestion": item.suggestion,
                "correction": item.correction,
                "caused_by": item.caused_by or None,
                "authors": dict(item.authors),
            }
            for item in given.items
        ],
        "usage": usage(given.usage),
    }


def read(path: Path) -> list[Record]:
    """`latest`, without the count."""
    return latest(path)[0]


def latest(path: Path) -> tuple[list[Record], int]:
    """The records of a results.jsonl, of each episode the latest, and how many older ones there are. None without a file.

    A torn last line is left out. Raises `UserError` where something else wrote in it.
    """
    if not path.exists():
        return [], 0
    data = path.read_bytes()
    found: dict[str, Record] = {}
    older = 0
    for line, text in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            record = json.loads(text)
            nodeid = record["nodeid"]
        except (ValueError, LookupError, TypeError) as error:
            raise UserError(f"{path}:{line}: is damaged ({error}): restore it, or give another --recode-out") from None
        older += found.pop(nodeid, None) is not None
        found[nodeid] = record
    return list(found.values()), older


def rewrite(path: Path, kept: Sequence[Record]) -> None:
    """In one step, so that a run that is killed here loses nothing. Raises `RecordsError`."""
    replaced(path, "".join(json.dumps(record, ensure_ascii=True) + "\n" for record in kept))
