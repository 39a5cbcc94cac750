"""The grader's side: runs the hidden tests with pytest and reports every case, one message a step.

It holds the tests and the reference and trusts both. The code under test is reached through the `candidate` fixture and
nothing else: what it sends is decoded into plain data, and compared here.

To the host go `collected`, then for each case `started` and `finished`, then `done`; or `broken`, with a text, where
the tests cannot give a verdict.

Self-contained: stdlib, pytest and the wire, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import importlib.util
import io
import keyword
import os
import random
import sys
import types
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_recode.inside import equivalence, handles, remote, wire
else:
    import _recode_equivalence as equivalence
    import _recode_handles as handles
    import _recode_remote as remote
    import _recode_wire as wire

MAX_MESSAGE = 20_000  # characters of a case's account
_ARGUMENTS = [
    *("-p", "no:cacheprovider", "-p", "no:debugging", "-p", "no:doctest", "-p", "no:faulthandler", "-p", "no:junitxml"),
    *("-p", "no:logging", "-p", "no:nose", "-p", "no:pastebin", "-p", "no:setuponly", "-p", "no:setupplan"),
    *("-p", "no:stepwise", "-p", "no:threadexception", "-p", "no:unraisableexception", "-p", "no:legacypath"),
    *("-p", "no:capture", "-p", "no:warnings"),
    *("-q", "--tb=short", "--import-mode=prepend", "--strict-markers"),
]


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
    _run(file.parent, file, [_Plugin(file.parent, _Unheard(), start), _OneTest()])
    sys.path[:] = paths


def _no_test(reference: Any) -> None:
    assert reference is not None


class _OneTest:
    """Lets a function of a file that has no tests pass for one."""

    def pytest_pycollect_makeitem(self, collector: Any, name: str) -> Any:
        if name != "iskeyword":
            return None
        return pytest.Function.from_parent(collector, name=name, callobj=_no_test)


def main(reader: Any, writer: Any) -> None:
    start = wire.read_message(reader, 1 << 40)
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
    link = remote.Link(reader, writer, start["limit"])
    plugin = _Plugin(place, link, start)
    if any(b"numpy" in data for data in start["tests"].values()):
        with contextlib.suppress(ImportError):  # it is the tests' to complain
            importlib.import_module("numpy.random")
    # What would let anything pass is an error, though the plugin that shows warnings is off.
    warnings.filterwarnings("error", category=pytest.PytestReturnNotNoneWarning)
    for category in (SyntaxWarning, pytest.PytestAssertRewriteWarning):
        warnings.filterwarnings("error", "assertion is always true", category)
    _seed_everything(_entropy(start["seed"], ""))  # what is drawn while modules are imported is repeatable too
    with contextlib.redirect_stderr(plugin.complaints):
        status = _run(place / "tests", place / "tests", [plugin])
    if not plugin.collected:
        plugin.broke(f"pytest could not start\n{plugin.complaints.getvalue()}")
    if not plugin.broken:
        plugin.say({"op": "done", "status": int(status)})


def _run(root: Path, tests: Path, plugins: list[Any]) -> int:
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    _offer_testing()
    places = ["-c", os.devnull, f"--rootdir={root}", f"--confcutdir={root}"]
    return pytest.main([*places, *_ARGUMENTS, str(tests)], plugins=plugins)


def _offer_testing() -> None:
    """`from pytest_recode.testing import assert_equivalent` works here whether or not the package is installed."""
    package, module = types.ModuleType("pytest_recode"), types.ModuleType("pytest_recode.testing")
    package.__path__ = []
    package.testing = module  # type: ignore[attr-defined]
    module.assert_equivalent = equivalence.assert_equivalent  # type: ignore[attr-defined]
    sys.modules["pytest_recode"], sys.modules["pytest_recode.testing"] = package, module


class _Unheard:
    """In place of a Link where nothing is judged."""

    heard, failed, fault = True, None, ""

    def renew(self) -> None: ...

    def put(self, data: Any) -> None: ...


class _Reference:
    """The `reference` fixture: its attributes are the authors' own modules."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _reach_submodules(importlib.import_module(name))
        except Exception as error:  # whatever an import does, the candidate has no part in it
            raise handles.TestFault(
                f"the reference's module {name} cannot be imported: {type(error).__name__}: {error}"
            ) from error


