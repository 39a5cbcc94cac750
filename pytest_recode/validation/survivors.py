"""Describe mutants that no case detected, for the author who writes the missing case. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_recode.task import Files
from pytest_recode.validation.mutant_diff import unified_diff
from pytest_recode.validation.mutants import Mutant
from pytest_recode.validation.result import Survivor
from pytest_recode.verdict import Case


def described(
    survivors: Sequence[Mutant],
    reference: Files,
    detected: Mapping[Mutant, Sequence[Case]],
    cases: Sequence[Case],
    source: str,
) -> tuple[Survivor, ...]:
    """`reference`: the code that was mutated, and `source` its directory. `detected`: the other mutants of the check, with the cases that failed
    for each. `cases`: those of the reference's grading."""
    return tuple(_described(mutant, reference, detected, cases, source) for mutant in survivors)


def _described(
    mutant: Mutant, reference: Files, detected: Mapping[Mutant, Sequence[Case]], cases: Sequence[Case], source: str
) -> Survivor:
    nearest = min(
        (other for other in detected if other.path == mutant.path),
        key=lambda other: (other.definition != mutant.definition, abs(other.line - mutant.line), other.line),
        default=None,
    )
    using = [case for case in cases if not mutant.interface or _uses(case, mutant.interface)]
    return Survivor(
        name=mutant.name,
        place=mutant.place,
        interface=mutant.interface,
        diff=unified_diff(
            mutant.path, reference[mutant.path].decode("utf-8", "replace"), mutant.source.decode(), source
        ),
        nearest="" if nearest is None else _closest(detected[nearest], mutant.interface).id,
        nearest_line=0 if nearest is None else nearest.line,
        cases=tuple(case.id for case in using),
        by_mark=any(case.uses is None for case in cases),
    )


def _closest(cases: Sequence[Case], interface: str) -> Case:
    """The first case of `interface`, or else the first one."""
    return next((case for case in cases if case.interface == interface), cases[0])


def _uses(case: Case, interface: str) -> bool:
    """Whether a case tests the interface, or, as far as that is known, calls it."""
    return case.interface == interface or interface in (case.uses or ())
