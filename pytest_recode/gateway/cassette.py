"""Cassettes: answers of models, and seeds of gradings, that a run stores and another run replays without asking.

DIR has `models.json` and one file of JSON lines per episode, named as its transcript. A file has each message once, so that it stays small:

    {"message": ID, "value": {"role", "content", …}}
    {"tools": ID, "value": […]}
    {"call": KEY, "n": 1, "request": {"model", "messages": [ID, …], "tools": ID, …}, "answer": {…}, "usage": {…}, "answering": 1.5}
    {"call": KEY, "n": 1, "request": {…}, "answer": {}, "usage": {}, "answering": 0.0, "refused": {"fault": "context", …}}
    {"grading": KEY, "n": 1, "seed": 123}
    {"options": {"--recode-agent": "recode", …}}

The key of a call is a digest of what determines its answer: the model that the name stands for, messages, tools, parameters and the
attempt. An agent's own call in a dialect has its position (dialect, turn, number of the call in it) in place of messages and tools. `n` counts equal calls within one episode. Of refusals only those of prompts that are too long are stored, because they determine
what an agent sends next. Addresses, API keys, times and workers are not part of the key. Durations and memory addresses in
messages behind the first one of the user (outputs of commands, feedback), which differ between equal runs, are not compared. The options
of the session that recorded the lines below them are not compared, either: they explain why a request is not recorded.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pytest_recode.faults import CassetteError, UserError
from pytest_recode.gateway import ModelFacts
from pytest_recode.models import Caller
from pytest_recode.records.run_directory import Lines, replaced
from pytest_recode.records.transcript import name as transcript_name

A = TypeVar("A")

MODELS = "models.json"
SESSION = "session.jsonl"
"""File of calls outside of an episode."""

_VARIES = re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|us|µs|seconds|secs?)\b|\b0x[0-9a-f]{6,16}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A stored answer: the body in OpenAI's format, its usage, and the seconds that the provider took.

    `refused`: the event of the error, if there is no answer because the prompt was too long; else None.
    """

    answer: Mapping[str, Any]
    usage: Mapping[str, Any]
    answering: float
    refused: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request as a cassette identifies it. `parts`: everything but messages and tools, as JSON values."""

    parts: Mapping[str, Any]
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]

    @property
    def key(self) -> str:
        return _digest([self.parts, _steady(self.messages), self.tools])[:24]


class Cassette:
    """A directory of recorded answers. `reads`: answers that are there are used. `writes`: new ones are stored. `options`: those of this
    run that change requests, with their values.

    Raises `UserError` if a file cannot be read, and `RecordsError` if one cannot be written.
    """

    def __init__(self, directory: Path, *, reads: bool, writes: bool, options: Mapping[str, Any] | None = None) -> None:
        self._directory = directory
        self._options = json.loads(json.dumps(options or {}))
        self._recorded_with: dict[str, Any] = {}  # the last options in each file
        self._reads, self._writes = reads, writes
        self._calls: dict[tuple[str, int], dict[str, Recorded]] = {}  # by key and number, then by file
        self._seeds: dict[tuple[str, int], dict[str, int]] = {}
        self._files: dict[str, Lines] = {}
        self._stored: dict[str, set[str]] = {}  # identifiers of messages and tools, by file
        self._models: dict[str, dict[str, Any]] = {}
        if writes:
            try:
                directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(
                    f"--recode-cassette={directory} cannot be written ({error.strerror}): give a directory that can"
                ) from None
        elif not directory.is_dir():
            raise UserError(
                f"--recode-cassette={directory}: there is no such directory: check the path, or record one with --recode-cassette-mode=record"
            )
        for path in sorted(directory.glob("*.jsonl")):
            for line in _lines(path):
                self._take(path.name, line)
        models = directory / MODELS
        if models.exists():
            self._models = _json(models, _text(models))

    def _take(self, file: str, line: Mapping[str, Any]) -> None:
        if "message" in line or "tools" in line:
            self._stored.setdefault(file, set()).add(line.get("message") or line["tools"])
        elif "call" in line:
            call = Recorded(
                answer=line["answer"], usage=line["usage"], answering=line["answering"], refused=line.get("refused")
            )
            self._calls.setdefault((line["call"], line["n"]), {})[file] = call
        elif "grading" in line:
            self._seeds.setdefault((line["grading"], line["n"]), {})[file] = line["seed"]
        elif "options" in line:
            self._recorded_with[file] = line["options"]

    def find(self, caller: Caller, question: Question, number: int) -> Recorded | None:
        """The recorded answer: of the same episode, otherwise of another one that sent the same request in the same attempt."""
        if not self._reads:
            return None
        return _own_or_first(self._calls.get((question.key, number), {}), caller)

    def store(self, caller: Caller, question: Question, number: int, recorded: Recorded) -> None:
        if not self._writes:
            return
        messages = [self._write_once(caller, "message", each) for each in question.messages]
        tools = self._write_once(caller, "tools", question.tools) if question.tools else None
        request = {**question.parts, "messages": messages, "tools": tools}
        fields = {name: value for name, value in asdict(recorded).items() if name != "refused" or value is not None}
        self._write(caller, {"call": question.key, "n": number, "request": request, **fields})

    def seed(self, caller: Caller, subject: str, number: int, fresh: int) -> int:
        """The seed of the caller's grading of `subject` in turn `number`: the recorded one, or `fresh`, which is recorded.

        Raises `CassetteError` if there is none.
        """
        key = _digest([subject, caller.attempt])[:24]
        found = _own_or_first(self._seeds.get((key, number), {}), caller) if self._reads else None
        if found is not None:
            return found
        if not self._writes:
            raise CassetteError(f"{self._directory}: no grading of these targets is recorded")
        self._write(caller, {"grading": key, "n": number, "seed": fresh})
        return fresh

    def facts(self, name: str) -> tuple[str, ModelFacts] | None:
        """The recorded name of a model in litellm, and its facts."""
        if (found := self._models.get(name)) is None:
            return None
        return found["model"], ModelFacts(**{key: value for key, value in found.items() if key != "model"})

    def store_facts(self, name: str, model: str, facts: ModelFacts) -> None:
        entry = {"model": model, **asdict(facts)}
        if self._writes and self._models.get(name) != entry:
            self._models[name] = entry
            replaced(self._directory / MODELS, json.dumps(self._models, indent=2, sort_keys=True) + "\n")

    def missing(self, caller: Caller, question: Question, number: int) -> CassetteError:
        """The error for a question that is not recorded, with its first difference from the most similar one that is."""
        where = self._directory / _file(caller)
        nearest, options = _nearest(where, question) if where.exists() else (None, {})
        if nearest is None:
            return CassetteError(
                f"{where}: no call of {question.parts.get('model')} is recorded there{self._other_episodes(where)}: record it with"
                " --recode-cassette-mode=auto"
            )
        again = f" {number} times" if number > 1 and nearest == question else ""
        what = again or f": {_difference(nearest, question)}"
        if (dialect := question.parts.get("dialect")) is not None:
            what = f": call {question.parts['call']} of turn {question.parts['turn']}, in the dialect {dialect}"
        changed = _changed(options, self._options, _OF_ONE_EPISODE)
        why = f" (it was recorded with {changed})" if changed and not again else ""
        return CassetteError(
            f"{where}: this request is not recorded{what}{why}; --recode-cassette-mode=auto asks the model"
        )

    def _other_episodes(self, where: Path) -> str:
        """The options of the most similar episode that is recorded, if they differ."""
        similar = difflib.get_close_matches(where.name, self._recorded_with, n=1, cutoff=0.0)
        changed = _changed(self._recorded_with[similar[0]], self._options, ()) if similar else ""
        return f" ({similar[0]} was recorded with {changed})" if changed else ""

    def _write_once(self, caller: Caller, what: str, value: Any) -> str:
        identifier, known = _digest(value)[:16], self._stored.setdefault(_file(caller), set())
        if identifier not in known:
            known.add(identifier)
            self._write(caller, {what: identifier, "value": value})
        return identifier

    def _write(self, caller: Caller, line: Mapping[str, Any]) -> None:
        file = _file(caller)
        if file not in self._files:
            self._files[file] = Lines(self._directory / file)
            if self._options and self._recorded_with.get(file) != self._options:
                self._recorded_with[file] = self._options
                self._files[file].append({"options": self._options})
        self._files[file].append(line)

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _own_or_first(by_file: Mapping[str, A], caller: Caller) -> A | None:
    """What the file of this episode has, otherwise the first of other episodes': policies share their first turn."""
    own = by_file.get(_file(caller))
    return own if own is not None else next(iter(by_file.values()), None)


