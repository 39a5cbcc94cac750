"""Snapshot of what verdicts rest on, compared after the tests to detect changes.

Runs in the shared judge, in one process with the candidate. `shared_judge.py` takes it before candidate code runs and
compares it after the tests. Must not rely on a function that the candidate could have replaced without also testing
it.

The snapshot covers unittest, comparison functions of numpy, torch and math, and builtins. Assertions that must fail
are tried as well, as are some that must hold.

Stdlib, numpy and torch where they were imported, Python 3.9+.
"""

from __future__ import annotations

import builtins
import contextlib
import signal
import sys
import threading
import types
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Optional

from . import class_versions, deny_rules, library_wrappers, module_snapshot

_MODULES = (
    *(
        "builtins",
        "math",
        "operator",
        "unittest",
        "unittest.case",
        "unittest.result",
        "unittest.suite",
        "unittest.util",
        "unittest.loader",
    ),
    *("difflib", "pprint", "traceback", "functools", "itertools", "statistics", "decimal", "fractions"),
    *("numpy", "numpy.testing", "numpy.testing._private.utils", "numpy.linalg", "numpy.random"),
    *("numpy._core.numeric", "numpy._core.multiarray", "numpy._core.umath", "numpy.core.numeric"),
    *("torch", "torch.testing", "torch.testing._comparison", "torch.functional", "torch.linalg", "torch._tensor"),
    *("jax.numpy", "pandas.testing", "pandas._testing", "pandas._testing.asserters"),
)
_CLASSES = (
    *(("unittest.case", name) for name in ("TestCase", "_Outcome", "_AssertRaisesContext", "_AssertRaisesBaseContext")),
    *(("unittest.case", "_BaseTestCaseContext"), ("unittest.case", "_SubTest"), ("unittest.loader", "TestLoader")),
    *(("unittest.result", "TestResult"), ("unittest.suite", "TestSuite"), ("unittest.suite", "BaseTestSuite")),
    *(("torch", "Tensor"), ("torch.nn.parameter", "Parameter"), ("torch._C", "TensorBase")),
    *(("contextlib", "_GeneratorContextManager"), ("contextlib", "_GeneratorContextManagerBase")),
    *(("warnings", "catch_warnings"), ("contextlib", "suppress")),
    *(("pandas", "DataFrame"), ("pandas", "Series"), ("numpy", "random.mtrand.RandomState")),
)
_VERSIONED = {"HookCaller", "_HookCaller", "CallInfo", "TestReport", "_Comparison", "Mismatch", "PytestReporter"}
"""Classes of pytest and the judge that every case uses. Their version tags show changes that were restored."""
_COMPARISONS = (
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__bool__",
    "__sub__",
    "__rsub__",
    "__abs__",
)
_CHANGING = {
    "__warningregistry__",
    "__dict__",
    "__doc__",
    "__annotations__",
    "__abstractmethods__",
    "_abc_impl",
    "_",
    "__import__",
}
"""Names that change by themselves, and `__import__`, which `memory_modules.py` replaces."""
_EXCLUDED = {*deny_rules.HOOKS, "sys", "os", "typing", "__future__"}
"""Libraries that are configured by assignment, or with which no reference computes."""


Canaries = Iterable["tuple[str, Callable[[], bool]]"]


