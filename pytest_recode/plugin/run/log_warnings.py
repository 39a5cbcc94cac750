"""Convert log warnings of this package to pytest warnings, in the process that runs the items and in the controller."""

from __future__ import annotations

import logging
import threading
import warnings
from typing import Any

import pytest


class RecodeWarning(pytest.PytestWarning):
    """A warning that is shown immediately during the run."""


class LogToWarnings(logging.Filter):
    """Converts warnings of this package's logger to pytest warnings, and removes them from the log that pytest captures.

    pytest-xdist sends a worker's warnings to the controller immediately. The main thread records those of the threads of episodes in flight.
    """

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        message = record.getMessage()
        in_flight: Any = self._config.pluginmanager.get_plugin("recode-in-flight")
        if in_flight is None or threading.current_thread() is threading.main_thread():
            warn(self._config, message, record.pathname, record.lineno)
        else:
            in_flight.post(lambda: warn(self._config, message, record.pathname, record.lineno))
        return False


def warn(config: pytest.Config, text: str, path: str, line: int) -> None:
    """Record a `RecodeWarning` with `text`, as raised at `line` of the file `path`."""
    message = warnings.WarningMessage(RecodeWarning(text), RecodeWarning, path, line)
    config.hook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": message, "when": "runtest", "nodeid": "", "location": None}
    )
