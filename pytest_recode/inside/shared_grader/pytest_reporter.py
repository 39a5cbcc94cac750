"""Reports pytest results of the shared judge: the outcome of each case, and why cases never ran.

Runs in the shared judge, in one process with the candidate. Called by pytest as a plugin of the two pytest runners.
Must not report a case as passed unless its setup, call and teardown passed.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from ..grading import case_outcome
from . import assertion_messages, exception_report, judge, traceback_arguments
from .concealment import memory_modules


class Teller:
    """A plugin beside the runner's own. `xpass`: whether an unexpected pass is a pass, as in pytest's JUnit report."""

    def __init__(self, say: judge.Say, *, xpass: bool = False) -> None:
        self.say, self.xpass = say, xpass
        self.ended = False
        self.reports: list[tuple[Any, BaseException | None]] = []

    def end(self, told: dict[str, Any]) -> None:
        """Why cases never run: the first reason counts."""
        if not self.ended:
            self.say({"op": "ended", **told})
        self.ended = True

    def wrong(self, text: str) -> None:
        self.end({"kind": "assertion", "message": text, "exception": None})

    def load(self, module: pytest.Module, load: Callable[[], Any]) -> None:
        """Give a module of hidden tests its object, with its marks."""
        try:
            module.obj = load()
        except pytest.skip.Exception:
            raise
        except BaseException as error:  # noqa: BLE001  the reference has been imported here: it is the candidate's doing
            self.end(exception_report.account(error))
            raise module.CollectError(f"{type(error).__name__}: {error}") from None  # other files are judged
        marks = getattr(module.obj, "pytestmark", [])
        for mark in marks if isinstance(marks, (list, tuple)) else [marks]:
            module.add_marker(mark)

    def comes_to(self) -> dict[str, Any]:
        """The case whose reports came in since the last one."""
        reports, self.reports = self.reports, []
        told = case_outcome.account(reports, _Asked, xpass=self.xpass)
        errors = [error for report, error in reports if error is not None and report.failed]
        if errors:
            raised = exception_report.account(errors[0])
            told["exception"], told["kind"] = raised["exception"], raised["kind"]
        if told["outcome"] != "passed":
            told["outcome"] = "failed"
        return told

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.wrong(
                f"{case_outcome.case_id(report.nodeid)}: {case_outcome.words(report)}: what is skipped is not tested"
            )
        elif report.failed:
            self.wrong(f"{case_outcome.case_id(report.nodeid)}: {report.longreprtext}")

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.wrong(f"pytest failed: {excrepr}")

    # Filters of warnings hold for the import of the tests, or for one test, as with pytest's own plugin, which is off.

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
        """`pytest.mark` is there for everybody, and by the configuration it leads to the tests: it keeps what it asks for."""

        class Asked:
            option = config.option

            @staticmethod
            def getini(name: str) -> Any:
                return config.getini(name)

            @staticmethod
            def _iter_registered_markers() -> Any:
                return list(config._iter_registered_markers())  # of newer ones

        pytest.mark._config = Asked  # type: ignore[assignment]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self.reports = []

    @pytest.hookimpl(hookwrapper=True)  # not `wrapper`: an environment may bring an older pytest (7 and newer will do)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        traceback_arguments.prepare(call.excinfo.value if call.excinfo is not None else None)
        with memory_modules.quoted(), assertion_messages.told():
            report = (yield).get_result()
        traceback_arguments.prepare(None)
        assertion_messages.forget()
        self.reports.append((report, call.excinfo.value if call.excinfo is not None else None))


class _Asked:
    """What `account` asks of a line to the candidate; there is none."""

    heard = told = True
    failed, fault = None, ""


def canaries() -> Iterator[tuple[str, Callable[[], bool]]]:
    approx, raises = pytest.approx, pytest.raises

    def nothing_raised() -> bool:
        try:
            with raises(KeyError):
                pass
        except pytest.fail.Exception:
            return True
        return False

    yield "pytest.approx is wrong", lambda: approx(2.0) != 1.0 and bool(approx(1.0) == 1.0)
    yield "pytest.raises does not fail", nothing_raised
