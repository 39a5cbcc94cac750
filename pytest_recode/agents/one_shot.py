"""`one-shot`: one model call per turn, no tools; the answer is the code. It measures the model without an agent.

If a task asks for a part of a file, the answer is that part (`slot_answer.py`). Later prompts contain all earlier answers and the
feedback on them, as far as they fit (`memory.limit_of`). The oldest are left out first, and the prompt says so. A prompt that the model
refuses as too long is sent again without any of them.

Its transcript events: `message` (turn, step, role, content) and `step` (turn, step, files, problems, usage, finish, and `reindented` if
an answer for a part of a file was moved to another indentation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_recode.agents import ONE_STEP, Agent, AgentContext, AgentKind, Refused, Workspace, slot_answer
from pytest_recode.agents.memory import MIN_REPEATED, limit_of
from pytest_recode.agents.named_blocks import ExtractedFiles, files_in, missing, named_paths
from pytest_recode.agents.prompt_texts import (
    ROLE,
    brief_text,
    cut,
    example_target,
    feedback_text,
    fence_for,
    no_room,
    printable,
    target_files,
    targets_text,
)
from pytest_recode.agents.step_log import MAX_REMEMBERED, clean, reply_fields
from pytest_recode.agents.target_checks import lost_definitions, not_python
from pytest_recode.agents.text_form import ANY_FILE
from pytest_recode.agents.unfinished import unfinished
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import ModelError, UserError
from pytest_recode.models import Message, Model, Reply
from pytest_recode.models.prompt_size import CHARACTERS, answer_of, characters_of, learned_window, tokens_of, window_of
from pytest_recode.records.checkpoint import model_state, restore_model, typed_field
from pytest_recode.task import WHOLE, Brief, Files
from pytest_recode.wording import some_of

MAX_REPOSITORY = 80_000
"""Characters of the repository's files in a prompt, some 20,000 tokens: it has no other way to see them."""

HOW = """\
Answer with the whole content of every target, each in a fenced block whose first line names it:

```python {target}
(the whole content of {target})
```

A block that names a target replaces the whole file, whatever the file had before; of several for one target the last one does. Nothing else of your \
answer is used. If the code itself holds a line of three backticks, use four for the fence."""


