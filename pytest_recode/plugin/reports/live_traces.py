"""`--recode-otel`: sends each episode that has ended as an OpenTelemetry trace, while the run goes on.

In the controller, or in the only process. A thread reads the transcript and sends, so that no episode waits. After a failure it sends nothing more,
and a line says so: `pytest-recode export --to otel` sends the same traces later.
"""

from __future__ import annotations

import importlib.util
import logging
import queue
import threading
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.records.record import Record

_NAME = "recode-otel"
_ENDING = 10.0
"""Seconds that the end of the session waits for traces."""


def check(url: str | None) -> None:
    """Raise `UserError` if nothing can be sent there."""
    if url is not None:
        _endpoint(url)
        if not _installed("opentelemetry.exporter.otlp.proto.http"):
            raise UserError("--recode-otel needs an extra: pip install 'pytest-recode[otel]', or leave it out")


def _endpoint(url: str) -> str:
    from pytest_recode.export.otel import endpoint

    return endpoint(url, "--recode-otel=")


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


def watch(run: Run) -> None:
    """Register the plugin, if the option is given."""
    if run.settings.otel is not None and not run.config.option.collectonly:
        run.config.pluginmanager.register(LiveTraces(run, _endpoint(run.settings.otel)), _NAME)


class LiveTraces:
    def __init__(self, run: Run, url: str) -> None:
        self._run, self._url = run, url
        self._ended: queue.SimpleQueue[Record | None] = queue.SimpleQueue()
        self._exporter: Any = None
        self._thread = threading.Thread(target=self._send_all, name=_NAME, daemon=True)
        self._queued = self._sent = 0
        self._failure = ""

    def pytest_recode_episode_finished(self, record: Record) -> None:
        if not self._queued:
            self._thread.start()
        self._queued += 1
        if not self._failure:  # otherwise nobody takes it
            self._ended.put(record)

    def _send_all(self) -> None:
        while (record := self._ended.get()) is not None and not self._failure:
            try:
                self._send(record)
            except Exception as error:  # noqa: BLE001  reported at the end of the session
                self._failure = f"{type(error).__name__}: {error}"

    def _send(self, record: Record) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import SpanExportResult

        from pytest_recode.export.exported_episodes import just_ended
        from pytest_recode.export.otel import batches

        if self._exporter is None:
            logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # a failure is one line, below
            logging.getLogger("opentelemetry").propagate = False
            self._exporter = OTLPSpanExporter(endpoint=self._url)
        notes: list[str] = []
        episode = just_ended(self._run.out, record, notes)
        if episode.played is None:
            self._failure = notes[-1]
            return
        for spans in batches([episode]):
            if self._exporter.export(spans) is not SpanExportResult.SUCCESS:
                self._failure = "the endpoint did not take the spans"
                return
        self._sent += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if not self._queued:
            return
        self._ended.put(None)
        self._thread.join(_ENDING)
        if self._thread.is_alive() and self._exporter is not None:
            self._exporter.shutdown()  # ends its retries
        if self._sent < self._queued:
            self._run.notify(
                f"--recode-otel={self._url}: {self._queued - self._sent} of {self._queued} episodes were not sent"
                f" ({self._failure or f'not within {_ENDING:.0f} s after the end'}):"
                f" pytest-recode export {self._run.out} --to otel -o {self._run.settings.otel} sends them"
            )
