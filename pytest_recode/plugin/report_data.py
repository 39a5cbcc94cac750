"""The data that an item attaches to pytest's report, as the attribute `report.recode`.

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
    """Result of one check of one task (`--recode-validate`). `task`, `check` and `error` are always present, the others if the check ended."""

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
    """Exactly one of these keys, or none in a phase without a result; `finished_before` occurs only with `record`."""

    record: Record  # of a finished episode
    summary: EpisodeSummary  # replaces `record` once it is in results.jsonl
    finished_before: bool  # an earlier run in the same directory finished the episode
    validation: ValidationData
    interrupted: str  # reason for the interruption of the episode
    not_played: str  # reason why the episode could not start
    unreadable: str  # the id of a task that could not be read
    gate: str  # the result of --recode-fail-under
    unrecorded: str  # reason for the missing record of a solved episode


NO_DATA: ReportData = {}
"""Shared by all reports of phases without a result, because pytest keeps each of them."""


def attach(report: pytest.TestReport, data: ReportData) -> None:
    report.recode = data  # type: ignore[attr-defined]


def data_of(report: object) -> ReportData | None:
    """The data of a report; None if it is not of an item of this plugin."""
    found: Any = getattr(report, "recode", None)
    return found if isinstance(found, Mapping) else None  # type: ignore[return-value]