class JudgeSnapshot:
    """The state before candidate code runs."""

    def __init__(
        self,
        packages: Sequence[str] = (),
        more_canaries: Canaries = (),
        external_imports: Iterable[str] = (),
        source: bytes = b"",
    ) -> None:
        """`packages`: names of packages that are recorded completely, with submodules and classes. `more_canaries`: further
        checks that must hold. `external_imports`: names of library modules that the reference may use; `source`: the
        text of repository and tests, which shows what they use of these."""
        self._names: list[tuple[str, dict[str, Any], Any]] = []
        self._code: list[tuple[str, types.FunctionType, tuple[Any, ...]]] = []
        self.modules: list[tuple[types.ModuleType, dict[str, Any]]] = []
        """Modules of the standard library, numpy and others, and the attributes that must not change."""
        self._named: list[tuple[str, types.ModuleType]] = []
        for name in _MODULES:
            module = sys.modules.get(name)
            if isinstance(module, types.ModuleType):
                self._record(name, vars(module))
                self.modules.append((module, self._names[-1][2]))
                self._named.append((name, module))
        self.libraries = module_snapshot.LibrarySnapshot(_libraries(external_imports, source))
        versioned = {}
        self._classes: list[tuple[str, type, frozenset[str]]] = []
        for name, member in _CLASSES:
            owner = _member(sys.modules.get(name), member)
            if isinstance(owner, type):
                self._classes.append((f"{name}.{member}", owner, frozenset(vars(owner))))
                self._record(f"{name}.{member}", owner)
                if name.startswith(("unittest.", "contextlib", "warnings")):
                    versioned[f"{name}.{member}"] = owner
        packages = (*packages, *(name for name in sys.modules if f"{name}.".startswith("_recode.")))
        for name, module in sorted(sys.modules.items()) if packages else ():
            if any(f"{name}.".startswith(f"{package}.") for package in packages):
                self._record(name, vars(module))
                for value in list(vars(module).values()):
                    if isinstance(value, type) and value.__module__ == name:
                        self._record(f"{name}.{value.__qualname__}", value)
                        if value.__name__ in _VERSIONED:
                            versioned[f"{name}.{value.__qualname__}"] = value
        self._versions = class_versions.ClassVersions(versioned)
        self._canaries = (*canaries(), *more_canaries)
        self._hooks = [(name, getattr(sys, name), list(getattr(sys, name))) for name in ("meta_path", "path_hooks")]
        self._import = builtins.__import__
        self._signals = _signals()
        self._threads = set(threading.enumerate())

    def _record(self, path: str, holder: Any) -> None:
        now = holder if isinstance(holder, dict) else vars(holder)
        stored = {key: value for key, value in now.items() if key not in _CHANGING}
        self._names.append((path, holder, stored))
        for key, value in stored.items():
            function = module_snapshot.bare(value)
            if isinstance(function, types.FunctionType):
                self._code.append((f"{path}.{key}", function, module_snapshot.inner(function)))

    def changes(self, is_candidate: Optional[Callable[[str], bool]] = None) -> list[str]:
        """One line for each change. `is_candidate`: whether a file is the candidate's."""
        lines = []
        for path, holder, stored in self._names:
            now = holder if isinstance(holder, dict) else vars(holder)
            lines += [f"{path}.{key} was replaced" for key, value in stored.items() if now.get(key) is not value]
            if not isinstance(holder, dict):
                lines += [f"{path}.{key} was added" for key in _COMPARISONS if key in now and key not in stored]
        lines += [
            f"sys.modules[{name!r}] was replaced" for name, module in self._named if sys.modules.get(name) is not module
        ]
        lines += [
            f"{name} was changed"
            for name, function, inner in self._code
            if not module_snapshot.same(module_snapshot.inner(function), inner)
        ]
        for name in self._versions.changed():
            if not any(line.startswith(f"{name}.") for line in lines):
                lines.append(f"{name} was changed and restored")
        if builtins.__import__ is not self._import:
            lines.append("builtins.__import__ was replaced")
        if sys.gettrace() is not None or sys.getprofile() is not None:
            lines.append("sys.settrace or sys.setprofile runs code inside the judge")
        for text, holds in self._canaries:
            try:
                good = holds()
            except BaseException as exc:  # noqa: BLE001  a changed function may raise anything
                lines.append(f"{text}: {type(exc).__name__}")
            else:
                if good is not True:
                    lines.append(text)
        if is_candidate is not None:
            lines += self.replacements(is_candidate)
            lines += self.libraries.changes(is_candidate)
            lines += self._left_behind(is_candidate)
        return list(dict.fromkeys(lines))

    def replacements(self, is_candidate: Callable[[str], bool]) -> Iterator[str]:
        """One line for each function of a library that is the candidate's now. As `changes`, but quick."""
        yield from module_snapshot.replaced_functions((*self.modules, *self.libraries.modules), is_candidate)
        for path, cls, own in self._classes:
            for name, value in list(vars(cls).items()) if len(vars(cls)) != len(own) else ():
                shadows = name not in own and any(name in vars(base) for base in cls.__mro__[1:])
                if shadows and is_candidate(library_wrappers.file_of(module_snapshot.bare(value))):
                    yield f"{path}.{name} was added"
        yield from _changed_hooks(is_candidate)

    def _left_behind(self, is_candidate: Callable[[str], bool]) -> Iterator[str]:
        """Hooks, signal handlers, threads and classes of the candidate's that are still active."""
        for name, hooks, before in self._hooks:
            now = getattr(sys, name)
            new = [each for each in now if not any(each is old for old in before)]
            if now is not hooks or any(is_candidate(library_wrappers.file_of(each)) for each in new):
                yield f"sys.{name} was changed"
        for number, handler in _signals().items():
            if handler is not self._signals.get(number) and is_candidate(library_wrappers.file_of(handler)):
                yield f"the candidate installed a handler for signal {number}"
        frames = sys._current_frames()
        for thread in set(threading.enumerate()) - self._threads:
            frame = frames.get(thread.ident or 0)
            while frame is not None and not is_candidate(frame.f_code.co_filename):
                frame = frame.f_back
            if frame is not None:
                yield "a thread of the candidate is still running"


