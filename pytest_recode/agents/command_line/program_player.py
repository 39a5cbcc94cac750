"""Plays a command-line agent, in one session, whose model calls are recorded as steps.

Beside the lines of `call_log.py`, it writes two of its own (fields beside `turn`, `step`, which is 0):

    prompt    text                                   what the program is asked in the turn
    program   status, seconds, stopped, output    how the process of the turn ended; `stopped` as in Move; `cut_off`: calls of the model
                                                   that were left without an answer, if there were any
"""

from __future__ import annotations

import base64
import secrets
import uuid
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recode.agents import AgentContext, AgentKind, InstalledProgram, ProgramNeeds, Refused, Workspace
from pytest_recode.agents.command_line import PROMPT_FILE, STATE, CommandLineAgent, Session, last_line
from pytest_recode.agents.command_line.call_log import CallLog
from pytest_recode.agents.command_line.turn_calls import TurnCalls
from pytest_recode.agents.door_requests import Playing, SandboxPlace
from pytest_recode.agents.installed_programs import program
from pytest_recode.agents.prompt_texts import ROLE, brief_text, cut, feedback_text
from pytest_recode.agents.step_log import clean
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import ModelError, ModelFault, ProgramError, ProgramFault, SandboxError, UserError
from pytest_recode.models import Relaying
from pytest_recode.records.checkpoint import typed_field
from pytest_recode.task import Brief, Files

RULES = """\
Rules:
- Work in the current directory, {work}. Only the targets are handed in: as they are when you end your turn.
- Follow signatures, shapes, dtypes, units and edge cases of the instruction exactly; the paper says what the method is.
- Nobody answers questions. Decide, write the code, and end your turn with a short summary of what you did.
- There is no network.
- Turns: {turns} at most. A turn ends at the latest after {steps} of your answers or {seconds:g} s, with the targets as they are then."""
AGAIN = "Your turn was judged, and did not pass all hidden tests. This is turn {turn} of {turns}: change the targets in {work}, then end your turn."
CUT_OFF = {
    "": "",
    "time": "Your last turn was ended because its time was up. ",
    "steps": "Your last turn was ended because it had no model call left. ",
}
LIMIT_EXCEEDED = "Your last turn was ended because it exceeded a limit of its sandbox. "
STEPS = 100
"""Model calls of a turn, unless the user says otherwise."""
MAX_OUTPUT = 24_000
"""Characters of the program's output that the transcript keeps."""


