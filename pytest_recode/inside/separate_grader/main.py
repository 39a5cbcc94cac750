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
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Optional

import pytest

from ..grading import case_outcome, pytest_session
from ..wire import frames
from . import candidate_link, handles, reference_fixture


def warm() -> None:
    """Once in the warm parent: what a first run of pytest imports and compiles, every later one finds done.

    A warm parent may have nowhere to write, so the run is over a file that every Python has.
    """
    importlib.invalidate_caches()  # imports importlib.metadata
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")
    paths = list(sys.path)
    file = Path(keyword.__file__)
    start = {"only": None, "interfaces": ["warm"], "seed": 0}
    plugin = _Plugin()
    plugin.follow(_Unheard(), start)
    pytest_session.run(file.parent, file, [plugin, _OneTest()])
    sys.path[:] = paths


def _no_test(reference: Any) -> None:
    assert reference is not None


_held: list[tuple[Path, pytest.Session, "_Plugin"]] = []


def hold(serve: Callable[[], None]) -> None:
    """Have pytest all but collecting when the forks are made: its own start costs more than most tests do.

    `serve` is called from within pytest, whose session each fork that works at this very place goes on with.
    """
    place = Path.cwd()
    plugin = _Plugin()

    class Holder:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session: pytest.Session) -> None:
            if not _held:
                _held.append((place, session, plugin))
                serve()
                os._exit(0)  # the host is gone

    pytest_session.run(place, place / "tests", [plugin, Holder()])


class _OneTest:
    """Lets a function of a file that has no tests pass for one."""

    def pytest_pycollect_makeitem(self, collector: Any, name: str) -> Any:
        if name != "iskeyword":
            return None
        return pytest.Function.from_parent(collector, name=name, callobj=_no_test)


def main(reader: Any, writer: Any) -> None:
    start = frames.read_message(reader, 1 << 40)
    place = Path.cwd()
    for room in ("tests", "reference"):
        (place / room).mkdir()
        for path, data in start[room].items():
            target = place / room / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    for root in reversed(start["roots"]):
        sys.path.insert(0, str(place / "reference" / root))
    importlib.invalidate_caches()
    gc.disable()  # until the tests run: in a fork, a collection copies every page it looks at
    held = _held[0] if _held and _held[0][0] == place and not _early_hooks(start["tests"]) else None
    plugin = held[2] if held else _Plugin()
    plugin.follow(candidate_link.Link(reader, writer, start["limit"]), start)
    if any(b"numpy" in data for data in start["tests"].values()):
        with contextlib.suppress(ImportError):  # it is the tests' to complain
            importlib.import_module("numpy.random")
    # What would let anything pass is an error, though the plugin that shows warnings is off.
    warnings.filterwarnings("error", category=pytest.PytestReturnNotNoneWarning)
    for category in (SyntaxWarning, pytest.PytestAssertRewriteWarning):
        warnings.filterwarnings("error", "assertion is always true", category)
    pytest_session.seed_everything(
        pytest_session.entropy(start["seed"], "")
    )  # what is drawn while modules are imported is repeatable too
    with contextlib.redirect_stderr(plugin.complaints):
        if held:
            _go_on(held[1], plugin)
        else:
            pytest_session.run(place, place / "tests", [plugin])
    if not plugin.collected:
        plugin.broke(f"pytest could not start\n{plugin.complaints.getvalue()}")
    if not plugin.broken and not plugin.rehearsal:
        plugin.say({"op": "done"})


def _early_hooks(tests: dict[str, bytes]) -> bool:
    """A conftest.py may have hooks that pytest calls before it collects."""
    return any(path.rpartition("/")[2] == "conftest.py" for path in tests)


def _go_on(session: pytest.Session, plugin: _Plugin) -> None:
    """What `pytest.main` does with a session from where it collects, its ways to stop included."""
    hook = session.config.hook
    try:
        hook.pytest_collection(session=session)
        hook.pytest_runtestloop(session=session)
    except (pytest.exit.Exception, session.Interrupted, session.Failed, KeyboardInterrupt):
        return  # what is not reported is missed by the host
    except pytest.UsageError as error:
        plugin.complaints.write("".join(f"ERROR: {told}\n" for told in error.args))
    except BaseException:  # noqa: BLE001  as pytest does: it is told, and the grading gives no verdict
        plugin.broke(f"pytest failed: {traceback.format_exc()}")


