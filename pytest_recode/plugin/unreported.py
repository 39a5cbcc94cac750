"""Episodes of a run that a session was stopped too early to report. In the controller, when the session ends."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from pytest_recode.records.transcript import name

if TYPE_CHECKING:
    from pytest_recode.plugin.session import Run
    from pytest_recode.records.episode_summary import EpisodeSummary


def recorded_earlier(run: Run, reported: Sequence[EpisodeSummary]) -> set[str]:
    """Node ids of episodes that an earlier session finished, and that this one did not report again."""
    return {nodeid for nodeid in _left(run, reported) if nodeid in run.directory.finished}


def cut_off(run: Run, reported: Sequence[EpisodeSummary], interrupted: Collection[str]) -> set[str]:
    """Node ids of episodes that this session or an earlier one began, and that have no result. `interrupted`: those of this session."""
    left = _left(run, reported) - recorded_earlier(run, reported)
    return {nodeid for nodeid in left if nodeid in interrupted or (run.out / "episodes" / name(nodeid)).exists()}


def _left(run: Run, reported: Sequence[EpisodeSummary]) -> AbstractSet[str]:
    return run.collected.ids - {record["nodeid"] for record in reported} if run.prepared else set()
