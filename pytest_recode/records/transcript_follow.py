"""Follow the transcripts of episodes that are being played: turn, level, cases, cost, and what each episode waits for.

Called in the controller's thread for progress. A transcript is read from where the last look ended, and most of its lines are
not parsed. An agent of another project may log other lines: values that they lack stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.records.results import parse_json
from pytest_recode.records.run_directory import TRANSCRIPTS
from pytest_recode.records.transcript import name

STARTING, MODEL, SANDBOX, TESTS = "starting", "model", "sandbox", "hidden tests"
RESEARCHER, RETRY, LIMIT = "feedback", "retry", "rate limit"
"""What an episode waits for."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """State of an episode by its transcript. `since`: Unix time from which it waits for `waiting`."""

    task: str = ""
    model: str = ""
    names_agent: bool = False  # in `model`, behind the model
    policy: str = ""
    turn: int = 1
    turns: int = 0
    level: str = ""
    passed: int | None = None
    total: int | None = None
    tokens: int = 0
    cost_usd: float | None = 0.0  # None: the price of a call is unknown
    waiting: str = STARTING
    since: float = 0.0
    judged: int = 0  # number of judged turns
    judged_tokens: int = 0  # of the latest of them, with the feedback before it
    tokens_before: int = 0  # of all turns up to that one
    judged_with: str = ""  # the level of the feedback with which the latest of them was played; "" before any feedback


_EVENT = re.compile(rb'\{"event": "(\w+)", "time": ([\d.]+)')
_FROM_USER = re.compile(rb'"role": "(?:user|tool)"')
_REFUSED = re.compile(rb'"error": "model:rate-limit"')
_PARSED = (b"episode", b"resumed", b"usage", b"turn", b"feedback")
_BEGINNING = 200  # bytes of a line in which the fields of a message stand before its content
_WAITS = {b"action": SANDBOX, b"result": SANDBOX, b"grading": TESTS, b"retry": RETRY}


class Follower:
    """Follows the transcript of one episode in the directory of a run. `names_agent`: whether the run has several agents."""

    def __init__(self, out: Path, nodeid: str, *, names_agent: bool = False) -> None:
        manifest, _, item = nodeid.partition("::")
        of_item = item.partition("[")[0].rpartition("/")[0]  # a manifest of several tasks has their names in its items
        self.progress = Progress(task=of_item or Path(manifest).parent.name)
        self._path = out / TRANSCRIPTS / name(nodeid)
        self.progress.names_agent = names_agent
        self._offset = 0
        self._rest = b""

    def look(self) -> Progress:
        """Read what was added since the last look. A file that is not there yet, or cannot be read, adds nothing."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return self.progress
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line)
        return self.progress

    def _take(self, line: bytes) -> None:
        match = _EVENT.match(line)
        if match is None:
            return
        event, now = match[1], self.progress
        since = float(match[2])
        if event in _PARSED and isinstance(parsed := parse_json(line), dict):
            try:
                _READERS[event](now, parsed)
            except (KeyError, TypeError, ValueError):  # an agent's own line of that name
                return
        waiting = _WAITS.get(event, now.waiting)
        if event == b"message" and _FROM_USER.search(line[:_BEGINNING]):
            waiting = MODEL
        elif event == b"turn":
            waiting = RESEARCHER
        elif event == b"retry" and _REFUSED.search(line[:_BEGINNING]):
            waiting = LIMIT
        if waiting != now.waiting:
            now.waiting, now.since = waiting, since


def _begun(now: Progress, line: Mapping[str, Any]) -> None:
    now.task, now.policy = str(line["task"]), str(line["feedback"])
    agent = f" ({line['agent']})" if now.names_agent else ""
    now.model = f"{line['model']}{agent}" if line["model"] else f"agent {line['agent']}"
    now.turns = int(line["settings"]["turns"])
    now.since = float(line["time"])


def _usage(now: Progress, line: Mapping[str, Any]) -> None:
    now.tokens += int(line["prompt_tokens"]) + int(line["completion_tokens"])
    cost = line["cost_usd"]
    now.cost_usd = None if cost is None or now.cost_usd is None else now.cost_usd + float(cost)


def _turn(now: Progress, line: Mapping[str, Any]) -> None:
    now.passed, now.total = int(line["passed"]), int(line["total"])
    now.judged_tokens, now.tokens_before = now.tokens - now.tokens_before, now.tokens
    now.judged = int(line["turn"])
    now.judged_with = str(line["level"] or "")
    now.turn = now.judged + 1


def _feedback(now: Progress, line: Mapping[str, Any]) -> None:
    now.level = str(line["level"])


_READERS: Mapping[bytes, Callable[[Progress, Mapping[str, Any]], None]] = {
    b"episode": _begun,
    b"resumed": _begun,
    b"usage": _usage,
    b"turn": _turn,
    b"feedback": _feedback,
}
