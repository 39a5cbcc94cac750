"""Shortens pytest's sections ERRORS and FAILURES in the terminal: the first unsolved episodes whole, one line for each other one.

Runs in the controller. Only the lists that the terminal reads are shortened, and only while it prints: JUnit, reports of other plugins,
pytest's counts and the records have everything.
"""

from __future__ import annotations

import copy
import shlex
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.plugin.reports.report_data import data_of

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.records.episode_error import ErrorRecord

MOST_WHOLE = 3
"""How many unsolved episodes, and how many errors of a kind, have a block of their own."""
_ALL_WHOLE = 2
"""The verbosity (`-vv`) from which on everything has one."""


class FailureBlocks:
    """An error that many items share (an invalid key) is shown only for the first."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._first: dict[str, list[Any]] = {}  # without errors that another item has, too
        self._others: list[str] = []  # a line for each report without a block

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        stats = terminalreporter.stats
        whole = {name: stats[name] for name in ("error", "failed") if name in stats}
        self._first = {**whole, **({"error": _first_of_each_cause(whole["error"])} if "error" in whole else {})}
        stats.update({name: self._blocks(reports) for name, reports in self._first.items()})
        try:
            yield
        finally:
            stats.update(whole)

    @pytest.hookimpl(specname="pytest_terminal_summary", tryfirst=True)
    def pytest_after_failures(self, terminalreporter: Any) -> None:
        """Called after the sections ERRORS and FAILURES, before the short summary, which lists every failure.

        In CI and with `-vv`, pytest repeats whole texts there; here each is a line.
        """
        terminalreporter.stats.update({name: list(map(_brief, reports)) for name, reports in self._first.items()})
        if self._others:
            terminalreporter.section(f"{len(self._others)} more, a line each (-vv: all in full)", sep="_", bold=True)
            for line in self._others:
                terminalreporter.line(line)

    def _blocks(self, reports: list[Any]) -> list[Any]:
        """The reports that pytest prints in full. The others are added to the lines."""
        option = self.run.config.option
        if option.verbose >= _ALL_WHOLE or option.tbstyle in ("no", "line") or option.no_summary:
            return reports
        counts, blocks = Counter[str](), []
        for report in reports:
            kind, text = _kind_and_text(report)
            counts[kind] += 1
            if kind and counts[kind] > MOST_WHOLE:
                self._others.append(self._line(report, text))
            else:
                blocks.append(report)
        return blocks

    def _line(self, report: Any, text: str) -> str:
        from pytest_recode.records.transcript import transcript_path

        facts = data_of(report) or {}
        transcript = transcript_path(self.run.out, report.nodeid)
        with suppress(ValueError):  # it is elsewhere
            transcript = transcript.relative_to(self.run.config.invocation_params.dir)
        show = "" if "validation" in facts else f"; pytest-recode show {shlex.quote(str(transcript))}"
        return f"{report.head_line}: {text}{show}"


def _brief(report: Any) -> Any:
    kind, text = _kind_and_text(report)
    if not kind:
        return report
    brief = copy.copy(report)
    brief.longrepr = text
    return brief


def _first_of_each_cause(reports: list[Any]) -> list[Any]:
    from pytest_recode.records.record import cause

    seen: set[str] = set()
    first = []
    for report in reports:
        error = _error(report)
        if error is None or cause(error) not in seen:
            first.append(report)
        if error is not None:
            seen.add(cause(error))
    return first


def _error(report: Any) -> ErrorRecord | None:
    facts = data_of(report) or {}
    ended = facts.get("summary") or facts.get("record") or facts.get("validation")
    return ended["error"] if ended else None


def _kind_and_text(report: Any) -> tuple[str, str]:
    """What several reports may have in common, and a short text; "" for both if the report must be whole."""
    from pytest_recode.render import words

    if (error := _error(report)) is not None:
        return f"error {error['kind']}", words.short_line(error["message"], error["kind"])
    record = (data_of(report) or {}).get("summary")
    if record is not None and record["outcome"] == "unsolved":
        return "unsolved", words.unsolved_briefly(record)
    return "", ""
