"""`--recode-fail-under` and `--recode-baseline`: unsolved episodes are not failed tests, and an additional report decides on the run.

Terminal, exit status and JUnit all use these reports, so that they agree.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_recode.faults import UserError
from pytest_recode.plugin.reports import summary
from pytest_recode.plugin.reports.report_data import ReportData, attach
from pytest_recode.records.episode_summary import EpisodeSummary

if TYPE_CHECKING:
    from pytest_recode.metrics.gate_comparison import Gate
    from pytest_recode.plugin.run.session import Run

_LASTFAILED = "cache/lastfailed"
"""The name under which pytest's cache has the ids that `--lf` selects."""


def excuse(report: pytest.TestReport, data: ReportData) -> None:
    """Give the report of an unsolved episode pytest's outcome of an expected failure."""
    if report.failed and "record" in data and data["record"]["outcome"] == "unsolved":
        first, *_, last = report.longreprtext.splitlines()
        report.outcome = "skipped"
        report.wasxfail = f"{first}; {last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """A test at the end of the run: its report, the lines of the summary, and the comparison with a baseline, if it is one."""

    report: pytest.TestReport
    lines: tuple[str, ...]
    compared: Gate | None = None


def conclusions(run: Run, records: Sequence[EpisodeSummary], expected: int) -> Iterator[Conclusion]:
    """The tests that decide on the run, of `expected` episodes that should have ended."""
    if run.settings.fail_under is not None:
        yield _enough_solved(run.settings.fail_under, records, expected)
    if run.settings.baseline is not None:
        yield _not_worse(run, [record["nodeid"] for record in records], expected)


def _enough_solved(limit: float, records: Sequence[EpisodeSummary], expected: int) -> Conclusion:
    """Whether at least `limit` per cent are solved."""
    judged, share = summary.solved(records)
    below = math.floor(share * 10) / 10  # rounding up could show a share that was not reached
    text = f"{below:.1f} % solved ({judged} judged), at least {limit:g} % wanted"
    if judged < expected:
        text += f", and {expected - judged} of {expected} have no verdict"
    nodeid = f"recode::at least {limit:g} % solved"
    passed = judged == expected and share >= limit
    return Conclusion(report=_report(nodeid, "recode_fail_under", [f"recode: {text}"], passed=passed), lines=(text,))


def _not_worse(run: Run, nodeids: Sequence[str], expected: int) -> Conclusion:
    """Whether the comparison with the baseline passes."""
    from pytest_recode.plugin.reports import against_baseline
    from pytest_recode.render import gate_lines as shown

    nodeid = f"recode::baseline ({', '.join(run.settings.fail_on)})"
    if not nodeids:
        without = (
            "" if run.settings.models else ": name a model with --recode-model, or set no baseline in the ini file"
        )
        line = f"baseline: not compared, because no episode was recorded{without}"
        return Conclusion(report=_report(nodeid, "recode_baseline", [line], passed=False), lines=(line,))
    try:
        comparison = against_baseline.compared(run, nodeids, expected)
    except UserError as error:  # a file was changed during the run
        line = f"baseline: not compared: {error}"
        return Conclusion(report=_report(nodeid, "recode_baseline", [line], passed=False), lines=(line,))
    lines = shown.lines(comparison)
    report = _report(nodeid, "recode_baseline", lines, passed=comparison.passed)
    report.user_properties += [("recode_verdict", shown.sentence(row)) for row in comparison.rows]
    return Conclusion(report=report, lines=tuple(lines), compared=comparison)


def _report(nodeid: str, fact: str, lines: Sequence[str], *, passed: bool) -> pytest.TestReport:
    """`nodeid` is equal for each run with these options, so that a CI system shows its history."""
    report = pytest.TestReport(
        nodeid=nodeid,
        location=("recode", None, f"--{fact.replace('_', '-')}"),
        keywords={},
        outcome="passed" if passed else "failed",
        longrepr=None if passed else "\n".join(lines),
        when="call",
        user_properties=[(fact, lines[0])],
    )
    attach(report, {"gate": lines[0]})
    return report


def ended(call: pytest.TestReport) -> pytest.TestReport:
    """The teardown of a report without an item, or of one whose worker died. JUnit reads the properties from it, and pytest-html waits for it."""
    return pytest.TestReport(
        nodeid=call.nodeid,
        location=call.location,
        keywords={},
        outcome="passed",
        longrepr=None,
        when="teardown",
        user_properties=call.user_properties,
        **({"node": node} if (node := getattr(call, "node", None)) is not None else {}),  # that of pytest-xdist
    )


def unrecorded(nodeid: str, reason: str) -> pytest.TestReport:
    """Report an error for a passed episode whose record is missing. JUnit has no other way to withdraw a result."""
    path, _, name = nodeid.partition("::")
    report = pytest.TestReport(
        nodeid=nodeid,
        location=(path, 0, name),
        keywords={},
        outcome="failed",
        longrepr=f"its record is lost: {reason}",
        when="teardown",
    )
    attach(report, {"unrecorded": reason})
    return report


def remember(config: pytest.Config, unsolved: Collection[str]) -> None:
    """Make `--lf` select unsolved episodes, which pytest treats as expected failures. Called after pytest wrote its list."""
    cache = getattr(config, "cache", None)
    if cache is not None:
        listed = cache.get(_LASTFAILED, {}) | dict.fromkeys(unsolved, True)
        # The tests at the end select no item
        cache.set(_LASTFAILED, {nodeid: True for nodeid in listed if not nodeid.startswith("recode::")})
