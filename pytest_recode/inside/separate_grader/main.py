"""The separate grader: runs the hidden tests with pytest and reports each step of each case to the host.

Runs in the grader process, in a sandbox without candidate code. The host launches it (`oracle/programs.py`). Must not
reach the code under test except by the `candidate` fixture, whose answers are decoded into plain data and compared
here. It trusts the tests and the reference.

Messages to the host are `collected`, then for each case `started` and `finished`, then `done`; or `broken`, with a
text, where the tests cannot give a verdict. A rehearsal, before an agent works on the task, runs no tests: it imports
the reference and ends with `ready`.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import io
import keyword
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Optional, cast

import pytest

from ..grading import case_outcome, interface_names, lost_tests, pytest_session
from ..setup.files import write_files
from ..setup.random_generators import seed_generators
from ..wire import frames, messages
from . import candidate_link, handles, reference_fixture


def warm() -> None:
    """Run pytest once in the warm parent, so that later runs need not import and compile its modules.

    A warm parent may have no writable directory, so the run collects a file that every Python has.
    """
    importlib.invalidate_caches()  # imports importlib.metadata
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")
    paths = list(sys.path)
    file = Path(keyword.__file__)
    plugin = _Plugin()
    plugin.configure(_NoLink(), interfaces=["warm"], seed=0, only=None, rehearsal=False)
    pytest_session.run(file.parent, file, [plugin, _OneTest()])
    sys.path[:] = paths


def _no_test(reference: Any) -> None:
    assert reference is not None


_suspended: list[tuple[Path, pytest.Session, "_Plugin"]] = []
"""The session of pytest in which the forks are made: its directory, the session and its plugin."""


def hold(serve: Callable[[], None]) -> None:
    """Start pytest and call `serve`, which forks, just before it collects: its start takes longer than most tests.

    Each fork that works in the same directory resumes this session.
    """
    directory = Path.cwd()
    plugin = _Plugin()

    class ServeBeforeCollection:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session: pytest.Session) -> None:
            if not _suspended:
                _suspended.append((directory, session, plugin))
                serve()
                os._exit(0)  # the host has ended

    pytest_session.run(directory, directory / "tests", [plugin, plugin.lost, ServeBeforeCollection()])


class _OneTest:
    """Makes pytest collect a function of a file without tests as a test."""

    def pytest_pycollect_makeitem(self, collector: Any, name: str) -> Any:
        if name != "iskeyword":
            return None
        return pytest.Function.from_parent(collector, name=name, callobj=_no_test)


def main(reader: Any, writer: Any) -> None:
    start = cast(messages.GraderStart, frames.read_message(reader, 1 << 40))
    directory = Path.cwd()
    for name, files in (("tests", start["tests"]), ("reference", start["reference"])):
        (directory / name).mkdir()
        write_files(files, directory / name)
    for root in reversed(start["roots"]):
        sys.path.insert(0, str(directory / "reference" / root))
    importlib.invalidate_caches()
    gc.disable()  # until the tests run: in a fork, a collection copies every page that it visits
    resumes = bool(_suspended) and _suspended[0][0] == directory and not _has_conftest(start["tests"])
    plugin = _suspended[0][2] if resumes else _Plugin()
    plugin.configure(
        candidate_link.Link(reader, writer, start["limit"]),
        interfaces=start["interfaces"],
        seed=start["seed"],
        only=start["only"],
        rehearsal=start["rehearsal"],
    )
    if any(b"numpy" in data for data in start["tests"].values()):
        with contextlib.suppress(ImportError):  # the tests' own import will report it
            importlib.import_module("numpy.random")
    # A test that would pass whatever happens is an error, although pytest's warnings plugin is disabled.
    warnings.filterwarnings("error", category=pytest.PytestReturnNotNoneWarning)
    for category in (SyntaxWarning, pytest.PytestAssertRewriteWarning):
        warnings.filterwarnings("error", "assertion is always true", category)
    seed_generators(pytest_session.entropy(start["seed"], ""))  # for what is drawn while modules are imported
    with contextlib.redirect_stderr(plugin.stderr):
        if resumes:
            _resume(_suspended[0][1], plugin)
        else:
            pytest_session.run(directory, directory / "tests", [plugin, plugin.lost])
    if not plugin.collected:
        plugin.report_broken(f"pytest could not start\n{plugin.stderr.getvalue()}")
    if not plugin.broken and not plugin.rehearsal:
        plugin.send(messages.DONE)


def _has_conftest(tests: Mapping[str, bytes]) -> bool:
    """Whether there is a conftest.py: it may have hooks that pytest calls before it collects."""
    return any(path.rpartition("/")[2] == "conftest.py" for path in tests)


def _resume(session: pytest.Session, plugin: _Plugin) -> None:
    """Do what `pytest.main` does with a session from collection on, including its ways to stop."""
    hook = session.config.hook
    try:
        hook.pytest_collection(session=session)
        hook.pytest_runtestloop(session=session)
    except (pytest.exit.Exception, session.Interrupted, session.Failed, KeyboardInterrupt):
        return  # the host notices which cases were not reported
    except pytest.UsageError as error:
        plugin.stderr.write("".join(f"ERROR: {text}\n" for text in error.args))
    except BaseException:  # noqa: BLE001  as pytest does: it is reported, and the grading gives no verdict
        plugin.report_broken(f"pytest failed: {traceback.format_exc()}")


class _NoLink:
    """Replaces a Link where nothing is judged."""

    answered = data_received = True
    failure, test_fault, explaining = None, "", False
    requested: frozenset[str] = frozenset()

    def start_case(self) -> None: ...

    def end_case(self) -> None: ...

    def put(self, data: Any) -> None: ...


class _Plugin:
    def __init__(self) -> None:
        self.link: Any = None
        self.only: Optional[list[str]] = None
        self.interfaces: list[str] = []
        self.seed = 0
        self.broken = self.collected = self.rehearsal = False
        self.missing_module = ""  # a module that an import of the tests or the reference did not find
        self.stderr = io.StringIO()  # what pytest writes there before it runs tests
        self.errors: list[str] = []
        self.lost = lost_tests.LostTests()
        self.reports: list[tuple[Any, BaseException | None]] = []

    def configure(
        self, link: Any, *, interfaces: list[str], seed: int, only: Optional[list[str]], rehearsal: bool
    ) -> None:
        self.link, self.interfaces, self.seed = link, interfaces, seed
        self.only, self.rehearsal = only, rehearsal

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

    # fixtures

    @pytest.fixture
    def candidate(self) -> Any:
        """The code under test: `candidate.module.name`."""
        return handles.RemoteRoot(self.link)

    @pytest.fixture(scope="session")
    def reference(self) -> Any:
        """The authors' implementation: `reference.module.name`."""
        for interface in self.interfaces:  # now: later, an answer of the candidate's could make an import fail
            reference_fixture.import_interface(interface)
        return reference_fixture.Reference()

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
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
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
        if wrong := case_outcome.missing_fixture(items) or case_outcome.returned_value(items):
            self.report_broken(wrong)
            items[:] = []
            return
        self.send(messages.Collected(op="collected", cases=cases))
        self.collected = True
        sys.stderr = sys.__stderr__
        if self.rehearsal:
            items[:] = []
            self._rehearse()
            return
        if self.only is not None:
            wanted = set(self.only)
            items[:] = [item for item in items if case_outcome.case_id(item.nodeid) in wanted]
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
    def pytest_assertrepr_compare(self) -> Generator[None, None, None]:
        """Allow pytest to iterate over, sort and format the operands. The assertion has already failed."""
        self.link.explaining = True
        try:
            yield
        finally:
            self.link.explaining = False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.link.start_case()
        self.reports = []
        seed_generators(pytest_session.entropy(self.seed, case_outcome.case_id(nodeid)))
        self.send(messages.started(case_outcome.case_id(nodeid)))

    @pytest.hookimpl(hookwrapper=True)  # not `wrapper`: an image may have an older pytest (7 or newer)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        report = (yield).get_result()
        self.reports.append((report, call.excinfo.value if call.excinfo is not None else None))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.link.end_case()
        outcome = case_outcome.combined(self.reports, self.link)
        uses = interface_names.used(self.link.requested, self.interfaces)
        self.send(messages.finished_using(case_outcome.case_id(nodeid), outcome, uses))
        self.reports = []
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):  # pytest stores a failure there, and with it all that the test received
                delattr(sys, name)
        if outcome["outcome"] != "passed":
            gc.collect()  # a traceback and its frames refer to each other
