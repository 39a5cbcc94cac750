"""`recode-h`: the agent of RECODE-H's own code (arXiv 2510.06186) for comparison, without the faults of that code.

One user message contains everything in the original's order: paper, instruction, history, code with line numbers, feedback, result of the
last action. Ten turns of three steps. REPLACE writes a whole target. After the last step the targets are submitted.
docs/reference/recode-h.md lists the differences. Its transcript has the events of `recode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recode.agents import Agent, AgentContext, AgentKind, Refused, Workspace
from pytest_recode.agents.actions import ProtocolError
from pytest_recode.agents.prompt_texts import MAX_NAMED, MAX_TARGET, budget_text, cut, no_room, printable
from pytest_recode.agents.recode_h_memory import MessageHistory
from pytest_recode.agents.recode_h_protocol import SHAPE, Command, parse, reflection_of
from pytest_recode.agents.retrieval import Retrieval, Searches
from pytest_recode.agents.step_log import MAX_REMEMBERED, clean, reply_fields, usage_fields
from pytest_recode.agents.target_checks import note_on_change
from pytest_recode.agents.unfinished import unfinished
from pytest_recode.episode import TESTS_SAID, Feedback, Move
from pytest_recode.faults import ModelError, UserError
from pytest_recode.models import Message, Model, Reply, Usage
from pytest_recode.models.prompt_size import CHARACTERS, learned_window, tokens_of
from pytest_recode.records.checkpoint import model_state, restore_model, typed_field
from pytest_recode.task import Brief, Files, brief_files

DEFAULTS: dict[str, Any] = {
    "turns": 10,
    "steps": 3,
    "memory_threshold": 15,
    "memory_keep": 5,
    "temperature": 0.0,
    "test_output": "full",
    "feedback_scope": "all",
    "feedback_code": "L1",
}
"""Its published configuration; `memory_keep` is what its code uses, whatever that configuration says, and `temperature` the paper's."""

MAX_LISTED = 2_000
"""Paths of a BROWSE."""
MAX_BRIEF = 400_000
"""Characters of the paper, some 100,000 tokens: the original sends all of it with every call, however long."""
MAX_OLD_REPORT = 6_000
"""Characters of the tests' output in the history, from the turn after the one that it opened: some 1,500 tokens."""

SYSTEM = f"""\
You work in machine learning research. From a paper and an instruction you write the code that the instruction asks for, \
so that it works inside the repository of the paper. Hidden tests judge it.

Actions, one in each answer:

READ <path>
    the whole text of a file of the repository
RETRIEVE <query>
    the functions and classes of the repository that fit the query best, with their code
REPLACE
<code>
    writes the target: the code, from the next line to the end of the answer, becomes its whole content. Where there are several \
targets, REPLACE <path> says which one
BROWSE
    the paths of all files of the repository
SUBMIT
    hands the targets in as they are and ends the turn; the tests run then, and their result opens the next turn

Answer in this form, and put nothing after the action:

{SHAPE}

The result of a submission shows which tests passed: infer from it which interfaces are right already, and change those only where that is \
necessary.

Reflect, briefly, on
1. results: what failed, with which error, and which tests;
2. consistency: whether the code does what the paper says and fits the repository;
3. feedback: what it asks to be changed, and how that is done;
4. history: what was tried before and need not be tried again;
5. next: where the code stands, what comes first, what you have to know before."""


