"""The list of targets. To add one, write a module of this package with a `TARGET` and list it here.

Read for every `pytest-recode`, so it imports no target.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_recode.export.target import Target


class Listed(NamedTuple):
    """`module`: in this package. `writes`, `place`: for the help, what is written, and what `-o` is."""

    module: str
    writes: str
    place: str


TARGETS = {
    "inspect": Listed(
        module="inspect_log",
        writes="logs of Inspect, one .eval file per row",
        place="a directory (default: logs, where inspect view looks)",
    ),
    "atif": Listed(
        module="atif",
        writes="trajectories of Harbor (ATIF v1.8), one JSON file per episode",
        place="a directory (default: trajectories)",
    ),
    "otel": Listed(
        module="otel",
        writes="OpenTelemetry traces (GenAI conventions), sent to an OTLP endpoint",
        place="the URL of the endpoint, as http://HOST:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT)",
    ),
}


def target(name: str) -> Target:
    """The target of a name."""
    found: Target = importlib.import_module(f"pytest_recode.export.{TARGETS[name].module}").TARGET
    return found
