"""GitHub Actions: the file of the step's summary, and annotations. Texts of a run cannot become commands of the runner."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.verdict import legible

if TYPE_CHECKING:
    from pytest_recode.metrics.gate_comparison import Gate
    from pytest_recode.records.episode_summary import EpisodeSummary

_SUMMARY = "GITHUB_STEP_SUMMARY"
_MOST = 10
"""GitHub shows this many annotations of a step."""
_MOST_CHARACTERS = 1000


def step_summary() -> Path | None:
    """The file to which a step appends Markdown; None outside of GitHub Actions."""
    path = os.environ.get(_SUMMARY)
    return Path(path) if path else None


def error_commands(records: Sequence[EpisodeSummary], gate: Gate | None) -> Iterator[str]:
    """Lines that GitHub shows as errors of the job: why the comparison failed, and each error of the run once."""
    from pytest_recode.render.markdown_summary import faults
    from pytest_recode.render.words import error_kind_text

    errors = [("recode: baseline", failure) for failure in gate.failures] if gate else []
    for fault in faults(records):
        count = len(fault.nodeids)
        more = f" (and {count - 1} more)" if count > 1 else ""
        errors.append((f"recode: {error_kind_text(fault.kind)}", f"{fault.nodeids[0]}{more}: {fault.message}"))
    for title, message in errors[:_MOST]:
        yield f"::error title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """As @actions/core escapes the message of a command."""
    shown = legible(text[:_MOST_CHARACTERS])
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
