"""`one-shot`: one call of the model a turn, no tools; the answer is the code. What a model is worth without an agent.

Where a task asks for a part of a file, the answer is that part alone (`one_slot.py`).

Its lines of the transcript: `message` (turn, step, role, content), `step` (turn, step, files, problems, usage, finish, and
`reindented` where an answer for a part of a file was moved to another indentation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recode.agents import Agent, AgentContext, AgentKind, Refused, Workspace, one_slot
from pytest_recode.agents.doing import ended
from pytest_recode.agents.fences import Found, files
from pytest_recode.agents.prompts import ROLE, brief_text, cut, feedback_text, fence_for, targets_text
from pytest_recode.agents.recode import MAX_REMEMBERED, clean, usage_fields
from pytest_recode.checkpoint import give_back, kept_of, was
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import UserError
from pytest_recode.models import Message, Model
from pytest_recode.task import Brief

MAX_REPOSITORY = 80_000
"""Characters of the repository's files in a prompt, some 20,000 tokens: it has no other way to see them."""
MAX_ANSWER = 1_000_000
"""Characters of an answer that are looked at; see `protocol.MAX_ANSWER`."""

HOW = """\
Answer with the whole content of every target, each in a fenced block whose first line names it:

```python path/of/target.py
...
```

Only the last block for a target counts, and nothing else of your answer is read. If the code itself holds a line of \
three backticks, use four for the fence."""


@dataclass(slots=True, kw_only=True)
class OneShot:
    context: AgentContext
    model: Model
    turn: int = 0
    answer: str = ""  # to the turn before
    problems: tuple[str, ...] = ()

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """Asks once, writes what the answer holds; `submitted` where it held something."""
        self.turn += 1
        messages = self._prompt(brief, feedback, workspace)
        for message in messages if self.turn == 1 else messages[-1:]:
            self._log("message", {"role": message.role, "content": message.content})
        reply = self.model.complete(messages)
        self._log("message", {"role": "assistant", "content": reply.text})
        self.answer = reply.text
        found, moved = self._read(reply.text, brief)
        problems = list(found.problems)
        for path, text in found.files.items():
            try:
                workspace.write(path, text)
            except Refused as refused:
                problems.append(f"{path} could not be written: {refused}")
        self.problems = tuple(problems)
        fields = {"files": sorted(found.files), "problems": problems, "usage": usage_fields(reply)}
        self._log("step", {**fields, "finish": reply.finish, **({"reindented": True} if moved else {})})
        return Move(steps=1, submitted=bool(found.files), reindented=moved, usage=reply.usage)

    def state(self) -> Mapping[str, Any]:
        return {
            "turn": self.turn,
            "answer": self.answer,
            "problems": list(self.problems),
            "model": kept_of(self.model),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn, self.answer = was(state, "turn", int), was(state, "answer", str)
        self.problems = tuple(was(state, "problems", list))
        give_back(self.model, was(state, "model", dict))

    def _read(self, text: str, brief: Brief) -> tuple[Found, bool]:
        """What an answer writes, and whether it was moved to another indentation."""
        if len(text) > MAX_ANSWER:
            told = f"Your answer has {len(text)} characters; at most {MAX_ANSWER} are read. Nothing was written."
            return Found(files={}, problems=(told,)), False
        if brief.slot is None:
            found = files(text, brief.targets)
            whole = {path: ended(each) for path, each in found.files.items()}
            return Found(files=whole, problems=found.problems), False
        answer = one_slot.read(text, brief, brief.slot, reindent=self.context.reindent)
        written = {} if answer.text is None else {brief.slot.path: answer.text}
        return Found(files=written, problems=answer.problems), answer.reindented

    def _prompt(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> list[Message]:
        if brief.slot is None:
            role, how = ROLE, HOW
            task = f"{brief_text(brief)}\n\n{repository_text(brief)}\n\n{HOW}"
        else:
            role, how = one_slot.ROLE, one_slot.how(brief, brief.slot)
            task = one_slot.prompt(brief, brief.slot)
        messages = [Message(role="system", content=role), Message(role="user", content=clean(task))]
        now = f"This is turn {self.turn} of {self.context.turns}."
        if self.turn == 1 and brief.slot is not None:
            return messages  # as the benchmark asks, which knows no turns
        if self.turn == 1:
            return [messages[0], Message(role="user", content=f"{messages[1].content}\n\n{now}")]
        answer = clean(cut(self.answer, MAX_REMEMBERED)).strip() or "(an empty answer)"
        told = [
            *self.problems,
            feedback_text(brief, feedback),
            # a part is as it was answered: the file around it was shown, and may be long
            *([targets_text(brief, workspace.targets())] if brief.slot is None else []),
            f"{now} {how}",
        ]
        return [
            *messages,
            Message(role="assistant", content=answer),
            Message(role="user", content=clean("\n\n".join(told))),
        ]

    def _log(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.context.log(kind, {"turn": self.turn, "step": 1, **fields})


def repository_text(brief: Brief) -> str:
    """The files of the repository, targets first, then Python, then the smaller ones, as long as there is room."""
    room, shown, left_out = MAX_REPOSITORY, [], 0
    for path in sorted(brief.repo, key=lambda path: _rank(brief, path)):
        data = brief.repo[path]
        if b"\0" in data or len(data) > room:
            left_out += 1
            continue
        text = data.decode("utf-8", "replace")
        room -= len(text)
        fence = fence_for(text)
        shown.append(f"## {path}\n\n{fence}\n{text.rstrip()}\n{fence}")
    if left_out:
        shown.append(f"({left_out} files are not shown: binary, or too large)")
    return "# The repository\n\n" + "\n\n".join(shown)


def _rank(brief: Brief, path: str) -> tuple[bool, bool, int, str]:
    return path not in brief.targets, not path.endswith(".py"), len(brief.repo[path]), path


def make(context: AgentContext) -> Agent:
    if context.model is None:
        raise UserError("agent 'one-shot' needs a model: give one with --recode-model, or choose --recode-agent=noop")
    return OneShot(context=context, model=context.model)


KIND = AgentKind(make=make)
