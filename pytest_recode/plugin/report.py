"""Reports: results ride on pytest's own, and the controlling process writes and sums them up."""

from __future__ import annotations

import functools
import logging
import os
import warnings
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.plugin import summary
from pytest_recode.plugin.items import RecodeItem, TaskItem

if TYPE_CHECKING:
    from pytest_recode.episode import Turn
    from pytest_recode.plugin.session import Run
    from pytest_recode.task import Environment

LOG = logging.getLogger("pytest_recode")


CRASHED = "???"
"""The phase in pytest-xdist's report of an item whose worker died."""
_RAN = ("call", CRASHED)

_NOTHING: dict[str, Any] = {}  # shared by all the reports that have nothing to tell

_KEPT = (
    *(
        "nodeid",
        "task",
        "agent",
        "model",
        "simulated",
        "feedback",
        "paper",
        "outcome",
        "solved_turn",
        "usage",
        "sandbox",
    ),
    *("isolation", "error", "replay"),
)
"""What of a record the summary needs, beside the counts of its turns."""


class RecodeWarning(pytest.PytestWarning):
    """What a person should know while the run goes on."""


class _Teller(logging.Filter):
    """Passes warnings of this package on as pytest's own, and no further: from a worker too they are with the controller at
    once, and what is said there is not to be said again as a log that pytest captured."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        _warn(self._config, record.getMessage(), record.pathname, record.lineno)
        return False


def _warn(config: pytest.Config, text: str, path: str, line: int) -> None:
    message = warnings.WarningMessage(RecodeWarning(text), RecodeWarning, path, line)
    config.hook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": message, "when": "runtest", "nodeid": "", "location": None}
    )


class Reporter:
    """Registered once per process that meets a task. In a worker it only puts what is known on the report."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.records: list[Mapping[str, Any]] = []
        self.validations: list[Mapping[str, Any]] = []
        self.met: set[str] = set()  # the ids of all episodes that were started, skipped ones too
        self.unreadable: set[str] = set()  # the ids of what stands for tasks that nobody could read
        self.others_failed = False
        self._results: int | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, TaskItem):
            report.recode, item.recode = item.recode, _NOTHING  # type: ignore[attr-defined]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        facts = getattr(report, "recode", None)
        if not facts or report.when not in _RAN:
            return None
        if "not_played" in facts:
            return "error", "E", ("ERROR", {"red": True})
        if "validation" in facts:
            if facts["validation"]["error"]:
                return "error", "E", ("ERROR", {"red": True})
            word = f"VALID {facts['validation'].get('seconds', 0):.2f}s"
            return ("passed", ".", (word, {"green": True})) if report.passed else None
        from pytest_recode.render.words import status

        record = facts["record"]
        word = status(record)
        if record["outcome"] == "error":
            return "error", "E", (word, {"red": True})
        if record["outcome"] == "solved":
            return "passed", ".", (word, {"green": True})
        return "failed", "F", (word, {"red": True})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.run.worker is not None:
            return
        if str(report.when) == CRASHED and (found := self._crashed(report)):
            report.recode = found  # type: ignore[attr-defined]
        facts = getattr(report, "recode", None)
        if facts is not None and not self._unread(report, facts):
            self.met.add(report.nodeid)
        facts = facts or {}
        if report.when in _RAN and "record" in facts:
            config = self.run.config
            if facts.get("kept"):  # an earlier run has told of it
                self._count(facts["record"])
            else:
                config.hook.pytest_recode_episode_finished(config=config, record=facts["record"])
            report.recode = {"record": self.records[-1]}  # type: ignore[attr-defined]
        elif report.when in _RAN and "validation" in facts:
            self.validations.append(facts["validation"])
        else:
            self.others_failed |= report.failed

    def _unread(self, report: pytest.TestReport, facts: Mapping[str, Any]) -> bool:
        """Whether this is of an item that stands for an unreadable task: its setup says so, its teardown says nothing."""
        if "unreadable" in facts and report.nodeid not in self.unreadable:
            self.unreadable.add(report.nodeid)
            if self.run.prepared and not self.run.settings.validate:
                from pytest_recode.plugin.directory import not_read

                not_read(self.run.out, facts["unreadable"])
        return report.nodeid in self.unreadable

    def _crashed(self, report: pytest.TestReport) -> dict[str, Any]:
        """What the transcript kept of an episode whose worker died; empty for any other item."""
        from pytest_recode.render.transcript import name, recover

        path = self.run.out / "episodes" / name(report.nodeid)
        if not path.exists():
            return {}
        error = {"kind": "worker", "message": report.longreprtext}
        return {"record": recover(path, outcome="error", stop="error", error=error)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Before `-m` chooses from them."""
        expression = self.run.config.getoption("markexpr", "") or ""
        if "recode(" not in expression or not self._speaks():
            return
        marks = [mark.kwargs for item in items if isinstance(item, TaskItem) for mark in item.iter_markers("recode")]
        for line in summary.unknown_keys(expression, marks):
            _warn(self.run.config, line, __file__, 0)

    def _speaks(self) -> bool:
        """Of the workers, which all collect the same, the first says what is to be said of it."""
        return self.run.worker is None or self.run.worker["workerid"] == "gw0"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        found: dict[Environment, dict[str, None]] = {}
        for item in session.items:
            if isinstance(item, RecodeItem):
                found.setdefault(item.task.environment, {})[item.task.id] = None
        self.run.environments = {environment: tuple(tasks) for environment, tasks in found.items()}
        if self._speaks() and (line := summary.same_answers(self.run, session.items)):
            _warn(self.run.config, line, __file__, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        teller = _Teller(self.run.config)
        LOG.addFilter(teller)
        try:
            return (yield)
        finally:
            LOG.removeFilter(teller)

    @pytest.hookimpl(trylast=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """At once, and not in the summary at the end: somebody waits for what it is about."""
        terminal: Any = self.run.config.pluginmanager.get_plugin("terminalreporter")
        if warning_message.category is not RecodeWarning or self.run.worker is not None or terminal is None:
            return
        self.run.tell(str(warning_message.message))
        kept = terminal.stats["warnings"]
        kept.pop()  # the terminal's own hook came before this one
        if not kept:
            del terminal.stats["warnings"]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.others_failed |= report.failed

    def pytest_report_header(self) -> str | None:
        run = self.run
        if not run.settings.models:
            return None
        settings = run.settings
        told = {"feedbacks": f"feedback {', '.join(settings.feedbacks)}", "agent": f"agent {settings.agent}"}
        if told.keys() <= settings.given:
            unless = ""
        elif run.config.getoption("numprocesses", None):
            unless = ", unless a task's format has other defaults"
        else:  # each format's are said once they are collected
            told, unless = {field: words for field, words in told.items() if field in settings.given}, ""
        return "; ".join([f"recode: {', '.join(settings.models)}", *told.values()]) + unless

    def pytest_report_collectionfinish(self) -> list[str]:
        """How each format's tasks are played, where the header could not know which defaults they have."""
        run = self.run
        if not run.settings.models or run.config.option.verbose < 0:
            return []
        told = {name: summary.defaults(run.settings, own) for name, own in run.by_format.items()}
        return [f"recode: {name} tasks: {words}" for name, words in told.items() if words]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        with summary.told_once(terminalreporter.stats):
            yield
        if self.run.worker is None:
            summary.write(
                terminalreporter, self.run, self.records, self.validations, len(self.met), len(self.unreadable)
            )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """`--recode-fail-under`: the share decides, unless something else went wrong or not all was played."""
        limit = self.run.settings.fail_under
        if limit is None or self.run.worker is not None or not self.met:
            return
        if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        played, share = summary.solved(self.records)
        whole = played == len(self.met) and not (session.shouldfail or session.shouldstop)
        enough = whole and not self.others_failed and share >= limit
        session.exitstatus = pytest.ExitCode.OK if enough else pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._results is not None:
            os.close(self._results)
            self._results = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_recode_turn_finished(self, item: pytest.Item, turn: Turn) -> None:
        """For those who wait: `--log-cli-level=INFO` shows each turn as it is judged."""
        level = f"L{turn.feedback.level}" if turn.feedback else "-"
        LOG.info(
            "%s turn %d feedback %s: %d of %d cases pass",
            item.name, turn.number, level, turn.verdict.passed, len(turn.verdict.cases),
        )  # fmt: skip

    @pytest.hookimpl(tryfirst=True)
    def pytest_recode_episode_finished(self, record: Mapping[str, Any]) -> None:
        from pytest_recode.plugin.directory import RESULTS, forget
        from pytest_recode.render.transcript import append, opened

        if record["nodeid"] in self.run.retried:
            self.run.retried.remove(record["nodeid"])
            self._close()
            forget(self.run.out, record["nodeid"])
        if self._results is None:
            self._results = opened(self.run.out / RESULTS)
        append(self._results, record)
        self._count(record)

    def _count(self, record: Mapping[str, Any]) -> None:
        """pytest keeps every report to the end of the session: what is on disk need not be kept with it."""
        kept = {key: record[key] for key in _KEPT}
        kept["temperature"] = record["settings"]["temperature"]
        kept["told"] = record["settings"]["test_output"] == "full"
        lines = record["facts"].get("lines")  # any format's: whoever wrote it may have meant something else
        kept["lines"] = lines if isinstance(lines, int) else None
        turns = tuple(_counts(turn["passed"], turn["total"]) for turn in record["turns"])
        tampering = any(turn["tampering"] for turn in record["turns"])
        shared = any(turn["shared"] for turn in record["turns"])
        self.records.append({**kept, "turns": turns, "tampering": tampering, "shared": shared})


@functools.cache
def _counts(passed: int, total: int) -> Mapping[str, int]:
    return {"passed": passed, "total": total}
