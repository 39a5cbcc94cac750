"""Verdict: what the hidden tests say of one candidate, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """Of one case. ERROR is the test's or the machine's fault, never the candidate's."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exc:
    """An exception the candidate raised, told by its own frames alone (nothing of the tests)."""

    type: str
    message: str
    frames: tuple[str, ...] = ()  # "file.py:12 in name: source line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One hidden test.

    `message` is the grader's full account, for people and for the transcript: it may quote the tests and so is
    never shown to an agent. `kind` is what may be shown of it from level L1 on.
    """

    id: str
    interface: str
    outcome: Outcome
    kind: str = ""
    """Of failure: "exception" "no-exception" "no-warning" "mismatch" "shape" "length" "keys" "dtype" "assertion" "timeout" "died" "protocol";
    "" where it passed."""
    message: str = ""
    exception: Exc | None = None
    seconds: float = 0.0
    junit: str = ""
    """What pytest's JUnit report counts it as: "passed" "failure" "error" "skipped"; "" not known. Only `outcome` decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Of one grading. `seed` repeats it."""

    cases: tuple[Case, ...]
    seed: int
    seconds: float = 0.0
    isolation: str = "separate"  # or "process" (no sandbox), "shared" (one process with the tests)
    tampering: tuple[str, ...] = ()  # what the candidate did to its judge, one line each (shared oracles can tell)

    @property
    def solved(self) -> bool:
        """True on positive evidence only: there are cases, each of them passed, and the judge is still itself."""
        return bool(self.cases) and not self.tampering and all(case.outcome is Outcome.PASSED for case in self.cases)

    @property
    def passed(self) -> int:
        return sum(case.outcome is Outcome.PASSED for case in self.cases)

    @property
    def failed(self) -> int:
        return len(self.cases) - self.passed

    @property
    def failing_interfaces(self) -> tuple[str, ...]:
        """In the order of the cases, each once."""
        return _unique([case.interface for case in self.cases if case.outcome is not Outcome.PASSED])


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def legible(text: str, keep: str = "\n\t") -> str:
    """`text` with what does not print (control and direction characters, lone surrogates) escaped, but for `keep`.

    A candidate chooses texts that end up on terminals, in reports and in prompts.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)
