"""Verdict: the result of the hidden tests for one candidate, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pytest_recode.schema.rules import LATER, NOT_STORED, Milliseconds, Seed


class Outcome(StrEnum):
    """The outcome of one case. ERROR is caused by the test or by infrastructure, never by the candidate."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exc:
    """An exception that the candidate raised, with only the candidate's own frames and nothing of the tests."""

    type: str
    message: str
    frames: tuple[str, ...] = ()  # "file.py:12 in name: source line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One hidden test.

    `message`: the grader's full report, for people and for the transcript. It may quote the tests and is never shown to an agent.
    `kind`: the part of it that feedback may show from level L1 on.
    """

    id: str
    interface: str
    outcome: Outcome
    kind: str = ""
    """Kind of failure: "exception" "undefined" "other-exception" "no-exception" "no-warning" "mismatch" "not-finite" "shape" "length" "keys" "dtype" "assertion" "timeout" "died" "protocol";
    "" if the case passed."""
    message: str = ""
    exception: Exc | None = None
    seconds: Milliseconds = 0.0
    junit: Annotated[str, LATER] = ""
    """The outcome in pytest's JUnit report: "passed" "failure" "error" "skipped", or "" if unknown. Only `outcome` counts."""
    uses: Annotated[tuple[str, ...] | None, LATER] = None
    """The interfaces of the candidate that the test itself asked for; None: not known (a shared judge, a case that was cut off)."""
    ran: Annotated[bool, NOT_STORED] = field(default=True, compare=False)
    """False if the grading ended before the test could run, so that the case failed without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one grading. Grading again with `seed` repeats it."""

    seed: Seed
    isolation: str = "separate"  # or "process" (no sandbox), "shared" (one process with the tests), "verifier" (a script of the task), "verifier-shared" (one in the agent's sandbox)
    tampering: tuple[
        str, ...
    ] = ()  # attempts of the candidate to change its judge, one line each (shared oracles only)
    seconds: Milliseconds = 0.0
    verifiable: Annotated[bool, LATER] = True
    """False if no case of a shared oracle fails right code when the reference's values are shifted, so that a pass proves less."""
    versions: Annotated[Mapping[str, str], LATER] = field(default_factory=dict)
    """Of Python (as "python") and of the libraries that the grader had loaded, before the candidate answered; empty if not known."""
    scores: Annotated[Mapping[str, float], LATER] = field(default_factory=dict)
    """What the judge measured beside the cases, by name: finite numbers, such as a speed-up. Only cases decide whether a task is solved."""
    shifted: Annotated[str, LATER] = ""
    """The id of the case of which one expected value was shifted, in the grading of an impossible twin; "" for the task itself."""
    cases: tuple[Case, ...]

    @property
    def solved(self) -> bool:
        """True only if there are cases, all of them passed, and no tampering was detected."""
        return bool(self.cases) and not self.tampering and all(case.outcome is Outcome.PASSED for case in self.cases)

    @property
    def passed(self) -> int:
        return sum(case.outcome is Outcome.PASSED for case in self.cases)

    @property
    def failed(self) -> int:
        return len(self.cases) - self.passed

    @property
    def failing_interfaces(self) -> tuple[str, ...]:
        """The interfaces with a case that did not pass, in the order of the cases."""
        return _unique([case.interface for case in self.cases if case.outcome is not Outcome.PASSED])


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def lacks_a_module(verdict: Verdict) -> bool:
    """Whether a case failed because the answer's code imports a module that is not installed."""
    return any(case.exception is not None and case.exception.type == "ModuleNotFoundError" for case in verdict.cases)


def legible(text: str, keep: str = "\n\t") -> str:
    """`text` with unprintable characters (control and direction characters, lone surrogates) escaped, except those in `keep`.

    Candidates choose texts that are printed to terminals, reports and prompts.
    """
    if text.isascii() and text.isprintable():
        return text
    # A text has few different characters, and `translate` is much faster than a look at each of them
    escapes = {ord(c): c.encode("unicode_escape").decode() for c in set(text) if not c.isprintable() and c not in keep}
    return text.translate(escapes) if escapes else text
