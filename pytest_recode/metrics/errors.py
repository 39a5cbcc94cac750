"""Classify the failures of unsolved episodes by their exception types."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_recode.metrics.attempt import Attempt, CaseFailure

CLASSES = ("name", "type", "syntax", "import", "attribute", "index/key", "functional", "other")
"""The eight classes of ResearchCodeBench (arXiv 2506.02314, figure of errors), in its order. Its authors had a model classify the
output of the tests; here the class comes from the exception type, which is free and deterministic."""

PUBLISHED_FUNCTIONAL = 58.6
"""The percentage of functional errors that the paper gives, over 32 models; it does not give the shares of the other classes."""

_BUILTIN: tuple[tuple[type[BaseException], str], ...] = (
    (SyntaxError, "syntax"),  # IndentationError, TabError
    (ImportError, "import"),  # ModuleNotFoundError
    (NameError, "name"),  # UnboundLocalError
    (AttributeError, "attribute"),
    (TypeError, "type"),
    (LookupError, "index/key"),  # IndexError, KeyError
    (AssertionError, "functional"),
)
_FUNCTIONAL = frozenset(
    {"mismatch", "not-finite", "shape", "length", "keys", "dtype", "assertion", "no-exception", "no-warning"}
)
_PRECEDENCE = ("syntax", "import", "name", "attribute", "type", "index/key", "functional", "other")


def of_failure(failure: CaseFailure) -> str:
    """The class of one failed case. Functional: the code ran, and a comparison or an assertion failed. Other: timeouts, killed
    processes, and exceptions of any other type, including the candidate's own types."""
    if failure.exception:
        known = getattr(builtins, failure.exception.rpartition(".")[2], None)
        if isinstance(known, type) and issubclass(known, BaseException):
            return next((name for base, name in _BUILTIN if issubclass(known, base)), "other")
        return "other"
    return "functional" if failure.kind in _FUNCTIONAL else "other"


def of_attempt(attempt: Attempt) -> str | None:
    """The class of most failed cases of the last turn; in a tie, the one that occurs first when a program runs (syntax, import, name,
    attribute, type, index/key, functional, other). None: the attempt is solved or an error, or has no turns (published results)."""
    if attempt.outcome != "unsolved" or not attempt.turns:
        return None
    return commonest([of_failure(failure) for failure in attempt.turns[-1].failures])


def commonest(classes: Sequence[str]) -> str:
    """The most frequent class; without any, "other", because every case passed and the turn is unsolved for tampering."""
    counts = Counter(classes)
    return min(counts, key=lambda name: (-counts[name], _PRECEDENCE.index(name)), default="other")


def classes(attempts: Iterable[Attempt]) -> dict[str, int]:
    """The number of unsolved attempts in each of CLASSES, including zeros."""
    # Attempts of a run share equal turns, of which there are few
    unsolved = [attempt for attempt in attempts if attempt.turns and attempt.outcome == "unsolved"]
    turns = {id(attempt.turns[-1]): attempt for attempt in unsolved}
    numbers = Counter(id(attempt.turns[-1]) for attempt in unsolved)
    counts: Counter[str | None] = Counter()
    for turn, number in numbers.items():
        counts[of_attempt(turns[turn])] += number
    return {name: counts[name] for name in CLASSES}
