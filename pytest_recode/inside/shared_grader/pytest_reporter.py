"""Reports pytest results of the shared judge: the outcome of each case, and why cases never ran.

Runs in the shared judge, in one process with the candidate. Called by pytest as a plugin of the two pytest runners.
Must not report a case as passed unless its setup, call and teardown passed.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from typing import Any, Optional

import pytest

from ..grading import case_outcome
from ..wire import messages
from . import assertion_messages, exception_report, traceback_arguments
from .concealment import memory_modules
from .runner import Report


class PytestReporter:
    """A plugin that runs with the runner's own. `xpass`: whether an unexpected pass is a pass, as in pytest's JUnit report."""

    def __init__(self, report: Report, *, xpass: bool = False) -> None:
        self.report, self.xpass = report, xpass
        self.ended = False
        self.reports: list[tuple[Any, BaseException | None]] = []

    def end(self, failure: messages.FailureReport) -> None:
        """Report why cases never run. The first reason counts."""
        if not self.ended:
            self.report(messages.ended(failure))
        self.ended = True

    def stop(self, text: str) -> None:
        """Report a fault of the tests because of which cases never run."""
        self.end({"kind": "assertion", "message": text, "exception": None})

    def load(self, module: pytest.Module, load: Callable[[], Any]) -> None:
        """Load a module of hidden tests from memory, with its marks."""
        try:
            module.obj = load()
        except pytest.skip.Exception:
            raise
        except BaseException as error:  # noqa: BLE001  this worked with the reference, so the candidate is the cause
            self.end(exception_report.failure_report(error))
            raise module.CollectError(f"{type(error).__name__}: {error}") from None  # other files still run
        marks = getattr(module.obj, "pytestmark", [])
        for mark in marks if isinstance(marks, (list, tuple)) else [marks]:
            module.add_marker(mark)

    def outcome(self) -> messages.CaseOutcome:
        """The outcome of the case that has just ended."""
        reports, self.reports = self.reports, []
        outcome = case_outcome.combined(reports, _InProcess(), xpass=self.xpass)
        errors = [error for report, error in reports if error is not None and report.failed]
        if errors:
            failure = exception_report.failure_report(errors[0])
            outcome["exception"], outcome["kind"] = failure["exception"], failure["kind"]
        if outcome["outcome"] != "passed":
            outcome["outcome"] = "failed"
        return outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.stop(
                f"{case_outcome.case_id(report.nodeid)}: {case_outcome.text_of(report)}; do not skip hidden tests"
            )
        elif report.failed:
            self.stop(f"{case_outcome.case_id(report.nodeid)}: {report.longreprtext}")

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.stop(f"pytest failed: {excrepr}")

    # Warning filters last for the import of the tests, or for one test, as with pytest's own plugin, which is disabled.

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection(self) -> Generator[None, None, None]:
        with warnings.catch_warnings():
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, None, None]:
        with warnings.catch_warnings():
            yield

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Replace the configuration in `pytest.mark`, which every module can import: it would lead to the tests."""

        class MarkConfig:
            option = config.option

            @staticmethod
            def getini(name: str) -> Any:
                return config.getini(name)

            @staticmethod
            def _iter_registered_markers() -> Any:
                return list(config._iter_registered_markers())  # newer versions of pytest use this

        pytest.mark._config = MarkConfig  # type: ignore[assignment]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self.reports = []

    @pytest.hookimpl(hookwrapper=True)  # not `wrapper`: an environment may have an older pytest (7 or newer)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        traceback_arguments.prepare(call.excinfo.value if call.excinfo is not None else None)
        with memory_modules.sources_in_linecache(), assertion_messages.explained():
            report = (yield).get_result()
        traceback_arguments.prepare(None)
        assertion_messages.clear()
        self.reports.append((report, call.excinfo.value if call.excinfo is not None else None))


class _InProcess:
    """The candidate runs in this process, so every failure may be caused by it."""

    answered = data_received = True
    failure: Optional[tuple[str, str]] = None
    test_fault = ""
