"""Runner that runs the hidden tests of shared judging as a unittest script.

Runs in the shared judge, in one process with the candidate. The host launches it (`oracle/shared.py`); it calls
`shared_judge.py` with a `Runner`. Must not take the script's output or exit code as a result.

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

from ..wire import messages
from . import exception_report, import_scan, reference_modules, shared_judge
from .concealment import memory_modules
from .runner import Report, Runner

warm = shared_judge.warm


def prepare(data: bytes) -> None:
    """As `judge.prepare`. The message also has `script`: the path of the unittest script among the hidden files. It is
    run from the repository's root."""
    shared_judge.prepare(data, RUNNER)


def main(reader: Any, writer: Any) -> None:
    shared_judge.main(reader, writer, RUNNER)


def _hidden_modules(order: dict[str, Any]) -> list[str]:
    return list(memory_modules.HiddenModules(order["hidden"]).sources)


def _external_imports(order: dict[str, Any]) -> list[str]:
    return import_scan.external_imports(order["script"], {**order["repo"], **order["hidden"]})


def _run(order: dict[str, Any], report: Report, seed: int) -> None:
    """Run the script from its directory, as `unittest.main()` does. Its exit status does not count."""
    script: str = order["script"]
    hidden = memory_modules.HiddenModules(order["hidden"])
    reference = [path for path in order["hidden"] if path != script]
    reference_modules.separate(order, hidden, reference)
    if order["perturbation"] is not None:
        hidden.compilers.update(order["perturbation"].compilers(reference))
        order["perturbation"].begin(str(Path.cwd()))
    sys.path.insert(0, str(Path.cwd()))
    sys.argv[:] = [script]
    importlib.invalidate_caches()
    module = types.ModuleType(Path(script).stem)
    module.__file__ = str(Path.cwd() / script)
    memory_modules.run_source(module.__dict__, order["hidden"][script], module.__file__, hidden.builtins)
    with warnings.catch_warnings():
        # as unittest's own runner does; a candidate's import may have turned warnings into errors
        warnings.simplefilter("default")
        unittest.TestLoader().loadTestsFromModule(module).run(_Result(report))


class _Result(unittest.TestResult):
    """Reports the outcome of each test when it has ended."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self._failures: dict[str, messages.CaseOutcome] = {}
        self._passed: set[str] = set()

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._report(messages.started(_id(test)))

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        case = _id(test)
        if case in self._failures:
            self._report(messages.finished(case, self._failures[case]))
        elif case in self._passed:
            self._report(messages.finished(case, messages.PASSED))

    def addSuccess(self, test: Any) -> None:
        super().addSuccess(test)
        self._passed.add(_id(test))

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
        text = f"skipped ({reason}), which does not count as a pass"
        self._add(test, {"kind": "skipped", "message": text, "exception": None}, junit="skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self._add_expected(test)

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self._add_expected(test)

    def _add_expected(self, test: Any) -> None:
        text = "expected to fail, which does not count as a pass"
        self._add(test, {"kind": "assertion", "message": text, "exception": None})

    def _failed(self, test: Any, exc: BaseException) -> None:
        failure = exception_report.failure_report(exc)
        if isinstance(test, unittest.TestCase):
            self._add(test, failure)
        else:  # setUpModule or setUpClass: none of its tests runs
            self._report(messages.ended(failure))

    def _add(self, test: Any, failure: messages.FailureReport, junit: str = "failure") -> None:
        outcome = messages.CaseOutcome(outcome="failed", junit=junit, **failure)
        self._failures.setdefault(_id(test), outcome)


def _id(test: Any) -> str:
    return ".".join(str(test.id()).split(".")[-2:])


RUNNER = Runner(run=_run, hidden_modules=_hidden_modules, external_imports=_external_imports)
