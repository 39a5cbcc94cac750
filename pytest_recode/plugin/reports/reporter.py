"""The reporter: attaches results to pytest's reports; in the controller it writes results.jsonl and the summary."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import RecordsError, UserError
from pytest_recode.plugin.collection import selection
from pytest_recode.plugin.collection.item_properties import episode_properties
from pytest_recode.plugin.collection.items import RecodeItem, TaskItem
from pytest_recode.plugin.reports import conclusions, github, markdown_file, summary
from pytest_recode.plugin.reports.report_data import NO_DATA, ReportData, ValidationData, attach, data_of, share
from pytest_recode.plugin.reports.report_status import CRASHED, WITH_RESULT, report_status
from pytest_recode.plugin.run.log_warnings import LogToWarnings, RecodeWarning, warn
from pytest_recode.plugin.run.observers import observe
from pytest_recode.plugin.run.results_file import ResultsFile
from pytest_recode.plugin.run.unreported import unreported
from pytest_recode.plugin.workers import distributed
from pytest_recode.records.episode_summary import EpisodeSummary, episode_summary
from pytest_recode.settings import decided_at_end

if TYPE_CHECKING:
    from pytest_recode.episode import Turn
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.records.episode_error import ErrorRecord
    from pytest_recode.records.record import Record

LOG = logging.getLogger("pytest_recode")
_ENDING = 30.0
"""Seconds that workers may take to end, beyond those for which they wait for answers."""
_OF_SESSION = {"gate", "unrecorded"}
"""The keys of the reports that this plugin adds at the end of a session."""


class Reporter:
    """Registered once in each process that collects a task. In a worker it only attaches results to reports."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.records: list[EpisodeSummary] = []
        self.validations: list[ValidationData] = []
        self.reported: set[str] = set()  # node ids with a result; a plugin that repeats items reports them again
        self.started: set[str] = set()  # node ids of all episodes that were started, skipped ones included
        self.unreadable: set[str] = set()  # node ids of the items of unreadable tasks
        self.interrupted: set[str] = set()  # node ids of interrupted episodes
        self._results = ResultsFile(run.out)
        self._session: pytest.Session | None = None
        self._item: pytest.Item | None = None  # the running one
        self._lost = ""  # the reason for missing records
        self._conclusions: list[conclusions.Conclusion] = []  # tests at the end of the run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, TaskItem):
            if decided_at_end(self.run.settings):
                conclusions.excuse(report, item.recode)
            if "unreadable" in item.recode:
                report.longrepr = item.task.fault  # in the setup, pytest would add the lines of this plugin
            attach(report, item.recode)
            item.recode = NO_DATA
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        return report_status(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        if self.run.worker is None:
            self._take(report)
        yield
        if data_of(report) is None:
            return
        if str(report.when) == CRASHED:
            self.run.config.hook.pytest_runtest_logreport(report=conclusions.ended(report))
        if self.run.worker is None:
            share(report)
        else:
            attach(report, NO_DATA)  # pytest-xdist has sent it

    def _take(self, report: pytest.TestReport) -> None:
        if str(report.when) == CRASHED and (found := self._crashed(report)):
            attach(report, found)
        facts = data_of(report)
        if facts and not _OF_SESSION.isdisjoint(facts):
            return
        if facts is not None and not self._unread(report, facts):
            self.started.add(report.nodeid)
        facts = facts or NO_DATA
        if report.when in WITH_RESULT and not facts.keys().isdisjoint({"record", "validation"}):
            if report.nodeid in self.reported:
                return
            self.reported.add(report.nodeid)
        if report.when in WITH_RESULT and "record" in facts:
            config = self.run.config
            try:
                if facts.get("finished_before"):
                    self.records.append(episode_summary(facts["record"]))
                else:
                    observe(self.run, "pytest_recode_episode_finished", config=config, record=facts["record"])
                attach(report, {"summary": self.records[-1]})
            except RecordsError as error:  # an episode without a record does not pass
                self._unrecorded(report, str(error))
        elif report.when in WITH_RESULT and "interrupted" in facts:
            self.interrupted.add(report.nodeid)
            self._stop(facts["interrupted"])
        elif report.when in WITH_RESULT and "validation" in facts:
            self.validations.append(facts["validation"])

    def _unrecorded(self, report: pytest.TestReport, reason: str) -> None:
        report.outcome, report.longrepr = "failed", f"interrupted: {reason}"
        attach(report, {"interrupted": reason})
        self.interrupted.add(report.nodeid)
        self._stop(reason)

    def _stop(self, reason: str) -> None:
        """Stop all requests of the run, in every process, and end the session."""
        self.run.stops.request(reason)
        first = self.run.stops.reason  # later reasons are its consequences
        if not distributed.stop(self.run.config, first) and self._session is not None:
            self._session.shouldstop = first

    def _outside(self, reason: str) -> bool:
        """Handle a request to stop while no episode runs in this process. Returns False to let the signal interrupt the process."""
        from pytest_recode.stopping import AWAITED

        if distributed.stop(self.run.config, reason):
            self._print(f"{reason}: waiting up to {AWAITED:.0f} s for answers in progress; Ctrl-C ends the wait")
            self.run.stops.limit(AWAITED + _ENDING)
            return True
        if self._item is not None and not isinstance(self._item, TaskItem):
            return False
        if self._session is not None:
            self._session.shouldstop = reason
        return True

    def _print(self, line: str) -> None:
        """Print a line from a signal handler, which may interrupt a write to the terminal (RuntimeError)."""
        with suppress(RuntimeError):
            self.run.notify(line)

    def _unread(self, report: pytest.TestReport, facts: ReportData) -> bool:
        """Whether the report is of an item for an unreadable task, which is reported in its setup and not in its teardown."""
        if "unreadable" in facts and report.nodeid not in self.unreadable:
            self.unreadable.add(report.nodeid)
            if self.run.prepared and not self.run.settings.validate:
                from pytest_recode.plugin.run.directory import not_read

                try:
                    not_read(self.run.out, facts["unreadable"])
                except RecordsError as error:
                    self._stop(str(error))
        return report.nodeid in self.unreadable

    def _crashed(self, report: pytest.TestReport) -> ReportData:
        """The facts in the transcript of an episode whose worker died; empty for any other item."""
        from pytest_recode.records.transcript import transcript_path
        from pytest_recode.records.transcript_reader import recover

        if not distributed.EPISODE.search(report.nodeid):
            return {}
        if self.run.stops.reason:  # its worker was killed after the time limit of a stop
            return {"interrupted": self.run.stops.reason}
        error: ErrorRecord = {"kind": "worker", "message": report.longreprtext}
        path = transcript_path(self.run.out, report.nodeid)
        try:
            record = recover(path, outcome="error", stop="error", error=error)
        except (ValueError, UserError):
            # the worker died before the episode began, or an earlier run left a damaged line
            return {"not_played": report.longreprtext}
        report.user_properties = episode_properties(record, self.run.out)
        return {"record": record}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> Generator[None]:
        """Warn about what `-m recode(...)` names and no task has, and if nothing is selected, also about such words in `-k`;
        when validating, also about misspelt domains."""
        collected = [*items]
        yield
        config = self.run.config
        if not distributed.speaks(config):
            return
        marker, keyword = (config.getoption(name, "") or "" for name in ("markexpr", "keyword"))
        lines = selection.unknown_subset(self.run.settings.subset, self.run.collected.subsets)
        lines += selection.unknown_in_marker(marker, collected, self.run.collected.subsets)
        if not items and not session.testsfailed:  # a task that could not be read may have the name
            lines += selection.unknown_in_keywords(keyword, collected)
        if self.run.settings.validate:
            lines += selection.misspelt_domains(items)
        for line in lines:
            warn(self.run.config, line, __file__, 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.run.collected.select(item.task for item in session.items if isinstance(item, RecodeItem))
        if distributed.speaks(self.run.config) and (line := summary.same_answers(self.run, session.items)):
            warn(self.run.config, line, __file__, 0)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        self._session = session
        log_filter = LogToWarnings(self.run.config)
        LOG.addFilter(log_filter)
        orderly = self.run.calls_models or bool(self.run.person)
        signals = self.run.stops.signals(self._outside, self._print) if orderly else nullcontext()
        try:
            with signals:
                return (yield)
        finally:
            LOG.removeFilter(log_filter)
            if self.run.worker is None:
                self._conclude(session)

    def _conclude(self, session: pytest.Session) -> None:
        """Add the reports on the whole run, before JUnit is written and the exit status decided."""
        hook = self.run.config.hook
        records = self.records
        try:
            self._results.check()
        except RecordsError as error:
            for record in records:
                if record["outcome"] == "solved":
                    hook.pytest_runtest_logreport(report=conclusions.unrecorded(record["nodeid"], str(error)))
            records = []
        if not self.started:
            return
        self._conclusions = list(conclusions.conclusions(self.run, records, self._wanted()))
        for report in (conclusion.report for conclusion in self._conclusions):
            session.testscollected += 1  # keeps the progress at 100 %
            hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
            for each in (report, conclusions.ended(report)):
                hook.pytest_runtest_logreport(report=each)
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def _wanted(self) -> int:
        """How many episodes should have ended."""
        return len(self.started | (self.run.collected.ids - self.unreadable))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Start no item after a stop was requested."""
        self._item = item
        if not self.run.stops.reason or getattr(item, "flight", None) is not None:
            return None
        item.session.shouldstop = self.run.stops.reason
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        self._item = None

    @pytest.hookimpl(trylast=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Print this plugin's warnings immediately instead of in the summary, because the user is waiting."""
        terminal: Any = self.run.config.pluginmanager.get_plugin("terminalreporter")
        if warning_message.category is not RecodeWarning or self.run.worker is not None or terminal is None:
            return
        self.run.notify(str(warning_message.message))
        shown = terminal.stats["warnings"]
        shown.pop()  # added by the terminal's own hook, which ran before this one
        if not shown:
            del terminal.stats["warnings"]

    @pytest.hookimpl(trylast=True)  # below the header
    def pytest_sessionstart(self) -> None:
        for line in self.run.announced:
            self.run.notify(line)

    def pytest_report_header(self) -> list[str]:
        lines = (("", self.run.settings.models), ("docker on ", self.run.settings.docker_hosts))
        return [f"recode: {what}{', '.join(values)}" for what, values in lines if values] + summary.replaced(self.run)

    def pytest_report_collectionfinish(self) -> list[str]:
        """The settings for the tasks of each format. With workers, the controller collects nothing: see `distributed.py`."""
        return summary.played_how(self.run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        yield
        if self.run.worker is None:
            earlier, cut = unreported(self.run, self.records, self.interrupted)
            summary.write(
                terminalreporter,
                self.run,
                self.records,
                self.validations,
                started=len(self.started | cut | earlier),
                interrupted=len(cut),
                earlier=len(earlier),
                unreadable=len(self.unreadable),
                lost=self._lost,
                gate=[line for conclusion in self._conclusions for line in conclusion.lines],
            )
            if github.step_summary() is not None:
                compared = next((each.compared for each in self._conclusions if each.compared), None)
                for line in github.error_commands(self.records, compared):
                    terminalreporter.line(line)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Check that the records are still there, and merge those of retried episodes; fail the session if either is impossible."""
        if decided_at_end(self.run.settings) and self.run.worker is None:
            unsolved = [record["nodeid"] for record in self.records if record["outcome"] == "unsolved"]
            conclusions.remember(self.run.config, unsolved)
        try:
            self._results.finish()
        except (RecordsError, UserError) as error:
            self._lost = unwritten = str(error)
        else:
            unwritten = self._write_markdown()
        if unwritten and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write_markdown(self) -> str:
        """Write the summary as Markdown, if it is asked for. Returns why that was impossible, or ""."""
        if self.run.worker is None:
            try:
                markdown_file.write(self.run, self.records, self._conclusions, self._wanted())
            except RecordsError as error:
                self.run.notify(f"no Markdown: {error}")
                return str(error)
        return ""

    def pytest_unconfigure(self) -> None:
        self._results.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_recode_turn_finished(self, item: pytest.Item, turn: Turn) -> None:
        """Log each judged turn, for `--log-cli-level=INFO`."""
        level = f"L{turn.feedback.level}" if turn.feedback else "-"
        LOG.info(
            "%s turn %d feedback %s: %d of %d cases pass",
            item.name, turn.number, level, turn.verdict.passed, len(turn.verdict.cases),
        )  # fmt: skip

    @pytest.hookimpl(tryfirst=True)
    def pytest_recode_episode_finished(self, record: Record) -> None:
        self._results.append(record, retried=record["nodeid"] in self.run.directory.retried)
        self.records.append(episode_summary(record))
