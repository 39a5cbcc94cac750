"""`--recode-validate-json`: writes the findings of all checks as JSON, for CI.

In the controller, or in the only process. `render/validation_json.py` makes the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_recode.faults import RecordsError
from pytest_recode.plugin.reports.report_data import ValidationData, data_of
from pytest_recode.plugin.reports.report_status import WITH_RESULT

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_recode.plugin.run.session import Run

_NAME = "recode-validation-file"


def watch(run: Run) -> None:
    """Register the plugin, if the option is given."""
    path = run.settings.validate_json
    if path is not None and not run.config.option.collectonly:
        run.config.pluginmanager.register(ValidationFile(run, path), _NAME)


class ValidationFile:
    def __init__(self, run: Run, path: Path) -> None:
        self._run, self._path = run, path
        self._validations: dict[str, ValidationData] = {}  # by node id; of an item that is repeated, the first counts
        self._unreadable: dict[str, str] = {}  # messages by node id

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._unreadable[report.nodeid] = report.longreprtext

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = data_of(report) or {}
        if "unreadable" in data and report.failed:
            self._unreadable[report.nodeid] = report.longreprtext
        elif "validation" in data and report.when in WITH_RESULT:
            self._validations.setdefault(report.nodeid, data["validation"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file; fail the session if that is impossible. A usage error leaves an older file alone: nothing was run."""
        if session.exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        from pytest_recode.records.run_directory import replaced
        from pytest_recode.render import validation_json

        try:
            replaced(self._path, validation_json.text(list(self._validations.values()), self._unreadable))
        except RecordsError as error:
            self._run.notify(f"no --recode-validate-json: {error}")
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
