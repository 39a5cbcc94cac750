"""The data that an item attaches to pytest's report, as the attribute `report.recode`.

pytest-xdist sends a report's attributes from worker to controller, so all values are plain JSON types. The item of a task has the same
attribute while it runs; the reporter moves it to the report.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.records.record import Record

if TYPE_CHECKING:
    import pytest

    from pytest_recode.records.episode_summary import EpisodeSummary
    from pytest_recode.validation.result import Validation


class SurvivorData(TypedDict):
    """A mutant that no case detected: the fields of `validation.result.Survivor`."""

    name: str
    place: str
    interface: str
    diff: str
    nearest: str
    nearest_line: int
    cases: list[str]
    by_mark: bool


class DifferenceData(TypedDict):
    """A case that depends on the secret seed: the fields of `validation.result.Difference`."""

    answer: str
    case: str
    failed: list[int]
    passed: list[int]
    text: str


class ValidationData(TypedDict, total=False):
    """Result of one check of one task (`--recode-validate`). `task`, `check`, `checks` (the names of all checks of the task) and `error` are
    always present, the others if the check ended. They are those of `validation.result.Validation`."""

    task: str
    check: str
    checks: list[str]
    error: ErrorRecord | None
    problem: str
    warning: str
    seconds: float
    isolation: str
    answers: int
    right: int
    seeds: int
    noticed: int
    tried: int
    survivors: list[SurvivorData]
    differences: list[DifferenceData]
    cases: list[str]
    failed: list[str] | None
    unquoted: list[str] | None


def validation_data(result: Validation) -> ValidationData:
    """The fields of the result of a check."""
    data: ValidationData = json.loads(json.dumps(asdict(result)))
    data["seconds"] = round(result.seconds, 3)
    return data


class ReportData(TypedDict, total=False):
    """Exactly one of these keys, or none in a phase without a result; `finished_before` occurs only with `record`."""

    record: Record  # of a finished episode
    summary: EpisodeSummary  # replaces `record` once it is in results.jsonl
    finished_before: bool  # an earlier run in the same directory finished the episode
    validation: ValidationData
    interrupted: str  # reason for the interruption of the episode
    not_played: str  # reason why the episode could not start
    unreadable: str  # the id of a task that could not be read
    gate: str  # the result of --recode-fail-under or --recode-baseline
    unrecorded: str  # reason for the missing record of a solved episode


NO_DATA: ReportData = {}
"""Shared by all reports of phases without a result, because pytest keeps each of them."""


def attach(report: pytest.TestReport, data: ReportData) -> None:
    report.recode = data  # type: ignore[attr-defined]


def share(report: pytest.TestReport) -> None:
    """Make equal values of reports the same objects, because pytest keeps all reports until the end of the session."""
    report.location = (sys.intern(report.location[0]), report.location[1], sys.intern(report.location[2]))
    report.keywords = _keywords(tuple(map(sys.intern, report.keywords)))
    report.user_properties = [
        _property(name, value) if isinstance(value, str | int | float) else (name, value)
        for name, value in report.user_properties
    ]


@functools.lru_cache(maxsize=4096, typed=True)
def _property(name: str, value: str | float) -> tuple[str, str | float]:
    return name, value


@functools.lru_cache(maxsize=64)
def _keywords(names: tuple[str, ...]) -> dict[str, Literal[1]]:
    """As pytest makes them for a report. All reports of one item have the same."""
    return dict.fromkeys(names, 1)


def data_of(report: object) -> ReportData | None:
    """The data of a report; None if it is not of an item of this plugin."""
    found: Any = getattr(report, "recode", None)
    return found if isinstance(found, Mapping) else None  # type: ignore[return-value]
