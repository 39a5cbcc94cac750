"""`recode`, the agent of RECODE-H (arXiv 2510.06186, section 4): observe, reflect, plan, act, with a memory.

Each step is one call of the model. Lines of the transcript that this agent writes (kind, fields beside `turn`, `step`):

    message   role, content, tool_calls, tool_call_id     each message of a prompt, once, when it first appears
    step      observation, reflection, planning, actions, note, error, usage     an answer as it was read; parts that it
              left out are "", and so are `note` and `error`, but for one that could not be used; `asked_again`: it was
              no step, and the next answer has the same number
    action    number, kind, arguments                     before it is done
    result    number, kind, ok, text                      what the model is told of it; not ok: not done
    memory    messages, summary, usage                    the older messages were replaced by this summary

`turn`, `step` and `number` count from 1; `step` is 0 for what belongs to no step.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_recode.agents import Agent, AgentContext, AgentKind, Refused, Workspace
from pytest_recode.agents.actions import Action, ProtocolError, Step, of_the_whole
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.memory import Memory, MemoryEntry, limit_of, size_of_tools
from pytest_recode.agents.prompt_texts import (
    brief_text,
    budget_text,
    example_target,
    feedback_text,
    hand_in_word,
    no_room,
    result_text,
    system_text,
    target_files,
    targets_text,
)
from pytest_recode.agents.retrieval import Retrieval, Searches
from pytest_recode.agents.step_checks import checked
from pytest_recode.agents.step_log import clean, kept_calls, kept_text, merged, step_fields, usage_fields
from pytest_recode.agents.submission import doubts, misplaced, not_yet
from pytest_recode.agents.tool_execution import execute
from pytest_recode.agents.tools import TOOLS, from_reply
from pytest_recode.agents.unusable_answers import MAX_ASKED_AGAIN, cost_text, refusals
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import ModelError, UserError
from pytest_recode.models import Message, Model, Reply, ToolCall, Usage
from pytest_recode.models.prompt_size import answer_of, learned_window, window_of
from pytest_recode.records.checkpoint import model_state, restore_model, typed_field
from pytest_recode.task import Brief, Files, brief_files

_OF_TOOLS = size_of_tools(TOOLS)
"""Characters of the tools, which a prompt of native calls has beside its messages."""


@dataclass(slots=True, kw_only=True)
class ReCode:
    context: AgentContext
    model: Model
    memory: Memory
    retrieval: Retrieval
    turn: int = 0
    unparsed: int = 0  # answers of this turn that could not be used
    asked_again: int = 0  # of these, those that were no step
    in_a_row: int = 0  # the last of these, without one that was a step after them
    over: str = ""  # how the turn before ended, to be remembered once it is known that there is another
    window: int | None = None  # the context window in tokens, as far as refused prompts have shown it
    held: frozenset[str] = frozenset()  # the reasons for which a hand-in of this turn has waited: once for each

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """At most `context.steps` steps. Ends early if one submits, or if no prompt fits into the context window any more.

        Summaries, and answers that cannot be used, cost tokens but no step; of the latter, `MAX_ASKED_AGAIN` in a row.
        """
        self._begin_turn(brief, feedback)
        usage, submitted, step = Usage(), False, 0
        how = f"handed in as it was, after all {self.context.steps} steps"
        searches = Searches(retrieval=self.retrieval, brief=brief, workspace=workspace)
        judged: Files | None = None
        while step < self.context.steps and not submitted:
            targets = workspace.targets()
            judged = targets if judged is None else judged
            usage += self._shrink(brief, feedback, workspace, targets, step)
            reply, summaries = self._ask(brief, feedback, workspace, targets, step + 1)
            usage += summaries
            if reply is None:
                step += 1
                how = "handed in as it was, when there was no room left in your context window"
                break
            usage += reply.usage
            submitted = self._answer(reply, workspace, searches, step + 1, judged)
            step += not self.in_a_row
        how = "handed in" if submitted else how
        self.over = f"Turn {self.turn} is over: the work was {how}, and did not pass all hidden tests."
        return Move(
            steps=step,
            submitted=submitted,
            unparsed=self.unparsed,
            asked_again=self.asked_again,
            usage=usage + searches.usage,
        )

    def state(self) -> Mapping[str, Any]:
        of_turn = {"turn": self.turn, "over": self.over, "window": self.window}
        return {**of_turn, "memory": self.memory.state(), "model": model_state(self.model)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn, self.over = typed_field(state, "turn", int), typed_field(state, "over", str)
        self.window = None if state.get("window") is None else typed_field(state, "window", int)
        self.memory.restore(typed_field(state, "memory", dict))
        restore_model(self.model, typed_field(state, "model", dict))

    def _ask(
        self, brief: Brief, feedback: Feedback | None, workspace: Workspace, targets: Files, step: int
    ) -> tuple[Reply | None, Usage]:
        """The model's answer, and the cost of summaries. If a prompt is too long, ask again with a shorter memory, and at last with none.

        The answer is None if the task, or what the model has made of the targets, fills the window. Raises `ModelError` if that is so
        before the model has answered at all.
        """
        tools, beside = (TOOLS, _OF_TOOLS) if self.model.native_tools else ((), 0)
        usage, refused = Usage(), 0
        while True:
            prompt = self._prompt(brief, feedback, targets, step)
            try:
                reply = self.model.complete(prompt, tools=tools)
            except ModelError as error:
                tokens = self.memory.tokens(prompt) + beside // 4
                self.window = learned_window(error, tokens, self.window)
                if self.turn == step == 1 and not self.asked_again:
                    raise
                refused += 1
            else:
                self.memory.counted(prompt, beside, reply.usage.prompt_tokens)
                return reply, usage
            if refused == 1 and self.memory.entries:
                usage += self._shrink(brief, feedback, workspace, targets, step, refused=True)
            elif not self.memory.forget():
                self._log("step", step, step_fields(ProtocolError(text=no_room(self.window)), Reply(text="")))
                return None, usage

    def _prompt(self, brief: Brief, feedback: Feedback | None, targets: Files, step: int) -> list[Message]:
        """Constant text first, text that changes at each step last, because providers cache the beginning of a prompt.

        Feedback and targets that the memory has word for word are not repeated.
        """
        files = target_files(brief, targets)
        above = {path: place for path, text in files.items() if (place := self.memory.where(path, text))}
        words = clean(feedback_text(brief, feedback))
        if feedback is not None and self.memory.holds(words):
            # in the first step it is right above
            words = (
                f"# Feedback\n\nThe feedback on turn {feedback.turn} is above, at the beginning of turn {self.turn}."
                if step > 1 or self.in_a_row
                else ""
            )
        now = [
            *filter(None, [words]),
            targets_text(brief, targets, above),
            budget_text(step, self.context.steps, self.turn, self.context.turns, hand_in_word(self.model.native_tools)),
        ]
        start = self._start(brief)
        state = Message(role="user", content=clean("\n\n".join(now)))
        if self.turn == step == 1 and not self.asked_again:
            for message in start:
                self._log_message(message, 0)
        self._log_message(state, step)
        return merged([*start, *self.memory.shown(), state])

    def _start(self, brief: Brief) -> list[Message]:
        system = system_text(
            native_tools=self.model.native_tools,
            command_seconds=self.context.command_seconds,
            target=example_target(brief),
        )
        task = clean(brief_text(brief, workspace=True))
        return [Message(role="system", content=system), Message(role="user", content=task)]

    def _shrink(
        self,
        brief: Brief,
        feedback: Feedback | None,
        workspace: Workspace,
        targets: Files,
        step: int,
        *,
        refused: bool = False,
    ) -> Usage:
        """Summarise the memory if it is too large, log the summary, and return its cost. `refused`: it is, by at least a half."""
        old, now = len(self.memory.entries), "" if feedback is None else clean(feedback_text(brief, feedback))
        state = Message(role="user", content=now + targets_text(brief, targets))
        fixed = self.memory.tokens([*self._start(brief), state]) + _OF_TOOLS // 4
        limit = limit_of(window_of(self.model, self.window), fixed, answer_of(self.model))
        if refused:
            limit = min(limit, self.memory.tokens(self.memory.shown()) // 2)
        known = {*brief.targets, *brief_files(brief)}
        reply = self.memory.shrink(self.model, limit, read=partial(_read, workspace), known=known, now=now)
        if reply is None:
            return Usage()
        replaced = {"messages": old - len(self.memory.entries), "summary": self.memory.summary}
        self._log("memory", step, {**replaced, "files": dict(self.memory.files), "usage": usage_fields(reply)})
        return reply.usage

    def _answer(self, reply: Reply, workspace: Workspace, searches: Searches, step: int, judged: Files) -> bool:
        """Execute an answer and remember it with its results. Returns True if it submits. `judged`: the targets of the last verdict."""
        native, last = self.model.native_tools, step == self.context.steps
        read = from_reply(reply, native=native, target=example_target(searches.brief))
        try:
            count = len(reply.tool_calls) if native else 0
            if isinstance(read, Step):
                read = checked(read, workspace, targets=searches.brief.targets, calls=count)
            alone = isinstance(read, Step) and [action.kind for action in read.actions] == ["submit"]
            hand_in = (
                self._doubt(read, searches.brief, workspace, judged, last) if isinstance(read, Step) and alone else None
            )
            if hand_in is not None and hand_in[0]:
                read = of_the_whole(hand_in[1], count)
        finally:  # also where the sandbox failed
            unusable = isinstance(read, ProtocolError)
            again = unusable and self.in_a_row < MAX_ASKED_AGAIN
            self._log("step", step, {**step_fields(read, reply), **({"asked_again": True} if again else {})})
        calls = kept_calls(reply, f"turn{self.turn}answer{step + self.asked_again}call") if native else ()
        self.in_a_row = self.in_a_row + 1 if again else 0
        entry = self._remember(
            Message(role="assistant", content=kept_text(reply), tool_calls=calls, opaque=reply.opaque if calls else ""),
            step,
        )
        if isinstance(read, ProtocolError):
            cost = cost_text(self.in_a_row)
            self._tell(calls, refusals(read, cost)[: len(calls)], f"{cost} {read.text}", step)
            self.unparsed += 1
            self.asked_again += again
            return False
        results: list[str] = []
        read_files: list[str] = []
        submitted, refused, failed = False, 0, 0
        for number, action in enumerate(read.actions, 1):
            path = posixpath.normpath(action.arguments.get("path", "."))
            if refused and not FORMS[action.kind].only_looks:
                ok = False
                text = f"Not done, since action {refused} (`{read.actions[refused - 1].kind}`) was refused."
            elif action.kind == "submit":
                waits, doubt = hand_in or self._doubt(read, searches.brief, workspace, judged, last, failed)
                ok, text = not waits, doubt if waits else f"The targets are handed in.{doubt}"
                submitted = ok
            else:
                self._log("action", step, {"number": number, "kind": action.kind, "arguments": dict(action.arguments)})
                result = execute(action, workspace, searches.answer, among=len(read.actions))
                ok, text = result.done, result.text
                refused, failed = refused or (0 if ok else number), number if result.failed else failed
                if ok and action.kind == "write":
                    text += _replaced(read.actions[:number])
                if ok and action.kind in ("write", "edit"):
                    text += misplaced(path, searches.brief.targets)
                    entry.files[path] = action.kind == "write"
            if number == len(read.actions):
                text += "".join(f"\nNote: {note}" for note in (read.unsaved, "" if last else read.note) if note)
            read_files.append(path if ok and action.kind == "read" else "")
            self._log("result", step, {"number": number, "kind": action.kind, "ok": ok, "text": text})
            results.append(result_text(action.kind, action.arguments, text))
        self._tell(calls, results, "\n\n".join(results), step, read_files)
        return submitted

    def _doubt(
        self, step: Step, brief: Brief, workspace: Workspace, judged: Files, last: bool, failed: int = 0
    ) -> tuple[bool, str]:
        """Whether a hand-in waits, and what is doubtful about it. For each reason it waits once a turn, and never in the last step."""
        targets = workspace.targets()
        reasons = doubts(step, brief, targets, judged, failed=failed)
        new = reasons.keys() - self.held
        self.held |= new
        if new and not last:
            return True, not_yet(reasons, brief, targets, judged, hand_in_word(self.model.native_tools))
        return False, f" Note: {' '.join(reasons.values())}" if reasons else ""

    def _tell(
        self, calls: Sequence[ToolCall], results: Sequence[str], text: str, step: int, files: Sequence[str] = ()
    ) -> None:
        """Remember the results: a message per tool call, or one for a text answer. `files`: the file whose text a result is, or ""."""
        if not calls:
            entry = self._remember(Message(role="user", content=text), step)
            entry.files.update({path: True for path in files if path})
            return
        for number, call in enumerate(calls):
            content = results[number] if results else text if number == 0 else "Not done: see the first result."
            entry = self._remember(Message(role="tool", content=content, tool_call_id=call.id), step)
            entry.files.update({path: True for path in files[number : number + 1] if path})

    def _begin_turn(self, brief: Brief, feedback: Feedback | None) -> None:
        self.unparsed = self.asked_again = self.in_a_row = 0
        self.held = frozenset()
        if self.over:
            said = "" if feedback is None else f"\n\n{feedback_text(brief, feedback)}"
            self._remember(Message(role="user", content=f"{self.over}{said}"), 0)
        self.turn += 1

    def _remember(self, message: Message, step: int) -> MemoryEntry:
        cleaned = Message(
            role=message.role,
            content=clean(message.content),
            tool_calls=message.tool_calls,
            tool_call_id=message.tool_call_id,
            opaque=message.opaque,
        )
        self.memory.entries.append(MemoryEntry(message=cleaned, turn=self.turn, step=step))
        self._log_message(cleaned, step)
        return self.memory.entries[-1]

    def _log_message(self, message: Message, step: int) -> None:
        calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
        fields = {"role": message.role, "content": message.content, "tool_calls": calls}
        self._log("message", step, {**fields, "tool_call_id": message.tool_call_id})

    def _log(self, kind: str, step: int, fields: dict[str, Any]) -> None:
        self.context.log(kind, {"turn": self.turn, "step": step, **fields})


def _read(workspace: Workspace, path: str) -> str | None:
    try:
        return clean(workspace.read(path))
    except Refused:
        return None


def make(context: AgentContext) -> Agent:
    if context.model is None:
        raise UserError("agent 'recode' needs a model: give one with --recode-model, or choose --recode-agent=noop")
    return ReCode(
        context=context,
        model=context.model,
        memory=Memory(threshold=context.memory_threshold, keep=context.memory_keep),
        retrieval=Retrieval(
            embedder=context.embedder, shared=context.shared, files=context.files, waiting=context.waiting
        ),
    )


KIND = AgentKind(make=make, concurrent=True)


def _replaced(actions: Sequence[Action]) -> str:
    """A note if the last of these actions overwrites a file that an earlier one wrote: "" for most."""
    *before, last = ((posixpath.normpath(each.arguments.get("path", ".")), each.kind) for each in actions)
    earlier = [number for number, each in enumerate(before, 1) if each == last]
    return f" It replaces what action {earlier[-1]} of this answer wrote." if earlier else ""
