"""`mini-swe-agent`: the agent of the package of that name, as a library in the worker, over one conversation for the whole episode.

Its prompts, tool, parser, observations, limit of unusable answers in a row and way to submit are the library's: `mini.yaml` for a model with
native tools, `mini_textbased.yaml` for others. The model is the episode's, so keys, budget, retries and records are ours; commands run in
the workspace. Must not import litellm.

Transcript events as those of `recode`, without `memory`. `planning` of a `step` is the answer's text; an action's kind is `bash`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from pytest_recode.agents import Agent, AgentContext, AgentKind, Refused, Workspace
from pytest_recode.agents.mini_swe_library import Library, check_message, library, message_of, stored_message
from pytest_recode.agents.prompt_texts import ROLE, brief_text, cut, feedback_text, printable
from pytest_recode.agents.step_log import MAX_REMEMBERED, clean, merged, reply_fields
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import ModelError, ModelFault, UserError
from pytest_recode.models import Message, Model, Reply, Tool, Usage
from pytest_recode.records.checkpoint import model_state, restore_model, typed_field
from pytest_recode.task import Brief

STEPS = 100
"""Model calls of a turn, unless the user says otherwise."""

SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The first line of the output of a command that hands in, as the library has it in its environments."""
TEXT_ACTION = r"```mswea_bash_command\s*\n(.*?)\n```"
"""A command in a text, as the library has it in its model for litellm, which cannot be imported without litellm."""

RULES = """\
Rules:
- Each command starts in the root of the repository. Only the targets are handed in: as they are when you submit.
- Follow signatures, shapes, dtypes, units and edge cases of the instruction exactly; the paper says what the method is.
- Nobody answers questions. There is no network. A command may take {seconds:g} s.
- Turns: {turns} at most. A turn ends at the latest after {steps} of your answers, with the targets as they are then. After a turn that does not pass all \
hidden tests, this conversation continues with feedback."""
AGAIN = (
    "Your turn was judged, and did not pass all hidden tests. This is turn {turn} of {turns}: change the targets, then submit again with"
    f" `echo {SUBMIT}`, without any other command."
)
CUT_OFF = {
    "": "",
    "Submitted": "",
    "LimitsExceeded": "Your last turn was ended because it had no answer left. ",
    "RepeatedFormatError": "Your last turn was ended because several answers in a row could not be used. ",
    "context": "Your last turn was ended because the conversation did not fit into your context window. ",
}
"""How a turn ended, as the library names it, and what the model is told of it in the next one."""


NO_ROOM = "No answer: the conversation does not fit into the model's context window any more. The turn has ended here, with the targets as they were."


