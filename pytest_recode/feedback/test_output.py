"""The hidden tests' own output, for runs that show it with every feedback (`--recode-test-output=full`), as RECODE-H does.

It quotes the tests and their inputs, which no level does: such a run measures something weaker, and its record and summary say so.
"""

from __future__ import annotations

from pytest_recode.episode import TESTS_SAID
from pytest_recode.feedback.levels import cut
from pytest_recode.verdict import Verdict

MOST = 20_000
"""Characters of one case's account: all that a grader keeps."""
MOST_OF_ALL = 120_000
"""Characters of all accounts together: some 30,000 tokens."""


def full(verdict: Verdict) -> str:
    """Every case with its outcome, and what the grader said of those that failed. Indented, so that no line of a candidate's
    can pass for one of a feedback."""
    lines = ["", TESTS_SAID, f"{verdict.passed} of {len(verdict.cases)} passed."]
    room = MOST_OF_ALL
    for case in verdict.cases:
        lines.append(f"{case.outcome.value.upper()} {case.id}")
        said = cut(case.message.strip("\n"), min(MOST, room)) if room > 0 else "(left out: there is no room for more)"
        if case.message.strip():
            room -= len(said)
            lines += [f"    {line}".rstrip() for line in said.split("\n")]
    return "\n".join(lines) + "\n"
