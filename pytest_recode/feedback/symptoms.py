"""Symptoms: what feedback says about each kind of failed case, from its kind alone. The sentences are the same for every task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_recode.verdict import Case, Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """The phrases on one kind. In all but the first, `{name}` is the interface.

    `symptom`: what the tests saw (L1). `advice`: what to do (L3). A text on wrong values, such as most authors', says nothing about some
    kinds; these have an `analysis` of how it comes about (L2).
    """

    symptom: str
    analysis: str = ""
    advice: str = (
        "go through `{name}` step by step against the paper and the instruction: signs, axes, order of the"
        " operations, normalisation, constants, and the edge cases that are announced"
    )


_WHEN_TO_RAISE = (
    "look in the instruction for which exception `{name}` must raise, and when: for bad arguments before any other work, for a bad result as"
    " soon as there is that result"
)
"""One text for both kinds, so that an interface with both does not get it twice."""

SYMPTOMS = {
    "exception": Symptom(
        symptom="an exception is raised",
        advice="find out why the exception is raised, and check the case in which it is",
    ),
    "undefined": Symptom(
        symptom="a function or class that the hidden tests use is not defined",
        advice="define in each target all that the instruction names there, under exactly these names",
    ),
    "other-exception": Symptom(
        symptom="another exception is raised than the one that is asked for",
        analysis="a check in `{name}` is missing, comes after the code that raises, or raises another type",
        advice=_WHEN_TO_RAISE,
    ),
    "no-exception": Symptom(
        symptom="no exception is raised where one is asked for",
        analysis="a check in `{name}` is missing, or lets too much pass",
        advice=_WHEN_TO_RAISE,
    ),
    "no-warning": Symptom(
        symptom="no warning is given where one is asked for",
        analysis="`{name}` never warns, or its condition is too narrow",
        advice="look in the instruction for when `{name}` must warn",
    ),
    "mismatch": Symptom(symptom="returned values differ from those that are right"),
    "not-finite": Symptom(
        symptom="a result, or a number that the tests compute from it, is NaN or infinite where another is right, or the reverse",
        advice="look in `{name}` for divisions by zero, logarithms and roots outside of their domain, exponentials that overflow, and"
        " inf - inf, and in the instruction for results that are NaN or infinite",
    ),
    "shape": Symptom(
        symptom="a result has the wrong shape",
        advice="follow the shapes through `{name}`: which axis is reduced, kept or broadcast, and what the instruction"
        " says the result has",
    ),
    "length": Symptom(
        symptom="a result has the wrong number of items",
        advice="look in the instruction for how many values `{name}` returns, and in which order",
    ),
    "keys": Symptom(
        symptom="a result has other keys or elements than are right",
        advice="compare the names of what `{name}` returns with those in the instruction",
    ),
    "dtype": Symptom(
        symptom="a returned value has the wrong type: its class, or the dtype of an array",
        analysis="the type of what `{name}` returns may depend on its input: empty input, whole numbers and numbers of single precision"
        " are the usual cases",
        advice="look at the types that go into and come out of `{name}`, and return the one that the instruction names",
    ),
    "assertion": Symptom(
        symptom="a property that the result must have does not hold",
        advice="check which properties the instruction promises of the result of `{name}`, and which step breaks one",
    ),
    "timeout": Symptom(
        symptom="the code does not finish in time",
        advice="look in `{name}` for a loop that does not end, and for work on single elements that arrays can do",
    ),
    "died": Symptom(
        symptom="the code ends its process",
        advice="remove from `{name}` whatever ends the process or needs more memory than there is",
    ),
    "protocol": Symptom(
        symptom="a returned value is of a kind that cannot be read",
        advice="return from `{name}` plain values: arrays, numbers, text, and lists, tuples or dicts of them",
    ),
    "": Symptom(symptom="the result is not right"),
}
"""The phrases for each `Case.kind`; "" for an unknown kind."""

UNWRITTEN = Symptom(
    symptom="NotImplementedError is raised: code is still to be written",
    advice="write the code that raises NotImplementedError, in `{name}` or in what it uses",
)
"""A stub's exception, wherever the tests ask for a result or for another exception."""

DELIBERATE = "compare what `{name}` raises, and when, with the instruction: it raises where a result or another exception is asked for"
"""The advice for an exception of a `raise` statement."""

STEPS = Symptom(symptom="").advice
"""The advice on code of which no symptom is known."""

PHRASES = tuple(
    phrase
    for each in (*SYMPTOMS.values(), UNWRITTEN, Symptom(symptom="", advice=DELIBERATE))
    for phrase in (each.symptom, each.analysis, each.advice)
    if phrase
)
"""All phrases. They say nothing about a task."""


def kinds(verdict: Verdict, interface: str) -> list[str]:
    """The symptoms of `interface`, each once, the most frequent first."""
    return [symptom for symptom, _ in Counter(_of(case).symptom for case in failed(verdict, interface)).most_common()]


def failed(verdict: Verdict, interface: str) -> list[Case]:
    """The failed cases of `interface`."""
    return [case for case in verdict.cases if case.interface == interface and case.outcome is Outcome.FAILED]


def wrong_values(verdict: Verdict, interface: str) -> bool:
    """Whether a result of the interface is known to be wrong: its values, or its shape or length."""
    return any(case.kind in _VALUES for case in failed(verdict, interface))


_VALUES = frozenset({"mismatch", "not-finite", "shape", "length", "keys", "assertion"})


def not_of_values(cases: Sequence[Case]) -> list[Case]:
    """The cases of which a text on wrong values says nothing, although the symptom alone says little."""
    return [case for case in cases if _of(case).analysis]


def analyses(cases: Sequence[Case], name: str) -> list[str]:
    return _distinct(_of(case).analysis.format(name=name) for case in cases)


def advice(cases: Sequence[Case], name: str) -> list[str]:
    return _distinct((DELIBERATE if _on_purpose(case) else _of(case).advice).format(name=name) for case in cases)


def _of(case: Case) -> Symptom:
    if case.exception is not None and case.exception.type == "NotImplementedError":
        return UNWRITTEN
    return SYMPTOMS.get(case.kind, SYMPTOMS[""])


def _on_purpose(case: Case) -> bool:
    """Whether the candidate raises the exception by a `raise` statement."""
    frames = case.exception.frames if case.exception is not None else ()
    return _of(case) is SYMPTOMS["exception"] and bool(frames) and re.search(r": raise\b", frames[-1]) is not None


def _distinct(phrases: Iterable[str]) -> list[str]:
    return [phrase for phrase in dict.fromkeys(phrases) if phrase]
