"""The results of allure (`--alluredir`): name of the task, parameters, and the episode as attachments.

allure calls a test *failed* if an assertion failed, and *broken* after any other exception: an unsolved episode raises `Unsolved`, an assertion,
and an error of the model or of infrastructure raises `Fault`. Registered in each process with `--alluredir`; results are written where items run.
The result of an item whose worker died is written by the controller, which gets its name, parameters and labels on the report of the setup.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, TypedDict

import pytest

from pytest_recode.plugin.collection.items import EpisodeItem, TaskItem
from pytest_recode.plugin.reports.report_status import CRASHED
from pytest_recode.plugin.run.session import RUN
from pytest_recode.plugin.workers import distributed


class _Begun(TypedDict):
    """What allure has of an item that has begun, as plain JSON types. `start`: milliseconds since 1970."""

    title: str
    full_name: str
    title_path: list[str]
    parameters: list[tuple[str, str]]
    labels: list[tuple[str, str]]
    start: int


class AllureReport:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._begun: dict[str, _Begun] = {}  # in the controller: the running items of all workers

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # around allure's own, which sets the name after the setup
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        try:
            yield
        finally:
            if isinstance(item, TaskItem):
                _describe(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Worker: send to the controller what it needs if this worker dies."""
        report = yield
        if call.when == "setup" and isinstance(item, EpisodeItem) and hasattr(self.config, "workerinput"):
            report.recode_allure = _begun(item, call)  # type: ignore[attr-defined]
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Controller: write the result of an episode whose worker died. The reporter has written its record before."""
        if hasattr(self.config, "workerinput"):
            return
        begun = report.__dict__.pop("recode_allure", None)
        if begun is not None:
            self._begun[report.nodeid] = begun
        elif str(report.when) == CRASHED and distributed.EPISODE.search(report.nodeid):
            self._write_lost(report)
        elif report.when == "teardown":
            self._begun.pop(report.nodeid, None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Attach the episode. In the teardown, so that a full disk changes no verdict."""
        if isinstance(item, EpisodeItem):
            import allure

            for attachment in _attachments(item.config, item.nodeid):
                allure.attach(**attachment)
        yield

    def _write_lost(self, report: pytest.TestReport) -> None:
        from allure_commons.model2 import Label, Parameter, Status, StatusDetails, TestResult
        from allure_commons.reporter import AllureReporter
        from allure_commons.utils import md5, now, uuid4
        from allure_pytest.utils import get_history_id

        begun = self._begun.get(report.nodeid)
        uuid = uuid4()
        result = TestResult(
            uuid=uuid,
            name=report.nodeid.rpartition("::")[2],
            status=Status.BROKEN,
            statusDetails=StatusDetails(message=report.longreprtext, trace=report.longreprtext),
            start=now(),
            stop=now(),
        )
        if begun is not None:  # None: the worker died in the setup
            result.name, result.start = begun["title"], begun["start"]
            result.fullName, result.titlePath = begun["full_name"], begun["title_path"]
            result.testCaseId = md5(begun["full_name"])
            result.parameters = [Parameter(name=name, value=value) for name, value in begun["parameters"]]
            result.labels = [Label(name=name, value=value) for name, value in begun["labels"]]
            result.historyId = get_history_id(begun["full_name"], result.parameters, original_values={})
        reporter = AllureReporter()
        reporter.schedule_test(uuid, result)
        for attachment in _attachments(self.config, report.nodeid):
            reporter.attach_data(uuid4(), parent_uuid=uuid, **attachment)
        reporter.close_test(uuid)


def _describe(item: TaskItem) -> None:
    """Set the name, and the parameters, by which allure distinguishes histories of one task."""
    import allure

    allure.dynamic.title(_title(item))
    for name, value in _parameters(item).items():
        allure.dynamic.parameter(name, value)


def _title(item: TaskItem) -> str:
    return f"{item.task.id}: {item.task.title}" if item.task.title else item.task.id


def _parameters(item: TaskItem) -> dict[str, Any]:
    marker = item.get_closest_marker("recode")
    given = marker.kwargs if marker is not None else {}
    facts = {name: given[name] for name in ("model", "feedback", "attempt", "check") if given.get(name)}
    if isinstance(item, EpisodeItem):
        facts["agent"] = item.settings.agent
    return facts


def _begun(item: EpisodeItem, call: pytest.CallInfo[None]) -> _Begun:
    """As allure's own plugin takes it from an item."""
    from allure_commons.types import LabelType
    from allure_commons.utils import host_tag, platform_label, represent, thread_tag
    from allure_pytest.utils import (
        allure_full_name,
        allure_labels,
        allure_package,
        allure_suite_labels,
        allure_title_path,
        pytest_markers,
    )

    labels = [
        *allure_labels(item),
        *((LabelType.TAG, marker) for marker in pytest_markers(item)),
        *allure_suite_labels(item),
        (LabelType.HOST, host_tag()),
        (LabelType.THREAD, thread_tag()),
        (LabelType.FRAMEWORK, "pytest"),
        (LabelType.LANGUAGE, platform_label()),
        ("package", allure_package(item)),
    ]
    return {
        "title": _title(item),
        "full_name": allure_full_name(item),
        "title_path": [*allure_title_path(item)],
        "parameters": [(name, represent(value)) for name, value in _parameters(item).items()],
        "labels": [(str(name), str(value)) for name, value in labels],
        "start": round(call.start * 1000),
    }


def _attachments(config: pytest.Config, nodeid: str) -> Iterator[dict[str, Any]]:
    """The attachments of an episode: arguments of `allure.attach`. Nothing if it was not played."""
    from pytest_recode.plugin.reports.episode_page import episode_page
    from pytest_recode.records.transcript import transcript_path

    run = config.stash.get(RUN, None)
    if run is None:  # a controller without options, and a worker that died
        return
    path, files = transcript_path(run.out, nodeid), run.directory.files
    try:
        transcript = files.read(path)
    except FileNotFoundError:
        return
    page = episode_page(path, files)
    for title, body, mime_type, extension in (
        ("Episode", page.content, page.mime_type, page.extension),
        ("Transcript", transcript, "application/jsonl", "jsonl"),
    ):
        yield {"name": title, "body": body, "attachment_type": mime_type, "extension": extension}
