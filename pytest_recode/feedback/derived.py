"""Derived feedback: computed from the verdict, the candidate and the reference, without a model and without an author.

Up to level L3, it mentions names and shapes of code and never quotes the reference; the correction of level L4 is the
reference's source of the interface.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback import of_verifier, partial_file
from pytest_recode.feedback.causes import Causes, advice_in_words, cause_in_words, causes, causes_first
from pytest_recode.feedback.fix_words import steps as steps_in_words
from pytest_recode.feedback.fix_words import used_names, where
from pytest_recode.feedback.import_failures import graded, import_failure
from pytest_recode.feedback.levels import MOST_FRAME, cut, sentence
from pytest_recode.feedback.signatures import Structure, structure
from pytest_recode.feedback.symptoms import (
    STEPS,
    advice,
    analyses,
    failed,
    kinds,
    not_of_values,
    wrong_values,
)
from pytest_recode.feedback.unused import unused_of_repository
from pytest_recode.program import source
from pytest_recode.program.fixes import Fix, Own, Versions, fix, raised_on_import
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.program.source import FileVersion
from pytest_recode.slots import original
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Case, Verdict

MOST_NAMES = 5


USUALLY = "What usually goes wrong here:"
"""Precedes an author's analysis that was written for another kind of failure."""

Words = Mapping[str, Mapping[str, str]]
"""The text of the task's author: interface -> field -> text."""


