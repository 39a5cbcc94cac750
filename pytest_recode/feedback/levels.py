"""Levels: how much feedback may reveal, and how it is written. Only this module creates the feedback text of an agent.

Nothing of the hidden tests can get into the text: only outcome, kind and the candidate's own exception of a case are
read, never its id or its message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback.causes import after_causes, listed
from pytest_recode.feedback.import_failures import import_failures
from pytest_recode.feedback.model_answers import WORDS
from pytest_recode.feedback.repeated import Printed, new
from pytest_recode.feedback.symptoms import failed, kinds
from pytest_recode.program.interfaces import file_of
from pytest_recode.verdict import Case, Exc, Outcome, Verdict
from pytest_recode.wording import scores_text

LEVELS = (0, 1, 2, 3, 4)

FIRST_LINE = re.compile(r"^Feedback on turn (?P<turn>\d+), level L(?P<level>[0-4])\.$", re.MULTILINE)
"""Matches the first line of every feedback text, but no line that a candidate's exception can add."""

INTERFACE = re.compile(r"^Interface: (?P<interface>\S+)$", re.MULTILINE)
"""Matches the head of each failing interface's part, from level L1 on."""

CORRECTION = re.compile(
    r"^(?:Correction of|Used by the correction of) (?P<interface>\S+), in (?P<file>\S+):\n(?P<code>(?:\n| {4}[^\n]*\n)+)",
    re.MULTILINE,
)
"""Matches each correction of a level L4 text. Its code is indented and not fenced, because a fence, copied by a model, is its answer for a
whole file."""
OF_MODEL = " (what it leaves out stays)"
"""Says that a model wrote the correction, which may be a part of a definition. `CORRECTION` does not match it."""
_INDENT = "    "

MOST_EXCEPTIONS = 5
MOST_MESSAGE = 500
MOST_FRAMES = 10
MOST_FRAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Code for `file`: its top-level definitions replace those of the same name, and its imports are added."""

    interface: str
    file: str
    code: str


def render(
    verdict: Verdict,
    items: Sequence[FeedbackItem],
    level: int,
    turn: int,
    *,
    targets: Sequence[str],
) -> str:
    """The feedback text for an agent after turn `turn` (from 1), at `level` (0 … 4).

    `items` are those of the failing interfaces, and possibly of others. `targets` determine the file of a correction.
    """
    lines = [f"Feedback on turn {turn}, level L{level}.", f"{count(verdict)}."]
    lines += [f"measured: {scores_text(verdict.scores)}."] if verdict.scores else []
    unimportable = import_failures(verdict, targets)
    ended = [case for cases in unimportable.values() for case in cases]
    lines += exceptions(verdict, without=ended)
    for file, cases in unimportable.items():
        raised = [case.exception for case in cases if case.exception is not None]
        direct = min(raised, key=lambda exception: len(exception.frames))  # others came through files that import it
        lines += ["", f"{file} cannot be imported, so nothing in it could be tested:", *_exception(direct)]
    if level >= 1:
        untested = {name for name in verdict.failing_interfaces if all(case in ended for case in failed(verdict, name))}
        shown: set[str] = set()
        printed: Printed = {}
        printed_words: set[str] = set()  # of interfaces that no test reached
        for item in items:
            lines += ["", f"Interface: {item.interface}"]
            if item.interface in untested:
                words = [line for line in _untested(item, level) if line not in printed_words]
                printed_words |= set(words)
                lines += words or ["Not tested: its file cannot be imported."]
            else:
                lines += _words(verdict, item, level, first=item.interface not in shown)
            if level >= 4:
                lines += _correction(item, targets, printed)
            shown.add(item.interface)
    return "\n".join(lines) + "\n"


def count(verdict: Verdict) -> str:
    """The first line about the verdict: `hidden tests: 5 of 8 fail`."""
    return f"hidden tests: {verdict.failed} of {len(verdict.cases)} fail"


def tally(verdict: Verdict) -> str:
    """A verdict as a researcher sees it: for each interface how many cases fail and how, and the candidate's exceptions."""
    lines = []
    for interface in dict.fromkeys(case.interface for case in verdict.cases):
        cases = [case for case in verdict.cases if case.interface == interface]
        failed = sum(case.outcome is not Outcome.PASSED for case in cases)
        symptoms = f": {'; '.join(kinds(verdict, interface))}" if failed else ""
        lines.append(f"{interface}: {failed} of {len(cases)} hidden tests fail{symptoms}")
    lines += [f"measured: {scores_text(verdict.scores)}"] if verdict.scores else []
    return "\n".join(lines + exceptions(verdict))


def corrections(text: str) -> tuple[Correction, ...]:
    """The corrections in a feedback text of level L4; () at lower levels."""
    return tuple(
        Correction(interface=match["interface"], file=match["file"], code=_without_indent(match["code"]))
        for match in CORRECTION.finditer(text)
    )


