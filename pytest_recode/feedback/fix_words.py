"""A fix in words: the place of a fault outside the interface's own code, and what to change there, without code.

Sentences contain only names and line numbers, mostly the candidate's, so that levels L2 and L3 may show them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from pytest_recode.program.differences import Reason, Removal, TargetDifference
from pytest_recode.program.fixes import Fix, Own, Versions
from pytest_recode.program.source import Definition
from pytest_recode.program.statements import effective

MOST = 5
"""Maximum number of names, and of lines, in one text."""


def used_names(
    correction: Fix, versions: Versions, file: str, path: Sequence[str], passing: Set[tuple[str, str]] = frozenset()
) -> tuple[tuple[str, str], ...]:
    """Each file and name that the candidate's code of the interface uses, and that differs from the correction.

    Without the interface itself and, if its own code differs, without names that only the authors' code uses. `passing`: the names of
    interfaces whose hidden tests pass, which are left out unless nothing else is left to suspect.
    """
    used = versions.candidate.needs([(file, path[0])], annotations=False) if path else {}
    places = []
    for difference in correction.differences:
        needs = used.get(difference.file)
        for name in difference.names:
            own = difference.file == file and name == path[0] if path else difference.file == file
            if not own and (correction.own is not Own.DIFFERENT or (needs is not None and name in needs.names)):
                places.append((difference.file, name))
    suspected = [difference for difference in places if difference not in passing]
    return tuple((suspected if suspected or correction.own is Own.DIFFERENT else places)[:MOST])


def where(
    correction: Fix, names: Sequence[tuple[str, str]], file: str, path: Sequence[str], *, sure: bool
) -> list[str]:
    """Sentences on the place of the fault; [] if it is unknown. `sure`: the fault can be in no other interface."""
    name = path[-1] if path else file
    is_ = "is" if sure else "may be"
    phrases = []
    if correction.own is not Own.DIFFERENT and path:
        phrases.append(f"nothing needs to be changed in the code of `{name}` itself")
    listed = ", ".join(_place(difference, file) for difference in names)
    if correction.own is Own.REST_OF_CLASS:
        phrases.append(
            f"the fault {is_} in the rest of its class `{path[0]}`" + (f", or in {listed}" if listed else "")
        )
    elif correction.own is Own.SAME and names:
        phrases.append(f"the fault {is_} in what it uses: {listed}")
    elif names:
        phrases.append(f"the fault may be in what `{name}` does, or in what it uses: {listed}")
    phrases += [_removal(difference.file, one) for difference, one in _removals(correction)]
    phrases += [
        f"`{late}` is bound below line {line} of {difference.file}, which uses it on import"
        for difference in correction.differences
        for late, line in difference.late
    ]
    if correction.own is Own.SAME and not correction.differences:
        phrases.append(
            f"what it uses of {file} is as it must be, too" if path else f"nothing needs to be changed in {file}"
        )
    return phrases


def steps(correction: Fix, names: Sequence[tuple[str, str]], versions: Versions, advice: str) -> list[str]:
    """Steps to fix code outside the interface's own, in words. `advice`: a sentence on a function, with its `{name}`."""
    phrases = []
    for file, name in names:
        bound = effective(versions.candidate.module(file).statements, name)
        if not bound:
            phrases.append(f"define `{name}` in {file}")
        elif isinstance(bound[-1].node, Definition):
            phrases.append(advice.format(name=name))
        else:
            phrases.append(f"check `{name}` in {file} against the instruction and the paper")
    phrases += [_removing(difference.file, one) for difference, one in _removals(correction)]
    phrases += [
        f"bind `{late}` above line {line} of {difference.file}"
        for difference in correction.differences
        for late, line in difference.late
    ]
    return list(dict.fromkeys(phrases))


def _removals(correction: Fix) -> list[tuple[TargetDifference, Removal]]:
    return [(difference, one) for difference in correction.differences for one in difference.removals][:MOST]


def _removal(file: str, one: Removal) -> str:
    if one.reason is Reason.RAISES:
        return f"{one.lines} of {file} raised on import"
    return f"{one.lines} of {file} may change " + (f"`{one.name}`" if one.name else "what is needed, on import")


def _removing(file: str, one: Removal) -> str:
    lines = f"{one.lines} of {file}"
    if len(one.statement.binds) > 1:
        return f"take `{one.name}` out of {lines}"
    return f"rename `{one.name}` in {lines}" if one.reason is Reason.HIDES else f"remove {lines}"


def _place(place: tuple[str, str], file: str) -> str:
    return f"`{place[1]}`" if place[0] == file else f"`{place[1]}` ({place[0]})"