@dataclass(slots=True, kw_only=True)
class ProgramPlayer:
    """`stays`: whether its process is there, stopped since the last turn; `key`: what the door asks it for. `loads`: whether another process
    can continue the session.

    `stored`: files of the session after the last turn, packed, because a session may have megabytes; None: they are too large. `laid`:
    whether they are to be laid into the next workspace, which is a new one.

    `answers`: texts and ids of the model's answers in the last turn, of which the next one must repeat one. `offers_tools`: as in `TurnCalls`. `stopped`: as in Move.
    """

    agent: CommandLineAgent
    program: InstalledProgram
    context: AgentContext
    model: Relaying
    turn: int = 0
    session: str = ""
    stopped: str = ""
    stays: bool = False
    key: str = field(default="", repr=False)
    loads: bool = True
    laid: bool = False
    stored: Mapping[str, str] | None = field(default_factory=dict)
    answers: frozenset[str] = frozenset()
    offers_tools: bool = False
    logged: set[bytes] = field(default_factory=set)  # digests of messages that the transcript has

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """One turn of the program. Raises `ProgramError` if it fails, or has started another session."""
        if not isinstance(workspace, SandboxWorkspace):
            raise SandboxError(f"agent {self.agent.name} plays in a workspace of a sandbox only")
        self.turn += 1
        place = workspace.place()
        prompt = self._prompt(brief, feedback, place)
        self.context.log("prompt", {"turn": self.turn, "step": 0, "text": prompt})
        log = CallLog(log=self.context.log, turn=self.turn, logged=self.logged)
        if not self.stays:
            self.key = secrets.token_urlsafe(32)
        calls = TurnCalls(
            model=self.model,
            key=self.key,
            log=log,
            most=self.context.steps,
            prompt=prompt,
            earlier=self.answers,
            offers_tools=self.offers_tools,
            lost=self._fault(
                ProgramFault.SESSION_LOST, "its request does not have the conversation of the turns before"
            ),
        )
        try:
            result = workspace.play(self._playing(brief, place, prompt), calls)
        except Refused as refused:  # what it left of its home directory, or of the disk, has no place for its files
            raise self._fault(ProgramFault.FAILED, f"it cannot be started: {refused}") from None
        end = self.agent.ended(result)
        self.stays, self.offers_tools = result.stays, calls.offers_tools
        self.stopped = calls.stopped or ("time" if result.timed_out else result.killed)
        output = clean(cut(result.output, MAX_OUTPUT))
        how: dict[str, Any] = {"status": result.status, "seconds": round(result.seconds, 3), "stopped": self.stopped}
        how |= {"cut_off": log.cut_off} if log.cut_off else {}
        self.context.log("program", {"turn": self.turn, "step": 0, **how, "output": output})
        if not log.steps and log.cut_off and result.timed_out:
            raise self._too_late()
        if end.lost:
            raise self._fault(ProgramFault.SESSION_LOST, end.problem)
        if not log.steps:
            how_it_ended = "its time was up" if result.stays else f"it ended with status {result.status}"
            raise self._fault(ProgramFault.NO_CALL, end.problem or f"{how_it_ended}: {last_line(result.output)}")
        if end.problem and not self.stopped:
            raise self._fault(ProgramFault.FAILED, end.problem)
        if not calls.continued:
            raise self._fault(
                ProgramFault.FAILED, "none of its requests had the prompt of the turn, which is its standard input"
            )
        if self.turn == 1:
            self.session, self.loads = end.session or self.session, end.loads and self.agent.later is not None
        # The last answer of a program that was ended may have come too late for it.
        received = log.answers[:-1] if self.stopped else log.answers
        self.answers = frozenset(part for answer in received for part in answer) or self.answers
        self.stored = self._stored(workspace)
        return Move(steps=log.steps, submitted=not self.stopped, stopped=self.stopped, usage=log.usage)

    @property
    def continues_elsewhere(self) -> bool:
        return self.loads and self.stored is not None

    def state(self) -> Mapping[str, Any]:
        fields = {"turn": self.turn, "session": self.session, "stopped": self.stopped, "answers": sorted(self.answers)}
        return {**fields, "tools": self.offers_tools, "files": self.stored}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.turn, self.session = typed_field(state, "turn", int), typed_field(state, "session", str)
        self.answers = frozenset(typed_field(state, "answers", list))
        self.stopped = typed_field(state, "stopped", str)
        self.offers_tools = bool(state.get("tools"))
        if state.get("files") is None:
            raise ValueError("its session was too large to be stored")
        self.stored, self.laid = typed_field(state, "files", dict), True
        self._kept()  # raises for what is damaged

    def _playing(self, brief: Brief, place: SandboxPlace, prompt: str) -> Playing:
        command = self.agent.first if self.turn == 1 else self.agent.later
        if command is None and not self.stays:
            raise self._fault(
                ProgramFault.SESSION_LOST,
                "its process has ended since the turn before, and another one cannot continue its session",
            )
        self.session = self.session or str(uuid.uuid4())
        session = Session(
            turn=self.turn,
            turns=self.context.turns,
            executable=self._executable(place),
            id=self.session,
            url=f"http://127.0.0.1:{place.port}",
            key=self.key,
            home=place.home,
            work=place.work,
            targets=tuple(brief.targets),
        )
        files = {**(self._kept() if self.laid else {}), **self.agent.files(session)}
        self.laid = False
        return Playing(
            argv=() if self.stays or command is None else tuple(command(session)),
            env=self.agent.env(session),
            files={f"{STATE}/{path}": data for path, data in files.items()} | {PROMPT_FILE: prompt.encode()},
            entered=PROMPT_FILE,
            seconds=self.context.agent_seconds,
            stays="" if not self.agent.stays else "stays" if self.turn < self.context.turns else "last",
        )

    def _executable(self, place: SandboxPlace) -> str:
        """Its path in the sandbox."""
        where = self.program.executable.relative_to(self.program.shown)
        return str(Path(place.shown[0]) / where)

    def _prompt(self, brief: Brief, feedback: Feedback | None, place: SandboxPlace) -> str:
        turns = self.context.turns
        if self.turn == 1:
            rules = RULES.format(
                work=place.work,
                turns=turns,
                steps=self.context.steps,
                seconds=self.context.agent_seconds,
            )
            return clean("\n\n".join([ROLE, rules, brief_text(brief, workspace=True)]))
        again = CUT_OFF.get(self.stopped, LIMIT_EXCEEDED) + AGAIN.format(work=place.work, turn=self.turn, turns=turns)
        return clean(f"{feedback_text(brief, feedback)}\n\n{again}")

    def _kept(self) -> Files:
        return {path: _unpacked(text) for path, text in (self.stored or {}).items()}

    def _stored(self, workspace: SandboxWorkspace) -> Mapping[str, str] | None:
        try:
            files = workspace.keep([f"{STATE}/{path}" for path in self.agent.session])
        except Refused:
            return None
        return {path.removeprefix(f"{STATE}/"): _packed(data) for path, data in files.items()}

    def _too_late(self) -> ModelError:
        name = self.context.model.name if self.context.model is not None else self.agent.name
        seconds = self.context.agent_seconds
        return ModelError(
            ModelFault.TIMEOUT,
            name,
            f"its first answer in turn {self.turn} had not come when the time of the agent {self.agent.name} was up ({seconds:g} s): raise"
            " --recode-agent-seconds",
        )

    def _fault(self, fault: ProgramFault, why: str) -> ProgramError:
        return ProgramError(fault, self.agent.name, self.turn, why)


def kind_of(agent: CommandLineAgent) -> AgentKind:
    """How the agent is registered."""
    return AgentKind(
        make=partial(_make, agent),
        program=ProgramNeeds(
            name=agent.name,
            continues=agent.later is not None or agent.stays,
            find=partial(_find, agent),
            memory_mb=agent.memory_mb,
            disk_mb=agent.disk_mb,
            processes=agent.processes,
        ),
        concurrent=True,
        defaults={"steps": STEPS},
        fixes={"memory_threshold": None, "memory_keep": None, "search_model": None},
    )


def _find(agent: CommandLineAgent, notify: Callable[[str], None] | None) -> InstalledProgram:
    if agent.source is None:
        raise UserError(f"agent {agent.name}: there is no pinned version: give --recode-agent-path={agent.name}=PATH")
    return program(agent.name, agent.source, notify)


def _make(agent: CommandLineAgent, context: AgentContext) -> ProgramPlayer:
    if not isinstance(context.model, Relaying):
        raise UserError(f"agent {agent.name} needs a model that the run's gateway calls: give one with --recode-model")
    if context.program is None:
        raise UserError(f"agent {agent.name}: its program was not found")
    return ProgramPlayer(agent=agent, program=context.program, context=context, model=context.model)


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
