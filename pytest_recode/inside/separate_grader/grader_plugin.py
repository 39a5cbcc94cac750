"""The pytest plugin of the separate grader: its fixtures, and the steps that it reports to the host while pytest collects and runs.

Runs in the grader process. Called by `main.py`, which starts pytest. Must not call the candidate: only the tests do, by its link.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import gc
import io
import linecache
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable, Generator
from typing import Any, NoReturn, Optional, cast

import pytest

from ..grading import case_outcome, failure_symptom, interface_names, library_versions, lost_tests, pytest_session
from ..setup.random_generators import seed_generators
from ..wire import frames, messages
from . import handles, left_behind, reference_fixture, shifted_expectation

MAX_SCORE_NAME = 80  # characters


class NoLink:
    """Replaces a Link where nothing is judged."""

    answered = data_received = True
    failure, test_fault, explaining, torn = None, "", False, False
    requested: frozenset[str] = frozenset()

    def start_case(self) -> None: ...

    def end_case(self) -> None: ...

    def put(self, data: Any) -> None: ...

    def next_message(self) -> messages.GraderRun:
        return messages.GraderRun(only=None, stop_at_failure=False, still_run=[], shifted=[])


class Plugin:
    def __init__(self) -> None:
        self.link: Any = None
        self.interfaces: list[str] = []
        self.seed = 0
        self.run = NoLink().next_message()
        self.several = False  # whether further runs may follow the first
        self.broken = self.collected = self.rehearsal = False
        self.missing_module = ""  # a module that an import of the tests or the reference did not find
        self.stderr = io.StringIO()  # what pytest writes there before it runs tests
        self.errors: list[str] = []
        self.lost = lost_tests.LostTests()
        self.session: Any = None
        self.reports: list[tuple[Any, BaseException | None]] = []
        self.scores: dict[str, float] = {}  # of the running case
        self.expectation = shifted_expectation.ShiftedExpectation()

    def configure(self, link: Any, start: messages.GraderStart, *, several: bool) -> None:
        self.link, self.interfaces, self.seed = link, start["interfaces"], start["seed"]
        self.several, self.rehearsal = several, start["rehearsal"]

    def send(self, step: messages.GraderStep) -> None:
        frames.put_frame(self.link.put, frames.TO_HOST, step)

    def report_broken(self, text: str) -> None:
        if not self.broken:
            self.send(
                messages.Broken(
                    op="broken",
                    text=text[: case_outcome.MAX_MESSAGE],
                    lacking=self.missing_module,
                    python=sys.executable,
                )
            )
        self.broken = True

    def finish(self) -> None:
        """Tell the host that no further case runs, unless it knows that none did."""
        if not self.broken and not self.rehearsal:
            self.send(messages.DONE)

    # fixtures

    @pytest.fixture
    def candidate(self) -> Any:
        """The code under test: `candidate.module.name`."""
        return handles.RemoteRoot(self.link)

    @pytest.fixture(scope="session")
    def reference(self) -> Any:
        """The authors' implementation: `reference.module.name`."""
        # Now: later, an answer of the candidate's could make an import fail
        if problem := reference_fixture.import_problem(self.interfaces):
            pytest.fail(problem, pytrace=False)
        return reference_fixture.ReferenceModules()

    @pytest.fixture
    def rng(self, request: pytest.FixtureRequest) -> Any:
        """A numpy Generator seeded by this grading's secret seed and the case, so independent of the order of cases."""
        try:
            import numpy as np
        except ImportError:
            raise handles.TestFault(
                "the rng fixture needs numpy: install it for the interpreter that runs the tests"
            ) from None
        return np.random.default_rng(pytest_session.entropy(self.seed, case_outcome.case_id(request.node.nodeid)))

    @pytest.fixture
    def score(self) -> Callable[[str, float], None]:
        """`score(name, value)` reports a number that the test measured, once for each name, whether or not the test passes."""

        def report(name: str, value: float) -> None:
            if type(name) is not str or not name.isprintable() or not 0 < len(name) <= MAX_SCORE_NAME:
                raise self.link.record_test_fault(f"score: the name {name!r:.100} is no text of one line")
            if name in self.scores:
                raise self.link.record_test_fault(f"score: the test reports {name!r} twice")
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                number = math.nan
            if not math.isfinite(number):
                raise self.link.record_test_fault(f"score: {name!r} is {value!r:.100}, and not a finite number")
            self.scores[name] = number

        return report

    # collecting

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "interface(name): the interface that a hidden test tests")

    def pytest_exception_interact(self, call: pytest.CallInfo[Any], report: Any) -> None:
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            self.missing_module = self.missing_module or reference_fixture.missing_module(call.excinfo.value)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.errors.append(
                f"{case_outcome.case_id(report.nodeid)}: {case_outcome.text_of(report)}; do not skip hidden tests"
            )
        if report.failed:
            self.errors.append(f"{case_outcome.case_id(report.nodeid) or 'tests'}: {report.longreprtext}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        if self.errors:
            self.report_broken("the hidden tests cannot be collected\n" + "\n".join(self.errors))
            items[:] = []
            return
        if self.lost.problem:
            self.report_broken(self.lost.problem)
            items[:] = []
            return
        cases: list[messages.CollectedCase] = []
        for item in items:
            interface, wrong = case_outcome.interface_of(item, self.interfaces)
            if wrong:
                self.report_broken(wrong)
                items[:] = []
                return
            cases.append({"id": case_outcome.case_id(item.nodeid), "interface": interface})
        if wrong := case_outcome.missing_fixture(
            items, ("candidate", "reference", "rng", "score")
        ) or case_outcome.returned_value(items):
            self.report_broken(wrong)
            items[:] = []
            return
        self.send(messages.Collected(op="collected", cases=cases, versions=library_versions.loaded_versions()))
        self.collected = True
        sys.stderr = sys.__stderr__
        if self.rehearsal:
            items[:] = []
            self._rehearse()
            return
        self.session = session
        if self.several:  # whose messages nobody reads: pytest's tracebacks take longer than most tests
            for item in items:
                item.repr_failure = _last_line  # type: ignore[method-assign]
            session.config.option.tbstyle = "value"  # of a failure outside of the call
            for file in {str(item.path) for item in items}:
                failure_symptom.statements("".join(linecache.getlines(file)))  # so that no fork needs to parse it
        gc.freeze()
        gc.enable()

    def _rehearse(self) -> None:
        try:
            for interface in self.interfaces:
                reference_fixture.import_interface(interface)
        except handles.TestFault as fault:
            self.missing_module = reference_fixture.missing_module(fault)
            self.report_broken(str(fault))
        else:
            self.send(messages.READY)

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.report_broken(f"pytest failed: {excrepr}")

    # running

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, None]:
        """Run the cases that are asked for; for several answers, each time in a fork, so that no test finds what it kept of an earlier one.

        A run that leaves something outside of its process is the last one of this grader.
        """
        if not self.collected or self.rehearsal:
            yield
            return
        self._next_run()
        if not self.several:
            session.items = self._selected(session.items)
            yield
            return
        before = left_behind.remains()
        while True:
            pid = os.fork()
            if pid == 0:
                self._run_and_exit(session)
            _end_as(os.waitpid(pid, 0)[1])
            left_behind.remove_temporary_directories(before)
            if left_behind.remains() != before:
                os._exit(0)
            self._next_run()

    def _next_run(self) -> None:
        """Wait for the order which cases to run. Without one, this process ends: the host needs it no more."""
        try:
            self.run = cast(messages.GraderRun, self.link.next_message())
        except EOFError:
            os._exit(0)

    def _run_and_exit(self, session: pytest.Session) -> NoReturn:
        """Run the cases of this order, tell the host, and end this process: what called it belongs to its parent."""
        status = 1
        try:
            self.link.after_fork()
            session.items = self._selected(session.items)
            try:
                _hooks_of("main", session).pytest_runtestloop(session=session)
            except (pytest.exit.Exception, session.Interrupted, session.Failed, KeyboardInterrupt):
                pass  # the host notices which cases were not reported
            except BaseException:  # noqa: BLE001  it is reported, and the grading gives no verdict
                self.report_broken(f"pytest failed: {traceback.format_exc()}")
            self.finish()
            status = 0
        finally:
            os._exit(status)

    def _selected(self, items: list[pytest.Item]) -> list[pytest.Item]:
        only = self.run["only"]
        if only is None:
            return items
        by_id = {case_outcome.case_id(item.nodeid): item for item in items}
        return [by_id[case] for case in only if case in by_id]

    def _stop(self, nodeid: str) -> None:
        """Run only those of the following cases that run also after a failure. pytest iterates over the list that this changes."""
        items = self.session.items
        place = next(number for number, item in enumerate(items) if item.nodeid == nodeid)
        items[place + 1 :] = [
            item for item in items[place + 1 :] if case_outcome.case_id(item.nodeid) in self.run["still_run"]
        ]
        self._tear_down(self.session, items[place + 1] if items[place + 1 :] else None)

    def _tear_down(self, session: pytest.Session, following: Optional[pytest.Item]) -> None:
        """End all fixtures that the following case does not use, as pytest does it after each case."""
        if session.items:
            _hooks_of("runner", session).pytest_runtest_teardown(item=session.items[-1], nextitem=following)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_assertrepr_compare(self) -> Generator[None, None, None]:
        """Allow pytest to iterate over, sort and format the operands. The assertion has already failed."""
        self.link.explaining = True
        try:
            yield
        finally:
            self.link.explaining = False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.link.start_case()
        self.reports, self.scores = [], {}
        self.expectation.start_case(self.link, shifts=case_outcome.case_id(nodeid) in self.run["shifted"])
        seed_generators(pytest_session.entropy(self.seed, case_outcome.case_id(nodeid)))
        self.send(messages.started(case_outcome.case_id(nodeid)))

    @pytest.hookimpl(hookwrapper=True)  # not `wrapper`: an image may have an older pytest (7 or newer)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        report = (yield).get_result()
        self.reports.append((report, call.excinfo.value if call.excinfo is not None else None))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.link.end_case()
        outcome = case_outcome.combined(self.reports, self.link)
        if outcome["outcome"] == "passed" and self.expectation.passed_without:
            self.link.fail("assertion", "the shifted comparison of this impossible twin accepted no answer")
            outcome = case_outcome.combined(self.reports, self.link)
        uses = interface_names.used(self.link.requested, self.interfaces)
        self.send(messages.finished_using(case_outcome.case_id(nodeid), outcome, uses, self.scores))
        if self.link.torn:
            os._exit(1)  # another grader judges the remaining cases
        self.reports = []
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):  # pytest stores a failure there, and with it all that the test received
                delattr(sys, name)
        if outcome["outcome"] != "passed" and self.run["stop_at_failure"]:
            self._stop(nodeid)
        if outcome["outcome"] != "passed":
            gc.collect()  # a traceback and its frames refer to each other


def _last_line(excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
    """A failure without its traceback: see `pytest.Item.repr_failure`."""
    return excinfo.exconly(tryshort=True)


def _end_as(status: int) -> None:
    """End this process as its child has ended, unless it ended well: the host describes it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    if status:
        os._exit(os.WEXITSTATUS(status))


def _hooks_of(name: str, session: pytest.Session) -> Any:
    """pytest's own implementations of its hooks, by the name of the plugin that has them."""
    return session.config.pluginmanager.get_plugin(name)
