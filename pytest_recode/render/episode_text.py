"""One episode as text for a terminal, turn by turn, and the list of a run's episodes. Used by `pytest-recode show`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pytest_recode.episode import Feedback
from pytest_recode.records.episode_choice import Chosen
from pytest_recode.records.record import CaseRecord, Record
from pytest_recode.records.transcript_lines import TurnLine
from pytest_recode.records.transcript_reader import case_messages
from pytest_recode.records.transcript_turns import ActionResult, PlayedEpisode, PlayedStep, PlayedTurn, PromptMessage
from pytest_recode.render.words import essence, plural, status
from pytest_recode.verdict import legible
from pytest_recode.wording import scores_text

BRIEF_LINES = 12
ANSWER_LINES = 30
CODES = {"head": "1", "good": "32", "bad": "31", "dim": "2", "place": "36"}
"""ANSI codes of the styles."""


@dataclass(frozen=True, slots=True)
class StyledLine:
    """A line without control characters. `style`: a key of `CODES`, or ""."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownParts:
    """What to show: one turn or all, only the diffs of the targets, and whether to show all messages."""

    turn: int | None = None
    diff: bool = False
    prompts: bool = False


def painted(lines: Sequence[StyledLine], *, colour: bool) -> str:
    """The lines as one text, with ANSI codes if `colour`. Control characters of the contents are escaped."""
    rows = []
    for line in lines:
        text = legible(line.text, keep="\t")
        rows.append(f"\x1b[{CODES[line.style]}m{text}\x1b[0m" if colour and line.style else text)
    return "\n".join(rows) + "\n"


def listed(episodes: Sequence[Chosen], run: str) -> list[StyledLine]:
    """A line for each episode of a run, with the command that shows one."""
    rows = [(*_short(each), each.nodeid) for each in episodes]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        StyledLine(
            f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}",
            _STYLES.get(row[0].partition("@")[0], ""),
        )
        for row in rows
    ]
    return [
        *lines,
        StyledLine(""),
        StyledLine(f"show one: pytest-recode show {run} 'ID', with an id of the last column, or -k EXPRESSION", "dim"),
    ]


_STYLES = {"SOLVED": "good", "UNSOLVED": "bad", "ERROR": "bad"}


def _short(episode: Chosen) -> tuple[str, str, str, str]:
    record = episode.record
    if record is None:
        return "not ended", "", "", episode.facts["task"]
    last = record["turns"][-1] if record["turns"] else None
    cases = f"{last['passed']} of {last['total']} cases" if last else ""
    return status(record), f"{len(record['turns'])} turns", cases, episode.facts["task"]


def shown(episode: PlayedEpisode, view: ShownParts) -> list[StyledLine]:
    """The lines of an episode."""
    turns = [turn for turn in episode.turns if view.turn in (None, turn.number)]
    lines = [*_heading(episode), StyledLine("")]
    if not view.diff and view.turn in (None, 1) and episode.brief:
        lines += [*_brief(episode, whole=view.prompts), StyledLine("")]
    for turn in turns:
        before = next((each for each in episode.turns if each.number == turn.number - 1), None)
        lines += [*_turn(turn, before, view), StyledLine("")]
    return [*lines, *_ending(episode), StyledLine(f"transcript: {episode.path}", "dim")]


def _heading(episode: PlayedEpisode) -> Iterator[StyledLine]:
    facts, record = episode.facts, episode.record
    who = facts["model"] or f"agent {facts['agent']}"
    outcome = "not ended" if record is None else status(record)
    yield StyledLine(f"{facts['task']}  {who}{' (simulated)' if facts['simulated'] else ''}  {outcome}", "head")
    yield StyledLine(facts["nodeid"], "dim")
    known = [
        f"agent {facts['agent']}",
        f"feedback {facts['feedback']}",
        f"attempt {facts['attempt']}",
        turns_text(episode),
        f"sandbox {facts.get('sandbox', 'unknown')}, {facts['isolation']} judging",
    ]
    if record is not None:
        known += [*costs(record["usage"]), f"{record['seconds']:.1f} s"]
        known += [
            f"{waited:.1f} s of it waiting for limits, people or other workers"
            for waited in [record.get("waited", 0)]
            if waited >= 0.1
        ]
    yield StyledLine(" · ".join(known))
    if facts["settings"].get("impossible"):
        yield StyledLine("the impossible twin of the task: one expected value of its hidden tests is shifted")
    if (replay := facts.get("replay")) is not None:
        yield StyledLine(
            f"a replay of turn {replay['turn']} of {replay['nodeid']} in {replay['run']}, with {replay['level']}"
        )


def turns_text(episode: PlayedEpisode) -> str:
    """How many turns were judged, of how many; and whether another one was begun."""
    judged = sum(turn.judged is not None for turn in episode.turns)
    begun = len(episode.turns) - judged
    return f"turns {judged} of {episode.facts['settings']['turns']}" + (f", {begun} more not judged" if begun else "")


