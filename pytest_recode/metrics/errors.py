"""What an unsolved episode failed with, from the exceptions themselves."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_recode.metrics.attempt import Attempt, Failure

CLASSES = ("name", "type", "syntax", "import", "attribute", "index/key", "functional", "other")
"""The eight of ResearchCodeBench (arXiv 2506.02314, figure of errors), in its order. Its authors had a model sort the output of the
tests; here the class is read from the type of the exception, so that it costs nothing and is the same each time."""

_BUILTIN: tuple[tuple[type[BaseException], str], ...] = (
    (SyntaxError, "syntax"),  # IndentationError, TabError
    (ImportError, "import"),  # ModuleNotFoundError
    (NameError, "name"),  # UnboundLocalError
    (AttributeError, "attribute"),
    (TypeError, "type"),
    (LookupError, "index/key"),  # IndexError, KeyError
    (AssertionError, "functional"),
)
_FUNCTIONAL = frozenset({"mismatch", "shape", "length", "keys", "dtype", "assertion", "no-exception", "no-warning"})
_PRECEDENCE = ("syntax", "import", "name", "attribute", "type", "index/key", "functional", "other")


def of_failure(failure: Failure) -> str:
    """The class of one failed case. Functional: it ran, and a comparison or an assertion found it wrong. Other: time-outs,
    deaths, and exceptions of any other type, also of types that only the candidate knows."""
    if failure.exception:
        known = getattr(builtins, failure.exception.rpartition(".")[2], None)
        if isinstance(known, type) and issubclass(known, BaseException):
            return next((name for base, name in _BUILTIN if issubclass(known, base)), "other")
        return "other"
    return "functional" if failure.kind in _FUNCTIONAL else "other"


def of_attempt(attempt: Attempt) -> str | None:
    """The class that most failed cases of the last turn have; of several, the one that comes first in running a program
    (syntax, import, name, attribute, type, index/key, functional, other). None: it is solved, could not be played, or its turns
    are not told (published results)."""
    if attempt.outcome != "unsolved" or not attempt.turns:
        return None
    return commonest([of_failure(failure) for failure in attempt.turns[-1].failures])


def commonest(classes: Sequence[str]) -> str:
    """Nothing at all is "other": every case passed, and yet the verdict is no (tampering)."""
    counts = Counter(classes)
    return min(counts, key=lambda name: (-counts[name], _PRECEDENCE.index(name)), default="other")


def classes(attempts: Iterable[Attempt]) -> dict[str, int]:
    """How many unsolved attempts fall into each of CLASSES, zeros included."""
    counts = Counter(of_attempt(attempt) for attempt in attempts)
    return {name: counts[name] for name in CLASSES}
