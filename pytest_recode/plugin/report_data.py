"""What an item says beyond pytest's own report, as one attribute of it: `report.recode`.

pytest-xdist sends a report's attributes from worker to controller, so all values are plain JSON types. The item of a task has the same
attribute while it runs; the reporter moves it to the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from pytest_recode.records.record import ErrorRecord, Record

if TYPE_CHECKING:
    import pytest

    from pytest_recode.records.episode_summary import EpisodeSummary


class ValidationData(TypedDict, total=False):
    """Of one check of one task (`--recode-validate`). `task`, `check` and `error` are always there, the others where it ended."""

    task: str
    check: str
    error: ErrorRecord | None
    problem: str
    warning: str
    seconds: float
    isolation: str
    noticed: int
    tried: int
    survivors: list[str]


class ReportData(TypedDict, total=False):
    """Exactly one of these keys, or none in a phase without a result; `finished_before` stands beside `record` alone."""

    record: Record  # of an episode that ended
    summary: EpisodeSummary  # in place of `record`, once that is in results.jsonl
    finished_before: bool  # by an earlier run in the same directory
    validation: ValidationData
    interrupted: str  # why the episode was cut off, by the end of the session
    not_played: str  # why the episode could not begin
    unreadable: str  # the id of a task that could not be read
    gate: str  # the result of --recode-fail-under
    unrecorded: str  # why the record of a solved episode is lost


NO_DATA: ReportData = {}
"""Shared by all reports of phases without a result, since pytest keeps each of them."""


def attach(report: pytest.TestReport, data: ReportData) -> None:
    report.recode = data  # type: ignore[attr-defined]


def data_of(report: object) -> ReportData | None:
    """None where the report is of no item of this plugin."""
    found: Any = getattr(report, "recode", None)
    return found if isinstance(found, Mapping) else None  # type: ignore[return-value]
