"""The ledger of a run, as a process or an episode in flight opens it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.records.run_directory import LEDGER

if TYPE_CHECKING:
    from pytest_recode.episode_stops import CallStops
    from pytest_recode.records.ledger import FileLedger
    from pytest_recode.settings import Settings


def run_ledger(out: Path, settings: Settings, stops: CallStops) -> FileLedger:
    """The ledger in the run's directory `out`. Its open calls are those that the owner of `stops` makes with it."""
    from pytest_recode.records.ledger import FileLedger

    limits = dict(settings.max_cost_of)
    return FileLedger(out / LEDGER, settings.max_cost, stops, max_cost_of=limits, existing=True)