@dataclass(slots=True, kw_only=True)
class RecodeH:
    context: AgentContext
    model: Model
    memory: MessageHistory
    retrieval: Retrieval
    turn: int = 0
    unparsed: int = 0  # answers of this turn

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """At most `context.steps` answers. Ends early if one submits, or if no prompt fits into the context window any more.

        Summaries cost tokens but no step.
        """
        self.turn, self.unparsed = self.turn + 1, 0
        words, report = _parts(feedback)
        result = report
        searches = Searches(retrieval=self.retrieval, brief=brief, workspace=workspace)
        usage, submitted, step, how = Usage(), False, 0, f"after all {self.context.steps} steps"
        while step < self.context.steps and not submitted:
            usage += self._shrink(step)
            step += 1
            reply, summaries = self._ask(brief, words, result, workspace.targets(), step)
            usage += summaries
            if reply is None:
                how = "when there was no room left in your context window"
                break
            usage += reply.usage
            if feedback is not None or step > 1:  # before that there is no result
                self._remember("user", result, step)
            self._remember("assistant", cut(reply.text, MAX_REMEMBERED).strip() or "(an empty answer)", step)
            submitted, result = self._answer(reply, brief, workspace, searches, step)
        if not submitted:
            self._remember("user", f"{result}\n\nHanded in as it was, {how}.", step)
        self._shorten(report, step)
        return Move(steps=step, unparsed=self.unparsed, submitted=submitted, usage=usage + searches.usage)

    def state(self) -> Mapping[str, Any]:
        return {"turn": self.turn, "memory": self.memory.state(), "model": model_state(self.model)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn = typed_field(state, "turn", int)
        self.memory.restore(typed_field(state, "memory", dict))
        restore_model(self.model, typed_field(state, "model", dict))

    def _ask(self, brief: Brief, words: str, result: str, targets: Files, step: int) -> tuple[Reply | None, Usage]:
        """The model's answer, and the cost of a summary. If a prompt is too long, ask again with a summary of the history, and at last
        without history.

        The answer is None if that is too long, too. Raises `ModelError` if the first prompt of the episode is.
        """
        usage, refused, window = Usage(), 0, None
        while True:
            prompt = self._prompt(brief, words, result, targets, step)
            try:
                return self.model.complete(prompt), usage
            except ModelError as error:
                window = learned_window(error, tokens_of(prompt, CHARACTERS), window)
                if self.turn == step == 1:
                    raise
                refused += 1
            if refused == 1 and self.memory.messages:
                usage += self._log_summary(len(self.memory.messages), self.memory.shrink_to(self.model, window), step)
            elif self.memory.forget() or len(result) > MAX_OLD_REPORT:
                result = cut(result, MAX_OLD_REPORT // 2)
            else:
                parts = dict.fromkeys(("observation", "reflection", "planning", "note"), "")
                fields = {**parts, "actions": [], "error": no_room(window), **reply_fields(Reply(text=""))}
                self._log("step", step, fields)
                return None, usage

    def _prompt(self, brief: Brief, words: str, result: str, targets: Files, step: int) -> list[Message]:
        history = "\n\n".join(f"[{_WHO[each.role]}]\n{each.content}" for each in self.memory.shown())
        sections = {
            "1. Paper": cut(brief.paper.strip(), MAX_BRIEF) if brief.paper else "(left out)",
            "2. Instruction": cut(brief.instruction.strip(), MAX_BRIEF),
            "3. History": history or "(nothing yet)",
            "4. Current code": "\n\n".join(numbered(path, targets.get(path)) for path in brief.targets),
            "5. Feedback on the last submission": words,
            "6. Result of the last action": result,
            "7. Budget": budget_text(step, self.context.steps, self.turn, self.context.turns, "SUBMIT"),
        }
        if self.turn == step == 1:
            self._log_message("system", SYSTEM, 0)
            self._log_message("user", clean(_sections(dict(list(sections.items())[:2]))), 0)
        self._log_message("user", clean(_sections(dict(list(sections.items())[3:]))), step)
        return [Message(role="system", content=SYSTEM), Message(role="user", content=clean(_sections(sections)))]

    def _answer(
        self, reply: Reply, brief: Brief, workspace: Workspace, searches: Searches, step: int
    ) -> tuple[bool, str]:
        """Execute an answer. Returns whether it submits, and the text for the model."""
        early = unfinished(reply, nothing="Nothing was done.", shorter="Write shorter code, and less around it.")
        read = ProtocolError(text=early) if early else parse(reply.text, brief.targets)
        if isinstance(read, ProtocolError):
            reflection, actions, error = cut(reflection_of(reply.text), MAX_REMEMBERED), [], read.text
        else:
            reflection, actions, error = read.reflection, [read.verb], ""
        parts = {"observation": "", "reflection": clean(reflection), "planning": ""}  # one part stands for all
        self._log("step", step, {**parts, "actions": actions, "note": "", "error": error, **reply_fields(reply)})
        if isinstance(read, ProtocolError):
            self.unparsed += 1
            return False, f"This answer could not be used, and cost a step. {read.text}"
        arguments = (
            {"path": read.argument, "text": read.code} if read.verb == "REPLACE" else {"argument": read.argument}
        )
        self._log("action", step, {"number": 1, "kind": read.verb, "arguments": arguments})
        try:
            ok, text = True, _do(read, brief, workspace, searches)
        except Refused as refused:
            ok, text = False, cut(f"Refused: {refused}", MAX_TARGET)
        self._log("result", step, {"number": 1, "kind": read.verb, "ok": ok, "text": text})
        about = f" {' '.join(read.argument.split())[:MAX_NAMED]}" if read.argument else ""
        return read.verb == "SUBMIT", f"Result of {read.verb}{about}:\n{text}"

    def _shrink(self, step: int) -> Usage:
        """Summarise the memory if it is too large, log the summary, and return its cost."""
        old = len(self.memory.messages)
        reply = self.memory.shrink(self.model)
        return Usage() if reply is None else self._log_summary(old, reply, step)

    def _log_summary(self, old: int, reply: Reply, step: int) -> Usage:
        """Log a summary, before which the memory had `old` messages, and return its cost."""
        replaced = {"messages": old - len(self.memory.messages), "summary": self.memory.summary}
        self._log("memory", step, {**replaced, "files": {}, "usage": usage_fields(reply)})
        return reply.usage

    def _remember(self, role: str, text: str, step: int) -> None:
        self.memory.messages.append(Message(role=role, content=clean(text)))
        self._log_message(role, clean(text), step)

    def _shorten(self, report: str, step: int) -> None:
        """Cut the report on the submission before this turn, once the turn is over: the next one brings its own."""
        old, short = clean(report), clean(cut(report, MAX_OLD_REPORT))
        if short != old and self.memory.replace(old, short):
            self._log_message("user", short, step)

    def _log_message(self, role: str, text: str, step: int) -> None:
        self._log("message", step, {"role": role, "content": text, "tool_calls": [], "tool_call_id": ""})

    def _log(self, kind: str, step: int, fields: dict[str, Any]) -> None:
        self.context.log(kind, {"turn": self.turn, "step": step, **fields})


_WHO = {"user": "result", "assistant": "you"}


def _do(command: Command, brief: Brief, workspace: Workspace, searches: Searches) -> str:
    if command.verb == "READ":
        text, note = printable(workspace.read(command.argument))
        return "\n".join(filter(None, (cut(text, MAX_TARGET), note))) or f"{command.argument} is empty."
    if command.verb == "RETRIEVE":
        return searches.answer(command.argument)
    if command.verb == "REPLACE":
        before = workspace.targets().get(command.argument)
        text = f"{command.code}\n"  # each line of a file ends in a newline
        workspace.write(command.argument, text)
        old = None if before is None else before.decode("utf-8", "replace")
        return f"{command.argument} was written.{note_on_change(command.argument, old, text)}"
    if command.verb == "BROWSE":
        hidden = brief_files(brief).keys()  # the original has no such files
        listed = (path for path in workspace.list() if path not in hidden)
        paths = [path for path in listed if not _NOT_LISTED.intersection(path.split("/"))]
        more = [f"... and {len(paths) - MAX_LISTED} more files"] if len(paths) > MAX_LISTED else []
        return "\n".join([*paths[:MAX_LISTED], *more])
    return "The targets are handed in."


_NOT_LISTED = frozenset({"__pycache__", ".pytest_cache", ".git"})


def numbered(path: str, data: bytes | None) -> str:
    """A target with line numbers."""
    if data is None:
        return f"{path} (target): absent"
    text = data.decode("utf-8", "replace")
    if not text.strip():
        return f"{path} (target): empty"
    text, note = printable(text)
    lines = "\n".join(f"{number:>4} {line}" for number, line in enumerate(text.rstrip("\n").split("\n"), 1))
    return f"{path} (target):\n{cut(lines, 2 * MAX_TARGET)}" + (f"\n{note}" if note else "")


def _parts(feedback: Feedback | None) -> tuple[str, str]:
    """The researcher's text, and the output of the tests, which is the result of the submission."""
    if feedback is None:
        return "No feedback yet: this is the first turn.", "Nothing was done yet."
    words, said, output = feedback.text.partition(f"\n{TESTS_SAID}\n")
    result = "The last submission did not pass all hidden tests."
    return words.strip() or "No feedback.", f"{result}\n\n{said.strip()}\n{output.rstrip()}" if said else result


def _sections(sections: Mapping[str, str]) -> str:
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())


def make(context: AgentContext) -> Agent:
    if context.model is None:
        raise UserError("agent 'recode-h' needs a model: give one with --recode-model, or choose --recode-agent=noop")
    return RecodeH(
        context=context,
        model=context.model,
        memory=MessageHistory(
            threshold=context.memory_threshold or DEFAULTS["memory_threshold"],
            keep=context.memory_keep or DEFAULTS["memory_keep"],
        ),
        retrieval=Retrieval(
            embedder=context.embedder, shared=context.shared, files=context.files, waiting=context.waiting
        ),
    )


KIND = AgentKind(make=make, concurrent=True, needs_targets=True, defaults=DEFAULTS)
