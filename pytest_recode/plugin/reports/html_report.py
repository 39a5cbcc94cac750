"""The report of pytest-html (`--html`): each episode has its page as an extra, and errors are errors.

pytest-html calls every exception of a test's call phase a failure. Its documented hooks correct the word and the counts. It shows a test when its
teardown has been reported, and no result of the phase in which pytest-xdist reports that a worker died: this module makes that one a call.
Registered in each process with `--html`; the reports reach the controller, where pytest-html writes its file.
"""

from __future__ import annotations

import html
from typing import Any

import pytest

from pytest_recode.plugin.reports.report_data import attach, data_of
from pytest_recode.plugin.reports.report_status import CRASHED, WITH_RESULT, report_status

_ERRORS = ("error", "interrupted")
"""Categories of `report_status` that pytest-html shows as an error."""
_RESULT = '<td class="col-result">{}</td>'


class HtmlReport:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._counts: dict[str, Any] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        """Called when the session starts, with the data of the report."""
        self._counts = report.outcomes

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Called for each row, before it is counted under its outcome."""
        status = report_status(report) if report.when == "call" else None
        failed = _RESULT.format("Failed")
        if status is None or status[0] not in _ERRORS or failed not in cells:
            return
        cells[cells.index(failed)] = _RESULT.format("Error")
        self._counts["failed"]["value"] -= 1
        self._counts["error"]["value"] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add the page of an episode that has ended. The reporter's wrapper has taken its record before."""
        data = data_of(report)
        if hasattr(self.config, "workerinput") or report.when not in WITH_RESULT or not data:
            return
        extras = [*getattr(report, "extras", ())]
        if "summary" in data or "interrupted" in data:
            extras += self._extras(report.nodeid)
        if str(report.when) != CRASHED:
            report.extras = extras
            return
        call = pytest.TestReport(
            nodeid=report.nodeid,
            location=report.location,
            keywords=report.keywords,
            outcome="failed",
            longrepr=report.longrepr,
            when="call",
            duration=data["summary"]["seconds"] if "summary" in data else 0.0,
            extras=extras,
        )
        attach(call, data)
        for plugin in self.config.pluginmanager.get_plugins():
            if type(plugin).__module__.partition(".")[0] == "pytest_html":
                plugin.pytest_runtest_logreport(call)

    def _extras(self, nodeid: str) -> list[dict[str, Any]]:
        from pytest_html import extras

        from pytest_recode.plugin.reports.episode_page import episode_page
        from pytest_recode.plugin.run.session import run_of
        from pytest_recode.records.transcript import transcript_path

        run = run_of(self.config)
        page = episode_page(transcript_path(run.out, nodeid), run.directory.files)
        if page.html and self.config.getoption("self_contained_html"):
            # a browser opens no link to data, and runs no script of this frame
            frame = (
                f'<iframe sandbox title="Episode" loading="lazy" style="width:100%;height:40em;border:0"'
                f' srcdoc="{html.escape(page.content)}"></iframe>'
            )
            return [extras.html(frame)]
        return [extras.extra(page.content, extras.FORMAT_TEXT, "Episode", page.mime_type, page.extension)]
