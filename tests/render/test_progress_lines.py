"""The line with the totals of a run in progress."""

from __future__ import annotations

import pytest

from pytest_recode.render.progress_lines import Totals, totals_text


@pytest.mark.parametrize(
    ("cost_usd", "max_cost", "shown"),
    [
        (0.424, None, "0.42 USD, 310,000 tokens"),
        (0.424, 2.0, "0.42 of 2.00 USD, 310,000 tokens"),
        (0.004, None, "<0.01 USD, 310,000 tokens"),
        (None, None, "cost unknown, 310,000 tokens"),
        (None, 2.0, "cost unknown, 310,000 tokens"),
    ],
)
def test_a_cost_that_is_not_known_is_not_zero(cost_usd: float | None, max_cost: float | None, shown: str) -> None:
    totals = Totals(
        done=2, solved=1, errors=0, episodes=4, cost_usd=cost_usd, max_cost=max_cost, tokens=310_000, seconds=1.0,
        finished_here=2,
    )  # fmt: skip
    assert totals_text(totals) == f"2 of 4 done: 1 solved; {shown}"
