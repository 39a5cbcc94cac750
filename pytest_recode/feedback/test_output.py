"""The hidden tests' own output, for runs that show it with every feedback (`--recode-test-output=full`), as RECODE-H does.

It quotes the tests and their inputs, which no level does. Such a run measures something weaker; record and summary mark it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recode.episode import TESTS_SAID
from pytest_recode.feedback.import_failures import import_failure
from pytest_recode.feedback.levels import cut
from pytest_recode.verdict import Case, Verdict

MOST = 20_000
"""Maximum characters of one case's report: as much as a grader stores."""
MOST_OF_ALL = 120_000
"""Maximum characters of all reports together: about 30,000 tokens."""


def full(verdict: Verdict, targets: Sequence[str]) -> str:
    """Every case with its outcome, and the grader's report on failed ones. Indented, so that no line of a candidate
    can be mistaken for one of the feedback. Of the cases that one failed import ended, only the first has its report."""
    lines = ["", TESTS_SAID, f"{verdict.passed} of {len(verdict.cases)} passed."]
    room = MOST_OF_ALL
    first: dict[str, Case] = {}
    ended: dict[str, Case] = {}
    for case in verdict.cases:
        lines.append(f"{case.outcome.value.upper()} {case.id}")
        text = case.message.strip("\n")
        failure = import_failure(case, targets)
        if failure is not None and (same := ended.setdefault(failure.file, case)) is not case:
            text = f"({failure.file} cannot be imported: see {same.id}.)"
        elif text and first.setdefault(_test(case), case) is not case:
            text = _without_source(text, first[_test(case)])
        report = cut(text, min(MOST, room)) if room > 0 else "(left out: there is no room for more)"
        if case.message.strip():
            room -= len(report)
            lines += [f"    {line}".rstrip() for line in report.split("\n")]
    return "\n".join(lines) + "\n"


def _test(case: Case) -> str:
    return case.id.partition("[")[0]


def _without_source(text: str, first: Case) -> str:
    """A report without the lines that the report on the `first` case of the same test has too, except where the test failed and why."""
    known = set(first.message.split("\n"))
    own = [line for line in text.split("\n") if line[:1] in _FAILURE or line not in known]
    return "\n".join([f"(The source of this test is above, at {first.id}.)", *own])


_FAILURE = (">", "E")
"""How lines of pytest's reports begin that say where a test failed, and why."""