def _libraries(names: Iterable[str], source: bytes) -> Iterator[types.ModuleType]:
    """The modules of these names and submodules that the source uses as attributes (`np.fft`), without `_MODULES`."""
    seen = set(_MODULES)
    for name in names:
        found = sys.modules.get(name)
        for module in [found, *_used_submodules(found, source)] if type(found) is types.ModuleType else []:
            excluded = module.__name__ in seen or module.__name__.partition(".")[0] in _EXCLUDED
            if not excluded and type(module) is types.ModuleType:
                seen.add(module.__name__)
                yield module


def _used_submodules(module: Any, source: bytes) -> Iterator[types.ModuleType]:
    for name, value in list(vars(module).items()):
        is_submodule = type(value) is types.ModuleType and value.__name__ == f"{module.__name__}.{name}"
        if is_submodule and f".{name}".encode() in source:
            yield value


def _torch_global_hooks() -> Iterator[tuple[str, dict[Any, Any]]]:
    """The hooks that torch calls for every module, the reference's too."""
    module = sys.modules.get("torch.nn.modules.module")
    for name, value in list(vars(module).items()) if module is not None else ():
        if name.startswith("_global_") and isinstance(value, dict):
            yield name, value


def _changed_hooks(is_candidate: Callable[[str], bool]) -> Iterator[str]:
    for name, table in _torch_global_hooks():
        if any(is_candidate(library_wrappers.file_of(hook)) for hook in list(table.values())):
            yield f"torch.nn.modules.module.{name} was changed"


def _signals() -> dict[int, Any]:
    handlers = {}
    for number in signal.valid_signals():
        with contextlib.suppress(ValueError, OSError):
            handlers[int(number)] = signal.getsignal(number)
    return handlers


def _member(holder: Any, path: str) -> Any:
    for name in path.split("."):
        holder = getattr(holder, name, None)
    return holder