SHORTER = "Answer with the whole content of every target again, with fewer comments in it and less text around it."
SHORTER_SLOT = "Answer with the whole code of the block again, and less text around it."
AGAIN = "Answer again in the form asked for above, with the whole content of every target."
AGAIN_SLOT = "Answer again in the form asked for above, with the whole code of the block in one ```python block."


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One turn: the user message ("" in the first turn), the remembered answer, and the targets that it wrote."""

    asked: str
    answer: str
    files: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class OneShot:
    context: AgentContext
    model: Model
    turn: int = 0
    past: tuple[Past, ...] = ()
    problems: tuple[str, ...] = ()  # of the latest answer
    characters: float = CHARACTERS  # to a token
    window: int | None = None  # the context window in tokens, as far as refused prompts have shown it

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """Call the model once and write the files of its answer. `submitted` is True if there were any."""
        self.turn += 1
        messages, reply = self._ask(brief, feedback, workspace)
        if reply is None:
            return self._unanswered(messages)
        self._log("message", {"role": "assistant", "content": reply.text})
        self.characters = characters_of(messages, 0, reply.usage.prompt_tokens) or self.characters
        parsed, moved = self._read(reply, brief)
        problems = list(parsed.problems)
        before = workspace.targets() if parsed.files and brief.slot is None else {}
        try:
            for path, text in parsed.files.items():
                try:
                    workspace.write(path, text)
                except Refused as refused:
                    problems.append(f"{path} could not be written: {refused}")
        finally:  # also where the sandbox failed
            problems += _doubts(brief, before, parsed.files) if brief.slot is None else ()
            fields = {"files": sorted(parsed.files), "problems": problems, **reply_fields(reply)}
            self._log("step", {**fields, **({"reindented": True} if moved else {})})
        self.problems = tuple(problems)
        asked = messages[-1].content if self.turn > 1 else ""
        answer = clean(cut(reply.text, MAX_REMEMBERED)).strip() or "(an empty answer)"
        self.past = (*self.past, Past(asked=asked, answer=answer, files=tuple(parsed.files)))
        unparsed = int(not parsed.files)
        return Move(steps=1, unparsed=unparsed, submitted=not unparsed, reindented=moved, usage=reply.usage)

    def state(self) -> Mapping[str, Any]:
        return {
            "turn": self.turn,
            "past": [{"asked": each.asked, "answer": each.answer, "files": list(each.files)} for each in self.past],
            "problems": list(self.problems),
            "characters": self.characters,
            "window": self.window,
            "model": model_state(self.model),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn, self.characters = typed_field(state, "turn", int), typed_field(state, "characters", float)
        self.past = tuple(
            Past(
                asked=typed_field(exchange, "asked", str),
                answer=typed_field(exchange, "answer", str),
                files=tuple(typed_field(exchange, "files", list)),
            )
            for exchange in typed_field(state, "past", list)
        )
        self.problems = tuple(typed_field(state, "problems", list))
        self.window = None if state.get("window") is None else typed_field(state, "window", int)
        restore_model(self.model, typed_field(state, "model", dict))

    def _ask(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> tuple[list[Message], Reply | None]:
        """The prompt and its answer; None if not even the prompt without earlier answers fits into the context window.

        Raises `ModelError` if that is so before the model has answered at all.
        """
        messages: list[Message] = []
        for past in (self.past, ()):
            messages = self._prompt(brief, feedback, workspace, past)
            for message in messages if self.turn == 1 else messages[-1:]:
                self._log("message", {"role": message.role, "content": message.content})
            try:
                return messages, self.model.complete(messages)
            except ModelError as error:
                self.window = learned_window(error, tokens_of(messages, self.characters), self.window)
                if self.turn == 1:
                    raise
        return messages, None

    def _unanswered(self, messages: Sequence[Message]) -> Move:
        """A turn in which the prompt did not fit."""
        self.problems = (no_room(self.window),)
        self._log("step", {"files": [], "problems": list(self.problems), **reply_fields(Reply(text=""))})
        self.past = (*self.past, Past(asked=messages[-1].content, answer=self.problems[0], files=()))
        return Move(steps=1, submitted=False)

    def _read(self, reply: Reply, brief: Brief) -> tuple[ExtractedFiles, bool]:
        """The files that an answer writes, and whether the answer was moved to another indentation."""
        early = unfinished(
            reply, nothing="Nothing was written.", shorter=SHORTER if brief.slot is None else SHORTER_SLOT
        )
        if early and brief.slot is None:
            return ExtractedFiles(files={}, problems=(early,)), False
        if brief.slot is None:
            targets = named_paths(reply.text) if WHOLE in brief.targets else brief.targets
            return files_in(reply.text, targets or (ANY_FILE,), brief.interfaces), False
        answer = slot_answer.read(reply.text, brief, brief.slot, reindent=self.context.reindent)
        if answer.text is None:
            return ExtractedFiles(files={}, problems=(early,) if early else answer.problems), False
        return ExtractedFiles(files={brief.slot.path: answer.text}, problems=answer.problems), answer.reindented

    def _prompt(
        self, brief: Brief, feedback: Feedback | None, workspace: Workspace, past: Sequence[Past]
    ) -> list[Message]:
        if brief.slot is None:
            role = ROLE
            # as in the first turn, to the letter: providers cache the beginning of a prompt
            task = f"{brief_text(brief)}\n\n{repository_text(brief)}\n\n{HOW.format(target=example_target(brief))}\n\nThis is turn 1 of {self.context.turns}."
        else:
            role, task = (
                slot_answer.ROLE,
                slot_answer.prompt(brief, brief.slot),
            )  # as the benchmark asks, which knows no turns
        start = [Message(role="system", content=role), Message(role="user", content=clean(task))]
        if self.turn == 1:
            return start
        sections = [
            *self.problems,
            feedback_text(brief, feedback),
            # a part is as it was answered: the file around it was shown, and may be long
            *([self._targets(brief, workspace.targets(), past)] if brief.slot is None else []),
            f"This is turn {self.turn} of {self.context.turns}. {AGAIN if brief.slot is None else AGAIN_SLOT}",
        ]
        return self._within([*start, Message(role="user", content=clean("\n\n".join(sections)))], past)

    def _within(self, fixed: list[Message], past: Sequence[Past]) -> list[Message]:
        """The prompt with as many of the latest answers in `past` as fit between its beginning and its end, at least the last."""
        *start, now = fixed
        if not past:
            return [*start, Message(role="user", content=f"{_left_out(len(self.past))}\n\n{now.content}")]
        window = window_of(self.model, self.window)
        room = limit_of(window, tokens_of(fixed, self.characters), answer_of(self.model))
        exchanges: list[Message] = []
        for number in range(len(past) - 1, -1, -1):
            asked, answer = past[number].asked, Message(role="assistant", content=past[number].answer)
            # of what asked for it only the first message stays where the answers before are left out
            before = [Message(role="user", content=asked)] if asked else []
            room -= tokens_of([*before, answer], self.characters)
            if room < 0 and exchanges:
                return [
                    *start,
                    *exchanges[1:],
                    Message(role="user", content=f"{_left_out(number + 1)}\n\n{now.content}"),
                ]
            exchanges = [*before, answer, *exchanges]
        return [*start, *exchanges, now]

    def _targets(self, brief: Brief, targets: Files, past: Sequence[Past]) -> str:
        """The current targets. A target that is unchanged since the latest answer in `past` that wrote it is replaced by a reference to
        that answer."""
        above = {}
        for path, text in target_files(brief, targets).items():
            wrote = max((turn for turn, each in enumerate(past, 1) if path in each.files), default=0)
            whole = text.strip("\n")
            if wrote and len(whole) >= MIN_REPEATED and whole in past[wrote - 1].answer:
                above[path] = f"your answer in turn {wrote}"
        return targets_text(brief, targets, above)

    def _log(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.context.log(kind, {"turn": self.turn, "step": 1, **fields})


def _left_out(turns: int) -> str:
    which = "answer in turn 1" if turns == 1 else f"answers in turns 1 to {turns}"
    it = "it, is" if turns == 1 else "them, are"
    return f"Your {which}, and the feedback on {it} left out: there is no room."


def _doubts(brief: Brief, before: Files, written: Mapping[str, str]) -> Iterator[str]:
    """What the model may not have meant in the files that its answer replaced: a file that is not Python, and definitions that are gone or
    missing."""
    for path, text in written.items():
        doubt = not_python(path, text) or lost_definitions(path, before.get(path, b"").decode("utf-8", "replace"), text)
        if not doubt and len(brief.targets) == 1 and (absent := missing(path, text, brief.interfaces)):
            doubt = f"{path} does not define {some_of([f'`{name}`' for name in absent], 8)}"
        if doubt:
            yield f"{path} is now what your answer had for it. {doubt}."


def repository_text(brief: Brief) -> str:
    """The files of the repository as far as they fit: targets first, then Python files, then others by size."""
    room, shown, left_out = MAX_REPOSITORY, [], 0
    for path in sorted(brief.repo, key=lambda path: _rank(brief, path)):
        data = brief.repo[path]
        if b"\0" in data or len(data) > room:
            left_out += 1
            continue
        text = data.decode("utf-8", "replace")
        room -= len(text)
        fence = fence_for(text)
        text, note = printable(text)
        shown.append(f"## {path}\n\n{fence}\n{text.rstrip()}\n{fence}" + (f"\n{note}" if note else ""))
    if left_out:
        shown.append(f"({left_out} files are not shown: binary, or too large)")
    return "# The repository\n\n" + "\n\n".join(shown)


def _rank(brief: Brief, path: str) -> tuple[bool, bool, int, str]:
    return path not in brief.targets, not path.endswith(".py"), len(brief.repo[path]), path


def make(context: AgentContext) -> Agent:
    if context.model is None:
        raise UserError("agent 'one-shot' needs a model: give one with --recode-model, or choose --recode-agent=noop")
    return OneShot(context=context, model=context.model)


KIND = AgentKind(make=make, concurrent=True, fixes=ONE_STEP)
