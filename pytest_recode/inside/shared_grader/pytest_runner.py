"""Runner that runs the hidden tests of shared judging with pytest.

Runs in the shared judge, in one process with the candidate. The host launches it (`oracle/shared.py`); it calls
`shared_judge.py` with a `Runner`. Must not leave tests, their modules or the reference on disk while candidate code runs:
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
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Optional

import pytest

from ..grading import case_outcome, lost_tests, pytest_session
from ..setup.random_generators import seed_generators
from ..setup.task_files import write_files
from ..wire import messages
from . import (
    exception_report,
    import_scan,
    plain_equivalence,
    pytest_reporter,
    reference_modules,
    shared_judge,
    traceback_arguments,
)
from .concealment import module_namespaces
from .runner import Report, Runner

_ANCHOR = Path(sys.executable)
"""A file that always exists: pytest needs one to start from, and the tests are not on disk."""
_DIRECTORY = "tests"
_CONFTEST = "conftest.py"


warm = shared_judge.warm


def prepare(data: bytes) -> None:
    """As `judge.prepare`. The message also has `roots`, `interfaces` and `targets` (paths); its hidden files are those
    below tests/."""
    shared_judge.prepare(data, RUNNER)


def main(reader: Any, writer: Any) -> None:
    shared_judge.main(reader, writer, RUNNER)


def _tests(order: dict[str, Any]) -> module_namespaces.Namespace:
    files = order["hidden"]
    return module_namespaces.Namespace(
        files, exception_report.HIDDEN, package=_DIRECTORY if "__init__.py" in files else ""
    )


def _hidden_modules(order: dict[str, Any]) -> list[str]:
    repository = module_namespaces.Namespace(order["repo"], "", roots=order["roots"])
    return [name for name in _tests(order).sources if name not in repository.sources]


def _external_imports(order: dict[str, Any]) -> list[str]:
    files = {**order["repo"], **order["hidden"]}
    return list(dict.fromkeys(name for path in order["hidden"] for name in import_scan.external_imports(path, files)))


def _run(order: dict[str, Any], report: Report, seed: int) -> None:
    directory = Path.cwd()
    for root in reversed(order["roots"]):
        sys.path.insert(0, str(directory / root))
    tests = _tests(order)
    repo = order.pop("repo")
    reference = None
    if any(b"reference" in data for data in order["hidden"].values()):
        reference_directory = tempfile.mkdtemp()
        public = {
            path: data for path, data in repo.items() if not path.endswith(".py") and path not in order["targets"]
        }
        write_files(public, Path(reference_directory))  # the reference may read data files next to its sources
        reference = module_namespaces.Namespace(repo, reference_directory, roots=order["roots"])
    helpers = [path for path in order["hidden"] if not _is_test(path) and path != _CONFTEST]
    own = reference_modules.namespace(order, repo, order["roots"])
    if order["perturbation"] is not None:
        tests.compilers = order["perturbation"].compilers(helpers)
        if reference is not None:
            reference.compilers = order["perturbation"].compilers(repo)
        order["perturbation"].begin(str(directory))
    del repo
    namespaces = module_namespaces.Namespaces(*filter(None, (tests, reference, own)))
    tests.builtins_of = dict.fromkeys(helpers, namespaces.builtins_for(*filter(None, (tests, own))))
    plugin = _Plugin(order, report, seed, namespaces, tests, reference)
    stderr = io.StringIO()
    # Imports draw the same numbers in every grading, so that the cases are those that the reference passed.
    seed_generators(pytest_session.entropy(0, ""))
    warnings.filterwarnings("error", category=pytest.PytestReturnNotNoneWarning)
    with contextlib.redirect_stderr(stderr):
        pytest_session.run(
            directory,
            _ANCHOR,
            [plugin, plugin.lost, plugin.reporter],
            "--continue-on-collection-errors",
            f"--tb={traceback_arguments.STYLE}",
            *("-p", "no:assertion"),  # its global state would lead candidate code to the tests
            equivalent=plain_equivalence.assert_equivalent,
        )
    if not plugin.collected:
        raise RuntimeError(f"pytest could not start\n{stderr.getvalue()}")


def _is_test(path: str) -> bool:
    return path.rpartition("/")[2].startswith("test_")


class _Reference:
    """The `reference` fixture: its attributes are the authors' own modules."""

    def __init__(
        self, namespaces: module_namespaces.Namespaces, reference: module_namespaces.Namespace, interfaces: list[str]
    ) -> None:
        self._load = partial(namespaces.load, reference)
        for interface in interfaces:
            parts = interface.split(".")
            for end in range(1, len(parts) + 1):
                if ".".join(parts[:end]) in reference.sources:
                    self._load(".".join(parts[:end]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._load(name)


class _Plugin:
    def __init__(
        self,
        order: dict[str, Any],
        report: Report,
        seed: int,
        namespaces: module_namespaces.Namespaces,
        tests: module_namespaces.Namespace,
        reference: Optional[module_namespaces.Namespace],
    ) -> None:
        self.report, self.reporter = report, pytest_reporter.PytestReporter(report)
        self.seed = seed
        self.namespaces, self.tests = namespaces, tests
        self.hidden: Mapping[str, bytes] = types.MappingProxyType(order["hidden"])
        self.only: Optional[list[str]] = order["only"]
        self.interfaces: list[str] = order["interfaces"]
        # The reference is imported now, before candidate code runs.
        self.authors_modules = None if reference is None else _Reference(namespaces, reference, self.interfaces)
        self.interface_by_case: dict[str, str] = {}
        self.lost = lost_tests.LostTests()
        self.collected = False

    # fixtures

    @pytest.fixture
    def candidate(self) -> Any:
        pytest.fail(
            "there is no `candidate` fixture where tests and candidate share a process; import the candidate's modules",
            pytrace=False,
        )

    @pytest.fixture(scope="session")
    def reference(self) -> Any:
        """The authors' implementation: `reference.module.name`."""
        return self.authors_modules

    @pytest.fixture(scope="session")
    def hidden_files(self) -> Mapping[str, bytes]:
        """The contents of the files in tests/, by path. They are not on disk."""
        return self.hidden

    @pytest.fixture
    def rng(self, request: pytest.FixtureRequest) -> Any:
        """A numpy Generator seeded by this grading's secret seed and the case, so independent of the order of cases."""
        import numpy as np

        return np.random.default_rng(pytest_session.entropy(self.seed, case_outcome.case_id(request.node.nodeid)))

    # collecting

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "interface(name): the interface that a hidden test tests")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Any:
        if file_path != _ANCHOR:
            return None
        directory = _TestsDirectory.from_parent(parent, path=file_path, nodeid=_DIRECTORY)
        directory.plugin = self
        return directory

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = True
        for item in items:
            case = case_outcome.case_id(item.nodeid)
            interface, wrong = case_outcome.interface_of(item, self.interfaces)
            if case in self.interface_by_case:
                wrong = f"two cases have the id {case}"
            if wrong:
                self.reporter.stop(wrong)
                items[:] = []
                return
            self.interface_by_case[case] = interface
        if wrong := self.lost.problem or case_outcome.missing_fixture(items, ("reference", "rng", "hidden_files")):
            self.reporter.stop(wrong)
            items[:] = []
            return
        if self.only is not None:
            items[:] = [item for item in items if case_outcome.case_id(item.nodeid) in self.only]

    # running

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        case = case_outcome.case_id(nodeid)
        seed_generators(pytest_session.entropy(self.seed, case))
        self.report(messages.started(case))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        case = case_outcome.case_id(nodeid)
        self.report(messages.finished_of(case, self.interface_by_case[case], self.reporter.outcome()))


class _TestsDirectory(pytest.File):
    """tests/, which is not on disk."""

    plugin: _Plugin

    def collect(self) -> Any:
        plugin = self.plugin
        paths = sorted(path for path in plugin.hidden if path.endswith(".py"))
        for path in paths:
            if path.endswith(f"/{_CONFTEST}"):
                raise self.CollectError(
                    f"tests/{path}: with a shared oracle only tests/conftest.py is supported; move its contents there"
                )
        if _CONFTEST in plugin.hidden:
            loaded = plugin.namespaces.load(plugin.tests, plugin.tests.name_of(_CONFTEST))
            conftest = types.ModuleType("conftest")  # without `__file__`, so that pytest applies it to all tests
            vars(conftest).update({name: value for name, value in vars(loaded).items() if name != "__file__"})
            self.config.pluginmanager.register(conftest, "the hidden tests' own")
        for path in paths:
            if _is_test(path):
                file = self.config.rootpath / _DIRECTORY / path
                module = _Module.from_parent(self, path=file, nodeid=f"{_DIRECTORY}/{path}")
                module.plugin, module.source = plugin, path
                yield module


class _Module(pytest.Module):
    plugin: _Plugin
    source: str

    def collect(self) -> Any:
        plugin = self.plugin
        plugin.reporter.load(self, lambda: plugin.namespaces.load(plugin.tests, plugin.tests.name_of(self.source)))
        return super().collect()


RUNNER = Runner(run=_run, hidden_modules=_hidden_modules, external_imports=_external_imports)
