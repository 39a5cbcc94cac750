"""What the command says: what was cut, what was not and where, and what remains for a person."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from pytest_recode.drafting.cutting import CutRepository
from pytest_recode.drafting.draft import DraftedCase
from pytest_recode.drafting.relations import constant_relations
from pytest_recode.drafting.stubs import Function, functions_of
from pytest_recode.drafting.variation import unvaried_arguments, unvaried_sizes
from pytest_recode.verdict import legible
from pytest_recode.wording import some_of

GUIDE = "docs/how-to/cut-a-task-from-a-repository.md"
_MOST_SHOWN = 8


def checklist(cut: CutRepository) -> list[str]:
    """What remains for a person, in the order in which to do it."""
    steps = [
        "instruction.md: write it so that it is sufficient without the paper; delete this comment",
        "paper.md: the equations that define the method, with the citation; `paper` in task.yaml",
        "task.yaml: title, domain, difficulty, tags",
        "repo/: read it as an agent does: it must not contain the answer, also not in another function or a comment; remove what is not needed",
        "tests/: edge cases (empty, one element, ties, extreme values), properties that do not depend on the reference, exceptions; a fitting RTOL",
        "feedback.yaml: what a researcher would say, for each interface",
        "proofs/: right answers by somebody else, wrong answers for each requirement, equivalent mutants",
        "licence: keep the licence file in repo/, and name the source",
        "canary: it is in every file; use the one of your set, if it has one",
    ]
    if any(case.modified for cases in cut.cases.values() for case in cases):
        steps.append(
            "the function modifies its arguments: a candidate gets copies, so only what it returns is tested; say so in the instruction"
        )
    functions = functions_of(cut.target.tree)
    for name, cases in cut.cases.items():
        by_words: dict[str, list[str]] = {}
        for case in cases:
            by_words.setdefault(case.words, []).append(case.name)
        steps += [
            f"tests/: {', '.join(names)} {'draws' if len(names) == 1 else 'draw'} {words}; vary these inputs more if you can"
            for words, names in by_words.items()
            if words
        ]
        steps += _unvaried(name, functions[name], cases)
        steps += [f"{name}: {note}" for note in _counted(cut.notes.get(name, ()))]
    return [legible(" ".join(each.split())) for each in steps]


def _unvaried(name: str, function: Function, cases: Sequence[DraftedCase]) -> list[str]:
    """Lines on what the hidden tests of one function never vary."""
    steps = []
    if arguments := unvaried_arguments(function, cases):
        steps.append(
            f"tests/: {name} always gets {some_of(arguments, _MOST_SHOWN)}: draw it, or add cases with other values"
        )
    if sizes := unvaried_sizes(cases):
        steps.append(f"tests/: {name} always gets {some_of(sizes, _MOST_SHOWN)}: draw this size if others are allowed")
    if relations := constant_relations(cases):
        steps.append(
            f"tests/: {name} always gets {some_of(relations, _MOST_SHOWN)}: add cases in which this does not hold, or state it in the instruction"
        )
    return steps


def _counted(lines: Sequence[str]) -> list[str]:
    """Each line once, with its number if there are several."""
    return [line if count == 1 else f"{line} ({count} times)" for line, count in Counter(lines).items()]


def nothing_cut(cut: CutRepository) -> str:
    return legible("\n".join(["nothing was cut, and nothing was written:", *_refusals(cut)]) + "\n")


def written(cut: CutRepository, task: str, files: Sequence[str], checks: str) -> str:
    """The report of a draft."""
    source = f"{cut.licence.name}, from {cut.licence.source}"
    lines = [f"{task}: drafted from {cut.target.name} ({source}): {some_of(sorted(files), _MOST_SHOWN)}"]
    for name, cases in cut.cases.items():
        kept, calls = cut.recorded[name]
        lines.append(f"  {name}: hidden tests from {len(cases)} of {kept} distinct calls ({calls} in all)")
    if cut.closure.emptied:
        lines.append(
            f"  emptied, because nothing uses them: {', '.join(f'{name}.__init__' for name in cut.closure.emptied)}"
        )
    missing = [name for name in sorted(cut.closure.others) if not cut.versions.get(name)]
    if missing:
        lines.append(f"  imported, and not installed: {', '.join(missing)}")
    if cut.closure.missing:
        names = (f"{name} (imported by {path})" for name, path in cut.closure.missing.items())
        lines.append(f"  without Python source: {', '.join(names)}")
    if cut.refused:
        lines += ["not cut:", *_refusals(cut)]
    lines += [f'check it: pytest {shlex.quote(task)} --recode-validate -k "{checks}"', "then, by hand:"]
    lines += [f"  [ ] {each}" for each in checklist(cut)]
    return legible("\n".join([*lines, f"the guide, in the repository of pytest-recode: {GUIDE}"]) + "\n")


def _refusals(cut: CutRepository) -> list[str]:
    return [
        f"  {cut.target.name}.{name}: {' '.join(str(each).split())}"
        for name, found in cut.refused.items()
        for each in dict.fromkeys(found)
    ]
