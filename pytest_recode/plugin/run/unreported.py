"""Episodes of a run that a session was stopped too early to report. In the controller, when the session ends."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pytest_recode.records.run_directory import TRANSCRIPTS
from pytest_recode.records.transcript import name

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.records.episode_summary import EpisodeSummary


def unreported(run: Run, reported: Sequence[EpisodeSummary], interrupted: Collection[str]) -> tuple[set[str], set[str]]:
    """Node ids of episodes that an earlier session finished, and of those that this session or an earlier one began and that have no result.

    `interrupted`: those that this session interrupted.
    """
    if not run.prepared:
        return set(), set()
    left = run.collected.ids - {record["nodeid"] for record in reported}
    earlier = {nodeid for nodeid in left if nodeid in run.directory.finished}
    place = run.out / TRANSCRIPTS
    return earlier, {nodeid for nodeid in left - earlier if nodeid in interrupted or (place / name(nodeid)).exists()}