def derive(
    task: Task, parts: Parts, candidate: Files, verdict: Verdict, words: Words = MappingProxyType({})
) -> tuple[FeedbackItem, ...]:
    """One item for each failing interface, after those that may cause its failure. `candidate`: the targets that were graded.

    The author's `words` take the place of what is derived, where they apply: authors describe wrong results of code that runs.
    All fields are filled, except those that do not apply: for an interface that is known to fail because of another one (`caused_by`), and
    for one whose code needs no change.
    """
    if task.oracle.isolation == "verifier":
        return of_verifier.items_of(parts, verdict)
    # Of a file that is not compiled, nothing is there to be used
    compiled = {path: data for path, data in candidate.items() if graded(candidate, path, verdict).tree is not None}
    versions = Versions.of(parts, compiled, task.targets)
    causes_of = causes(task, versions, verdict) if parts.slot is None else {}
    turn = _Turn(task=task, parts=parts, candidate=candidate, verdict=verdict, versions=versions)
    ordered = causes_first(verdict.failing_interfaces, causes_of)
    return tuple(_item(turn, name, causes_of.get(name), words.get(name, {})) for name in ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A failed turn, with the inputs of its derivations."""

    task: Task
    parts: Parts
    candidate: Files
    verdict: Verdict
    versions: Versions


def _item(turn: _Turn, interface: str, cause: Causes | None, words: Mapping[str, str]) -> FeedbackItem:
    task, parts, verdict = turn.task, turn.parts, turn.verdict
    cases = failed(verdict, interface)
    file = file_of(interface, task.targets) or task.targets[0]
    candidate, reference = graded(turn.candidate, file, verdict), source.parse(parts.reference.get(file))
    part = parts.slot is not None and file_of(interface, task.targets) is None
    path, inside = partial_file.places(parts, reference) if part else (path_within(interface, file), ())
    name = path[-1] if path else file if part else interface
    code = None if part else _fix(turn, interface, file, path, words.get("correction", ""))
    right = code is not None and code.own is not Own.DIFFERENT
    refused = [case for case in cases if _arguments_refused(case, path)]
    differs = Structure() if right else structure(file, path, candidate, reference, refused=bool(refused))
    for inner in inside if not candidate.problem else ():
        differs += structure(file, inner, candidate, reference, refused=bool(refused))
    facts, steps = differs.facts, differs.steps
    own_code = source.definition(candidate, path)
    unwritten = bool(facts) and bool(path) and own_code is None
    if part and parts.slot is not None and turn.candidate.get(parts.slot.path) == parts.repo.get(parts.slot.path):
        unwritten = True
        facts, steps = (
            (f"the block is still missing from {file}",),
            ("write the block in the place of the placeholder",),
        )
    if not facts and not right and source.same(own_code, source.definition(source.parse(parts.repo.get(file)), path)):
        unwritten = True
        facts, steps = (f"`{name}` is still as the repository came with it",), (f"write `{name}`",)
    cause = None if facts else cause  # the interface has its own fault
    sure, wrong = cause is not None and cause.sure, cause is None and wrong_values(verdict, interface)
    # Facts explain the refused calls, if there are any, and otherwise all that went wrong
    rest = [] if right or (facts and not refused) else [case for case in cases if not facts or case not in refused]
    raised = _raised(cases)
    unused = [] if right else unused_of_repository(parts, turn.versions, file, path)
    # Code that does without what the repository has (T4) may be right: to use it is advice, and no category
    category = "T1" if candidate.problem or (raised and not facts) else "T0" if facts else "T2"
    around, more = _around(turn, code, file, path, sure=cause is None)
    others = not_of_values(rest)
    explained = analyses(others, name)

    applying = {} if right or sure or _not_imported(candidate, cases, task.targets) else words
    runs = wrong and category not in {"T0", "T1"}
    authors_text = {
        "category": applying.get("category", "") if runs else "",
        "description": words.get("description", "") if wrong else "",
        "analysis": "" if unwritten else applying.get("analysis", ""),
        "suggestion": applying.get("suggestion", ""),
    }
    if cause is not None:
        analysis = [*raised, *([] if sure else [*around, *explained, cause_in_words(name, cause)])]
    elif runs and authors_text["analysis"]:
        analysis = [*around, *explained]
    else:
        unknown = f"the fault is in what `{name}` does, or in what it or its hidden tests use"
        analysis = [*facts, *raised, *around, *explained] or [unknown]
    if authors_text["suggestion"] and (runs or cause is not None):
        suggestion = [*more, *advice(others, name)]
    else:
        suggestion = [*steps, *more, *advice(rest, name)]
        suggestion += [f"use what the repository has: {', '.join(unused)}"] if unused else []
    usually = USUALLY if authors_text["analysis"] and not wrong else ""
    advised = _joined(_sentences(suggestion), authors_text["suggestion"])
    fields = {
        "category": authors_text["category"] or category,
        "description": authors_text["description"] or sentence("; ".join(kinds(verdict, interface))),
        "analysis": _joined(_sentences(analysis), usually, authors_text["analysis"]),
        "suggestion": advised if cause is None else "" if sure else advice_in_words(cause.names, advised),
        "correction": "" if sure else _lines(parts, verdict, interface) if code is None else code.code,
        "caused_by": cause.names[0] if cause is not None and sure else "",
    }
    if not right:
        authors_text["correction"] = words.get("correction", "")
    return FeedbackItem(
        interface=interface,
        **fields,
        elsewhere={} if sure or code is None else code.elsewhere,
        possible_causes=cause.names if cause is not None and not sure else (),
        authors={
            field: _author(text, authors_text.get(field, ""))
            for field, text in {**fields, "suggestion": advised}.items()
            if fields[field]
        },
    )


def _author(text: str, authors_text: str) -> str:
    return "derived" if not authors_text else "task" if text == authors_text else "derived+task"


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _not_imported(candidate: FileVersion, cases: Sequence[Case], targets: Sequence[str]) -> bool:
    """Whether the interface's file cannot be imported, so that what its code does is not known."""
    ended = bool(cases) and all(import_failure(case, targets) for case in cases)
    return candidate.remedy == source.SYNTAX or ended


def _sentences(phrases: Sequence[str]) -> str:
    return " ".join(map(sentence, dict.fromkeys(phrases)))


def _fix(turn: _Turn, interface: str, file: str, path: Sequence[str], written: str) -> Fix:
    failing = turn.verdict.failing_interfaces
    elsewhere: dict[str, set[str]] = {}
    for other in failing:
        there = file_of(other, turn.task.targets)
        names = path_within(other, there)[:1] if there is not None else ()
        if there is not None and (there, names) != (file, tuple(path[:1])):
            elsewhere.setdefault(there, set()).update(names)
    if file_of(interface, turn.task.targets) is None:  # a case of a unittest script, which may use everything
        return Fix(own=Own.DIFFERENT, code=source.parse(turn.parts.reference.get(file)).text, elsewhere={})
    return fix(
        turn.versions,
        file,
        path,
        written=written,
        elsewhere=elsewhere,
        raising=raised_on_import(turn.verdict.cases, turn.versions.authors.files),
        passing=_passing(turn),
    )


def _around(
    turn: _Turn, code: Fix | None, file: str, path: Sequence[str], *, sure: bool
) -> tuple[list[str], list[str]]:
    """Facts about the code around the interface's own, and steps to change it."""
    if code is None:
        return [], []
    names = used_names(code, turn.versions, file, path, _passing(turn))
    # The symptom is the interface's, not that of the code it uses: what it returns is not what they return
    return where(code, names, file, path, sure=sure), steps_in_words(code, names, turn.versions, STEPS)


def _passing(turn: _Turn) -> set[tuple[str, str]]:
    """The file and name of each function that is an interface and passes its hidden tests."""
    failing = turn.verdict.failing_interfaces
    passing = set()
    for name in dict.fromkeys(case.interface for case in turn.verdict.cases):
        file = file_of(name, turn.task.targets)
        path = path_within(name, file) if file is not None else ()
        if file is not None and name not in failing and len(path) == 1:
            passing.add((file, path[0]))
    return passing


def _lines(parts: Parts, verdict: Verdict, interface: str) -> str:
    """The authors' lines for a part of a file. They correct all failing cases, so only the first item has them."""
    return (original(parts) or "") if interface == verdict.failing_interfaces[0] else ""


def _raised(cases: Sequence[Case]) -> list[str]:
    """The places that raised the candidate's exceptions, each once."""
    places = []
    for case in cases:
        if case.exception is not None:
            frame = case.exception.frames[-1] if case.exception.frames else ""
            place = f" at {frame.partition(': ')[0]}" if frame else ""
            places.append(" ".join(cut(f"{case.exception.type} is raised{place}", MOST_FRAME).split()))
    return list(dict.fromkeys(places))[:MOST_NAMES]


def _arguments_refused(case: Case, path: Sequence[str]) -> bool:
    """Whether the interpreter refused a call of the interface because of its arguments."""
    if not path or case.exception is None or case.exception.type != "TypeError":
        return False
    refusal = rf"\b{re.escape(path[-1])}(?:\.__init__)?\(\) (?:got|missing|takes)\b"
    return re.search(refusal, case.exception.message) is not None
