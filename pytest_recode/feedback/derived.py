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
    mostly_not_of_values,
    not_of_values,
)
from pytest_recode.feedback.unused import unused_of_repository
from pytest_recode.program import source
from pytest_recode.program.fixes import Fix, Own, Versions, fix, raised_on_import
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.program.source import Definition, FileVersion
from pytest_recode.slots import original
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Case, Verdict

MOST_NAMES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """An item, and what a researcher who writes another text for it needs to know.

    `right`: the interface's own code needs no change. `unread`: its file cannot be imported, so what the code does is not known.
    `unwritten`: the interface is missing, or still as the repository delivered it.
    `indirect`: its failing tests reach it only through code of the repository, so the fault may be in any interface that this code uses.
    `besides`: by field, the parts that a text on wrong values of the interface does not replace: on other code that needs changes, and
    on failures that are no wrong values. `besides_first`: most failures are no wrong values. `after`: by field, the last part of the item's text, which may matter less than any other.
    """

    item: FeedbackItem
    right: bool = False
    unread: bool = False
    unwritten: bool = False
    indirect: bool = False
    besides_first: bool
    besides: Mapping[str, str]
    after: Mapping[str, str]

    def before(self, field: str) -> str:
        """The item's text without `after`."""
        text: str = getattr(self.item, field)
        return text.removesuffix(self.after[field]).strip()


def derive(task: Task, parts: Parts, candidate: Files, verdict: Verdict) -> tuple[FeedbackItem, ...]:
    """One item for each failing interface, after those that may cause its failure. `candidate`: the targets that were graded.

    All fields are filled, except those that do not apply: for an interface that is known to fail because of another one (`caused_by`), and
    for one whose code needs no change.
    """
    return tuple(each.item for each in derivations(task, parts, candidate, verdict))


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
    task, parts, candidate, verdict = turn.task, turn.parts, turn.candidate, turn.verdict
    cases = failed(verdict, interface)
    file = file_of(interface, task.targets) or task.targets[0]
    theirs, ours = graded(candidate, file, verdict), source.parse(parts.reference.get(file))
    part = parts.slot is not None and file_of(interface, task.targets) is None
    path = partial_file.around(parts, ours) if part else path_within(interface, file)
    name = path[-1] if path else file if part else interface
    made = None if part else _fix(turn, interface, file, path)
    right = made is not None and made.own is not Own.DIFFERENT
    differs = Structure() if right else structure(file, path, theirs, ours)
    for inner in partial_file.defined(parts, ours) if part and not theirs.problem else ():
        differs += structure(file, inner, theirs, ours)
    refused = [_arguments_refused(case, path) for case in cases]
    first, differs = differs.names_as_facts() if any(refused) else (Structure(), differs)
    if all(refused):  # nothing else is known to be wrong
        first, differs = Structure(), first + differs
    facts, steps = list(differs.facts), list(differs.steps)
    definition = source.definition(theirs, path)
    unwritten = bool(facts) and bool(path) and definition is None
    if part and partial_file.untouched(parts, candidate):
        unwritten = True
        facts, steps = [f"the block is still missing from {file}"], ["write the block in the place of the placeholder"]
    if not facts and not right and source.same(definition, _stub(parts, file, path)):
        unwritten = True
        facts, steps = [f"`{name}` is still as the repository came with it"], [f"write `{name}`"]
    if facts:  # the interface has its own fault
        cause = None
    raised = _raised(cases)
    category = "T2"
    if theirs.problem or (raised and not facts):
        category = "T1"
    elif facts:
        category = "T0"
    unused = unused_of_repository(parts, turn.versions, file, path)
    if unused and category == "T2":
        category = "T4"
    around, more = _around(turn, made, file, path, sure=cause is None)
    own = right or bool(facts)
    others = [] if own else not_of_values(cases)
    gaps = not own and _has_gaps(turn, file, theirs, ours)
    explained = analyses(others, name)
    indirect = cause is None and not own and _indirect(cases)
    if indirect:
        through = f"the failing hidden tests use `{name}` only through code of the repository"
        around = [*around, f"{through}: the fault may be in `{name}`, or in what else that code uses"]
    analysis = ([*facts, *raised, *around] or _no_fact(name, verdict, cases, gaps, bool(explained))) + explained
    suggestion = [*steps, *more] + ([] if own else advice(cases, name))
    if unused and not right:
        suggestion.append(f"use what the repository has: {', '.join(unused)}")
    words = _sentences([*first.steps, *suggestion, *differs.naming])
    if cause is not None and cause.sure:
        analysis, words = raised, ""
    elif cause is not None:
        no_gap = [f"no definition or parameter of `{name}` is missing"] if gaps and not around else []
        analysis = [*raised, *around, *explained, *no_gap, cause_in_words(name, cause)]
        words = advice_in_words(cause.names, words)
    if cause is None or not cause.sure:
        analysis = [*first.facts, *analysis, *differs.names]
    sure = cause is not None and cause.sure
    item = FeedbackItem(
        interface=interface,
        category=category,
        description=_sentences(descriptions(cases)) or sentence("; ".join(kinds(verdict, interface))),
        analysis=_sentences(analysis),
        suggestion=words,
        correction="" if sure else _lines(parts, verdict, interface) if made is None else made.code,
        elsewhere={} if sure or made is None else made.elsewhere,
        caused_by=cause.names[0] if cause is not None and sure else "",
        possible_causes=cause.names if cause is not None and not sure else (),
    )
    fields = [*FIELDS, "caused_by"]
    authors = {field: "derived" for field in fields if getattr(item, field)}
    author = turn.written.get(interface, "")
    if item.correction and author and not right:
        authors["correction"] = "task" if item.correction == author else "derived+task"
    besides = {
        "description": _sentences(descriptions(cases)),
        "analysis": _sentences([*around, *explained]),
        "suggestion": _sentences([*more, *advice(others, name)]),
    }
    return Derivation(
        item=replace(item, authors=authors),
        right=right,
        unread=theirs.remedy == source.SYNTAX
        or (bool(cases) and all(import_failure(each, task.targets) for each in cases)),
        unwritten=unwritten,
        indirect=indirect,
        besides_first=mostly_not_of_values(cases),
        besides=besides,
        after={"analysis": _sentences(differs.names), "suggestion": _sentences(differs.naming)},
    )


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
        piece=part_of(written, path, turn.versions.theirs.module(file).parsed) is not CorrectionPart.WHOLE,
        elsewhere=elsewhere,
        raising=raised_on_import(turn.verdict.cases, turn.versions.authors.files),
        passing=_passing(turn),
    )


