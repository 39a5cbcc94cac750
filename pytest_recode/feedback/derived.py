"""Derived feedback: computed from the verdict, the candidate and the reference, without a model and without an author.

Up to level L3, it mentions names and shapes of code and never quotes the reference; the correction of level L4 is the
reference's source of the interface.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback import partial_file
from pytest_recode.feedback.causes import Causes, advice_in_words, cause_in_words, causes, causes_first, listed
from pytest_recode.feedback.fix_words import steps as steps_in_words
from pytest_recode.feedback.fix_words import used_names, where
from pytest_recode.feedback.import_failures import graded, import_failure
from pytest_recode.feedback.levels import MOST_FRAME, cut, sentence
from pytest_recode.feedback.model_answers import FIELDS, CorrectionPart, part_of
from pytest_recode.feedback.signatures import Structure, structure
from pytest_recode.feedback.symptoms import (
    STEPS,
    advice,
    analyses,
    descriptions,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """An item, and how an author's text for the same interface goes with it.

    `applies`: the fields in which the author's text may be true of this failure: authors describe wrong results of code that runs.
    `usual`: no result of the interface is known to be wrong, so that the author's analysis is only what usually goes wrong. `first` and `last`:
    by field, the derived sentences before and after the author's; `last` may matter less than any other.
    """

    item: FeedbackItem
    applies: frozenset[str]
    usual: bool
    first: Mapping[str, str]
    last: Mapping[str, str]


def derive(task: Task, parts: Parts, candidate: Files, verdict: Verdict) -> tuple[FeedbackItem, ...]:
    """One item for each failing interface, after those that may cause its failure. `candidate`: the targets that were graded.

    All fields are filled, except those that do not apply: for an interface that is known to fail because of another one (`caused_by`), and
    for one whose code needs no change.
    """
    return tuple(derivation.item for derivation in derivations(task, parts, candidate, verdict))


def derivations(
    task: Task, parts: Parts, candidate: Files, verdict: Verdict, written: Mapping[str, str] = MappingProxyType({})
) -> tuple[Derivation, ...]:
    """The items, with what is known of each interface. `written`: corrections by the task's author, by interface."""
    # Of a file that is not compiled, nothing is there to be used
    compiled = {path: data for path, data in candidate.items() if graded(candidate, path, verdict).tree is not None}
    versions = Versions.of(parts, compiled, task.targets)
    causes_of = causes(task, versions, verdict) if parts.slot is None else {}
    turn = _Turn(task=task, parts=parts, candidate=candidate, verdict=verdict, written=written, versions=versions)
    ordered = causes_first(verdict.failing_interfaces, causes_of)
    return tuple(_derivation(turn, name, causes_of.get(name)) for name in ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A failed turn, with the inputs of its derivations."""

    task: Task
    parts: Parts
    candidate: Files
    verdict: Verdict
    written: Mapping[str, str]
    versions: Versions


def _derivation(turn: _Turn, interface: str, cause: Causes | None) -> Derivation:
    task, parts, verdict = turn.task, turn.parts, turn.verdict
    cases = failed(verdict, interface)
    file = file_of(interface, task.targets) or task.targets[0]
    candidate, reference = graded(turn.candidate, file, verdict), source.parse(parts.reference.get(file))
    part = parts.slot is not None and file_of(interface, task.targets) is None
    path, inside = partial_file.places(parts, reference) if part else (path_within(interface, file), ())
    name = path[-1] if path else file if part else interface
    code = None if part else _fix(turn, interface, file, path)
    right = code is not None and code.own is not Own.DIFFERENT
    differs = Structure() if right else structure(file, path, candidate, reference)
    for inner in inside if not candidate.problem else ():
        differs += structure(file, inner, candidate, reference)
    refused = [_arguments_refused(case, path) for case in cases]
    if all(refused):  # nothing else is known to be wrong
        differs = Structure(facts=differs.names + differs.facts, steps=differs.naming + differs.steps)
    early, late = (differs, Structure()) if any(refused) else (Structure(), differs)
    facts, steps = list(differs.facts), list(differs.steps)
    own_code = source.definition(candidate, path)
    unwritten = bool(facts) and bool(path) and own_code is None
    if part and parts.slot is not None and turn.candidate.get(parts.slot.path) == parts.repo.get(parts.slot.path):
        unwritten = True
        facts, steps = [f"the block is still missing from {file}"], ["write the block in the place of the placeholder"]
    if not facts and not right and source.same(own_code, source.definition(source.parse(parts.repo.get(file)), path)):
        unwritten = True
        facts, steps = [f"`{name}` is still as the repository came with it"], [f"write `{name}`"]
    cause = None if facts else cause  # the interface has its own fault
    own, sure = right or bool(facts), cause is not None and cause.sure
    raised = _raised(cases)
    unused = [] if right else unused_of_repository(parts, turn.versions, file, path)
    category = "T1" if candidate.problem or (raised and not facts) else "T0" if facts else "T4" if unused else "T2"
    around, more = _around(turn, code, file, path, sure=cause is None)
    others = [] if own else not_of_values(cases)
    explained = analyses(others, name)
    analysis = [*early.names, *facts, *raised, *around]
    if len(analysis) == len(early.names) and cause is None:
        analysis += _no_fact(name, verdict, cases, task.targets, explained=bool(explained))
    analysis += explained
    suggestion = [*early.naming, *steps, *more, *([] if own else advice(cases, name))]
    suggestion += [f"use what the repository has: {', '.join(unused)}"] if unused else []
    last = {"analysis": _sentences(late.names), "suggestion": _sentences(late.naming)}
    whole = {"analysis": _sentences(analysis), "suggestion": _sentences(suggestion)}
    if cause is not None:
        whole["analysis"] = _sentences([*raised, *([] if sure else [*around, *explained, cause_in_words(name, cause)])])
    advised = _joined(whole["suggestion"], last["suggestion"])
    item = FeedbackItem(
        interface=interface,
        category=category,
        description=_sentences(descriptions(cases)) or sentence("; ".join(kinds(verdict, interface))),
        analysis=whole["analysis"] if sure else _joined(whole["analysis"], last["analysis"]),
        suggestion=advised if cause is None else "" if sure else advice_in_words(cause.names, advised),
        correction="" if sure else _lines(parts, verdict, interface) if code is None else code.code,
        elsewhere={} if sure or code is None else code.elsewhere,
        caused_by=cause.names[0] if cause is not None and sure else "",
        possible_causes=cause.names if cause is not None and not sure else (),
    )
    authors = {field: "derived" for field in (*FIELDS, "caused_by") if getattr(item, field)}
    written = turn.written.get(interface, "")
    if item.correction and written and not right:
        authors["correction"] = "task" if item.correction == written else "derived+task"
    wrong = wrong_values(verdict, interface) and cause is None
    runs = wrong and category not in {"T0", "T1"}
    applies = set() if sure or right or _not_imported(candidate, cases, task.targets) else {"analysis", "suggestion"}
    applies -= {"analysis"} if unwritten else set()
    applies |= {"category"} if applies and runs else set()
    besides = {
        "analysis": _sentences([*around, *explained]),
        "suggestion": _sentences([*more, *advice(others, name)]),
    }
    return Derivation(
        item=replace(item, authors=authors),
        applies=frozenset(applies | ({"description"} if wrong else set())),
        usual=not wrong,
        first=besides if runs else {**whole, "suggestion": besides["suggestion"]} if cause is not None else whole,
        last={**last, "description": _sentences(descriptions(cases))},
    )


def _not_imported(candidate: FileVersion, cases: Sequence[Case], targets: Sequence[str]) -> bool:
    """Whether the interface's file cannot be imported, so that what its code does is not known."""
    ended = bool(cases) and all(import_failure(case, targets) for case in cases)
    return candidate.remedy == source.SYNTAX or ended


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _sentences(phrases: Sequence[str]) -> str:
    return " ".join(map(sentence, dict.fromkeys(phrases)))


def _fix(turn: _Turn, interface: str, file: str, path: Sequence[str]) -> Fix:
    failing = turn.verdict.failing_interfaces
    elsewhere: dict[str, set[str]] = {}
    for other in failing:
        there = file_of(other, turn.task.targets)
        names = path_within(other, there)[:1] if there is not None else ()
        if there is not None and (there, names) != (file, tuple(path[:1])):
            elsewhere.setdefault(there, set()).update(names)
    if file_of(interface, turn.task.targets) is None:  # a case of a unittest script, which may use everything
        return Fix(own=Own.DIFFERENT, code=source.parse(turn.parts.reference.get(file)).text, elsewhere={})
    written = turn.written.get(interface, "")
    return fix(
        turn.versions,
        file,
        path,
        written=written,
        piece=part_of(written, path, turn.versions.candidate.module(file).parsed) is not CorrectionPart.WHOLE,
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


def _no_fact(
    name: str, verdict: Verdict, cases: Sequence[Case], targets: Sequence[str], *, explained: bool
) -> list[str]:
    """What is left to say."""
    failing = set(verdict.failing_interfaces)
    names = dict.fromkeys(case.interface for case in verdict.cases if file_of(case.interface, targets))
    sound = [each for each in names if each not in failing]
    # What else a shared judge's tests use is unknown: the fault may be in another failing interface
    asked = [len(failing) == 1 if case.uses is None else case.interface in case.uses for case in cases]
    own = any(asked) if len(failing) == 1 else all(asked)
    does = f"the fault is in what `{name}` does" + ("" if own else ", or in what it or its hidden tests use")
    return ([] if explained else [does]) + ([f"no fault was found in {listed(sound)}"] if sound else [])