def costs(usage: Mapping[str, object]) -> list[str]:
    """The tokens and the dollars of a usage."""
    tokens = [f"{usage['prompt_tokens']:,} prompt + {usage['completion_tokens']:,} completion tokens"]
    cost = usage["cost_usd"]
    return [*tokens, "cost unknown" if cost is None else f"{cost:.4f} USD"]


def _brief(episode: PlayedEpisode, *, whole: bool) -> Iterator[StyledLine]:
    rows = episode.brief.splitlines()
    yield StyledLine("Brief", "head")
    if not whole:
        yield from (StyledLine(f"  {row}") for row in rows[:BRIEF_LINES])
        if len(rows) > BRIEF_LINES:
            yield StyledLine(f"  … {len(rows) - BRIEF_LINES} more lines: --prompts shows all messages", "dim")
    else:
        yield StyledLine("  below, in the messages of turn 1", "dim")


def _turn(turn: PlayedTurn, before: PlayedTurn | None, view: ShownParts) -> Iterator[StyledLine]:
    judged = turn.judged
    if judged is None:
        yield StyledLine(f"Turn {turn.number}  not judged", "head")
    else:
        level = f"with feedback {judged['level']}" if judged["level"] else "before any feedback"
        yield StyledLine(f"Turn {turn.number}  {level}  {judged['passed']} of {judged['total']} cases pass", "head")
        if scores := judged.get("scores"):
            yield StyledLine(f"  measured: {scores_text(scores)}")
        yield StyledLine("  " + " · ".join([*costs(judged["usage"]), f"{judged['seconds']:.1f} s"]), "dim")
        if stopped := judged.get("stopped"):
            yield StyledLine(f"  the agent was ended before it ended its turn: {words_of_stop(stopped)}", "bad")
        if judged["shared"]:
            yield StyledLine(f"  shared with {judged['shared']}, which has its steps", "dim")
    if not view.diff:
        answers: dict[int, list[PromptMessage]] = {}
        for message in turn.messages:
            if message.role == "assistant":
                answers.setdefault(message.step, []).append(message)
        for step in turn.steps:
            yield from _step(step)
            of_step = answers.get(step.number, [])
            answer = of_step.pop(0) if of_step else None
            if not (step.actions or step.files) and not view.prompts and answer is not None:
                yield from _answer(answer)
        yield from (
            StyledLine(f"  request repeated: {retry['error']}: {retry['message']}", "dim") for retry in turn.retries
        )
    if judged is not None:
        yield from _targets(judged, before.judged if before else None)
        if not view.diff:
            yield from _failures(judged["cases"], case_messages(judged))
            yield from (StyledLine(f"  tampering: {finding}", "bad") for finding in judged["tampering"])
    if turn.feedback is not None and not view.diff:
        yield from _feedback(turn.feedback)
    if view.prompts:
        for message in turn.messages:
            yield StyledLine(
                f"  ── {message.role}, {f'step {message.step}' if message.step else 'before the first step'}", "place"
            )
            yield from (StyledLine(f"  {row}") for row in [*message.content.splitlines(), *_calls(message)])


def words_of_stop(stopped: str) -> str:
    """What ended a command-line agent's turn (`stopped` of a turn's record)."""
    known = {
        "time": "its time was up (--recode-agent-seconds)",
        "steps": "it had no model call left (--recode-steps)",
    }
    return known.get(stopped, f"it exceeded a limit of its sandbox ({stopped})")


def _step(step: PlayedStep) -> Iterator[StyledLine]:
    yield StyledLine(f"  step {step.number}  {actions_text(step)}")
    if step.error:
        yield StyledLine(f"    the answer was not used; the model is told: {first_line(step.error, most=400)}", "bad")
    yield from (StyledLine(f"    the model is told: {first_line(each, most=400)}", "dim") for each in step.problems)
    if step.thoughts:
        yield StyledLine(f"    thoughts: {first_line(step.thoughts)}", "dim")
    if planning := step.parts.get("planning"):
        yield StyledLine(f"    plan: {first_line(planning)}", "dim")


def _answer(message: PromptMessage) -> Iterator[StyledLine]:
    """What the model wrote, of an answer that led to no action."""
    rows = [*message.content.splitlines(), *_calls(message)] or ["(empty)"]
    yield StyledLine("    the model wrote:", "place")
    yield from (StyledLine(f"      {row}") for row in rows[:ANSWER_LINES])
    if len(rows) > ANSWER_LINES:
        yield StyledLine(f"      … {len(rows) - ANSWER_LINES} more lines: --prompts shows all messages", "dim")


def _calls(message: PromptMessage) -> list[str]:
    return [f"tool call: {json.dumps(call, ensure_ascii=False)}" for call in message.tool_calls]


