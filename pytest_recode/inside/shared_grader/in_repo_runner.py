"""Runner that runs one hidden test file with pytest as if it lay in the repository.

Runs in the shared judge, in one process with the candidate. The host launches it (`oracle/programs.py`); it calls
`judge.py` with a `Runner`. Must not write the test file, or what is hidden beside it, to disk: they are collected
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

from ..grading import pytest_session
from . import assertion_messages, exception_report, import_scan, judge, pytest_reporter, traceback_arguments
from .concealment import import_overrides, memory_modules

_ANCHOR = Path(sys.executable)
"""A file that is always there: pytest begins with one, and the tests lie on no disk."""
_OFF = (
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
"""Plugins of pytest's, the first two of which leave what leads to the tests where anybody finds it. What a test may ask for (capsys, caplog, tmpdir) stays, and marks need not be known: it is a benchmark's."""


warm = judge.warm


def grow(data: bytes) -> None:
    """`order` has `test`, `base`, `cwd`, `roots` (paths in the repository) and `expected` (the interface of each case) too."""
    judge.grow(data, RUNNER)


def main(reader: Any, writer: Any) -> None:
    judge.main(reader, writer, RUNNER)


def _roots(order: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys([order["base"], *order["roots"]]))


def _names(order: dict[str, Any]) -> list[str]:
    """From any directory, and by themselves, too. Whatever the repository has of the same name is no secret."""
    roots = _roots(order)
    own = memory_modules.Hidden({path: b"" for path in order["repo"] if path not in order["hidden"]}, roots=roots)
    taken = {name[:end] for name in own.sources for end in [*(at for at, sign in enumerate(name) if sign == "."), None]}
    names = list(memory_modules.Hidden(order["hidden"], roots=roots).sources)
    names += [".".join(parts[at:]) for name in names for parts in [name.split(".")] for at in range(1, len(parts))]
    return [name for name in dict.fromkeys(names) if name not in taken]


def _outside(order: dict[str, Any]) -> list[str]:
    files = {**order["repo"], **order["hidden"]}
    names = list(dict.fromkeys(name for path in order["hidden"] for name in import_scan.outside(path, files)))
    tops = {
        path[len(prefix) :].partition("/")[0]
        for root in [*_roots(order), *(os.path.dirname(path) or "." for path in order["hidden"])]
        for prefix in ["" if root == "." else f"{root}/"]
        for path in files
        if path.startswith(prefix)
    }
    return [name for name in names if not {name.partition(".")[0], f"{name.partition('.')[0]}.py"} & tops]


def _run(order: dict[str, Any], say: judge.Say, seed: int) -> None:
    place = Path.cwd()
    exception_report.settle(place)
    secrets = memory_modules.Hidden(
        order["hidden"],
        roots=_roots(order),
        place=str(place),
        shown=exception_report.HIDDEN,
        others=[f"{place}/{path}" for path in order["repo"] if path not in order["hidden"]],
        alone=[name for name in _names(order) if not _elsewhere(name.partition(".")[0])],
    )
    secrets.compilers[order["test"]] = assertion_messages.compiled
    del order["repo"]  # the authors' lines
    secrets.stand_ins.update(import_overrides.stand_ins(secrets, str(place)))
    for root in reversed(order["roots"]):
        sys.path.insert(0, os.path.normpath(place / root))
    (place / order["cwd"]).mkdir(parents=True, exist_ok=True)
    os.chdir(place / order["cwd"])
    importlib.invalidate_caches()
    plugin = _Plugin(order, say, seed, secrets, place)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    pytest_session.seed_everything(pytest_session.entropy(0, ""))
    off = [part for name in _OFF for part in ("-p", f"no:{name}")]
    places = ["-c", os.devnull, f"--rootdir={place}", f"--confcutdir={place}"]
    complaints = io.StringIO()
    with contextlib.redirect_stderr(complaints):
        pytest.main(
            [
                *places,
                *off,
                "-q",
                "-s",
                f"--tb={traceback_arguments.STYLE}",
                "--continue-on-collection-errors",
                str(_ANCHOR),
            ],
            plugins=[pytest_session.LeftOut(), plugin, plugin.teller],
        )
    if not plugin.collected:
        raise RuntimeError(f"pytest could not start\n{complaints.getvalue()}")


def _elsewhere(top: str) -> bool:
    """Whether the environment has a module of that name."""
    return importlib.machinery.PathFinder.find_spec(top) is not None


class _Plugin:
    def __init__(
        self, order: dict[str, Any], say: judge.Say, seed: int, secrets: memory_modules.Hidden, place: Path
    ) -> None:
        self.say, self.seed, self.secrets = say, seed, secrets
        self.teller = pytest_reporter.Teller(
            say, xpass=True
        )  # RECODE-H reads pytest's JUnit report, where it is a pass
        self.test: str = order["test"]
        self.name = memory_modules.name_of(self.test, order["base"])
        self.place = place
        self.expected: dict[str, str] = order["expected"]
        self.only: Optional[list[str]] = order["only"]
        self.of: dict[str, str] = {}  # the case of each item, by node id
        self.left: Counter[str] = Counter()  # items of each case that have not run
        self.worst: dict[str, dict[str, Any]] = {}  # of the items of one case
        self.collected = False

    @pytest.fixture
    def monkeypatch(self) -> Iterator[pytest.MonkeyPatch]:
        """Finds what is hidden by its name, too."""
        patch = pytest.MonkeyPatch()
        put = patch.setattr

        def setattr_(target: Any, *rest: Any, **more: Any) -> None:
            put(*(import_overrides.holder(self.secrets, target) or (target,)), *rest, **more)

        patch.setattr = setattr_  # type: ignore[method-assign]
        yield patch
        patch.undo()

    # collecting

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Any:
        if file_path != _ANCHOR:
            return None
        room = _Room.from_parent(parent, path=file_path)
        room.plugin = self
        return room

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = True
        for item in items:
            case = self._case(item)
            if case:
                self.of[item.nodeid] = case
        missing = [case for case in self.expected if case not in self.of.values()]
        if missing:
            were = "was" if len(missing) == 1 else "were"
            self.teller.wrong(
                f"{', '.join(missing)}: expected by test_cases, and {were} not collected from {Path(self.test).name}"
            )
        items[:] = [
            item
            for item in items
            if item.nodeid in self.of and (self.only is None or self.of[item.nodeid] in self.only)
        ]
        self.left.update(self.of[item.nodeid] for item in items)

    def _case(self, item: pytest.Item) -> str:
        """What is expected by the item's own name, or by that with its class's."""
        below = item.nodeid.partition("::")[2]
        return next(
            (name for name in (below, "::".join(below.split("::")[-2:]), item.name) if name in self.expected), ""
        )

    # running

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        case = self.of[nodeid]
        pytest_session.seed_everything(pytest_session.entropy(self.seed, case))
        self.say({"op": "started", "id": case})

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Two tests of one name are one case, which passes where both do."""
        case = self.of[nodeid]
        comes_to = self.teller.comes_to()
        if case not in self.worst or self.worst[case]["outcome"] == "passed":
            self.worst[case] = comes_to
        self.left[case] -= 1
        if not self.left[case]:
            self.say({"op": "finished", "id": case, "interface": self.expected[case], **self.worst[case]})


class _Room(pytest.File):
    """Stands where pytest was sent to."""

    plugin: _Plugin

    def collect(self) -> Any:
        plugin = self.plugin
        module = _Module.from_parent(self, path=plugin.place / plugin.test, nodeid=plugin.test)
        module.plugin = plugin
        yield module


class _Module(pytest.Module):
    plugin: _Plugin

    def collect(self) -> Any:
        plugin = self.plugin
        plugin.teller.load(self, lambda: plugin.secrets.load(plugin.name))
        return super().collect()


RUNNER = judge.Runner(
    run=_run,
    names=_names,
    outside=_outside,
    packages=("pytest", "_pytest", "pluggy", *(name for name in sys.modules if f"{name}.".startswith("_recode."))),
    canaries=pytest_reporter.canaries,
)
