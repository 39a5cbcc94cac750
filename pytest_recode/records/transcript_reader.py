"""Read transcripts: to resume, for the record of an interrupted episode, and for reports.

Called in workers, in the controller, and by `pytest-recode report`. Each line that is used is checked first (`line_check.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, overload

from pytest_recode.faults import UserError
from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.records.line_check import checked_line
from pytest_recode.records.record import EpisodeFacts, Record, TurnRecord, passed_but_flagged, usage
from pytest_recode.records.results import parse_json
from pytest_recode.records.run_files import LOCAL, RunFiles, content
from pytest_recode.records.transcript import Abandoned
from pytest_recode.records.transcript_lines import (
    FeedbackLine,
    Line,
    RetryLine,
    StepLine,
    TurnLine,
    UsageLine,
    facts_of,
    record_of,
)
from pytest_recode.schema.stored_forms import DamagedError, load, parsed
from pytest_recode.usage import Usage
from pytest_recode.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """Contents of an existing transcript: facts of its episode, cost of its calls and ids of those by the gateway, numbers of its turns,
    and answers in turns that were not judged."""

    facts: EpisodeFacts | None = None
    usage: Usage = field(default_factory=Usage)
    calls: frozenset[str] = frozenset()
    turns: frozenset[int] = frozenset()
    abandoned: Abandoned = field(default_factory=Abandoned)


def earlier(path: Path, files: RunFiles = LOCAL) -> Earlier:
    """Read the transcript of an episode that another run started, without an incomplete last line. Raises `UserError` for a damaged line."""
    lines = _lines(path, files, missing=True)
    begun = [line for line in lines if line["event"] == "episode"]
    used = [line for line in lines if line["event"] == "usage"]
    abandoned = Abandoned()
    for line in lines:
        abandoned.take(line)
    return Earlier(
        facts=facts_of(begun[-1]) if begun else None,
        usage=sum((load(Usage, line) for line in used), Usage()),
        calls=frozenset(line["call"] for line in used if "call" in line),
        turns=frozenset(line["turn"] for line in lines if line["event"] == "turn"),
        abandoned=abandoned,
    )


def first_line(path: Path) -> Mapping[str, Any] | None:
    """The first line of a transcript, unchecked; None if it is not complete."""
    with path.open("rb") as file:
        line = file.readline()
    facts = parse_json(line) if line.endswith(b"\n") else None
    return facts if isinstance(facts, dict) and "nodeid" in facts else None


def last_step(path: Path, files: RunFiles = LOCAL) -> StepLine | None:
    """The last `step` line; None without a valid one."""
    try:
        return next((line for line in reversed(_lines(path, files)) if line["event"] == "step"), None)
    except UserError:  # this text is optional
        return None


def last_messages(path: Path, files: RunFiles = LOCAL) -> dict[str, str]:
    """The messages of the cases of the last judged turn, by case; empty if they cannot be read, because they are optional."""
    try:
        turns = list(lines_of(path, "turn", files=files))
        return case_messages(turns[-1]) if turns else {}
    except (OSError, UserError, DamagedError):
        return {}


def case_messages(line: TurnLine) -> dict[str, str]:
    """The messages of the cases of a judged turn, by case. Raises `DamagedError` for a verdict that is none: reports do not read it."""
    return {case.id: case.message for case in load(Verdict, line.get("verdict")).cases}


def recover(path: Path, *, outcome: str, stop: str, error: ErrorRecord | None, files: RunFiles = LOCAL) -> Record:
    """The record of an interrupted episode, from the lines of its transcript. Raises `ValueError` without a first line,
    also if there is no file, and `UserError` for a damaged one."""
    facts: EpisodeFacts | None = None
    turns: dict[int, TurnRecord] = {}
    usages: list[Usage] = []
    began = last = 0.0
    abandoned = Abandoned()
    for line in _lines(path, files, missing=True):
        last = line["time"]
        abandoned.take(line)
        if line["event"] == "episode":  # the cost from before the episode started again still counts
            facts, began, turns = facts_of(line), last, {}
        elif line["event"] == "turn":
            turns[line["turn"]] = _turn(line)
            usages += [load(Usage, line["usage"])] if line["shared"] else []
        elif line["event"] == "usage":
            usages.append(load(Usage, line))
    if facts is None:
        raise ValueError(f"{path} has no first line")
    return {
        **facts,  # type: ignore[typeddict-item]  # these have no `waited`
        "outcome": outcome,
        "stop": stop,
        "solved_turn": None,
        "passed_but_flagged": passed_but_flagged(outcome, list(turns.values())),
        "turns": list(turns.values()),
        "abandoned": abandoned.counts(),
        "usage": usage(sum(usages, Usage())),
        "seconds": round(last - began, 3),
        "isolation": facts["isolation"],
        "error": error,
    }


def ended(path: Path, files: RunFiles = LOCAL) -> Record | None:
    """The record in the last line of a transcript; None for an episode that was interrupted, or has not started."""
    lines = list(_lines(path, files, missing=True))
    if not lines or lines[-1]["event"] != "end":
        return None
    return record_of(lines[-1])


@overload
def lines_of(path: Path, event: Literal["turn"], /, *, files: RunFiles = ...) -> Iterator[TurnLine]: ...


@overload
def lines_of(path: Path, event: Literal["feedback"], /) -> Iterator[FeedbackLine]: ...


@overload
def lines_of(path: Path, *events: Literal["usage", "retry"]) -> Iterator[UsageLine | RetryLine]: ...


@overload
def lines_of(path: Path, *events: Literal["turn", "feedback"]) -> Iterator[TurnLine | FeedbackLine]: ...


def lines_of(path: Path, *events: str, files: RunFiles = LOCAL) -> Iterator[Any]:
    """Yield the complete lines of these events. Other lines, which are most of a transcript, are not parsed.

    Raises `UserError` for a damaged line.
    """
    yield from checked_lines(path, files.read(path), events, "restore it, or remove the transcript", only=True)


def checked_lines(
    path: Path, data: bytes, events: Collection[str], remedy: str, *, only: bool = False
) -> Iterator[Any]:
    """Yield the complete lines in the `data` of a transcript. Those of `events` have the fields of their types; `only`: no others are parsed.

    Raises `UserError` with the `remedy` for a damaged line.
    """
    beginnings = tuple(b'{"event": "%s"' % event.encode() for event in events) if only else b""
    for number, text in enumerate(data.split(b"\n")[:-1], 1):
        if not text.startswith(beginnings):
            continue
        try:
            yield checked_line(parsed(text), events)
        except DamagedError as error:
            raise UserError(f"{path}, line {number}: is damaged ({error}): {remedy}") from None


def _lines(path: Path, files: RunFiles, *, missing: bool = False) -> list[Line]:
    """All complete lines; those of `_RESUMED` and agents' steps have the fields of their types. Raises `UserError` for other contents, and
    for a file that does not exist, unless it may be `missing`."""
    data = content(path, files)
    if data is None and not missing:
        raise UserError(f"{path}: there is no such transcript: restore it, or give another --recode-out")
    return list(checked_lines(path, data or b"", _RESUMED, "restore it, or give another --recode-out"))


_RESUMED = ("episode", "resumed", "usage", "turn", "end")
"""Not `feedback`: an agent may log lines of that event, too."""


def _turn(line: TurnLine) -> TurnRecord:
    fields: Mapping[str, Any] = line
    return cast("TurnRecord", {key: fields[key] for key in _TURN if key in fields})


_TURN: Sequence[str] = tuple(TurnRecord.__annotations__)
