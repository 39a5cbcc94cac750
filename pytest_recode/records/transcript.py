"""The transcript of an episode: DIR/episodes/<name>.jsonl, a JSON object per line, each on disk before the next thing happens."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pytest_recode.faults import UserError
from pytest_recode.records.record import (
    AbandonedRecord,
    EpisodeFacts,
    ErrorRecord,
    Record,
    TurnRecord,
    passed_but_flagged,
    usage,
)
from pytest_recode.records.run_directory import Lines
from pytest_recode.usage import Usage


class Abandoned:
    """Counts the answers of a model in turns that were not judged: an error or the end of the process cut them off. Takes the lines of
    a transcript in their order."""

    def __init__(self) -> None:
        self._open: list[_Answers] = []
        self._judged: list[_Answers] = []
        self._begins = True  # whether the next answer is the first that a process tells of

    def take(self, event: str, fields: Mapping[str, Any]) -> None:
        if event == "step" and isinstance(fields.get("turn"), int):
            if self._begins or self._open[-1].turn != fields["turn"]:
                self._open.append(_Answers(turn=fields["turn"]))
            self._begins = False
            self._open[-1].steps += 1
            self._open[-1].unparsed += bool(fields.get("error")) or not fields.get("files", True)
        elif event == "turn" and not fields["shared"]:
            played = [each for each in self._open if each.turn == fields["turn"]][-1:]
            self._judged += played
            self._open = [each for each in self._open if each not in played]
            self._begins = True
        elif event in ("episode", "resumed"):
            self._begins = True
            if event == "episode":  # it begins anew: none of its turns counts
                self._open += self._judged
                self._judged = []

    def counts(self) -> AbandonedRecord:
        return {
            "steps": sum(each.steps for each in self._open),
            "unparsed": sum(each.unparsed for each in self._open),
        }


@dataclass(slots=True, kw_only=True, eq=False)
class _Answers:
    """Of one turn, as one process played it."""

    turn: int
    steps: int = 0
    unparsed: int = 0


class Transcript:
    """Append-only. Raises `RecordsError` where it cannot be written."""

    def __init__(self, path: Path, abandoned: Abandoned | None = None) -> None:
        self.path = path
        self.abandoned = abandoned or Abandoned()
        """What its lines tell, and those that it had already."""
        self._lines = Lines(path)

    def log(self, event: str, fields: Mapping[str, Any]) -> None:
        self._lines.append({"event": event, "time": round(time.time(), 3), **fields})
        self.abandoned.take(event, fields)

    def close(self) -> None:
        self._lines.close()


def name(nodeid: str) -> str:
    """A file name for a node id: readable, free of separators, and different for different ids."""
    manifest, _, item = nodeid.partition("::")
    if "/" not in item.partition("[")[0]:  # it does not name its task: the manifest's directory does
        item = f"{Path(manifest).parent.name}-{item}"
    readable = re.sub(r"[^\w.\-]+", "-", item).strip("-").encode()
    if len(readable) > 2 * _HALF_NAME:  # the task begins it, model and policy end it
        readable = readable[:_HALF_NAME] + b"--" + readable[-_HALF_NAME:]
    digest = hashlib.sha256(nodeid.encode()).hexdigest()[:8]
    return f"{readable.decode(errors='ignore')}-{digest}.jsonl"


_HALF_NAME = 80  # bytes: a file system takes 255 in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What a transcript already has: the facts of its episode, what the calls in it cost, the numbers of its turns, and the answers in
    turns that were not judged."""

    facts: EpisodeFacts | None = None
    usage: Usage = field(default_factory=Usage)
    turns: frozenset[int] = frozenset()
    abandoned: Abandoned = field(default_factory=Abandoned)


def earlier(path: Path) -> Earlier:
    """Of an episode that another run began; a torn last line is left out."""
    entries = _entries(path) if path.exists() else []
    usages = [_usage(entry) for entry in entries if entry["event"] == "usage"]
    return Earlier(
        facts=next((cast("EpisodeFacts", entry) for entry in reversed(entries) if entry["event"] == "episode"), None),
        usage=sum(usages, Usage()),
        turns=frozenset(entry["turn"] for entry in entries if entry["event"] == "turn"),
        abandoned=_abandoned(entries),
    )


def _abandoned(entries: Sequence[Mapping[str, Any]]) -> Abandoned:
    found = Abandoned()
    for entry in entries:
        found.take(entry["event"], entry)
    return found


def _entries(path: Path) -> list[dict[str, Any]]:
    """Raises `UserError` where something else wrote in it."""
    found: list[dict[str, Any]] = []
    try:
        for text in path.read_bytes().split(b"\n")[:-1]:
            entry = json.loads(text)
            entry["event"]
            found.append(entry)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"{path}: line {len(found) + 1} is damaged ({type(error).__name__}: {error}): restore it, or give another --recode-out"
        ) from None
    return found


def last_step(path: Path) -> Mapping[str, Any]:
    """The last line that tells what an answer of a model held; empty where there is none, or none that can be read."""
    try:
        return next((entry for entry in reversed(_entries(path)) if entry["event"] == "step"), {})
    except UserError:  # what it would say is an extra
        return {}


def _usage(entry: Mapping[str, Any]) -> Usage:
    return Usage(**{key: entry[key] for key in ("prompt_tokens", "completion_tokens", "cost_usd")})


def recover(path: Path, *, outcome: str, stop: str, error: ErrorRecord | None) -> Record:
    """The record of an episode that was cut off, from the lines its transcript has. Raises `ValueError` without a first line."""
    facts: EpisodeFacts | None = None
    turns: dict[int, TurnRecord] = {}
    usages: list[Usage] = []
    began = last = 0.0
    abandoned = Abandoned()
    for entry in _entries(path):
        event, last = entry.pop("event"), entry.pop("time")
        abandoned.take(event, entry)
        if event == "episode":  # what was paid before it began anew is paid all the same
            facts, began, turns = cast("EpisodeFacts", entry), last, {}
        elif event == "turn":
            turns[entry["turn"]] = cast("TurnRecord", {key: entry[key] for key in _TURN if key in entry})
            usages += [_usage(entry["usage"])] if entry["shared"] else []
        elif event == "usage":
            usages.append(_usage(entry))
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


def ended(path: Path) -> Record | None:
    """The record of an episode whose transcript has it as its last line; None where it was cut off."""
    *_, last = _entries(path)
    record = {key: value for key, value in last.items() if key not in ("event", "time")}
    return cast("Record", record) if last["event"] == "end" else None


_TURN = tuple(TurnRecord.__annotations__)
