"""Runner that runs the hidden tests of shared judging as a unittest script.

Runs in the shared judge, in one process with the candidate. The host launches it (`oracle/programs.py`); it calls
`judge.py` with a `Runner`. Must not take the script's output or exit code as a result.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import importlib
import sys
import types
import unittest
import warnings
from pathlib import Path
from typing import Any

from . import exception_report, import_scan, judge
from .concealment import memory_modules

warm = judge.warm


def grow(data: bytes) -> None:
    """`order` has `script` too: the path of the tests' program among the hidden files, to be run from the repository's root."""
    judge.grow(data, RUNNER)


def main(reader: Any, writer: Any) -> None:
    judge.main(reader, writer, RUNNER)


def _names(order: dict[str, Any]) -> list[str]:
    return list(memory_modules.Hidden(order["hidden"]).sources)


def _outside(order: dict[str, Any]) -> list[str]:
    return import_scan.outside(order["script"], {**order["repo"], **order["hidden"]})


def _run(order: dict[str, Any], say: judge.Say, seed: int) -> None:
    """The script as a program, from its directory: `unittest.main()` but for the exit status, which says nothing here."""
    script: str = order["script"]
    del order["repo"]  # the authors' lines
    secrets = memory_modules.Hidden(order["hidden"])
    sys.path.insert(0, str(Path.cwd()))
    sys.argv[:] = [script]
    importlib.invalidate_caches()
    module = types.ModuleType(Path(script).stem)
    module.__file__ = str(Path.cwd() / script)
    source = order["hidden"][script]
    memory_modules.remember(module.__file__, source)
    secrets.admit(module.__dict__)
    exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "default"
        )  # as unittest's own runner: what the import of a candidate made errors is none here
        unittest.TestLoader().loadTestsFromModule(module).run(_Result(say))


class _Result(unittest.TestResult):
    """Says of each test what came of it, once it has ended."""

    def __init__(self, say: judge.Say) -> None:
        super().__init__()
        self._say_it = say
        self._bad: dict[str, dict[str, Any]] = {}
        self._good: set[str] = set()

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._say_it({"op": "started", "id": _id(test)})

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        case = _id(test)
        if case in self._bad:
            self._say_it({"op": "finished", "id": case, "outcome": "failed", "junit": "failure", **self._bad[case]})
        elif case in self._good:
            self._say_it(
                {
                    "op": "finished",
                    "id": case,
                    "outcome": "passed",
                    "kind": "",
                    "message": "",
                    "exception": None,
                    "junit": "passed",
                }
            )

    def addSuccess(self, test: Any) -> None:
        super().addSuccess(test)
        self._good.add(_id(test))

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._failed(test, err[1])

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._failed(test, err[1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(test, err[1])

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._note(test, "skipped", f"skipped ({reason}), which is no pass", "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self._note(test, "assertion", "expected to fail, which is no pass")

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self._note(test, "assertion", "expected to fail, which is no pass")

    def _failed(self, test: Any, exc: BaseException) -> None:
        if not isinstance(test, unittest.TestCase):  # setUpModule or setUpClass: none of its tests runs
            self._say_it({"op": "ended", **exception_report.account(exc)})
            return
        self._bad.setdefault(_id(test), exception_report.account(exc))

    def _note(self, test: Any, kind: str, message: str, junit: str = "failure") -> None:
        self._bad.setdefault(_id(test), {"kind": kind, "message": message, "exception": None, "junit": junit})


def _id(test: Any) -> str:
    return ".".join(str(test.id()).split(".")[-2:])


RUNNER = judge.Runner(run=_run, names=_names, outside=_outside)
