"""Create the parts of one episode (agent, models, sandbox, judge, researcher) from the names in its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pytest_recode.agents import Agent, AgentContext, AgentKind, InstalledProgram, Log, Terminal
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.clock import Clock, Wait
from pytest_recode.episode import Feedback, Policy, Researcher, Turn
from pytest_recode.episode.episode_queue import EpisodeQueue
from pytest_recode.episode.meter import GatewayMeter, Meter
from pytest_recode.episode.stepwise import Position, StepwiseAgent, position, stepwise_policy, stepwise_researcher
from pytest_recode.episode.stored_turns import Replay
from pytest_recode.episode.workspace_scripts import judged_in, solve_in
from pytest_recode.faults import GraderError, SandboxError, UserError
from pytest_recode.feedback import test_output
from pytest_recode.feedback.model_answers import Style
from pytest_recode.gateway.client import grading_seed
from pytest_recode.models import (
    Caller,
    Embedder,
    GatewayAddress,
    Model,
    ModelContext,
    ModelKind,
)
from pytest_recode.models.timed import TimedEmbedder, TimedModel
from pytest_recode.oracle.impossible import shifted_case
from pytest_recode.oracle.judge import check, judge
from pytest_recode.oracle.step_verdicts import joined, task_of
from pytest_recode.oracle.verifier import can_share, places, solved_files
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.records.transcript import Transcript
from pytest_recode.records.transcript import name as transcript_name
from pytest_recode.researchers.human_researcher import Ask, by_person
from pytest_recode.researchers.researcher import researcher
from pytest_recode.sandboxes import Sandbox
from pytest_recode.settings import Settings
from pytest_recode.task import Brief, Files, Parts, Task, brief, files_digest
from pytest_recode.verdict import Verdict, lacks_a_module


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The agent, model and policy of an episode: their names as the user gave them, and their registered kinds."""

    agent: AgentKind
    model: ModelKind | None
    policy: Policy
    feedback_model: ModelKind | None
    search_model: ModelKind | None
    table: Mapping[str, Mapping[str, Any]]
    person: Ask | None = None  # the researcher, where the user wants it to be one
    terminal: Terminal | None = None  # for an agent that is a person
    program: InstalledProgram | None = None  # of an agent that has one
    gateway: GatewayAddress | None = None  # of the run; None if no model needs it
    sandbox: str = ""  # its registered name
    replaced: Mapping[str, str] = field(default_factory=dict)  # built-in parts that others replace


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodePlan:
    """One episode to play."""

    nodeid: str
    task: Task
    model: str | None
    policy: str
    attempt: int  # from 1
    replay: Replay | None = None  # of one stored turn, instead of an episode


