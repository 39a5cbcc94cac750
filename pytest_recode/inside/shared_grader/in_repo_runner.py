"""Runner that runs one hidden test file with pytest as if it lay in the repository.

Runs in the shared judge, in one process with the candidate. The host launches it (`oracle/shared.py`); it calls
`shared_judge.py` with a `Runner`. Must not write the test file, or what is hidden beside it, to disk: they are collected
from memory. Its cases must be exactly those that the order expects.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import io
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from ..grading import case_outcome, pytest_session
from ..setup.random_generators import seed_generators
from ..wire import messages
from . import (
    assertion_messages,
    exception_report,
    import_scan,
    pytest_reporter,
    reference_modules,
    shared_judge,
    traceback_arguments,
)
from .concealment import import_overrides, memory_modules
from .runner import Report, Runner

_ANCHOR = Path(sys.executable)
"""A file that always exists: pytest needs one to start from, and the tests are not on disk."""
_DISABLED = (
    *(
        "assertion",
        "debugging",
        "cacheprovider",
        "doctest",
        "faulthandler",
        "junitxml",
        "nose",
        "pastebin",
        "setuponly",
        "setupplan",
    ),
    *("stepwise", "threadexception", "unraisableexception", "warnings"),
)
"""Plugins of pytest that are disabled. The global state of the first two would lead candidate code to the tests. Plugins
with fixtures that a benchmark's test may use (capsys, caplog, tmpdir) stay, and unknown marks are allowed."""


warm = shared_judge.warm


def prepare(data: bytes) -> None:
    """As `judge.prepare`. The message also has `test`, `base`, `cwd`, `roots` (paths in the repository) and `expected`
    (the interface of each case)."""
    shared_judge.prepare(data, RUNNER)


def main(reader: Any, writer: Any) -> None:
    shared_judge.main(reader, writer, RUNNER)


def _roots(order: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys([order["base"], *order["roots"]]))


def _hidden_modules(order: dict[str, Any]) -> list[str]:
    """Names of hidden modules, as imported from a root or from any directory. Names that the repository has too are
    left out."""
    roots = _roots(order)
    repository = memory_modules.HiddenModules(
        {path: b"" for path in order["repo"] if path not in order["hidden"]}, roots=roots
    )
    taken = {
        name[:end]
        for name in repository.sources
        for end in [*(at for at, sign in enumerate(name) if sign == "."), None]
    }
    names = list(memory_modules.HiddenModules(order["hidden"], roots=roots).sources)
    names += [".".join(parts[at:]) for name in names for parts in [name.split(".")] for at in range(1, len(parts))]
    return [name for name in dict.fromkeys(names) if name not in taken]


def _external_imports(order: dict[str, Any]) -> list[str]:
    files = {**order["repo"], **order["hidden"]}
    names = list(dict.fromkeys(name for path in order["hidden"] for name in import_scan.external_imports(path, files)))
    tops = {
        path[len(prefix) :].partition("/")[0]
        for root in [*_roots(order), *(os.path.dirname(path) or "." for path in order["hidden"])]
        for prefix in ["" if root == "." else f"{root}/"]
        for path in files
        if path.startswith(prefix)
    }
    return [name for name in names if not {name.partition(".")[0], f"{name.partition('.')[0]}.py"} & tops]


def _run(order: dict[str, Any], report: Report, seed: int) -> None:
    directory = Path.cwd()
    exception_report.set_repository(directory)
    hidden = memory_modules.HiddenModules(
        order["hidden"],
        roots=_roots(order),
        directory=str(directory),
        displayed=exception_report.HIDDEN,
        repository_paths=[f"{directory}/{path}" for path in order["repo"] if path not in order["hidden"]],
        exclusive=[name for name in _hidden_modules(order) if not _is_installed(name.partition(".")[0])],
    )
    reference_modules.separate(
        order, hidden, [path for path in order["hidden"] if path != order["test"]], _roots(order)
    )
    if order["perturbation"] is not None:
        hidden.compilers.update(order["perturbation"].compilers(order["hidden"]))
        order["perturbation"].begin(str(directory))
    hidden.compilers[order["test"]] = assertion_messages.compiled
    hidden.overrides.update(import_overrides.overrides(hidden, str(directory)))
    for root in reversed(order["roots"]):
        sys.path.insert(0, os.path.normpath(directory / root))
    (directory / order["cwd"]).mkdir(parents=True, exist_ok=True)
    os.chdir(directory / order["cwd"])
    importlib.invalidate_caches()
    plugin = _InRepoPlugin(order, report, seed, hidden, directory)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    seed_generators(pytest_session.entropy(0, ""))
    disabled = [part for name in _DISABLED for part in ("-p", f"no:{name}")]
    locations = ["-c", os.devnull, f"--rootdir={directory}", f"--confcutdir={directory}"]
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr):
        pytest.main(
            [
                *locations,
                *disabled,
                "-q",
                "-s",
                f"--tb={traceback_arguments.STYLE}",
                "--continue-on-collection-errors",
                str(_ANCHOR),
            ],
            plugins=[pytest_session.DisabledPluginOptions(), plugin, plugin.reporter],
        )
    if not plugin.collected:
        raise RuntimeError(f"pytest could not start\n{stderr.getvalue()}")