def _file(caller: Caller) -> str:
    return transcript_name(caller.episode) if caller.episode else SESSION


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _steady(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The messages without what differs between equal runs. The system's and the user's first ones contain the task: they stay as they are."""
    first = next((number for number, each in enumerate(messages) if each.get("role") == "user"), len(messages))
    later = [json.loads(_VARIES.sub("…", json.dumps(each, ensure_ascii=False))) for each in messages[first + 1 :]]
    return [*messages[: first + 1], *later]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for number, text in enumerate(_text(path).splitlines(), 1):
        line = _json(f"{path}, line {number}", text)
        if not any(keys <= line.keys() for keys in _LINES):
            raise UserError(
                f"{path}, line {number}: is not a line of a cassette: restore the file, or record the cassette again"
            )
        yield line


_LINES = (
    {"message", "value"},
    {"tools", "value"},
    {"call", "n", "request", "answer", "usage", "answering"},
    {"grading", "n", "seed"},
    {"options"},
)
"""Keys that identify each kind of line."""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}): restore the file, or record the cassette again") from None


def _json(where: Path | str, text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise UserError(f"{where}: is not a JSON object: restore the file, or record the cassette again")
    return content


def _nearest(path: Path, question: Question) -> tuple[Question | None, Mapping[str, Any]]:
    """The recorded question of a file that has most in common with `question`, and the options it was recorded with."""
    values: dict[str, Any] = {}
    options: Mapping[str, Any] = {}
    best: tuple[tuple[int, int], Question, Mapping[str, Any]] | None = None
    for line in _lines(path):
        options = line.get("options", options)
        if "value" in line:
            values[line.get("message") or line["tools"]] = line["value"]
        elif "call" in line:
            parts = dict(line["request"])
            messages, tools = [values[each] for each in parts.pop("messages")], parts.pop("tools")
            other = Question(parts=parts, messages=messages, tools=values[tools] if tools else ())
            same = sum(1 for _ in _common(_steady(messages), _steady(question.messages)))
            rank = (same, -abs(len(messages) - len(question.messages)))
            if best is None or rank > best[0]:
                best = (rank, other, options)
    return best[1:] if best else (None, {})


_OF_ONE_EPISODE = ("--recode-model", "--recode-feedback")
"""Options that the name of an episode, and so of its file, contains."""


def _changed(recorded: Mapping[str, Any], now: Mapping[str, Any], ignored: Sequence[str]) -> str:
    """The options that differ, with the values of the recorded run and those of this one."""
    names = [name for name in now if name not in ignored and name in recorded and recorded[name] != now[name]]
    pairs = [f"{_as_option(name, recorded[name])} and this run has {_as_option(name, now[name])}" for name in names]
    return "; ".join(pairs)


def _as_option(name: str, value: Any) -> str:
    """An option as on a command line."""
    if isinstance(value, list):
        return " ".join(f"{name}={each}" for each in value)
    if value is True:
        return name
    return f"no {name}" if value is None or value is False else f"{name}={value}"


def _common(one: Sequence[Any], other: Sequence[Any]) -> Iterator[Any]:
    for left, right in zip(one, other, strict=False):
        if left != right:
            return
        yield left


def _difference(recorded: Question, question: Question) -> str:
    """The first difference, in words."""
    for key in sorted({*recorded.parts, *question.parts}):
        old, new = recorded.parts.get(key), question.parts.get(key)
        if old != new:
            return f"{key} was {_short(old)} and is {_short(new)}"
    if list(recorded.tools) != list(question.tools):
        return "the tools differ"
    same = sum(1 for _ in _common(_steady(recorded.messages), _steady(question.messages)))
    if same == len(question.messages) or same == len(recorded.messages):
        return f"it had {len(recorded.messages)} messages and has {len(question.messages)}"
    old, new = recorded.messages[same], question.messages[same]
    where = f"message {same + 1} ({new.get('role')})"
    pairs = zip(_texts(old), _texts(new), strict=False)
    for number, (left, right) in enumerate(pairs, 1):
        if left != right:
            return f"line {number} of {where} was {_short(left)} and is {_short(right)}"
    return f"{where} differs in length"


def _texts(message: Mapping[str, Any]) -> list[str]:
    """The lines of a message; calls of tools follow its text."""
    calls = message.get("tool_calls")
    text = str(message.get("content") or "")
    return [*text.splitlines(), *([json.dumps(calls)] if calls else [])]


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return f"{text[:120]}…" if len(text) > 120 else text