@dataclass(slots=True, kw_only=True)
class MiniSweAgent:
    """`messages`: the conversation of all complete turns, in the library's form. `over`: how the last of them ended."""

    context: AgentContext
    model: Model
    library: Library
    turn: int = 0
    over: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """At most `context.steps` model calls. Ends early if a command submits, as the library does after unusable answers in a row, and if
        the conversation does not fit into the context window any more.
        """
        self.turn += 1
        played = _LibraryTurn(
            context=self.context, model=self.model, library=self.library, workspace=workspace, number=self.turn
        )
        limits = {"step_limit": self.context.steps, "cost_limit": 0.0}
        agent = self.library.agent(played, played, **{**played.config_files["agent"], **limits})
        agent.messages = list(self.messages)
        played.logged = len(agent.messages)
        agent.add_messages(*self._opening(agent, brief, feedback))
        self.over = self._play(agent, played)
        if agent.messages[-1]["role"] == "assistant":  # submitted: the library leaves its commands without results
            agent.add_messages(*played.format_observation_messages(agent.messages[-1], played.outputs))
        played.log_messages(agent.messages)
        self.messages = [stored_message(message) for message in agent.messages]
        return Move(
            steps=played.steps,
            unparsed=played.unparsed,
            submitted=self.over == "Submitted",
            stopped="steps" if self.over == "LimitsExceeded" else "",
            usage=played.usage,
        )

    def state(self) -> Mapping[str, Any]:
        return {"turn": self.turn, "over": self.over, "messages": self.messages, "model": model_state(self.model)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn, self.over = typed_field(state, "turn", int), typed_field(state, "over", str)
        _ = CUT_OFF[self.over]
        self.messages = typed_field(state, "messages", list)
        for message in self.messages:
            check_message(message)
        restore_model(self.model, typed_field(state, "model", dict))

    def _opening(self, agent: Any, brief: Brief, feedback: Feedback | None) -> list[dict[str, Any]]:
        """The messages with which a turn begins."""
        context = self.context
        if self.turn > 1:
            again = CUT_OFF[self.over] + AGAIN.format(turn=self.turn, turns=context.turns)
            return [{"role": "user", "content": clean(f"{feedback_text(brief, feedback)}\n\n{again}")}]
        rules = RULES.format(seconds=context.command_seconds, turns=context.turns, steps=context.steps)
        task = clean("\n\n".join([ROLE, rules, brief_text(brief, workspace=True)]))
        variables = agent.get_template_vars(task=task)
        roles = {"system": agent.config.system_template, "user": agent.config.instance_template}
        return [
            {"role": role, "content": self.library.template(text, undefined=self.library.strict).render(**variables)}
            for role, text in roles.items()
        ]

    def _play(self, agent: Any, played: _LibraryTurn) -> str:
        """The loop of the library's `DefaultAgent.run`, which itself begins a new conversation at each call. Returns how the turn ended."""
        exceptions, most = self.library.exceptions, agent.config.max_consecutive_format_errors
        while True:
            try:
                agent.step()
                agent.n_consecutive_format_errors = 0
            except exceptions.FormatError as error:
                agent.add_messages(*error.messages)
                agent.n_consecutive_format_errors += 1
                if 0 < most <= agent.n_consecutive_format_errors:
                    return "RepeatedFormatError"
            except exceptions.InterruptAgentFlow as error:
                status: str = error.messages[-1]["extra"]["exit_status"]
                return status
            except ModelError as error:
                if error.fault is not ModelFault.CONTEXT or (self.turn == 1 and played.steps == 1):
                    raise
                return "context"


@dataclass(slots=True, kw_only=True)
class _LibraryTurn:
    """One turn: model and environment of the library's agent, both of its Protocols, and what the turn took.

    `logged`: how many messages of the conversation the transcript has. `outputs`: those of the commands of the last answer.
    """

    context: AgentContext
    model: Model
    library: Library
    workspace: Workspace
    number: int
    config: Any = None
    steps: int = 0
    unparsed: int = 0
    logged: int = 0
    usage: Usage = field(default_factory=Usage)
    outputs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def config_files(self) -> Mapping[str, Any]:
        return self.library.with_tools if self.model.native_tools else self.library.without_tools

    def query(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        """Ask the model. Raises the library's `FormatError` for an answer that cannot be used, and what `Model.complete` raises."""
        self.log_messages(messages)
        self.steps += 1
        self.outputs = []
        native = self.model.native_tools
        try:
            reply = self.model.complete(
                merged(list(map(message_of, messages))), tools=(self._tool(),) if native else ()
            )
        except ModelError as error:
            if error.fault is ModelFault.CONTEXT:
                self._log("step", {"actions": [], "error": NO_ROOM, **reply_fields(Reply(text=""))})
            raise
        self.usage += reply.usage
        answer: dict[str, Any] = {"role": "assistant", "content": clean(reply.text)}
        calls = reply.tool_calls if native else ()
        if calls:
            # ids of our own, because some servers give none or repeat them
            names = [f"turn{self.number}answer{self.steps}call{number}" for number in range(len(calls))]
            answer["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": call.name, "arguments": clean(call.arguments)}}
                for name, call in zip(names, calls, strict=True)
            ]
        actions: list[dict[str, Any]] = []
        problem = ""
        self._log_message(message_of(answer))
        try:
            actions = self._actions(reply, answer)
        except self.library.exceptions.FormatError as error:
            self.unparsed += 1
            problem = error.messages[0]["content"]
            raise
        finally:
            parts = {"observation": "", "reflection": "", "planning": "" if problem else _shortened(reply.text)}
            read = {"actions": ["bash"] * len(actions), "note": "", "error": problem}
            self._log("step", {**parts, **read, **reply_fields(reply)})
        return {**answer, "extra": {"actions": actions, "cost": 0.0, "opaque": reply.opaque if calls else ""}}

    def execute(self, action: Mapping[str, Any], cwd: str = "") -> dict[str, Any]:
        """Run a command in the workspace. Raises the library's `Submitted`, and `SandboxError`."""
        number, command = len(self.outputs) + 1, action["command"]
        command = clean(command) if isinstance(command, str) else command
        self._log("action", {"number": number, "kind": "bash", "arguments": {"command": command}})
        output, done = self._run(command)
        self.outputs.append(output)
        text = self.format_observation_messages({"extra": {"actions": [{}]}}, [output])[0]["content"]
        self._log("result", {"number": number, "kind": "bash", "ok": done, "text": text})
        first, _, submission = output["output"].lstrip().partition("\n")
        if first.strip() == SUBMIT and output["returncode"] == 0:
            ended = {"exit_status": "Submitted", "submission": submission}
            raise self.library.exceptions.Submitted({"role": "exit", "content": submission, "extra": ended})
        return output

    def format_message(self, **message: Any) -> dict[str, Any]:
        return message

    def format_observation_messages(
        self, message: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]], template_vars: Any = None
    ) -> list[dict[str, Any]]:
        """The results of the commands of an answer. Commands without an output were not executed, and their results say so."""
        texts = {"observation_template": self.config_files["model"]["observation_template"]}
        if self.model.native_tools:
            actions = message["extra"]["actions"]
            observations = self.library.toolcall.format_toolcall_observation_messages(
                actions=actions, outputs=list(outputs), **texts
            )
        else:  # its template shows the output as it is, and providers refuse characters that do not print
            shown = [{**output, "output": printable(output["output"])[0]} for output in outputs]
            observations = self.library.text.format_observation_messages(shown, **texts)
        return [{**each, "content": clean(each["content"])} for each in observations]

    def get_template_vars(self, **_: Any) -> dict[str, Any]:
        """The variables of the library's prompts. The same on every machine, so that a cassette of one is of use on another."""
        return {"system": "Linux", "release": "", "version": "", "machine": ""}

    def serialize(self) -> dict[str, Any]:
        return {}

    def log_messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Log those that the transcript does not have. Answers were logged when they were given."""
        for message in messages[self.logged :]:
            if message["role"] != "assistant":
                self._log_message(message_of(message))
        self.logged = len(messages)

    def _tool(self) -> Tool:
        function = self.library.toolcall.BASH_TOOL["function"]
        return Tool(name=function["name"], description=function["description"], parameters=dict(function["parameters"]))

    def _actions(self, reply: Reply, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The commands of an answer. Raises the library's `FormatError`."""
        wording = {
            "format_error_template": self.config_files["model"]["format_error_template"],
            "template_kwargs": {"finish_reason": reply.finish},
        }
        read: list[dict[str, Any]]
        if self.model.native_tools:
            calls = [
                SimpleNamespace(id=call["id"], function=SimpleNamespace(**call["function"]))
                for call in answer.get("tool_calls", ())
            ]
            read = self.library.toolcall.parse_toolcall_actions(calls, **wording)
        else:
            read = self.library.text.parse_regex_actions(answer["content"], action_regex=TEXT_ACTION, **wording)
        return read

    def _run(self, command: Any) -> tuple[dict[str, Any], bool]:
        """The output of a command in the library's form, and whether the command was executed."""
        if not isinstance(command, str):
            return _failed(f"the command is no text but a {type(command).__name__}"), False
        variables = self.config_files["environment"]["env"]
        pairs = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
        try:
            done = self.workspace.run(
                f"export {pairs}; {command}"
            )  # one line, so that the shell's line numbers are right
        except Refused as refused:
            return _failed(str(refused)), False
        if done.timed_out:
            limit = f"Command '{command}' timed out after {self.context.command_seconds:g} seconds"
            return {**_failed(limit), "output": done.output}, True
        return {"output": done.output, "returncode": done.status, "exception_info": ""}, True

    def _log_message(self, message: Message) -> None:
        calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
        text = _shortened(message.content) if message.role == "assistant" else message.content
        self._log(
            "message",
            {"role": message.role, "content": text, "tool_calls": calls, "tool_call_id": message.tool_call_id},
        )

    def _log(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.context.log(kind, {"turn": self.number, "step": self.steps, **fields})


def _failed(why: str) -> dict[str, Any]:
    """The output of a command that was not executed or not to its end, in the library's words."""
    return {"output": "", "returncode": -1, "exception_info": f"An error occurred while executing the command: {why}"}


def _shortened(text: str) -> str:
    return clean(cut(text, MAX_REMEMBERED))


def check() -> None:
    """Raise `UserError` if the package cannot be used."""
    library()


def make(context: AgentContext) -> Agent:
    if context.model is None:
        raise UserError(
            "agent 'mini-swe-agent' needs a model: give one with --recode-model, or choose --recode-agent=noop"
        )
    return MiniSweAgent(context=context, model=context.model, library=library())


KIND = AgentKind(
    make=make,
    check=check,
    concurrent=True,
    defaults={"steps": STEPS},
    fixes={"memory_threshold": None, "memory_keep": None, "search_model": None},
)