def _reach_interface(name: str) -> None:
    """Import the module that an interface of the reference's is in, or is."""
    parts = name.split(".")
    if importlib.util.find_spec(parts[0]) is None:
        return  # none of the reference's: a test that needs it says so
    module = getattr(_Reference(), parts[0])
    for part in parts[1:]:
        try:
            module = getattr(module, part, None)
        except Exception as error:  # as above
            raise handles.TestFault(
                f"the reference's {name} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(module, types.ModuleType):
            return


def _reach_submodules(module: Any) -> Any:
    """Make `reference.package.module` work without an import in between, as it does for the candidate (PEP 562)."""

    def reach(name: str) -> Any:
        full = f"{module.__name__}.{name}"
        if not name.startswith("__") and importlib.util.find_spec(full) is not None:
            return _reach_submodules(importlib.import_module(full))
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    if hasattr(module, "__path__") and "__getattr__" not in vars(module):
        module.__getattr__ = reach
    for name, below in list(sys.modules.items()):
        if name.startswith(f"{module.__name__}.") and "__getattr__" not in vars(below) and hasattr(below, "__path__"):
            _reach_submodules(below)  # a package that this one imported by itself
    return module


class _Plugin:
    def __init__(self, place: Path, link: Any, start: dict[str, Any]) -> None:
        self.place = place
        self.link = link
        self.only = start["only"]
        self.interfaces: list[str] = start["interfaces"]
        self.seed: int = start["seed"]
        self.broken = self.collected = False
        self.complaints = io.StringIO()  # what pytest says on stderr before there are tests to run
        self.errors: list[str] = []
        self.reports: list[tuple[Any, BaseException | None]] = []

    def say(self, message: dict[str, Any]) -> None:
        wire.put_frame(self.link.put, wire.TO_HOST, message)

    def broke(self, text: str) -> None:
        if not self.broken:
            self.say({"op": "broken", "text": text[:MAX_MESSAGE]})
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
            _reach_interface(interface)
        return _Reference()

    @pytest.fixture
    def rng(self, request: pytest.FixtureRequest) -> Any:
        """A numpy Generator of this grading's secret seed and this case: the order of the cases plays no part."""
        try:
            import numpy as np
        except ImportError:
            raise handles.TestFault("the rng fixture needs numpy in the interpreter that runs the tests") from None
        return np.random.default_rng(_entropy(self.seed, request.node.nodeid))

    # collecting

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "interface(name): the interface that a hidden test tests")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.errors.append(f"{report.nodeid}: {_words(report)}: what is skipped is not tested")
        if report.failed:
            self.errors.append(f"{report.nodeid or 'tests'}: {report.longreprtext}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.errors:
            self.broke("the hidden tests cannot be collected\n" + "\n".join(self.errors))
            items[:] = []
            return
        cases = []
        for item in items:
            interface, wrong = _interface(item, self.interfaces)
            if wrong:
                self.broke(wrong)
                items[:] = []
                return
            cases.append({"id": item.nodeid, "interface": interface})
        self.say({"op": "collected", "cases": cases})
        self.collected = True
        sys.stderr = sys.__stderr__
        if self.only is not None:
            wanted = set(self.only)
            items[:] = [item for item in items if item.nodeid in wanted]
        gc.freeze()
        gc.enable()

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.broke(f"pytest failed: {excrepr}")

    # running

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.link.renew()
        self.reports = []
        _seed_everything(_entropy(self.seed, nodeid))
        self.say({"op": "started", "id": nodeid})

    @pytest.hookimpl(hookwrapper=True)  # not `wrapper`: an image may bring an older pytest (7 and newer will do)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        report = (yield).get_result()
        self.reports.append((report, call.excinfo.value if call.excinfo is not None else None))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        account = _account(self.reports, self.link)
        self.say({"op": "finished", "id": nodeid, **account})
        self.reports = []
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):  # pytest keeps a failure there, and with it all that the test got
                delattr(sys, name)
        if account["outcome"] != "passed":
            gc.collect()  # a traceback and its frames hold each other


def _entropy(seed: int, case: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}\n{case}".encode()).digest()[:16], "big")


