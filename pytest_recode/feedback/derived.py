"""Derived feedback: computed from the verdict, the candidate and the reference, without a model and without an author.

Up to level L3 it speaks of names and shapes of code and never quotes the reference; the correction of level L4 is the
reference's source of the interface.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback import partial_file, source
from pytest_recode.feedback.causes import Causes, advice_in_words, cause_in_words, causes, causes_first
from pytest_recode.feedback.interfaces import file_of, path_within
from pytest_recode.feedback.levels import MOST_FRAME, cut, kinds, sentence
from pytest_recode.feedback.model_answers import FIELDS
from pytest_recode.feedback.source import Definition, Parameter, Source
from pytest_recode.slots import original
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Case, Outcome, Verdict

MOST_NAMES = 5
MOST_OPERATIONS = 6
"""If the arithmetic of two versions differs by more operations, the difference is not reported."""

OPERATIONS = {
    "Add": "addition",
    "Sub": "subtraction",
    "Mult": "multiplication",
    "Div": "division",
    "FloorDiv": "whole division",
    "Mod": "remainder",
    "Pow": "power",
    "MatMult": "matrix product",
    "USub": "change of sign",
    "Lt": "comparison by <",
    "LtE": "comparison by <=",
    "Gt": "comparison by >",
    "GtE": "comparison by >=",
    "Eq": "comparison by ==",
    "NotEq": "comparison by !=",
}

ADVICE = {
    "mismatch": "go through `{name}` step by step against the paper and the instruction: signs, axes, order of the"
    " operations, normalisation, constants, and the edge cases that are announced",
    "assertion": "check which properties the instruction promises of the result of `{name}`, and which step breaks one",
    "shape": "follow the shapes through `{name}`: which axis is reduced, kept or broadcast, and what the instruction"
    " says the result has",
    "dtype": "look at the types that go into and come out of `{name}`, and return the one that the instruction names",
    "timeout": "look in `{name}` for a loop that does not end, and for work on single elements that arrays can do",
    "died": "remove from `{name}` whatever ends the process or needs more memory than there is",
    "protocol": "return from `{name}` plain values: arrays, numbers, text, and lists, tuples or dicts of them",
    "exception": "mend the line that raises, and check the case in which it does",
    "no-exception": "look in the instruction for when `{name}` must raise which exception: for bad arguments raise it before any other"
    " work, for a bad result as soon as there is that result",
    "no-warning": "look in the instruction for when `{name}` must warn",
    "length": "look in the instruction for how many values `{name}` returns, and in which order",
    "keys": "compare the names of what `{name}` returns with those in the instruction",
}


def derive(task: Task, parts: Parts, candidate: Files, verdict: Verdict) -> tuple[FeedbackItem, ...]:
    """One item for each failing interface, after those that may be why it fails. `candidate`: the targets that were graded.

    All fields are filled, except for an interface that is known to fail because of another one (`caused_by`).
    """
    found = causes(task, parts, candidate, verdict)
    ordered = causes_first(verdict.failing_interfaces, found)
    return tuple(_item(task, parts, candidate, verdict, name, found.get(name)) for name in ordered)


def _item(
    task: Task, parts: Parts, candidate: Files, verdict: Verdict, interface: str, cause: Causes | None
) -> FeedbackItem:
    cases = [case for case in verdict.cases if case.interface == interface and case.outcome is Outcome.FAILED]
    found = "; ".join(kinds(verdict, interface))
    file = file_of(interface, task.targets) or task.targets[0]
    theirs, ours = source.parse(candidate.get(file)), source.parse(parts.reference.get(file))
    part = parts.slot is not None and file_of(interface, task.targets) is None
    path = partial_file.around(parts, ours) if part else path_within(interface, file)
    name = path[-1] if path else file if part else interface
    facts, steps = _structure(file, path, theirs, ours)
    for inner in partial_file.defined(parts, ours) if part and not theirs.problem else ():
        more_facts, more_steps = _structure(file, inner, theirs, ours)
        facts, steps = facts + more_facts, steps + more_steps
    if part and partial_file.untouched(parts, candidate):
        facts, steps = [f"the block is still missing from {file}"], ["write the block in the place of the placeholder"]
    if not facts and source.same(source.definition(theirs, path), _stub(parts, file, path)):
        facts, steps = [f"`{name}` is still as the repository came with it"], [f"write `{name}`"]
    if facts:  # a fault of its own
        cause = None
    raised = _raised(cases)
    category = "T2"
    if theirs.problem or (raised and not facts):
        category = "T1"
    elif facts:
        category = "T0"
    unused = _unused_of_repository(parts, path, theirs, ours)
    if unused and category == "T2":
        category = "T4"
    advice = [] if facts else _advice(cases, name)
    advice += _hints(unused, path, theirs, ours)
    analysis = " ".join(map(sentence, facts + raised or _no_fact(name, verdict, cases)))
    suggestion = " ".join(map(sentence, steps + advice))
    if cause is not None and cause.sure:
        analysis, suggestion = " ".join(map(sentence, raised)), ""
    elif cause is not None:
        analysis = " ".join(map(sentence, [*raised, f"`{name}` is there as it is asked", cause_in_words(cause)]))
        suggestion = advice_in_words(cause.names, suggestion, mutual=cause.mutual)
    if part:
        correction = _lines(parts, verdict, interface)
    else:
        correction = source.pieces(ours, theirs, path, _corrected_elsewhere(task, verdict, file, path))
    item = FeedbackItem(
        interface=interface,
        category=category,
        description=sentence(found),
        analysis=analysis,
        suggestion=suggestion,
        correction="" if cause is not None and cause.sure else correction,
        caused_by=cause.names[0] if cause is not None and cause.sure else "",
        possible_causes=cause.names if cause is not None and not cause.sure else (),
    )
    fields = [*FIELDS, "caused_by"]
    return replace(item, authors={name: "derived" for name in fields if getattr(item, name)})


def _lines(parts: Parts, verdict: Verdict, interface: str) -> str:
    """The authors' lines for a part of a file. They correct all failing cases, so only the first item has them."""
    return (original(parts) or "") if interface == verdict.failing_interfaces[0] else ""


