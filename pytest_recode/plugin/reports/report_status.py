"""The status of an item as pytest counts and prints it: category, letter and word of `pytest_report_teststatus`."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recode.plugin.reports.report_data import data_of

CRASHED = "???"
"""The phase of pytest-xdist's report on an item whose worker died."""
WITH_RESULT = ("call", CRASHED)
"""Phases whose report has the result of an item."""


def report_status(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    """The status of a report; None if pytest's own is right."""
    facts = data_of(report)
    if not facts:
        return None
    if "unrecorded" in facts:  # the summary reports it
        return "", "", ""
    if report.when not in WITH_RESULT or "gate" in facts:
        return None
    if "interrupted" in facts:
        return "interrupted", "I", ("INTERRUPTED", {"yellow": True})
    if "not_played" in facts:
        return "error", "E", ("ERROR", {"red": True})
    if "validation" in facts:
        if facts["validation"]["error"]:
            return "error", "E", ("ERROR", {"red": True})
        word = f"VALID {facts['validation'].get('seconds', 0):.2f}s"
        return ("passed", ".", (word, {"green": True})) if report.passed else None
    from pytest_recode.render.words import status

    record = facts["summary"] if "summary" in facts else facts["record"]
    word = status(record)
    if "summary" in facts and facts["summary"]["impossible"] and record["outcome"] != "error":
        return ("passed", ".", (word, {"green": True})) if report.passed else ("failed", "F", (word, {"red": True}))
    if record["outcome"] == "error":
        return "error", "E", (word, {"red": True})
    if record["outcome"] == "solved":
        return "passed", ".", (word, {"green": True})
    if report.skipped:
        return "unsolved", "u", (word, {"yellow": True})
    return "failed", "F", (word, {"red": True})
