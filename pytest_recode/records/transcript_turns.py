"""Read a transcript as the turns of an episode, for people: prompts, the agent's actions, verdicts and feedback.

Called by `pytest-recode show`, `html` and `export`, also while the episode is being played. Only the lines of the project
itself are checked. An agent's lines may have any fields; a field of another type than expected is read as empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from pytest_recode.episode import Feedback
from pytest_recode.faults import UserError
from pytest_recode.records.line_check import checked_line
from pytest_recode.records.record import EpisodeFacts, Record
from pytest_recode.records.run_files import LOCAL, RunFiles, content
from pytest_recode.records.transcript_lines import FeedbackLine, RetryLine, TurnLine, UsageLine, facts_of, record_of
from pytest_recode.records.transcript_reader import case_messages, checked_lines
from pytest_recode.schema.stored_forms import DamagedError


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """A message of a conversation. `step`: 0 for messages before the first step of a turn; `time`: seconds since 1970."""

    step: int
    role: str
    content: str
    time: float
    tool_calls: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """An action and its result. `ok` is None if the transcript has no result: the process ended, or the action has not finished.

    `begun`, `ended`: seconds since 1970; equal if the transcript has only a result.
    """

    kind: str
    arguments: Mapping[str, Any]
    ok: bool | None
    text: str
    begun: float
    ended: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedStep:
    """One answer of the model. `parts`: the agent's named parts (observation, reflection, planning) that are not empty.

    `asked_again`: whether the answer was no step, because it could not be used and the model was asked again.
    `problems`: what the agent told the model of an answer that it read in part, or with a result that may not be meant.
    `call`: the cost of the call that returned the answer, or None. `finish`: why the model ended the answer. `thoughts`: its reasoning,
    if the provider returned it separately. `time`: seconds since 1970.
    """

    number: int
    asked_again: bool
    parts: Mapping[str, str]
    error: str
    note: str
    problems: tuple[str, ...]
    files: tuple[str, ...]
    actions: tuple[ActionResult, ...]
    call: UsageLine | None
    finish: str
    thoughts: str
    time: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedTurn:
    """One turn. `prompt`: what a command-line agent was asked, "" for others. `judged` is None while the turn is being played, and for a turn that an error or a stop ended."""

    number: int
    prompt: str
    steps: tuple[PlayedStep, ...]
    messages: tuple[PromptMessage, ...]
    judged: TurnLine | None
    feedback: Feedback | None
    feedback_time: float  # seconds since 1970; 0 without feedback
    usages: tuple[UsageLine, ...]
    retries: tuple[RetryLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """The contents of a transcript. `record` is None unless the episode has ended. `dropped`: turns that were started and not judged, and
    then played again or not at all, because of an error or a stop. `calls`, `retries`: of every model call, including those of dropped
    turns. `begun`: the time of the first line; `now`: the event and the time of the last line. Times are in seconds since 1970."""

    path: Path
    facts: EpisodeFacts
    turns: tuple[PlayedTurn, ...]
    dropped: int
    calls: tuple[UsageLine, ...]
    retries: tuple[RetryLine, ...]
    record: Record | None
    begun: float
    now: tuple[str, float]

    @property
    def brief(self) -> str:
        """What a command-line agent was asked, or the first message to the model that is not the system's; "" if the agent logs neither."""
        if self.turns and self.turns[0].prompt:
            return self.turns[0].prompt
        messages = self.turns[0].messages if self.turns else ()
        return next((message.content for message in messages if message.role == "user"), "")


def read_episode(path: Path, files: RunFiles = LOCAL) -> PlayedEpisode:
    """Read the transcript at `path`. An incomplete last line is ignored. Raises `UserError` for a file that is no transcript."""
    facts: EpisodeFacts | None = None
    record: Record | None = None
    turns: dict[int, PlayedTurn] = {}
    current = _Current()
    dropped = 0
    first: Mapping[str, Any] = {}
    calls: list[UsageLine] = []
    retries: list[RetryLine] = []
    last: Mapping[str, Any] = {}
    for line in _lines(path, files):
        first = first or line
        last = line
        event = line["event"]
        if event in ("episode", "resumed"):
            dropped += current.begun
            facts, current = facts_of(line), _Current()
            if event == "episode":
                turns.clear()
        elif event == "turn":
            judged = cast("TurnLine", line)
            turns[judged["turn"]] = current.finished(judged["turn"], judged)
            current = _Current()
        elif event == "feedback" and (read := _feedback(line)) is not None:
            turn = read.feedback.turn
            if turn in turns:
                turns[turn] = replace(turns[turn], feedback=read.feedback, feedback_time=read.time)
        elif event == "end":
            record = record_of(line)
        else:
            if event == "usage":
                calls.append(cast("UsageLine", line))
            elif event == "retry":
                retries.append(cast("RetryLine", line))
            elif event == "reused":
                line = next((each for each in calls if each.get("call") == line.get("call")), line)
            current.take(line)
    if facts is None:
        raise _other_file(path)
    played = [turns[number] for number in sorted(turns)]
    if current.begun:
        played.append(current.finished(max(turns, default=0) + 1, None))
    return PlayedEpisode(
        path=path,
        facts=facts,
        turns=tuple(played),
        dropped=dropped,
        calls=tuple(calls),
        retries=tuple(retries),
        record=record,
        begun=float(first.get("time", 0.0)),
        now=(_text(last.get("event")), float(last.get("time", 0.0))),
    )