def _is_installed(top: str) -> bool:
    """Whether the environment has a module of that name."""
    return importlib.machinery.PathFinder.find_spec(top) is not None


class _InRepoPlugin:
    def __init__(
        self, order: dict[str, Any], report: Report, seed: int, hidden: memory_modules.HiddenModules, directory: Path
    ) -> None:
        self.report, self.seed, self.hidden = report, seed, hidden
        # RECODE-H reads pytest's JUnit report, where an unexpected pass is a pass
        self.reporter = pytest_reporter.PytestReporter(report, xpass=True)
        self.test: str = order["test"]
        self.name = memory_modules.name_below(self.test, order["base"])
        self.directory = directory
        self.expected: dict[str, str] = order["expected"]
        self.only: Optional[list[str]] = order["only"]
        self.case_by_node: dict[str, str] = {}
        self.remaining: Counter[str] = Counter()  # items of each case that have not run
        self.worst: dict[str, messages.CaseOutcome] = {}  # the worst outcome of the items of each case
        self.collected = False

    @pytest.fixture
    def monkeypatch(self) -> Iterator[pytest.MonkeyPatch]:
        """pytest's `monkeypatch`, which also finds hidden modules by their names."""
        patch = pytest.MonkeyPatch()
        real = patch.setattr

        def setattr_(target: Any, *rest: Any, **more: Any) -> None:
            real(*(import_overrides.hidden_attribute(self.hidden, target) or (target,)), *rest, **more)

        patch.setattr = setattr_  # type: ignore[method-assign]
        yield patch
        patch.undo()

    # collecting

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Any:
        if file_path != _ANCHOR:
            return None
        collector = _HiddenFile.from_parent(parent, path=file_path)
        collector.plugin = self
        return collector

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = True
        for item in items:
            case = self._case(item)
            if case:
                self.case_by_node[item.nodeid] = case
        missing = [case for case in self.expected if case not in self.case_by_node.values()]
        if missing:
            self.reporter.stop(
                f"{', '.join(missing)}: test_cases expects this, but {Path(self.test).name} has no such test"
            )
        items[:] = [
            item
            for item in items
            if item.nodeid in self.case_by_node and (self.only is None or self.case_by_node[item.nodeid] in self.only)
        ]
        if wrong := case_outcome.missing_fixture(items):
            self.reporter.stop(wrong)
            items[:] = []
        self.remaining.update(self.case_by_node[item.nodeid] for item in items)

    def _case(self, item: pytest.Item) -> str:
        """The expected case with the item's name, or with its class and name; "" for none."""
        below = item.nodeid.partition("::")[2]
        return next(
            (name for name in (below, "::".join(below.split("::")[-2:]), item.name) if name in self.expected), ""
        )

    # running

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        case = self.case_by_node[nodeid]
        seed_generators(pytest_session.entropy(self.seed, case))
        self.report(messages.started(case))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Report a case after its last test: tests with one name are one case, which passes if all of them do."""
        case = self.case_by_node[nodeid]
        outcome = self.reporter.outcome()
        if case not in self.worst or self.worst[case]["outcome"] == "passed":
            self.worst[case] = outcome
        self.remaining[case] -= 1
        if not self.remaining[case]:
            self.report(messages.finished_of(case, self.expected[case], self.worst[case]))


class _HiddenFile(pytest.File):
    """Replaces the file that pytest was started with."""

    plugin: _InRepoPlugin

    def collect(self) -> Any:
        plugin = self.plugin
        module = _InRepoModule.from_parent(self, path=plugin.directory / plugin.test, nodeid=plugin.test)
        module.plugin = plugin
        yield module


class _InRepoModule(pytest.Module):
    plugin: _InRepoPlugin

    def collect(self) -> Any:
        plugin = self.plugin
        plugin.reporter.load(self, lambda: plugin.hidden.load(plugin.name))
        return super().collect()


RUNNER = Runner(run=_run, hidden_modules=_hidden_modules, external_imports=_external_imports)
