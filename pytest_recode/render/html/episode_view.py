"""An episode as values for a template: turn by turn what changed, what failed, and what the feedback said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.episode import Feedback
from pytest_recode.metrics.attempt import Attempt
from pytest_recode.records.record import CaseRecord, EpisodeFacts, Record
from pytest_recode.records.transcript_lines import TurnLine
from pytest_recode.records.transcript_reader import case_messages
from pytest_recode.records.transcript_turns import PlayedEpisode, PlayedStep, PlayedTurn, PromptMessage
from pytest_recode.render.episode_text import (
    UNTOUCHED,
    actions_text,
    costs,
    diff,
    first_line,
    stop_reason,
    turns_text,
    words_of_stop,
)
from pytest_recode.render.html.level_texts import LEVELS_SAY
from pytest_recode.render.html.withheld import Without, corrects, knows_reference, shows_tests
from pytest_recode.render.words import error_kind_text, essence, plural, status
from pytest_recode.wording import scores_text


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """An answer of the model. `seconds`: how long it took, with its actions; "" if that is not known."""

    number: int
    actions: str
    seconds: str
    error: str
    problems: tuple[str, ...]
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """A target after a turn. `blocks`: its text in pieces of one kind: "same", "added", "removed", "place" (the head of a hunk).

    `whole`: the text is complete, and no diff.
    """

    path: str
    summary: str
    blocks: tuple[tuple[str, str], ...]
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    id: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceView:
    """An interface with failed cases."""

    name: str
    summary: str
    cases: tuple[CaseView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackView:
    """`says`: what feedback of its level says. `by`: who wrote it."""

    level: str
    says: str
    by: str
    cut: int
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn. `kinds`: of its failed cases, with their numbers. Texts that `--without` removes are None."""

    number: int
    level: str
    kinds: str
    passed: int
    total: int
    judged: bool
    facts: tuple[str, ...]
    shared: str
    steps: tuple[StepView, ...] | None
    retries: tuple[str, ...]
    targets: tuple[TargetView, ...] | None
    failures: tuple[InterfaceView, ...]
    tampering: tuple[str, ...]
    feedback: FeedbackView | None
    messages: tuple[PromptMessage, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeView:
    """An episode. `missing`: why there is no transcript to show; "" if there is one."""

    id: str
    task: str
    who: str
    nodeid: str
    outcome: str
    status: str
    facts: tuple[str, ...]
    brief: str | None
    turns: tuple[TurnView, ...]
    ending: str
    missing: str = ""


def episode_view(key: str, task: str, outcome: str, who: str, episode: PlayedEpisode, without: Without) -> EpisodeView:
    """The view of an episode. `key`: the id of its page; `task`, `who`: the names of its task and its row."""
    facts, record = episode.facts, episode.record
    befores: list[PlayedTurn | None] = [None, *episode.turns]
    return EpisodeView(
        id=key,
        task=task,
        who=who,
        nodeid=facts["nodeid"],
        outcome=outcome,
        status=status(record) if record is not None else "NOT ENDED",
        facts=tuple(_facts(facts, record, episode)),
        brief=None if without.prompts else episode.brief,
        turns=tuple(
            _turn(episode, turn, before, without) for turn, before in zip(episode.turns, befores[:-1], strict=True)
        ),
        ending=_ending(episode, without),
    )


def without_transcript(key: str, attempt: Attempt, who: str, reason: str) -> EpisodeView:
    """The view of an episode whose transcript cannot be read."""
    solved = f"SOLVED@{attempt.solved_turn}"
    return EpisodeView(
        id=key,
        task=attempt.task,
        who=who,
        nodeid=attempt.nodeid,
        outcome=attempt.outcome,
        status={"solved": solved, "unsolved": "UNSOLVED"}.get(attempt.outcome, "ERROR"),
        facts=(plural(len(attempt.turns), "turn"),),
        brief="",
        turns=(),
        ending="",
        missing=reason,
    )


def _facts(facts: EpisodeFacts, record: Record | None, episode: PlayedEpisode) -> Iterator[str]:
    yield f"agent {facts['agent']}"
    yield f"feedback {facts['feedback']}"
    yield f"attempt {facts['attempt']}"
    yield turns_text(episode)
    yield f"sandbox {facts.get('sandbox', 'unknown')}, {facts['isolation']} judging"
    if record is not None:
        yield from costs(record["usage"])
        yield f"{record['seconds']:.1f} s"
    if digest := facts.get("digest"):
        yield f"task files {digest}"
    if episode.dropped:
        yield f"started and not judged: {plural(episode.dropped, 'turn')}"


def _ending(episode: PlayedEpisode, without: Without) -> str:
    record = episode.record
    if record is None:
        return "The episode has not ended, or was interrupted."
    if record["error"] is not None:
        error = record["error"]
        # The message of a grader's error quotes the tests
        quoted = without.tests and error["kind"] in ("grader", "internal", "user")
        return f"Error: {error_kind_text(error['kind'])}" + ("" if quoted else f": {error['message']}")
    if record["outcome"] == "solved":
        return f"Solved in turn {record['solved_turn']}."
    return f"Unsolved: {stop_reason(record)}."


def _turn(episode: PlayedEpisode, turn: PlayedTurn, before: PlayedTurn | None, without: Without) -> TurnView:
    judged = turn.judged
    facts = episode.facts
    private = without.reference and knows_reference(episode, turn)
    # Prompts contain the feedback, and so what is removed of it
    prompts = without.prompts or private or (without.tests and shows_tests(facts))
    return TurnView(
        number=turn.number,
        level=(judged["level"] or "") if judged else "",
        kinds=_kinds(judged) if judged else "",
        passed=judged["passed"] if judged else 0,
        total=judged["total"] if judged else 0,
        judged=judged is not None,
        facts=tuple(_turn_facts(judged)) if judged else (),
        shared=(judged["shared"] or "") if judged else "",
        steps=None if private else tuple(_steps(turn)),
        retries=tuple(f"{retry['error']}: {retry['message']}" for retry in turn.retries),
        targets=None if private else tuple(_targets(judged, before.judged if before else None)) if judged else (),
        failures=tuple(_failures(judged, private=without.tests)) if judged else (),
        tampering=tuple(judged["tampering"]) if judged else (),
        feedback=_feedback(turn.feedback, facts, without, private=private) if turn.feedback else None,
        messages=None if prompts else turn.messages,
    )


def _turn_facts(judged: TurnLine) -> Iterator[str]:
    if scores := judged.get("scores"):
        yield f"measured: {scores_text(scores)}"
    yield from costs(judged["usage"])
    yield f"{judged['seconds']:.1f} s"
    yield f"seed {judged['seed']}"
    if stopped := judged.get("stopped"):
        yield f"the agent was ended before it ended its turn: {words_of_stop(stopped)}"


def _steps(turn: PlayedTurn) -> Iterator[StepView]:
    begun = turn.messages[0].time if turn.messages else None
    for step in turn.steps:
        ended = max([step.time, *(action.ended for action in step.actions if action.ended is not None)])
        yield _step(step, None if begun is None else ended - begun)
        begun = ended


def _step(step: PlayedStep, seconds: float | None) -> StepView:
    return StepView(
        number=step.number,
        actions=actions_text(step),
        seconds="" if seconds is None or seconds < 0 else f"{seconds:.1f} s",
        error=first_line(step.error, most=400) if step.error else "",
        problems=tuple(first_line(each, most=400) for each in step.problems),
        plan=first_line(step.parts.get("planning", "")),
    )


def _targets(judged: TurnLine, before: TurnLine | None) -> Iterator[TargetView]:
    for path, text in judged["targets"].items():
        if before is None and path in judged.get("untouched", ()):
            yield TargetView(path=path, summary=UNTOUCHED, blocks=(), whole=True)
            continue
        if before is None:
            lines = plural(len(text.splitlines()), "line")
            yield TargetView(
                path=path, summary=f"{lines} after this turn", blocks=(("same", text),) if text else (), whole=True
            )
            continue
        changes = diff(before["targets"].get(path, ""), text)
        added, removed = (sum(row.startswith(sign) for row in changes) for sign in "+-")
        summary = f"{plural(added, 'line')} added, {removed} removed" if changes else "unchanged"
        yield TargetView(path=path, summary=summary, blocks=_blocks(changes), whole=False)


_KINDS = {"+": "added", "-": "removed", "@": "place"}


def _blocks(changes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Consecutive lines of a diff of one kind, as one text."""
    blocks: list[tuple[str, list[str]]] = []
    for row in changes:
        kind = _KINDS.get(row[:1], "same")
        if not blocks or blocks[-1][0] != kind:
            blocks.append((kind, []))
        blocks[-1][1].append(row)
    return tuple((kind, "\n".join(rows)) for kind, rows in blocks)


def _failures(judged: TurnLine, *, private: bool) -> Iterator[InterfaceView]:
    messages: Mapping[str, str] = case_messages(judged)
    interfaces: dict[str, list[CaseRecord]] = {}
    for case in judged["cases"]:
        interfaces.setdefault(case["interface"], []).append(case)
    for interface, group in interfaces.items():
        failed = [case for case in group if case["outcome"] != "passed"]
        if failed:
            yield InterfaceView(
                name=interface,
                summary=f"{len(failed)} of {len(group)} cases fail",
                cases=tuple(
                    CaseView(
                        id=case["id"],
                        kind=_kind(case),
                        message="" if private else "\n".join(dedented(essence(messages.get(case["id"], "")))),
                    )
                    for case in failed
                ),
            )


_SOURCES = {
    "task": "from the task's feedback.yaml",
    "derived": "derived from the failures and the reference",
    "person": "written by a person",
    "model": "written by a model",
}


_FAILURES = {
    "mismatch": "wrong values",
    "not-finite": "NaN or infinity",
    "shape": "wrong shape",
    "length": "wrong number of items",
    "keys": "wrong keys",
    "dtype": "wrong type",
    "assertion": "a property does not hold",
    "undefined": "not defined",
    "no-exception": "no exception",
    "no-warning": "no warning",
    "timeout": "not in time",
    "died": "ended its process",
    "protocol": "an unreadable value",
}
"""How a case of each kind failed."""


def _kind(case: CaseRecord) -> str:
    return case["exception"] or _FAILURES.get(case["kind"], case["kind"]) or case["outcome"]


def _kinds(judged: TurnLine) -> str:
    """How often cases failed in which way, the most frequent first."""
    counts = Counter(_kind(case) for case in judged["cases"] if case["outcome"] != "passed")
    return ", ".join(f"{kind} ({count})" for kind, count in counts.most_common())


def dedented(rows: Sequence[str]) -> list[str]:
    """The lines of a failure, which pytest marks with one character, without the indentation that all of them have after it."""
    marked = [row for row in rows if row[:1] in (">", "E") and row[1:].strip()]
    indent = min((len(row) - 1 - len(row[1:].lstrip()) for row in marked), default=1)
    return [row[:1] + row[indent:] if row[:1] in (">", "E") and indent > 1 else row for row in rows]


def _feedback(feedback: Feedback, facts: EpisodeFacts, without: Without, *, private: bool) -> FeedbackView:
    """`private`: the code of the turn is removed, and so is feedback, which quotes lines of it."""
    removed = private or (without.reference and corrects(feedback, facts)) or (without.tests and shows_tests(facts))
    return FeedbackView(
        level=f"L{feedback.level}",
        says=LEVELS_SAY.get(f"L{feedback.level}", ""),
        by=f"written by the model {feedback.model}"
        if feedback.model
        else _SOURCES.get(feedback.source, f"source {feedback.source}"),
        cut=feedback.audit.cut,
        text=None if removed else feedback.text,
    )