def exceptions(verdict: Verdict, without: Sequence[Case] = ()) -> list[str]:
    """The candidate's own exceptions as indented lines, one per type and place (without a place: per message), the most frequent first.
    Those of the cases in `without` are omitted.

    The messages are the candidate's, so they are truncated, and indented so that no line of them can be mistaken for one of the feedback.
    """
    by_place: dict[tuple[str, tuple[str, ...]], list[Exc]] = {}
    for case in verdict.cases:
        raised = case.exception
        if (
            raised is not None and case.outcome is Outcome.FAILED and case not in without
        ):  # an ERROR is not the candidate's fault
            by_place.setdefault((raised.type, raised.frames or (raised.message,)), []).append(raised)
    if not by_place:
        return []
    ranked = sorted(by_place.values(), key=len, reverse=True)
    shown = ranked[:MOST_EXCEPTIONS]
    lines = [""]
    for head, placed in (("Your code raised:", True), ("Using your code raised:", False)):
        there = [same for same in shown if bool(same[0].frames) is placed]
        lines += [head] if there else []
        for same in there:
            lines += _exception(same[0], len(same), alike=len({each.message for each in same}) == 1)
    if more := max(len(ranked) - MOST_EXCEPTIONS, 0):
        lines.append(f"    … and {more} other {'exception' if more == 1 else 'exceptions'}")
    return lines


def _words(verdict: Verdict, item: FeedbackItem, level: int, *, first: bool) -> list[str]:
    """The words of one record. Only the `first` record of an interface has its symptom."""
    symptom = sentence("; ".join(kinds(verdict, item.interface)))
    lines = []
    if item.interface not in verdict.failing_interfaces:
        lines.append("Symptom: None, its hidden tests pass.")
    elif symptom and first:
        lines.append(f"Symptom: {symptom}")
    for field in WORDS[:level]:
        if getattr(item, field).strip() != symptom:
            lines += _labelled(item, field)
        if field == "analysis" and item.caused_by:
            lines.append(f"Cause: The fault is in {item.caused_by}. Nothing needs to be changed here itself.")
    return lines


def _untested(item: FeedbackItem, level: int) -> list[str]:
    """The words of a record of an interface that no test reached, because an import failed. What is derived about it repeats that."""
    fields = [each for each in WORDS[:level] if each == "suggestion" or item.authors.get(each) != "derived"]
    return [line for field in fields for line in _labelled(item, field)]


def _labelled(item: FeedbackItem, field: str) -> list[str]:
    text = getattr(item, field).strip().replace("\n", "\n  ")
    return [f"{field.capitalize()}: {text}"] if text else []


def _correction(item: FeedbackItem, targets: Sequence[str], printed: Printed) -> list[str]:
    """The code of one record. What is in `printed` is referred to."""
    file = file_of(item.interface, targets) or (
        targets[0] if len(targets) == 1 else None
    )  # a case of a unittest script
    if not file:
        return []
    lines = []
    if item.possible_causes and (item.correction.strip() or item.elsewhere):
        lines.append(f"Use the correction only if this {after_causes(item.possible_causes)}.")
    if item.correction.strip():
        code, part = item.correction, ""
        if item.authors.get("correction") == "model" and file_of(item.interface, targets) is not None:
            part = OF_MODEL
        else:
            code, above = new(code, file, item.interface, printed)
            lines += _above(above)
        if code:
            lines += [f"Correction of {item.interface}, in {file}{part}:", "", _indented(code)]
    for path, whole in item.elsewhere.items():
        code, above = new(whole, path, item.interface, printed)
        lines += _above(above)
        if code:
            lines += [f"Used by the correction of {item.interface}, in {path}:", "", _indented(code)]
    return lines


def _above(names: Mapping[str, Sequence[str]]) -> list[str]:
    """Where the text has definitions that belong to a correction and are not printed again."""
    return [f"Part of this correction is above, with that of {owner}: {listed(its)}." for owner, its in names.items()]


def _exception(exception: Exc, times: int = 1, *, alike: bool = True) -> list[str]:
    head = f"{cut(exception.type, MOST_FRAME)}: {cut(exception.message, MOST_MESSAGE)}".rstrip(": ")
    lines = ["    " + line for line in head.split("\n")]
    if times > 1:
        lines[0] += f" ({times} times)" if alike else f" ({times} times, with different messages)"
    frames = exception.frames
    if len(frames) > MOST_FRAMES:  # the first frames show the way, the last ones the place of the error
        half = MOST_FRAMES // 2
        frames = (*frames[:half], f"… {len(frames) - 2 * half} more …", *frames[-half:])
    return lines + ["      at " + " ".join(cut(frame, MOST_FRAME).split()) for frame in frames]


def _indented(code: str) -> str:
    """Code as `CORRECTION` matches it: each line that is not empty is indented."""
    return "\n".join(f"{_INDENT}{line}" if line else "" for line in code.strip("\n").split("\n"))


def _without_indent(block: str) -> str:
    return "\n".join(line.removeprefix(_INDENT) for line in block.strip("\n").split("\n")) + "\n"


def sentence(text: str) -> str:
    """`text` with an initial capital (except for names of files and code) and a full stop."""
    text = text.strip()
    if not text:
        return ""
    first = text.split()[0]
    head = text[0] if "`" in first or "/" in first or ".py" in first else text[0].upper()
    return head + text[1:] + ("" if text[-1] in ".?!" else ".")


def cut(text: str, most: int) -> str:
    """At most `most` characters of `text`, with control characters made visible."""
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in shown)
