"""Convert a Record, a line of results.jsonl (schema 1), to an Attempt."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from pytest_recode.metrics.attempt import (
    Attempt,
    CaseFailure,
    MeasuredSpeed,
    OriginalTurn,
    Row,
    Shared,
    Snippet,
    TurnScore,
    iso_dates,
)
from pytest_recode.metrics.published import FORMAT, year_of
from pytest_recode.records.feedback_received import feedback_received
from pytest_recode.records.record import Record, TurnRecord, answers, cause, findings, main_line
from pytest_recode.records.setup_record import SNIPPET, SettingsRecord
from pytest_recode.settings import NOT_COMPARED


class Equal:
    """Equal values of a run's attempts become one object, because thousands of attempts have few different ones."""

    def __init__(self) -> None:
        self._known: dict[object, object] = {}
        self._by_key: dict[object, object] = {}

    def __call__(self, value: _Value) -> _Value:
        return cast("_Value", self._known.setdefault(value, value))

    def once(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """The value that `make` returned for this key. It is called once."""
        value = self._by_key.get(key)
        if value is None:
            value = self._by_key[key] = self(make())
        return cast("_Value", value)


_Value = TypeVar("_Value", bound=Hashable)


def from_record(
    record: Record, source: str, *, transcripts: Mapping[str, Path] | None = None, equal: Equal | None = None
) -> Attempt:
    """Convert a record, as if another episode had paid for a shared first turn.

    `transcripts`: the existing ones of its run, by their path in records. `equal`: that of the run's other records.
    """
    equal = equal or Equal()
    facts = record.get("facts") or {}
    snippet = snippet_of(facts)
    costs = record["usage"]
    settings = repr(record["settings"])
    received = feedback_received(record)
    counts = answers(record)
    asked_again = counts.get("asked_again", 0) if counts else 0
    return Attempt(
        row=equal.once((source, settings, *_values(record, _OF_ROW)), lambda: _row(record, source)),
        task=equal(task_key(record["task"], facts)),
        number=record["attempt"],
        outcome=record["outcome"],
        ended=record.get("ended", ""),
        solved_turn=record["solved_turn"] if record["outcome"] == "solved" else None,
        turns=tuple(_turn(turn, equal) for turn in record["turns"]),
        highest_level=received.level,
        feedback_characters=received.characters,
        snippet=snippet,
        cutoff=record.get("cutoff") or "",
        isolation=record["isolation"],
        tampering=sum(bool(turn.get("tampering")) for turn in record["turns"]),
        flagged=findings(record["outcome"], record["turns"]),
        answers=None if counts is None else counts["steps"] + asked_again,
        unparsed=None if counts is None else counts["unparsed"],
        asked_again=asked_again,
        tokens=costs["prompt_tokens"] + costs["completion_tokens"],
        completion_tokens=costs["completion_tokens"],
        cost_usd=costs["cost_usd"],
        shared=equal(_shared(record)) if payer(record) else _NOT_SHARED,
        nodeid=record["nodeid"],
        recorded=equal(
            (
                *equal.once(
                    (settings, bool(record["turns"]), *_values(record, _OF_RECORDED)), lambda: _recorded(record)
                ),
                *_versions(record),
            )
        ),
        digest=equal(record.get("digest") or ""),
        seeds=equal(frozenset(turn["seed"] for turn in record["turns"] if "seed" in turn)),
        year=_year(record),
        reason=equal(_reason(record)),
        transcript=(transcripts or {}).get(record["transcript"]),
        speed=_measured_speed(record),
        replay=_replay(record),
    )


_OF_ROW = ("model", "agent", "feedback", "feedback_model", "paper", "format", "simulated")
_OF_RECORDED = ("feedback", "feedback_model", "sandbox", "isolation")


def _values(record: Record, keys: Sequence[str]) -> tuple[object, ...]:
    values: Mapping[str, object] = record
    return tuple([values.get(key) for key in keys])


def _row(record: Record, source: str) -> Row:
    return Row(
        source=source,
        model=record["model"] or record["agent"],
        agent=record["agent"],
        feedback=record["feedback"],
        paper=record["paper"],
        format=record["format"],
        simulated=record["simulated"],
        impossible=record["settings"].get("impossible", False),
        settings=compared_settings(record["settings"], record["feedback"], record["feedback_model"]),
    )


def compared_settings(settings: SettingsRecord, policy: str, feedback_model: str | None) -> tuple[tuple[str, str], ...]:
    """Settings that must be equal in comparable runs, by option name, without those that do not apply to the policy."""
    values: dict[str, object] = {key: value for key, value in settings.items() if key not in NOT_COMPARED}
    values.setdefault("feedback_writer", "with-reference")  # of an earlier version
    if not values.get("impossible"):  # earlier versions have none, and tables need no word of it
        values.pop("impossible", None)
    if policy == "none":
        values["turns"] = 1
    else:
        values["researcher"] = feedback_model
    return tuple(sorted((key.replace("_", " "), _words(value)) for key, value in values.items()))


def _recorded(record: Record) -> tuple[tuple[str, str], ...]:
    """Recorded values that may differ within a row, which reports then show."""
    settings: Mapping[str, object] = record["settings"]
    values = {key.replace("_", " "): settings[key] for key in sorted(NOT_COMPARED) if key in settings}
    if record["feedback"] == "none" or not record["feedback_model"]:
        values.pop("researcher prompt", None)
    values |= {"sandbox": record.get("sandbox"), "isolation": record["isolation"] if record["turns"] else ""}
    return tuple((key, _words(value)) for key, value in values.items() if value is not None and value != "")


def _versions(record: Record) -> tuple[tuple[str, str], ...]:
    """The versions of Python and of libraries with which the turns were judged. Records of earlier versions have none."""
    found = {pair: None for turn in record["turns"] for pair in turn.get("versions", {}).items()}
    return tuple((f"version of {'Python' if name == 'python' else name}", version) for name, version in found)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else f"{value:g}" if isinstance(value, float) else str(value)


def _reason(record: Record) -> str:
    """Why the episode is not solved; "" if it is."""
    if record["error"] is not None:
        kind = record["error"]["kind"]
        return f"{kind} error: {main_line(cause(record['error']), kind)}"
    if record["outcome"] == "solved" or not record["turns"]:
        return ""
    last = record["turns"][-1]
    passing = f"{last['passed']} of {last['total']} cases pass after turn {last['turn']}"
    failed = next((case for case in last["cases"] if case["outcome"] != "passed"), None)
    if failed is None:
        return f"{passing}; {'; '.join(last['tampering'])}" if last["tampering"] else passing
    why = failed["exception"] or failed["kind"].replace("-", " ") or failed["outcome"]
    return f"{passing}; the first that fails: {failed['id']} ({why})"


def _year(record: Record) -> int | None:
    """Publication year of the task's paper, from the task or from RECODE-H's own scripts."""
    if record["format"] == FORMAT:
        return year_of((record.get("facts") or {}).get("annotation"))
    return _year_of_date(record.get("paper_date") or "")


@functools.lru_cache(maxsize=10_000)
def _year_of_date(date: str) -> int | None:
    match = re.match(r"\d{4}", date)
    return int(match[0]) if match else None


def payer(record: Record) -> str:
    """The node id of the episode that paid for this one's first turn, or ""."""
    turns = record.get("turns")
    return (turns[0].get("shared") or "") if turns else ""


_NOT_SHARED = Shared()


def _shared(record: Record) -> Shared:
    usage = record["turns"][0]["usage"]
    return Shared(tokens=usage["prompt_tokens"] + usage["completion_tokens"], cost_usd=usage["cost_usd"])


def _replay(record: Record) -> OriginalTurn | None:
    found = record.get("replay")
    return found and OriginalTurn(run=found["run"], nodeid=found["nodeid"], turn=found["turn"], level=found["level"])


@functools.lru_cache(maxsize=10_000)
def _failure(kind: str, exception: str | None) -> CaseFailure:
    return CaseFailure(kind=kind, exception=exception)


def _turn(turn: TurnRecord, equal: Equal) -> TurnScore:
    feedback = turn.get("feedback")
    level, passed, total, tampering = turn["level"], turn["passed"], turn["total"], bool(turn.get("tampering"))
    categories = tuple([item["category"] or "" for item in feedback.get("items", ())]) if feedback else ()
    source = feedback.get("source", "") if feedback else ""
    failed = tuple(
        [(case.get("kind") or "", case.get("exception")) for case in turn["cases"] if case["outcome"] != "passed"]
    )
    return equal.once(
        (level, passed, total, tampering, categories, source, failed),
        lambda: TurnScore(
            level=level,
            passed=passed,
            total=total,
            tampering=tampering,
            categories=categories,
            source=source,
            failures=tuple(_failure(kind, exception) for kind, exception in failed),
        ),
    )


def snippet_of(facts: Mapping[str, Any]) -> Snippet | None:
    """The snippet that a task's facts describe; None for a task of another kind."""
    if not facts.keys() >= set(SNIPPET):
        return None
    return Snippet(paper=str(facts["paper"]), name=str(facts["snippet"]), lines=facts["lines"], dates=iso_dates(facts))


def task_key(task: str, facts: Mapping[str, Any]) -> str:
    """The name of a task in reports, from its id and facts; published results use the same names."""
    snippet = snippet_of(facts)
    return f"{snippet.paper}/{snippet.name}" if snippet else task


_SPEED_UP, _LOW, _HIGH = "speed-up", "speed-up, lower bound", "speed-up, upper bound"
"""Names of scores in records (formats/algotune/shipped/test_speed.py.txt)."""


def _measured_speed(record: Record) -> MeasuredSpeed | None:
    """That of an episode; None if its benchmark measures none."""
    published = (record.get("facts") or {}).get("published")
    if not isinstance(published, dict) or not record["turns"]:
        return None
    turns = [turn["scores"] for turn in record["turns"] if _SPEED_UP in turn.get("scores", {})]
    if not turns:
        return MeasuredSpeed(speed_up=None, published=published)
    best = max(turns, key=lambda scores: scores[_SPEED_UP])
    return MeasuredSpeed(speed_up=best[_SPEED_UP], low=best.get(_LOW), high=best.get(_HIGH), published=published)
