"""`--recode-fail-under`: unsolved episodes are not failed tests, and an additional report passes if enough were solved.

Terminal, exit status and JUnit all use these reports, so that they agree.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import pytest

from pytest_recode.plugin import summary
from pytest_recode.plugin.report_data import ReportData, attach
from pytest_recode.records.episode_summary import EpisodeSummary

_LASTFAILED = "cache/lastfailed"
"""The name under which pytest's cache has the ids that `--lf` selects."""


def excuse(report: pytest.TestReport, data: ReportData) -> None:
    """Give the report of an unsolved episode pytest's outcome of an expected failure."""
    if report.failed and "record" in data and data["record"]["outcome"] == "unsolved":
        first, *_, last = report.longreprtext.splitlines()
        report.outcome = "skipped"
        report.wasxfail = f"{first}; {last}"


def report(limit: float, records: Sequence[EpisodeSummary], wanted: int) -> tuple[pytest.TestReport, str]:
    """Whether at least `limit` per cent are solved, of `wanted` episodes that should have ended: the report and its text."""
    judged, share = summary.solved(records)
    below = math.floor(share * 10) / 10  # rounding up could show a share that was not reached
    text = f"recode: {below:.1f} % solved ({judged} judged), at least {limit:g} % wanted"
    if judged < wanted:
        text += f", and {wanted - judged} of {wanted} have no verdict"
    passed = judged == wanted and share >= limit
    made = pytest.TestReport(
        nodeid=_nodeid(limit),
        location=("recode", None, "--recode-fail-under"),
        keywords={},
        outcome="passed" if passed else "failed",
        longrepr=None if passed else text,
        when="call",
        user_properties=[("recode_fail_under", text)],
    )
    attach(made, {"gate": text})
    return made, text


def ended(call: pytest.TestReport) -> pytest.TestReport:
    """The teardown of a report without an item, from which JUnit reads the properties."""
    return pytest.TestReport(
        nodeid=call.nodeid,
        location=call.location,
        keywords={},
        outcome="passed",
        longrepr=None,
        when="teardown",
        user_properties=call.user_properties,
    )


def unrecorded(nodeid: str, reason: str) -> pytest.TestReport:
    """Report an error for a passed episode whose record is missing. JUnit has no other way to withdraw a result."""
    path, _, name = nodeid.partition("::")
    made = pytest.TestReport(
        nodeid=nodeid,
        location=(path, 0, name),
        keywords={},
        outcome="failed",
        longrepr=f"its record is lost: {reason}",
        when="teardown",
    )
    attach(made, {"unrecorded": reason})
    return made


def remember(config: pytest.Config, limit: float, unsolved: Collection[str]) -> None:
    """Make `--lf` select unsolved episodes, which pytest treats as expected failures. Called after pytest wrote its list."""
    cache = getattr(config, "cache", None)
    if cache is not None:
        listed = cache.get(_LASTFAILED, {}) | dict.fromkeys(unsolved, True)
        listed.pop(_nodeid(limit), None)  # it selects no item
        cache.set(_LASTFAILED, listed)


def _nodeid(limit: float) -> str:
    """The node id, equal for each run with this limit, so that a CI system shows its history."""
    return f"recode::at least {limit:g} % solved"