def _around(
    turn: _Turn, made: Fix | None, file: str, path: Sequence[str], *, sure: bool
) -> tuple[list[str], list[str]]:
    """Facts about the code around the interface's own, and steps to change it."""
    if made is None:
        return [], []
    names = used_names(made, turn.versions, file, path, _passing(turn))
    # The symptom is the interface's, not that of the code it uses: what it returns is not what they return
    return where(made, names, file, path, sure=sure), steps_in_words(made, names, turn.versions, STEPS)


def _passing(turn: _Turn) -> set[tuple[str, str]]:
    """The file and name of each function that is an interface and passes its hidden tests."""
    failing = turn.verdict.failing_interfaces
    found = set()
    for name in dict.fromkeys(case.interface for case in turn.verdict.cases):
        file = file_of(name, turn.task.targets)
        path = path_within(name, file) if file is not None else ()
        if file is not None and name not in failing and len(path) == 1:
            found.add((file, path[0]))
    return found


def _lines(parts: Parts, verdict: Verdict, interface: str) -> str:
    """The authors' lines for a part of a file. They correct all failing cases, so only the first item has them."""
    return (original(parts) or "") if interface == verdict.failing_interfaces[0] else ""


def _stub(parts: Parts, file: str, path: Sequence[str]) -> Definition | None:
    return source.definition(source.parse(parts.repo.get(file)), path)


def _raised(cases: Sequence[Case]) -> list[str]:
    """The places that raised the candidate's exceptions, each once."""
    places = []
    for case in cases:
        if case.exception is not None:
            frame = case.exception.frames[-1] if case.exception.frames else ""
            place = f" at {frame.partition(': ')[0]}" if frame else ""
            places.append(" ".join(cut(f"{case.exception.type} is raised{place}", MOST_FRAME).split()))
    return list(dict.fromkeys(places))[:MOST_NAMES]


def _indirect(cases: Sequence[Case]) -> bool:
    """Whether no case asked for its interface itself."""
    return bool(cases) and all(case.uses is not None and case.interface not in case.uses for case in cases)


def _arguments_refused(case: Case, path: Sequence[str]) -> bool:
    """Whether the interpreter refused a call of the interface because of its arguments."""
    if not path or case.exception is None or case.exception.type != "TypeError":
        return False
    refusal = rf"\b{re.escape(path[-1])}(?:\.__init__)?\(\) (?:got|missing|takes)\b"
    return re.search(refusal, case.exception.message) is not None


def _has_gaps(turn: _Turn, file: str, theirs: FileVersion, ours: FileVersion) -> bool:
    """Whether a definition or parameter of an interface in `file` is missing."""
    paths = [path_within(each, file) for each in turn.task.interfaces if file_of(each, turn.task.targets) == file]
    return any(structure(file, path, theirs, ours).facts for path in paths)


def _no_fact(name: str, verdict: Verdict, cases: Sequence[Case], gaps: bool, explained: bool) -> list[str]:
    """What is left to say. That nothing of an interface is missing is news only if its file has `gaps`."""
    failing = set(verdict.failing_interfaces)
    sound = [each for each in dict.fromkeys(case.interface for case in verdict.cases) if each not in failing]
    # What else a shared judge's tests use is unknown: the fault may be in another failing interface
    asked = [len(failing) == 1 if case.uses is None else case.interface in case.uses for case in cases]
    own = any(asked) if len(failing) == 1 else all(asked)
    facts = [f"no definition or parameter of `{name}` is missing" + (": the fault is in what it does" if own else "")]
    if not gaps:
        does = f"the fault is in what `{name}` does" + ("" if own else ", or in what it or its hidden tests use")
        facts = [] if explained else [does]
    return facts + ([f"no fault was found in {listed(sound)}"] if sound else [])