class _Unheard:
    """In place of a Link where nothing is judged."""

    heard, failed, fault, wording = True, None, "", False

    def renew(self) -> None: ...

    def put(self, data: Any) -> None: ...


class _Plugin:
    def __init__(self) -> None:
        self.link: Any = None
        self.only: Optional[list[str]] = None
        self.interfaces: list[str] = []
        self.seed = 0
        self.broken = self.collected = self.rehearsal = False
        self.lacking = ""  # a module that an import of the tests or the reference did not find
        self.complaints = io.StringIO()  # what pytest says on stderr before there are tests to run
        self.errors: list[str] = []
        self.reports: list[tuple[Any, BaseException | None]] = []

    def follow(self, link: Any, start: dict[str, Any]) -> None:
        """Whom to tell, and what is asked: known only where a grading begins."""
        self.link = link
        self.only = start["only"]
        self.interfaces = start["interfaces"]
        self.seed = start["seed"]
        self.rehearsal = start.get("rehearsal", False)

    def say(self, message: dict[str, Any]) -> None:
        frames.put_frame(self.link.put, frames.TO_HOST, message)

    def broke(self, text: str) -> None:
        if not self.broken:
            self.say(
                {
                    "op": "broken",
                    "text": text[: case_outcome.MAX_MESSAGE],
                    "lacking": self.lacking,
                    "python": sys.executable,
                }
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
        for interface in self.interfaces:  # now: later, what the candidate returned could be what an import fails by
            reference_fixture.reach_interface(interface)
        return reference_fixture.Reference()

    @pytest.fixture
    def rng(self, request: pytest.FixtureRequest) -> Any:
        """A numpy Generator of this grading's secret seed and this case: the order of the cases plays no part."""
        try:
            import numpy as np
        except ImportError:
            raise handles.TestFault("the rng fixture needs numpy in the interpreter that runs the tests") from None
        return np.random.default_rng(pytest_session.entropy(self.seed, case_outcome.case_id(request.node.nodeid)))

    # collecting

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "interface(name): the interface that a hidden test tests")

    def pytest_exception_interact(self, call: pytest.CallInfo[Any], report: Any) -> None:
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            self.lacking = self.lacking or reference_fixture.lacking(call.excinfo.value)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.errors.append(
                f"{case_outcome.case_id(report.nodeid)}: {case_outcome.words(report)}: what is skipped is not tested"
            )
        if report.failed:
            self.errors.append(f"{case_outcome.case_id(report.nodeid) or 'tests'}: {report.longreprtext}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.errors:
            self.broke("the hidden tests cannot be collected\n" + "\n".join(self.errors))
            items[:] = []
            return
        cases = []
        for item in items:
            interface, wrong = case_outcome.interface_of(item, self.interfaces)
            if wrong:
                self.broke(wrong)
                items[:] = []
                return
            cases.append({"id": case_outcome.case_id(item.nodeid), "interface": interface})
        if wrong := case_outcome.returned(items):
            self.broke(wrong)
            items[:] = []
            return
        self.say({"op": "collected", "cases": cases})
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
                reference_fixture.reach_interface(interface)
        except handles.TestFault as fault:
            self.lacking = reference_fixture.lacking(fault)
            self.broke(str(fault))
        else:
            self.say({"op": "ready"})

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.broke(f"pytest failed: {excrepr}")

    # running

    @pytest.hookimpl(hookwrapper=True)
    def pytest_assertrepr_compare(self) -> Generator[None, None, None]:
        """pytest iterates over the operands, sorts and formats them to say how they differ. The assertion has failed by then."""
        self.link.wording = True
        try:
            yield
        finally:
            self.link.wording = False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.link.renew()
        self.reports = []
        pytest_session.seed_everything(pytest_session.entropy(self.seed, case_outcome.case_id(nodeid)))
        self.say({"op": "started", "id": case_outcome.case_id(nodeid)})

    @pytest.hookimpl(hookwrapper=True)  # not `wrapper`: an image may bring an older pytest (7 and newer will do)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        report = (yield).get_result()
        self.reports.append((report, call.excinfo.value if call.excinfo is not None else None))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        comes_to = case_outcome.account(self.reports, self.link)
        self.say({"op": "finished", "id": case_outcome.case_id(nodeid), **comes_to})
        self.reports = []
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):  # pytest keeps a failure there, and with it all that the test got
                delattr(sys, name)
        if comes_to["outcome"] != "passed":
            gc.collect()  # a traceback and its frames hold each other