def actions_text(step: PlayedStep) -> str:
    """What came of an answer: its actions, or the files that the answer of a one-step agent wrote."""
    if step.asked_again:
        return "not usable, asked again at no step"
    wrote = f"wrote {', '.join(step.files)}" if step.files else "not usable, cost a step" if step.error else "no action"
    return "; ".join(map(action_line, step.actions)) or wrote


def action_line(action: ActionResult) -> str:
    """An action on one line: its kind, what it is about, and why it was not done."""
    named = [str(action.arguments[key]) for key in _SUBJECTS if action.arguments.get(key)]
    texts = [value for value in action.arguments.values() if isinstance(value, str)]  # of another agent's tool
    subject = next(iter(named or texts), "")
    failed = {True: "", False: f" (not done: {first_line(action.text)})", None: " (no result)"}[action.ok]
    return f"{action.kind}{' ' if subject else ''}{first_line(subject)}{failed}"


_SUBJECTS = ("path", "command", "pattern", "query", "argument")


def first_line(text: str, most: int = 100) -> str:
    """The first line of a text, shortened to `most` characters."""
    rows = text.strip().splitlines() or [""]
    return rows[0] if len(rows) == 1 and len(rows[0]) <= most else f"{rows[0][:most]} …"


def _targets(judged: TurnLine, before: TurnLine | None) -> Iterator[StyledLine]:
    for path, text in judged["targets"].items():
        if before is None and path in judged.get("untouched", ()):
            yield StyledLine(f"  {path} is {UNTOUCHED}", "place")
            continue
        if before is None:
            yield StyledLine(f"  {path} after this turn, {plural(len(text.splitlines()), 'line')}", "place")
            yield from (StyledLine(f"    {row}") for row in text.splitlines())
            continue
        changes = diff(before["targets"].get(path, ""), text)
        if not changes:
            yield StyledLine(f"  {path} is unchanged", "place")
            continue
        added, removed = (sum(row.startswith(sign) for row in changes) for sign in "+-")
        yield StyledLine(f"  changed {path}: {plural(added, 'line')} added, {removed} removed", "place")
        yield from (StyledLine(f"    {row}", {"+": "good", "-": "bad", "@": "dim"}.get(row[:1], "")) for row in changes)


UNTOUCHED = "as the repository has it"
"""Of a target after the first turn."""


def diff(before: str, after: str) -> list[str]:
    """A unified diff without the file names; [] if and only if the texts are equal."""
    rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[2:]
    return rows or ["@@ only line ends differ @@"] * (before != after)


def _failures(cases: Sequence[CaseRecord], messages: Mapping[str, str]) -> Iterator[StyledLine]:
    """The failed cases by interface, with their messages."""
    interfaces: dict[str, list[CaseRecord]] = {}
    for case in cases:
        interfaces.setdefault(case["interface"], []).append(case)
    for interface, group in interfaces.items():
        failed = [case for case in group if case["outcome"] != "passed"]
        if failed:
            yield StyledLine(f"  fails: {interface}, {len(failed)} of {len(group)} cases", "bad")
        for case in failed:
            yield StyledLine(f"    {case['id']}")
            rows = essence(messages.get(case["id"], "")) or [case["exception"] or case["kind"]]
            yield from (StyledLine(f"      {row}", "dim") for row in rows)


def _feedback(feedback: Feedback) -> Iterator[StyledLine]:
    audit = feedback.audit
    cut = f", {audit.cut} passages removed because they quoted hidden files" if audit.cut else ""
    by = f"model {feedback.model}" if feedback.model else f"source {feedback.source}"
    yield StyledLine(f"  feedback L{feedback.level} ({by}{cut})", "place")
    yield from (StyledLine(f"    {row}") for row in feedback.text.splitlines())


def _ending(episode: PlayedEpisode) -> Iterator[StyledLine]:
    record: Record | None = episode.record
    if record is None:
        event, time = episode.now
        at = f"{datetime.fromtimestamp(time).astimezone():%Y-%m-%d %H:%M:%S}"
        yield StyledLine(f"not ended: the last event is {event}, at {at}", "dim")
    elif record["error"] is not None:
        first, *rest = record["error"]["message"].split("\n")
        yield StyledLine(f"error ({record['error']['kind']}): {first}", "bad")
        yield from (StyledLine(f"  {line}", "bad") for line in rest)  # a traceback
    else:
        solved = record["outcome"] == "solved"
        yield StyledLine(
            f"solved in turn {record['solved_turn']}" if solved else f"unsolved: {stop_reason(record)}",
            "good" if solved else "bad",
        )
    if episode.dropped:
        yield StyledLine(
            f"started and not judged, because of an error or a stop: {plural(episode.dropped, 'turn')}", "dim"
        )


def stop_reason(record: Record) -> str:
    """Why an unsolved episode ended."""
    known = {"turns": "all turns were used", "given-up": "given up", "time": "the time limit passed"}
    return known.get(record["stop"], f"stopped by {record['stop']}")
