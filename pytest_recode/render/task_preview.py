"""What `pytest-recode preview` prints for a task's author: a first prompt with its size, or a graded answer with the feedback on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_recode.episode import Feedback
from pytest_recode.render.words import essence, plural
from pytest_recode.verdict import Case, Outcome, Verdict, legible

WARNING = (
    "For the task's author: this shows hidden tests, code of the reference and feedback. Do not paste this to a model."
)
ESCAPED = "Characters that do not print are shown as escapes; a model receives the characters themselves."


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """`rows`: name, characters and estimated tokens of each part. `messages`: role and content of each. `tools`: JSON, one text per tool."""

    heading: str
    notes: Sequence[str]
    rows: Sequence[tuple[str, int, int]]
    messages: Sequence[tuple[str, str]]
    tools: Sequence[str]


def prompt_text(view: PromptView) -> str:
    """The notes, the sizes, and every message and tool in full."""
    shown = [(role, legible(content)) for role, content in view.messages]
    escaped = any(content != text for (_, content), (_, text) in zip(view.messages, shown, strict=True))
    lines = [legible(view.heading, keep=""), *view.notes, *([ESCAPED] if escaped else []), "", *_sizes(view.rows), ""]
    for number, (role, text) in enumerate(shown, 1):
        lines += [rule(f"message {number} of {len(shown)}: {role}"), text]
    if view.tools:
        lines += [rule(f"{plural(len(view.tools), 'tool')}, sent with the messages"), *map(legible, view.tools)]
    return "\n".join([*lines, rule("end of the prompt")]) + "\n"


def rule(title: str) -> str:
    """The line above a part of the output."""
    return f"──── {title} ".ljust(100, "─")


def _sizes(rows: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    table = [*rows, ("total", sum(row[1] for row in rows), sum(row[2] for row in rows))]
    width = max(len(name) for name, _, _ in table)
    yield f"{'part':<{width}}  {'characters':>10}  {'tokens (estimate)':>17}"
    for name, characters, tokens in table:
        yield f"{name:<{width}}  {characters:>10,}  {tokens:>17,}"


def mutants_text(task: str, rows: Sequence[tuple[str, str, int | None]]) -> str:
    """The mutants in their order: number, place and name of each, and the line of `equivalent.txt` that lists it, if one does."""
    width = max((len(legible(place, keep="")) for place, _, _ in rows), default=0)
    lines = [f"{task}: {plural(len(rows), 'mutant')} of the reference; --mutant N grades one", WARNING, ""]
    for number, (place, name, line) in enumerate(rows, 1):
        listed = f"  (equivalent.txt:{line})" if line else ""
        lines.append(f"{number:>4}  {legible(place, keep=''):<{width}}  {legible(name, keep='')}{listed}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """`about`: lines on the answer. `cuts`: interface, field, reasons and passage of each cut of the audit. `sandbox`: its name."""

    heading: str
    about: Sequence[str]
    verdict: Verdict
    sandbox: str
    feedback: Sequence[Feedback]
    cuts: Sequence[tuple[str, str, str, str]]
    mark: str  # what stands for a cut passage


def answer_text(view: AnswerView) -> str:
    """The warning, the verdict case by case, and the feedback of every level."""
    verdict = view.verdict
    lines = [view.heading, WARNING, *view.about, "", *_verdict(verdict, view.sandbox)]
    if verdict.solved:
        lines += ["", "The answer solves the task: the episode would end here, without feedback."]
    else:
        lines += ["", *_on_feedback(view)]
        for each in view.feedback:
            lines += [rule(f"feedback at level L{each.level}"), each.text.rstrip("\n")]
        lines += [rule("end of the feedback"), WARNING]
    return legible("\n".join(lines)) + "\n"


def _verdict(verdict: Verdict, sandbox: str) -> Iterator[str]:
    if verdict.solved:
        outcome = f"all {len(verdict.cases)} hidden tests pass"
    else:
        outcome = f"{verdict.failed} of {plural(len(verdict.cases), 'hidden test')} fail"
    yield (
        f"Verdict: {outcome} (sandbox {sandbox}, {verdict.isolation} judging, {verdict.seconds:.1f} s;"
        f" to repeat it: --seed={verdict.seed})"
    )
    yield from (f"  tampering: {finding}" for finding in verdict.tampering)
    for case in verdict.cases:
        yield from _case(case)


def _case(case: Case) -> Iterator[str]:
    kind = f", {case.kind}" if case.kind else ""
    yield f"  {case.outcome.value:<6}  {case.id}  ({case.interface}{kind})"
    if case.outcome is not Outcome.PASSED:
        yield from (f"            {row}".rstrip() for row in essence(case.message))


def _on_feedback(view: AnswerView) -> Iterable[str]:
    sources = {"task": "the task's feedback.yaml, completed by derived feedback", "derived": "derived feedback"}
    source = view.feedback[0].source
    lines = [f"Feedback on this verdict, without a feedback model: {sources.get(source, source)}."]
    if not view.cuts:
        return [*lines, "The audit cuts nothing from it."]
    lines.append(f"The audit cuts {plural(len(view.cuts), 'passage')}, and {view.mark} stands in the place of each:")
    return [
        *lines,
        *(f"  {interface}, {field} {reasons}: {passage!r}" for interface, field, reasons, passage in view.cuts),
    ]
