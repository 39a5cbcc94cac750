"""Types of the lines of a transcript, which `transcript.py` writes, and `transcript_reader.py` and reports read.

An agent adds lines with its own events and fields; only `step` of these is read. Lines that are read from a file are checked by these types
(`line_check.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from pytest_recode.episode import Feedback
from pytest_recode.records.record import EpisodeFacts, Record, TurnRecord, UsageRecord
from pytest_recode.schema.rules import INLINE


class _Line(TypedDict):
    time: float  # seconds since 1970


class AnyLine(_Line):
    """What every line has, also that of an agent."""

    event: str


class EpisodeLine(_Line, EpisodeFacts):
    """Starts an episode, or starts it again after an earlier process completed no turn of it."""

    event: Literal["episode"]


class ResumedLine(_Line, EpisodeFacts):
    """Continues an episode after the number of complete turns in `turns`."""

    event: Literal["resumed"]
    turns: int


class UsageLine(_Line, UsageRecord):
    """The cost of one model call. Calls by the gateway have more: `waited`, `answering`: seconds for rate limits and for the answer;
    `call`: an id; `replayed`: the answer is from a cassette, and cost `recorded_usd` when it was recorded (None: unknown)."""

    event: Literal["usage"]
    model: str
    waited: NotRequired[float]
    answering: NotRequired[float]
    call: NotRequired[str]
    replayed: NotRequired[bool]
    recorded_usd: NotRequired[float | None]


class ReusedLine(_Line):
    """The answer of an earlier `usage` line, by its `call`, is used again: the run was stopped before its turn was complete."""

    event: Literal["reused"]
    model: str
    call: str


class RetryLine(_Line):
    """A failed try of a model call, and the pause in seconds before the next one."""

    event: Literal["retry"]
    model: str
    error: str
    message: str
    pause: float


class GradingLine(_Line):
    event: Literal["grading"]
    targets: list[str]


class PlayedLine(_Line, TurnRecord):
    """A complete turn, with the text of each target."""

    event: Literal["turn"]
    targets: dict[str, str]
    untouched: NotRequired[list[str]]  # targets that are as the repository has them


class TurnLine(PlayedLine):
    verdict: Mapping[str, Any]  # a `Verdict` as it is stored


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackLine:
    """A feedback, which is loaded where its line is read."""

    event: Literal["feedback"] = "feedback"
    time: float  # seconds since 1970
    feedback: Annotated[Feedback, INLINE]


class InterruptedLine(_Line):
    """The interruption of the episode, after `turns` complete turns."""

    event: Literal["interrupted"]
    by: str
    turns: int


class EndLine(_Line, Record):
    event: Literal["end"]


class StepLine(_Line):
    """An answer of a model, which an agent logs. Agents of other projects may omit every field."""

    event: Literal["step"]
    turn: NotRequired[int]
    error: NotRequired[str]  # why the answer could not be used
    asked_again: NotRequired[bool]  # whether it was no step, because the model was asked again
    files: NotRequired[list[str]]  # in the answer of a one-step agent
    problems: NotRequired[list[str]]  # of the answer of a one-step agent
    finish: NotRequired[str]  # why the model ended its answer


Line = (
    EpisodeLine
    | ResumedLine
    | UsageLine
    | ReusedLine
    | RetryLine
    | GradingLine
    | TurnLine
    | InterruptedLine
    | EndLine
    | StepLine
)


def facts_of(line: Mapping[str, Any]) -> EpisodeFacts:
    """The facts in an `episode` or a `resumed` line."""
    return cast("EpisodeFacts", _without_line_fields(line))


def record_of(line: Mapping[str, Any]) -> Record:
    """The record in an `end` line."""
    return cast("Record", _without_line_fields(line))


def _without_line_fields(line: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in ("event", "time")}