def _corrected_elsewhere(task: Task, verdict: Verdict, file: str, path: Sequence[str]) -> set[str]:
    """The top-level names of `file` that are in another failing interface's correction."""
    found = set()
    for interface in verdict.failing_interfaces:
        other = path_within(interface, file) if file_of(interface, task.targets) == file else ()
        if other and other[0] not in path[:1]:
            found.add(other[0])
    return found


def _stub(parts: Parts, file: str, path: Sequence[str]) -> Definition | None:
    return source.definition(source.parse(parts.repo.get(file)), path)


def _structure(file: str, path: Sequence[str], theirs: Source, ours: Source) -> tuple[list[str], list[str]]:
    """Missing definitions and different signatures, as facts and as steps to take."""
    if theirs.problem:
        return [f"{file} {theirs.problem}"], [f"write {file} so that it is there and can be imported"]
    if not path:
        return _structures(file, theirs, ours)
    wanted, given = source.definition(ours, path), source.definition(theirs, path)
    if wanted is None:
        return [], []
    names = ", ".join(f"`{each.name}`" for each in source.parameters(wanted) if each.name not in {"self", "cls"})
    noun = "class" if hasattr(wanted, "bases") else "function"
    where = f"the class {'.'.join(path[:-1])} in {file}" if len(path) > 1 else file
    if given is None:
        signature = f" with the parameters {names}" if names else ""
        return [f"{where} defines no `{path[-1]}`"], [f"define the {noun} `{path[-1]}` in {where}{signature}"]
    if hasattr(wanted, "bases") != hasattr(given, "bases"):
        return [f"`{path[-1]}` is no {noun}"], [f"make `{path[-1]}` a {noun} with the parameters {names}"]
    facts = _signature(path[-1], wanted, given)
    return facts, [f"give `{path[-1]}` the parameters {names}, in this order"] if facts else []


def _structures(file: str, theirs: Source, ours: Source) -> tuple[list[str], list[str]]:
    """The same for every public definition of a file that is one interface."""
    facts, steps = [], []
    for node in ours.tree.body if ours.tree is not None else ():
        if isinstance(node, Definition) and not node.name.startswith("_"):
            more_facts, more_steps = _structure(file, (node.name,), theirs, ours)
            facts += more_facts
            steps += more_steps
    return facts, steps


