"""The hidden tests' own output, for runs that show it with every feedback (`--recode-test-output=full`), as RECODE-H does.

It quotes the tests and their inputs, which no level does. Such a run measures something weaker; record and summary mark it.
"""

from __future__ import annotations

from pytest_recode.episode import TESTS_SAID
from pytest_recode.feedback.levels import cut
from pytest_recode.verdict import Verdict

MOST = 20_000
"""Maximum characters of one case's report: as much as a grader stores."""
MOST_OF_ALL = 120_000
"""Maximum characters of all reports together: about 30,000 tokens."""


def full(verdict: Verdict) -> str:
    """Every case with its outcome, and the grader's report on failed ones. Indented, so that no line of a candidate
    can be mistaken for one of the feedback."""
    lines = ["", TESTS_SAID, f"{verdict.passed} of {len(verdict.cases)} passed."]
    room = MOST_OF_ALL
    for case in verdict.cases:
        lines.append(f"{case.outcome.value.upper()} {case.id}")
        report = cut(case.message.strip("\n"), min(MOST, room)) if room > 0 else "(left out: there is no room for more)"
        if case.message.strip():
            room -= len(report)
            lines += [f"    {line}".rstrip() for line in report.split("\n")]
    return "\n".join(lines) + "\n"
