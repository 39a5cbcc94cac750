"""The transcript of an episode: DIR/episodes/<name>.jsonl, a JSON object per line, each on disk before the next event.

Written by the process that plays the episode; `transcript_lines.py` has the types of the lines, `transcript_reader.py` reads them.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.episode import Feedback, Turn
from pytest_recode.records import record
from pytest_recode.records.record import AbandonedRecord, EpisodeFacts, Record
from pytest_recode.records.run_directory import TRANSCRIPTS
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.records.transcript_lines import (
    EndLine,
    EpisodeLine,
    FeedbackLine,
    GradingLine,
    InterruptedLine,
    Line,
    ResumedLine,
    RetryLine,
    ReusedLine,
    StepLine,
    TurnLine,
    UsageLine,
)
from pytest_recode.schema.stored_forms import dump
from pytest_recode.usage import CallDetails, Usage


class Abandoned:
    """Counts the answers of a model in turns that were not judged because of an error or the end of the process. Takes the lines of a
    transcript in order."""

    def __init__(self) -> None:
        self._open: list[_Answers] = []
        self._judged: list[_Answers] = []
        self._begins = True  # whether the next answer is the first of its process
        self._reused = False  # whether the next answer was that of an abandoned turn, too

    def take(self, line: Line) -> None:
        if line["event"] == "step":
            self._take_step(line)
            self._reused = False
        elif line["event"] in ("usage", "reused"):
            self._reused = line["event"] == "reused"
        elif line["event"] == "turn" and not line["shared"]:
            played = [each for each in self._open if each.turn == line["turn"]][-1:]
            self._judged += played
            self._open = [each for each in self._open if each not in played]
            self._begins = True
        elif line["event"] in ("episode", "resumed"):
            self._begins = True
            if line["event"] == "episode":  # the episode starts again: none of its turns counts
                self._open += self._judged
                self._judged = []

    def _take_step(self, line: StepLine) -> None:
        turn = line.get("turn")
        if not isinstance(turn, int):
            return
        if self._begins or self._open[-1].turn != turn:
            self._open.append(_Answers(turn=turn))
        self._begins = False
        unparsed = bool(line.get("error")) or not line.get("files", True)
        again = bool(line.get("asked_again"))
        self._open[-1].count(1, unparsed=unparsed, again=again)
        if self._reused and (earlier := [each for each in self._open[:-1] if each.turn == turn and each.answers]):
            earlier[-1].count(-1, unparsed=unparsed, again=again)

    def counts(self) -> AbandonedRecord:
        again = sum(turn.asked_again for turn in self._open)
        return {
            "steps": sum(turn.answers for turn in self._open) - again,
            "unparsed": sum(turn.unparsed for turn in self._open),
            "asked_again": again,
        }


@dataclass(slots=True, kw_only=True, eq=False)
class _Answers:
    """Answers of one turn in one process."""

    turn: int
    answers: int = 0
    unparsed: int = 0
    asked_again: int = 0

    def count(self, number: int, *, unparsed: bool, again: bool) -> None:
        self.answers += number
        self.unparsed += number * unparsed
        self.asked_again += number * again


class Transcript:
    """An append-only transcript. Raises `RecordsError` if it cannot be written."""

    def __init__(self, path: Path, abandoned: Abandoned | None = None, files: RunFiles = LOCAL) -> None:
        self.path = path
        self.abandoned = abandoned or Abandoned()
        """Counts from the existing lines and those of this process."""
        self._lines = files.lines(path)

    def log(self, event: str, fields: Mapping[str, Any]) -> None:
        """Write an event of the agent."""
        line: Any = {"event": event, "time": _now(), **fields}
        self._append(line)

    def episode(self, facts: EpisodeFacts) -> None:
        self._append(EpisodeLine(event="episode", time=_now(), **facts))

    def resumed(self, facts: EpisodeFacts, turns: int) -> None:
        self._append(ResumedLine(event="resumed", time=_now(), **facts, turns=turns))

    def usage(self, model: str, spent: Usage, details: CallDetails | None = None) -> None:
        """`details`: of a call by the gateway."""
        line: UsageLine = {
            "event": "usage",
            "time": _now(),
            "model": model,
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
            "cost_usd": spent.cost_usd,
        }
        if details is not None:
            line["waited"] = round(details.timing.waited, 3)
            line["answering"] = round(details.timing.answering, 3)
            if details.call:
                line["call"] = details.call
            if details.replayed:
                line["replayed"], line["recorded_usd"] = True, details.recorded_usd
        self._append(line)

    def reused(self, model: str, call: str) -> None:
        """An answer whose `usage` is in this transcript already is used again."""
        self._append(ReusedLine(event="reused", time=_now(), model=model, call=call))

    def retry(self, model: str, error: str, message: str, pause: float) -> None:
        pause = round(pause, 3)
        self._append(RetryLine(event="retry", time=_now(), model=model, error=error, message=message, pause=pause))

    def grading(self, targets: Sequence[str]) -> None:
        self._append(GradingLine(event="grading", time=_now(), targets=sorted(targets)))

    def turn(self, played: Turn, untouched: Sequence[str] = ()) -> None:
        """`untouched`: the targets that are as the repository has them."""
        line: TurnLine = {
            "event": "turn",
            "time": _now(),
            **record.turn(played),
            "targets": {path: data.decode("utf-8", "backslashreplace") for path, data in played.targets.items()},
            "untouched": list(untouched),
            "verdict": dump(played.verdict),
        }
        self._append(line)

    def feedback(self, feedback: Feedback) -> None:
        self._lines.append(dump(FeedbackLine(time=_now(), feedback=feedback)))

    def interrupted(self, by: str, turns: int) -> None:
        self._append(InterruptedLine(event="interrupted", time=_now(), by=by, turns=turns))

    def end(self, result: Record) -> None:
        self._append(EndLine(event="end", time=_now(), **result))

    def _append(self, line: Line) -> None:
        self._lines.append(line)
        self.abandoned.take(line)

    def close(self) -> None:
        self._lines.close()


def _now() -> float:
    return round(time.time(), 3)


def name(nodeid: str) -> str:
    """A file name for a node id: readable, free of separators, and different for different ids."""
    manifest, _, item = nodeid.partition("::")
    if "/" not in item.partition("[")[0]:  # without the task: use the manifest's directory
        item = f"{Path(manifest).parent.name}-{item}"
    readable = re.sub(r"[^\w.\-]+", "-", item).strip("-").encode()
    if len(readable) > 2 * _HALF_NAME:  # keep the start, with the task, and the end, with model and policy
        readable = readable[:_HALF_NAME] + b"--" + readable[-_HALF_NAME:]
    digest = hashlib.sha256(nodeid.encode()).hexdigest()[:8]
    return f"{readable.decode(errors='ignore')}-{digest}.jsonl"


def transcript_path(out: Path, nodeid: str) -> Path:
    """The transcript of an episode in the directory `out` of its run."""
    return out / TRANSCRIPTS / name(nodeid)


_HALF_NAME = 80  # bytes: file systems allow 255 in all