def _signature(name: str, wanted: Definition, given: Definition) -> list[str]:
    ours, theirs = source.parameters(wanted), source.parameters(given)
    takes_any = any(parameter.kind == "**" for parameter in theirs)
    ours_by, theirs_by = _by_name(ours), _by_name(theirs)
    missing = [each for each in ours_by if each not in theirs_by and not takes_any]
    extra = [each for each in theirs_by if each not in ours_by]
    facts = []
    if missing:
        plural = "s" if len(missing) > 1 else ""
        facts.append(f"`{name}` lacks the parameter{plural} {', '.join(f'`{each}`' for each in missing)}")
    for each in extra:
        needed = theirs_by[each].default is None and theirs_by[each].kind in {"positional", "keyword"}
        renamed = " (the same under another name?)" if missing and len(missing) == len(extra) else ""
        if needed or renamed:
            facts.append(f"`{name}` has a parameter `{each}` that nobody passes{renamed}")
    for each in ours_by:
        if each in theirs_by and ours_by[each].default is not None and theirs_by[each].default is None:
            facts.append(f"the parameter `{each}` of `{name}` must have a default")
    both = [each.name for each in ours if each.name in theirs_by and each.kind == "positional"]
    order = [each.name for each in theirs if each.name in both]
    if order != both:
        facts.append(f"the parameters of `{name}` are in another order than asked")
    return facts


def _by_name(parameters: Sequence[Parameter]) -> dict[str, Parameter]:
    return {each.name: each for each in parameters if each.kind in {"positional", "keyword"}}


def _raised(cases: Sequence[Case]) -> list[str]:
    """The places that raised the candidate's exceptions, each once."""
    said = []
    for case in cases:
        if case.exception is not None:
            frame = case.exception.frames[-1] if case.exception.frames else ""
            place = f" at {frame.partition(': ')[0]}" if frame else ""
            said.append(" ".join(cut(f"{case.exception.type} is raised{place}", MOST_FRAME).split()))
    return list(dict.fromkeys(said))[:MOST_NAMES]


def _no_fact(name: str, verdict: Verdict, cases: Sequence[Case]) -> list[str]:
    failing = set(verdict.failing_interfaces)
    sound = [each for each in dict.fromkeys(case.interface for case in verdict.cases) if each not in failing]
    # What tests of a shared judge use besides is not known: the fault may be in another interface that fails
    own = len(failing) == 1 or all(case.uses is not None for case in cases)
    facts = [f"`{name}` is there as it is asked" + (": the fault is in what it does" if own else "")]
    return facts + ([f"no fault was found in {', '.join(sound)}"] if sound else [])


def _advice(cases: Sequence[Case], name: str) -> list[str]:
    texts = [ADVICE.get(case.kind, ADVICE["mismatch"]).format(name=name) for case in cases]
    return list(dict.fromkeys(texts))


def _unused_of_repository(parts: Parts, path: Sequence[str], theirs: Source, ours: Source) -> list[str]:
    """Functions of the repository that the reference calls and the candidate does not: "`name` (file)"."""
    wanted, given = source.definition(ours, path), source.definition(theirs, path)
    if wanted is None or given is None:
        return []
    unused = source.borrowed(ours, wanted) - source.borrowed(theirs, given)
    found = {}
    for file, data in parts.repo.items():
        # Most files hold none of the names: seeing that in the bytes is a hundredth of parsing them.
        if file.endswith(".py") and file not in parts.reference and any(name.encode() in data for name in unused):
            tree = source.parse(data).tree
            for node in tree.body if tree is not None else ():
                if isinstance(node, Definition) and node.name in unused:
                    found[node.name] = file
    return sorted(f"`{name}` ({file})" for name, file in found.items())[:MOST_NAMES]


def _hints(unused: Sequence[str], path: Sequence[str], written: Source, reference: Source) -> list[str]:
    """How the authors' code differs, by names of operations and functions, without a line of it."""
    wanted, given = source.definition(reference, path), source.definition(written, path)
    if wanted is None or given is None:
        return []
    hints = [f"use what the repository has: {', '.join(unused)}"] if unused else []
    called, calls = source.called(wanted), source.called(given)
    lacking = [
        name
        for name in called
        if name not in calls and not hasattr(builtins, name) and not any(f"`{name}`" in each for each in unused)
    ]
    if lacking:
        hints.append(f"the authors also call {', '.join(f'`{name}`' for name in sorted(lacking)[:MOST_NAMES])}")
    ours, theirs = source.operators(wanted), source.operators(given)
    if (ours - theirs).total() + (theirs - ours).total() > MOST_OPERATIONS:
        return hints
    more, fewer = _operations(ours - theirs), _operations(theirs - ours)
    if more and fewer:
        hints.append(f"in place of {fewer} the authors have {more}")
    elif more or fewer:
        hints.append(f"the authors have {more} more than you" if more else f"you have {fewer} more than the authors")
    return hints


def _operations(counts: Counter[str]) -> str:
    """A list such as "1 x subtraction, 2 x division"."""
    known = [f"{count} x {OPERATIONS[name]}" for name, count in sorted(counts.items()) if name in OPERATIONS]
    return ", ".join(known[:MOST_NAMES])