def agent_context(task: Task, settings: Settings, model: Model | None, log: Log) -> AgentContext:
    """The part of an agent's context that its prompts depend on."""
    return AgentContext(
        model=model,
        steps=settings.steps,
        turns=settings.turns * max(1, len(task.oracle.steps)),
        log=log,
        reindent=settings.reindent,
        memory_threshold=settings.memory_threshold,
        memory_keep=settings.memory_keep,
        command_seconds=task.limits.command_seconds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The parts of one episode. `played`: its turns so far; `first_turn`: what `CallObserver` has now."""

    plan: EpisodePlan
    parts: Parts
    cast: Cast
    settings: Settings
    sandbox: Sandbox
    meter: Meter
    transcript: Transcript
    out: Path
    played: Callable[[], Sequence[Turn]]
    first_turn: Callable[[], str]
    queue: EpisodeQueue
    files: RunFiles = LOCAL

    @property
    def clock(self) -> Clock:
        return self.meter.clock

    def turn(self) -> int:
        """The number of the next turn."""
        return len(self.played()) + 1

    def position(self) -> Position | None:
        """Where an episode of several steps is."""
        return position(self.plan.task.oracle.steps, self.played(), self.cast.policy, self.settings.turns)

    def part(self) -> tuple[Task, Parts]:
        """What the next turn is judged as: the step that it belongs to, or the task."""
        at = self.position() if self.plan.task.oracle.steps else None
        return (self.plan.task, self.parts) if at is None else self._step(at.index)

    def _step(self, index: int) -> tuple[Task, Parts]:
        step = self.plan.task.oracle.steps[index]
        return task_of(self.plan.task, step), replace(step.load(), repo=self.parts.repo)

    def _shares(self, task: Task) -> bool:
        """Whether a script of the task judges in the agent's sandbox."""
        return task.oracle.isolation == "verifier" and self.settings.shared_verifier and can_share(task)

    def log(self, event: str, fields: Mapping[str, Any]) -> None:
        """Write an agent's event to the transcript. A stop that waited for a model's answer takes effect afterwards.

        Not after a `message`: its text comes before the `step` that counts the answer.
        """
        self.transcript.log(event, fields)
        if event != "message":
            self.meter.settle()

    def brief(self) -> Brief:
        return brief(self.plan.task, self.parts, paper=self.settings.paper)

    def workspace(self) -> SandboxWorkspace:
        room, task, needs = partial(self.queue.turn, "commands"), self.plan.task, self.cast.agent.program
        limits = task.limits if needs is None else needs.beside(task.limits)
        shown = () if self.cast.program is None else (str(self.cast.program.shown),)
        beside = places(task) if self._shares(task) else ()
        return SandboxWorkspace(self.sandbox, self.brief(), task.environment, limits, room, shown, beside)

    def player(self, agent: Agent, workspace: SandboxWorkspace) -> Agent:
        """The agent as the loop calls it."""
        if not self.plan.task.oracle.steps:
            return agent
        return StepwiseAgent(agent=agent, task=self.plan.task, workspace=workspace, at=self.position)

    def policy(self) -> Policy:
        steps, policy = self.plan.task.oracle.steps, self.cast.policy
        return stepwise_policy(steps, policy, self.settings.turns) if steps else policy

    def agent(self, workspace: SandboxWorkspace) -> Agent:
        plan, cast = self.plan, self.cast
        model = None
        if cast.model is not None and plan.model is not None and cast.agent.needs_model:
            model = self._model(plan.model, cast.model)
        context = agent_context(plan.task, self.settings, model, self.log)
        return cast.agent.make(
            replace(
                context,
                embedder=self._embedder() if cast.agent.needs_model else None,
                shared=self.out,
                files=self.files,
                waiting=self._waiting,
                terminal=cast.terminal if cast.agent.needs_person else None,
                program=cast.program,
                agent_seconds=self.settings.agent_seconds,
                episode=transcript_name(plan.nodeid).removesuffix(".jsonl"),
                keeps_files=self.settings.out is not None,
                solution=partial(self._solution, workspace) if cast.agent.needs_reference else None,
            )
        )

    def _solution(self, workspace: SandboxWorkspace) -> Files:
        """The targets as the authors have them; none where their script has made them in the workspace itself."""
        if self.plan.task.oracle.isolation != "verifier":
            return self.parts.reference
        task, parts = self.part()
        with self.queue.turn("gradings"):
            if self._shares(task):
                solve_in(workspace, task, parts)
                return {}
            whole = replace(task, targets=self.plan.task.targets)
            over = workspace.targets() if self.plan.task.oracle.steps else {}
            return solved_files(whole, parts, self.sandbox, over)

    def check(self) -> None:
        """Raises `GraderError` or `SandboxError` if no verdict is possible, before any model call is paid for."""
        with self.queue.turn("gradings"):
            check(self.plan.task, self.parts, self.sandbox)

    def _shifted(self) -> str:
        """The case of the impossible twin, if that is played; "" for the task itself. Raises `GraderError`, `SandboxError`."""
        if not self.settings.impossible:
            return ""
        with self.queue.turn("gradings"):
            return shifted_case(self.plan.task, self.parts, self.sandbox)

    def judge(self, workspace: SandboxWorkspace) -> Callable[[Files], Verdict]:
        shifted = self._shifted()
        separate = (
            self.plan.task.oracle.isolation == "separate"
        )  # in a shared process, a check would run the tests again

        def judged(targets: Files) -> Verdict:
            self.transcript.grading(list(targets))
            self.meter.settle()
            try:
                seed = self._seed(targets)
                with self.queue.turn("gradings"):
                    verdict = self._verdict(workspace, targets, seed, shifted)
            except GraderError:
                if not self.cast.agent.needs_model and separate:  # a model's task was checked before
                    with suppress(GraderError, SandboxError):
                        self.check()  # if a module is not installed, it says what to do
                raise
            if self.cast.agent.needs_reference and separate and lacks_a_module(verdict):
                self.check()
            return verdict

        return judged

    def _verdict(self, workspace: SandboxWorkspace, targets: Files, seed: int | None, shifted: str) -> Verdict:
        task, parts = self.part()
        if self._shares(task):
            verdict = judged_in(workspace, task, parts, seed)
        else:
            verdict = judge(task, parts, targets, self.sandbox, seed=seed, shifted=shifted)
        at, played = (self.position() if self.plan.task.oracle.steps else None), self.played()
        if at is None:
            return verdict
        return joined(self.plan.task.oracle, at.index, verdict, played[-1].verdict if played else None)

    def _seed(self, targets: Files) -> int | None:
        """The seed of a grading: the user's, or the cassette's; None is a new secret. Raises `CassetteError`.

        By the turn, because which of several policies plays their first turn may differ between a run and its replay.
        """
        gateway = self.cast.gateway
        if self.settings.seed is not None or self.settings.cassette is None or gateway is None:
            return self.settings.seed
        subject = f"{self.plan.task.id} {self.plan.model} {files_digest(targets)}"
        return grading_seed(gateway, self._caller, subject, self.turn())

    @property
    def _caller(self) -> Caller:
        return Caller(episode=self.plan.nodeid, attempt=self.plan.attempt)

    def researcher(self, stored: Feedback | None, keep: Callable[[Feedback], None]) -> Researcher:
        """`stored`: feedback from before this process started. `keep` is called with all other feedback before the agent uses it."""
        ask = self._researcher()

        def answer(turns: Sequence[Turn], level: int) -> Feedback:
            if level not in range(5):
                raise UserError(
                    f"feedback policy {self.plan.policy!r} gave level {level!r}: a policy gives 0 to 4, or None"
                )
            if stored is not None and (stored.turn, stored.level) == (len(turns), level):
                return stored
            feedback = ask(turns, level)
            if self.settings.test_output == "full" and (told := self._judged(turns)) is not None:
                feedback = replace(feedback, text=feedback.text + test_output.full(told, self.plan.task.targets))
            keep(feedback)
            self.transcript.feedback(feedback)
            return feedback

        return answer

    def _judged(self, turns: Sequence[Turn]) -> Verdict | None:
        """The verdict that feedback is about; None if it only says that a step begins."""
        steps = self.plan.task.oracle.steps
        if not steps:
            return turns[-1].verdict
        at = position(steps, turns, self.cast.policy, self.settings.turns)
        return at.turns[-1].verdict if at is not None and at.turns else None

    def _researcher(self) -> Researcher:
        plan = self.plan
        if plan.replay is not None:
            return plan.replay.researcher(plan.task)
        if not plan.task.oracle.steps:
            return self._researcher_of(plan.task, self.parts)
        of_step = cache(lambda index: self._researcher_of(*self._step(index)))
        return stepwise_researcher(plan.task.oracle.steps, self.cast.policy, self.settings.turns, of_step)

    def _researcher_of(self, task: Task, parts: Parts) -> Researcher:
        settings, cast = self.settings, self.cast
        if cast.person is not None:
            name = transcript_name(self.plan.nodeid).removesuffix(".jsonl")
            return by_person(task, parts, cast.person, name=name, waiting=self._for_person)
        model = None
        if cast.feedback_model is not None and settings.feedback_model is not None:
            model = self._model(settings.feedback_model, cast.feedback_model)
        style = Style(
            scope=settings.feedback_scope,
            code_from=int(settings.feedback_code[1:]),
            writer=settings.feedback_writer,
            test_output=settings.test_output == "full",
        )
        return researcher(task, parts, model, style)

    def _waiting(self, what: str) -> AbstractContextManager[None]:
        return self.clock.stopped(Wait(what=what))

    def _for_person(self) -> AbstractContextManager[None]:
        return self._waiting("a person's feedback")

    def _model(self, name: str, kind: ModelKind) -> Model:
        with self._waiting(f"the client of model {name} to be loaded"):
            return TimedModel(kind.make(self._context(name, kind)), self.clock)

    def _embedder(self) -> Embedder | None:
        name, kind = self.settings.search_model, self.cast.search_model
        if name is None or kind is None or kind.embedder is None:
            return None
        with self._waiting(f"the client of model {name} to be loaded"):
            return TimedEmbedder(kind.embedder(self._context(name, kind)), self.clock)

    def _context(self, name: str, kind: ModelKind) -> ModelContext:
        plan, settings, cast = self.plan, self.settings, self.cast
        return ModelContext(
            name=name,
            ledger=self.meter,
            # not of the policy: the first turn is the same for all of them
            seed=f"{plan.task.id}/{name}/{plan.attempt}",
            api_base=settings.api_base,
            temperature=settings.temperature,
            call_seconds=settings.call_seconds,
            table=cast.table,
            task=plan.task if kind.needs_reference else None,
            parts=(lambda: self.parts) if kind.needs_reference else None,
            gateway=cast.gateway,
            caller=self._caller,
            observer=GatewayMeter(meter=self.meter, turn_of=self.turn, first_turn_of=self.first_turn),
        )