def canaries() -> Iterator[tuple[str, Callable[[], bool]]]:
    """Checks that hold for an intact judge, each with the finding where it does not."""
    case = unittest.TestCase()

    def raises(call: Callable[[], Any]) -> bool:
        try:
            call()
        except AssertionError:
            return True
        return False

    def passes(call: Callable[[], Any]) -> bool:
        return not raises(call)

    yield "assertEqual(1, 2) does not fail", lambda: raises(lambda: case.assertEqual(1, 2))
    yield "assertEqual(1, 1) fails", lambda: passes(lambda: case.assertEqual(1, 1))
    yield "assertTrue(False) does not fail", lambda: raises(lambda: case.assertTrue(False))
    yield "assertFalse(True) does not fail", lambda: raises(lambda: case.assertFalse(True))
    yield "assertAlmostEqual(1, 2) does not fail", lambda: raises(lambda: case.assertAlmostEqual(1.0, 2.0))
    yield "assertIsNotNone(None) does not fail", lambda: raises(lambda: case.assertIsNotNone(None))
    yield "assertIn(1, []) does not fail", lambda: raises(lambda: case.assertIn(1, []))
    yield "assertLess(2, 1) does not fail", lambda: raises(lambda: case.assertLess(2, 1))
    yield "assertRaises does not fail", lambda: raises(lambda: case.assertRaises(KeyError, int))
    yield "a failing test is not reported", _reports_failures
    yield "all([True, False]) holds", lambda: all([True, False]) is False and any([False]) is False
    yield "abs, max or sum is wrong", lambda: abs(-2) == 2 and max(1, 2) == 2 and min(1, 2) == 1 and sum([1, 2]) == 3
    yield "isinstance(1, str) holds", lambda: isinstance(1, str) is False and len([1]) == 1
    yield from _numpy_canaries(raises)
    yield from _torch_canaries(raises)


def _reports_failures() -> bool:
    class Failing(unittest.TestCase):
        def runTest(self) -> None:
            self.assertEqual([1], [2])

    result = unittest.TestResult()
    Failing().run(result)
    return len(result.failures) == 1 and result.testsRun == 1 and not result.wasSuccessful()


def _numpy_canaries(raises: Callable[[Callable[[], Any]], bool]) -> Iterator[tuple[str, Callable[[], bool]]]:
    np: Any = sys.modules.get("numpy")
    if np is None or "numpy.testing" not in sys.modules:
        return
    testing = sys.modules["numpy.testing"]
    one, two = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    assert_allclose, assert_equal = testing.assert_allclose, testing.assert_array_equal
    almost, allclose, equal, isclose = testing.assert_array_almost_equal, np.allclose, np.array_equal, np.isclose
    yield "numpy's assert_allclose does not fail", lambda: raises(lambda: assert_allclose(one, two))
    yield "numpy's assert_array_equal does not fail", lambda: raises(lambda: assert_equal(one, two))
    yield "numpy's assert_array_almost_equal does not fail", lambda: raises(lambda: almost(one, two))
    yield "numpy's allclose is wrong", lambda: not allclose(one, two) and bool(allclose(one, one))
    yield "numpy's array_equal is wrong", lambda: not equal(one, two) and bool(equal(one, one))
    yield "numpy's comparisons are wrong", lambda: (one == two).tolist() == [True, False] and not isclose(1.0, 2.0)
    yield "numpy's all or any is wrong", lambda: not np.all(one == two) and bool(np.any(one == two))
    yield "numpy's abs or max is wrong", lambda: float(np.abs(one - two).max()) == 1.0


def _torch_canaries(raises: Callable[[Callable[[], Any]], bool]) -> Iterator[tuple[str, Callable[[], bool]]]:
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return
    dtype = torch.float64
    one, two = torch.tensor([1.0, 2.0], dtype=dtype), torch.tensor([1.0, 3.0], dtype=dtype)
    allclose, equal, close = torch.allclose, torch.equal, torch.testing.assert_close
    yield "torch's assert_close does not fail", lambda: raises(lambda: close(one, two))
    yield "torch's allclose is wrong", lambda: allclose(one, two) is False and allclose(one, one) is True
    yield "torch's Tensor.allclose is wrong", lambda: one.allclose(two) is False
    yield "torch's equal is wrong", lambda: equal(one, two) is False and equal(one, one) is True
    yield "torch's comparisons are wrong", lambda: (one == two).tolist() == [True, False]
    yield "torch's all is wrong", lambda: not bool(torch.all(one == two)) and not bool((one == two).all())
    yield (
        "torch's abs or max is wrong",
        lambda: float((one - two).abs().max()) == 1.0 and (one - two).norm().item() == 1.0,
    )