def _seed_everything(entropy: int) -> None:
    """Tests and references that draw from the global generators are repeatable too."""
    random.seed(entropy)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(entropy % 2**32)


def _interface(item: pytest.Item, interfaces: list[str]) -> tuple[str, str]:
    """Which interface a case tests; or what is wrong, naming the case and the choices."""
    choices = ", ".join(interfaces)
    mark = item.get_closest_marker("interface")
    if mark is not None:
        name = mark.args[0] if len(mark.args) == 1 and not mark.kwargs else None
        if name not in interfaces:
            return "", f"{item.nodeid}: interface({name!r}) is none of the task's interfaces: {choices}"
        return str(name), ""
    if len(interfaces) == 1:
        return interfaces[0], ""
    function = getattr(item, "originalname", None) or item.name
    found: dict[int, list[str]] = {}
    for name in interfaces:
        last = name.rpartition(".")[2]
        if f"{function}_".startswith(f"test_{last}_"):
            found.setdefault(len(last), []).append(name)
    longest = found[max(found)] if found else []
    if len(longest) == 1:
        return longest[0], ""
    stem = item.path.stem
    of_module = [name for name in interfaces if f"test_{_module(name)}" == stem]
    if not longest and len(of_module) == 1:
        return of_module[0], ""
    why = "could test more than one interface" if longest or of_module else "does not say which interface it tests"
    return "", f'{item.nodeid} {why}: mark it @pytest.mark.interface("…") with one of {choices}'


def _module(interface: str) -> str:
    """The last name of the module that an interface is in, or is."""
    return (interface.rpartition(".")[0] or interface).rpartition(".")[2]


def _account(reports: list[tuple[Any, BaseException | None]], link: Any) -> dict[str, Any]:
    """What a case comes to: passed, if setup, call and teardown passed and nothing went wrong that the test hid."""
    phases = [report.when for report, _ in reports]
    bad = [(report, error) for report, error in reports if report.outcome != "passed" or hasattr(report, "wasxfail")]
    texts, kind, exception, wrong = [], "", None, False
    if phases == ["setup", "call", "teardown"] and not bad and link.failed is None and not link.fault:
        if link.heard:
            return {"outcome": "passed", "kind": "", "message": "", "exception": None}
        texts.append("it asks nothing of the candidate, so that it passes whatever the candidate is")
    if link.failed is not None:
        kind = link.failed[0]
        texts.append(link.failed[1])
    if link.fault:
        texts.append(link.fault)
    for report, error in bad:
        texts.append(f"{report.when}: {_words(report)}")
        if isinstance(error, pytest.PytestReturnNotNoneWarning):
            wrong = True
            texts.append("a test is to assert, not to return something")
        if isinstance(error, remote.CandidateError):
            exception = {"type": error.type, "message": error.message, "frames": error.frames}
            texts.append("\n".join([f"in the candidate's code: {error.type}: {error.message}", *error.frames]))
        kind = kind or _kind(error)
    if not texts:
        texts.append(f"the case ran only its {', '.join(phases) or 'nothing'}")
    # What goes wrong after the candidate's data came in is laid to them, a value that cannot travel too: the reference
    # has passed this very test, and otherwise a candidate could turn its failures into errors by what it returns.
    # Of a value that cannot travel modules and functions to call are not the cause.
    heard = link.told if link.fault and link.failed is None else link.heard
    outcome = "failed" if (heard and not wrong) or link.failed is not None else "error"
    return {"outcome": outcome, "kind": kind, "message": "\n\n".join(texts)[:MAX_MESSAGE], "exception": exception}


def _words(report: Any) -> str:
    if hasattr(report, "wasxfail"):
        return f"expected to fail ({report.wasxfail}), which is no pass"
    if report.outcome == "skipped":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        return f"skipped ({reason}), which is no pass"
    return str(report.longreprtext)


def _kind(error: BaseException | None) -> str:
    if isinstance(error, remote.CandidateError):
        return "exception"
    if isinstance(error, equivalence.Mismatch):
        return error.kind
    if isinstance(error, AssertionError):
        # numpy.testing's words, stable since its first releases
        text = str(error)
        if "shapes" in text and "mismatch" in text:
            return "shape"
        if "Not equal to tolerance" in text or "Arrays are not" in text or "Items are not equal" in text:
            return "mismatch"
    return "assertion"
