"""Runner that runs the hidden tests of shared judging with pytest.

Runs in the shared judge, in one process with the candidate. The host launches it (`oracle/programs.py`); it calls
`judge.py` with a `Runner`. Must not leave tests, their modules or the reference on disk while candidate code runs:
they are imported from memory (`module_namespaces.py`), the reference in a namespace of its own.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Optional

import pytest

from ..grading import case_outcome, equivalence, pytest_session
from . import exception_report, import_scan, judge, plain_equivalence, pytest_reporter, traceback_arguments
from .concealment import module_namespaces

_ANCHOR = Path(sys.executable)
"""A file that is always there: pytest begins with one, and the tests lie on no disk."""
_ROOM = "tests"
_CONFTEST = "conftest.py"


warm = judge.warm


def grow(data: bytes) -> None:
    """`order` has `roots`, `interfaces` and `targets` (their paths) too, and its hidden files are those below tests/."""
    judge.grow(data, RUNNER)


def main(reader: Any, writer: Any) -> None:
    judge.main(reader, writer, RUNNER)


def _tests(order: dict[str, Any]) -> module_namespaces.World:
    files = order["hidden"]
    return module_namespaces.World(files, exception_report.HIDDEN, package=_ROOM if "__init__.py" in files else "")


def _names(order: dict[str, Any]) -> list[str]:
    own = module_namespaces.World(order["repo"], "", roots=order["roots"])
    return [name for name in _tests(order).sources if name not in own.sources]


def _outside(order: dict[str, Any]) -> list[str]:
    files = {**order["repo"], **order["hidden"]}
    return list(dict.fromkeys(name for path in order["hidden"] for name in import_scan.outside(path, files)))


def _run(order: dict[str, Any], say: judge.Say, seed: int) -> None:
    place = Path.cwd()
    for root in reversed(order["roots"]):
        sys.path.insert(0, str(place / root))
    tests = _tests(order)
    repo = order.pop("repo")
    reference = None
    if any(b"reference" in data for data in order["hidden"].values()):
        elsewhere = tempfile.mkdtemp()
        public = {
            path: data for path, data in repo.items() if not path.endswith(".py") and path not in order["targets"]
        }
        judge.lay_out(public, Path(elsewhere))  # the authors' code may read them from beside itself
        reference = module_namespaces.World(repo, elsewhere, roots=order["roots"])
    del repo
    border = module_namespaces.Worlds(*filter(None, (tests, reference)))
    plugin = _Plugin(order, say, seed, border, tests, reference)
    complaints = io.StringIO()
    # What is drawn while modules are imported is the same in every grading: the cases are those the reference passed.
    pytest_session.seed_everything(pytest_session.entropy(0, ""))
    warnings.filterwarnings("error", category=pytest.PytestReturnNotNoneWarning)
    with contextlib.redirect_stderr(complaints):
        pytest_session.run(
            place,
            _ANCHOR,
            [plugin, plugin.teller],
            "--continue-on-collection-errors",
            f"--tb={traceback_arguments.STYLE}",
            *("-p", "no:assertion"),  # it leaves what leads to the tests where anybody finds it
            equivalent=plain_equivalence.assert_equivalent,
        )
    if not plugin.collected:
        raise RuntimeError(f"pytest could not start\n{complaints.getvalue()}")


class _Reference:
    """The `reference` fixture: its attributes are the authors' own modules."""

    def __init__(self, border: module_namespaces.Worlds, world: module_namespaces.World, interfaces: list[str]) -> None:
        self._load = partial(border.load, world)
        for interface in interfaces:
            parts = interface.split(".")
            for end in range(1, len(parts) + 1):
                if ".".join(parts[:end]) in world.sources:
                    self._load(".".join(parts[:end]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._load(name)


class _Plugin:
    def __init__(
        self,
        order: dict[str, Any],
        say: judge.Say,
        seed: int,
        border: module_namespaces.Worlds,
        tests: module_namespaces.World,
        reference: Optional[module_namespaces.World],
    ) -> None:
        self.say, self.teller = say, pytest_reporter.Teller(say)
        self.seed = seed
        self.border, self.tests = border, tests
        self.hidden: Mapping[str, bytes] = types.MappingProxyType(order["hidden"])
        self.only: Optional[list[str]] = order["only"]
        self.interfaces: list[str] = order["interfaces"]
        # Now: while the candidate's code runs, its import has no business on the way.
        self.authors = None if reference is None else _Reference(border, reference, self.interfaces)
        self.of: dict[str, str] = {}  # the interface of each case
        self.collected = False

    # fixtures

    @pytest.fixture
    def candidate(self) -> Any:
        pytest.fail(
            "there is no `candidate` where tests and candidate share a process: import its modules", pytrace=False
        )

    @pytest.fixture(scope="session")
    def reference(self) -> Any:
        """The authors' implementation: `reference.module.name`."""
        return self.authors

    @pytest.fixture(scope="session")
    def hidden_files(self) -> Mapping[str, bytes]:
        """What lies in tests/, by path: it is on no disk."""
        return self.hidden

    @pytest.fixture
    def rng(self, request: pytest.FixtureRequest) -> Any:
        """A numpy Generator of this grading's secret seed and this case: the order of the cases plays no part."""
        import numpy as np

        return np.random.default_rng(pytest_session.entropy(self.seed, case_outcome.case_id(request.node.nodeid)))

    # collecting

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "interface(name): the interface that a hidden test tests")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Any:
        if file_path != _ANCHOR:
            return None
        room = _Room.from_parent(parent, path=file_path, nodeid=_ROOM)
        room.plugin = self
        return room

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = True
        for item in items:
            case = case_outcome.case_id(item.nodeid)
            interface, wrong = case_outcome.interface_of(item, self.interfaces)
            if case in self.of:
                wrong = f"two cases have the id {case}"
            if wrong:
                self.teller.wrong(wrong)
                items[:] = []
                return
            self.of[case] = interface
        if self.only is not None:
            items[:] = [item for item in items if case_outcome.case_id(item.nodeid) in self.only]

    # running

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        case = case_outcome.case_id(nodeid)
        pytest_session.seed_everything(pytest_session.entropy(self.seed, case))
        self.say({"op": "started", "id": case})

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        case = case_outcome.case_id(nodeid)
        self.say({"op": "finished", "id": case, "interface": self.of[case], **self.teller.comes_to()})


class _Room(pytest.File):
    """tests/, which is on no disk."""

    plugin: _Plugin

    def collect(self) -> Any:
        plugin = self.plugin
        paths = sorted(path for path in plugin.hidden if path.endswith(".py"))
        for path in paths:
            if path.endswith(f"/{_CONFTEST}"):
                raise self.CollectError(
                    f"tests/{path}: where tests share a process, there is one conftest.py, in tests/ itself"
                )
        if _CONFTEST in plugin.hidden:
            loaded = plugin.border.load(plugin.tests, plugin.tests.name_of(_CONFTEST))
            everywhere = types.ModuleType("conftest")  # without a file, by which pytest would tell for what it holds
            vars(everywhere).update({name: value for name, value in vars(loaded).items() if name != "__file__"})
            self.config.pluginmanager.register(everywhere, "the hidden tests' own")
        for path in paths:
            if path.rpartition("/")[2].startswith("test_"):
                place = self.config.rootpath / _ROOM / path
                module = _Module.from_parent(self, path=place, nodeid=f"{_ROOM}/{path}")
                module.plugin, module.source = plugin, path
                yield module


class _Module(pytest.Module):
    plugin: _Plugin
    source: str

    def collect(self) -> Any:
        plugin = self.plugin
        plugin.teller.load(self, lambda: plugin.border.load(plugin.tests, plugin.tests.name_of(self.source)))
        return super().collect()


def _canaries() -> Iterator[tuple[str, Callable[[], bool]]]:
    same, mismatch = plain_equivalence.assert_equivalent, equivalence.Mismatch

    def tells_apart() -> bool:
        try:
            same([1.0], [2.0])
        except mismatch:
            return True
        return False

    yield from pytest_reporter.canaries()
    yield "assert_equivalent does not fail", tells_apart
    yield "assert_equivalent fails", lambda: same([1.0], [1.0]) is None


RUNNER = judge.Runner(
    run=_run,
    names=_names,
    outside=_outside,
    packages=("pytest", "_pytest", "pluggy", "pytest_recode"),
    canaries=_canaries,
)