@dataclass(slots=True, kw_only=True)
class _Current:
    """The lines since the last complete turn."""

    prompt: str = ""
    messages: list[PromptMessage] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    usages: list[UsageLine] = field(default_factory=list)
    retries: list[RetryLine] = field(default_factory=list)
    _answered: UsageLine | None = None  # the last call since the last step

    @property
    def begun(self) -> bool:
        return bool(self.messages or self.steps or self.usages or self.retries)

    def take(self, line: Mapping[str, Any]) -> None:
        event = line["event"]
        if event == "message":
            self.messages.append(
                PromptMessage(
                    step=_number(line.get("step")),
                    role=_text(line.get("role")),
                    content=_text(line.get("content")),
                    time=float(line["time"]),
                    tool_calls=tuple(_list(line.get("tool_calls"))),
                )
            )
        elif event == "step":
            self.steps.append({**line, "done": [], "call": self._answered})
            self._answered = None
        elif event == "action" and self.steps:
            self.steps[-1]["done"].append({**line, "ok": None, "text": "", "ended": None})
        elif event == "result" and self.steps:
            self._result(line)
        elif event == "usage":
            self._answered = cast("UsageLine", line)
            self.usages.append(self._answered)
        elif event == "retry":
            self.retries.append(cast("RetryLine", line))
        elif event == "prompt":
            self.prompt = _text(line.get("text"))

    def _result(self, line: Mapping[str, Any]) -> None:
        """Complete the action of the same step and number; some actions, such as submit, have only a result."""
        number = line.get("step")
        of_step = next((step for step in reversed(self.steps) if step.get("step") == number), self.steps[-1])
        done: list[dict[str, Any]] = of_step["done"]
        result = {"ok": line.get("ok") is True, "text": _text(line.get("text")), "ended": float(line["time"])}
        begun = next((each for each in done if each.get("number") == line.get("number") and each["ok"] is None), None)
        if begun is not None:
            begun.update(result)
        else:
            done.append({**line, **result})

    def finished(self, number: int, judged: TurnLine | None) -> PlayedTurn:
        return PlayedTurn(
            number=number,
            prompt=self.prompt,
            steps=tuple(map(_step, self.steps)),
            messages=tuple(self.messages),
            judged=judged,
            feedback=None,
            feedback_time=0.0,
            usages=tuple(self.usages),
            retries=tuple(self.retries),
        )


def _step(line: Mapping[str, Any]) -> PlayedStep:
    problems = tuple(map(_text, _list(line.get("problems"))))
    return PlayedStep(
        number=_number(line.get("step")),
        asked_again=line.get("asked_again") is True,
        parts={name: text for name in _PARTS if (text := _text(line.get(name)).strip())},
        error=_text(line.get("error")) or ("" if line.get("files", True) else " ".join(problems)),
        note=_text(line.get("note")),
        problems=problems if line.get("files", True) else (),
        files=tuple(map(_text, _list(line.get("files")))),
        actions=tuple(
            ActionResult(
                kind=_text(action.get("kind")),
                arguments=action["arguments"] if isinstance(action.get("arguments"), dict) else {},
                ok=action["ok"],
                text=action["text"],
                begun=float(action["time"]),
                ended=action["ended"],
            )
            for action in line["done"]
        ),
        call=line["call"],
        finish=_text(line.get("finish")),
        thoughts=_text(line.get("thoughts")),
        time=float(line["time"]),
    )


_PARTS = ("observation", "reflection", "planning")


def _feedback(line: Mapping[str, Any]) -> FeedbackLine | None:
    """None if the run did not write the line: an agent may log lines of this event, too."""
    try:
        read: FeedbackLine = checked_line(line, ("feedback",))
        return read
    except DamagedError:
        return None


def _lines(path: Path, files: RunFiles) -> Iterator[Mapping[str, Any]]:
    """The complete lines; those of `_CHECKED` have the fields of their types."""
    remedy = "restore it, or show another episode"
    data = content(path, files)
    if data is None:
        raise UserError(f"{path}: there is no such transcript: show another episode")
    if b"\n" in data and not data.startswith(_START):
        raise _other_file(path)
    for number, line in enumerate(checked_lines(path, data, _CHECKED, remedy), 1):
        if line["event"] == "turn":
            try:
                case_messages(line)
            except DamagedError as error:
                raise UserError(f"{path}, line {number}: is damaged ({error}): {remedy}") from None
        yield line


def _other_file(path: Path) -> UserError:
    return UserError(f"{path}: is not a transcript: its first line is not an `episode`; give a file of DIR/episodes/")


_START = b'{"event": '
"""The beginning of each line of a transcript."""
_CHECKED = ("episode", "resumed", "usage", "retry", "turn", "end")


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
