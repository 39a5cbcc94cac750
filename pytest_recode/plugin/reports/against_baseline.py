"""`--recode-baseline`: checks the baseline before anything is spent, and compares the run with it at the end.

Called in the controlling process, by `preflight.py` and `reporter.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_recode.plugin.collection.episode_names import episode_stem

if TYPE_CHECKING:
    from pytest_recode.metrics.baseline import Outcomes, RowKey
    from pytest_recode.metrics.gate_comparison import Gate
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.settings import Settings


def load(run: Run) -> Outcomes | None:
    """Read the baseline. Raises `UserError`."""
    if run.settings.baseline is None:
        return None
    from pytest_recode.metrics import baseline

    return baseline.load(run.settings.baseline)


def check(run: Run) -> None:
    """Check that the selected episodes can be compared with the baseline. Raises `UserError`."""
    before = load(run)
    if before is None:
        return
    from pytest_recode.episode.setup import setup
    from pytest_recode.metrics import gate_comparison
    from pytest_recode.metrics.fail_on import conditions
    from pytest_recode.metrics.record_attempts import compared_settings
    from pytest_recode.settings import fixed

    rows = _rows(run)
    gate_comparison.check_rows(rows.keys(), before)
    gate_comparison.check_costs(rows.keys(), conditions(run.settings.fail_on, "--recode-fail-on"), before)
    for key, own in rows.items():
        played = setup(replace(own, **fixed(key.policy)))
        gate_comparison.check_settings(key, compared_settings(played, key.policy, own.feedback_model), before)


def _rows(run: Run) -> dict[RowKey, Settings]:
    """The rows of the selected episodes, with their settings. In the controller of pytest-xdist, by their node ids."""
    played = {re.sub(r"-\d+$", "", nodeid.rpartition("[")[2].removesuffix("]")) for nodeid in run.collected.ids}
    played |= {nodeid.rpartition("[")[2].removesuffix("]") for nodeid in run.collected.ids}
    from pytest_recode.metrics.baseline import RowKey

    rows: dict[RowKey, Settings] = {}
    for task_format, owns in run.collected.by_format.items():
        for own, model in [(each, model) for each in owns for model in each.models or (None,)]:
            for policy in own.feedbacks:
                stem = episode_stem(own.agent, model, policy, several=len(owns) > 1, impossible=False)
                for paper in (True, False) if own.ablation else (own.paper,):
                    suffix = "-no-paper" if own.ablation and not paper else ""
                    if f"{stem}{suffix}" in played:
                        key = RowKey(
                            format=task_format, model=model or own.agent, policy=policy, agent=own.agent, paper=paper
                        )
                        rows[key] = own
    return rows


def compared(run: Run, nodeids: Collection[str], expected: int) -> Gate:
    """Compare the stored records of the episodes `nodeids`, of `expected` that should have ended. Raises `UserError`."""
    from pytest_recode.metrics import baseline
    from pytest_recode.metrics.fail_on import conditions
    from pytest_recode.metrics.gate_comparison import gate

    before = load(run)
    assert before is not None, "called with --recode-baseline only"
    now = baseline.of_run(run.out, only=frozenset(nodeids))
    fail_on = conditions(run.settings.fail_on, "--recode-fail-on")
    return gate(now, before, fail_on, unplayed=expected - len(nodeids))
