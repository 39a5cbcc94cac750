"""Calls of one event loop that share a budget, in simulated time: any number of them, in any order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.faults import BudgetSpent
from pytest_recode.gateway.budget import Budget
from pytest_recode.records.ledger import FileLedger
from pytest_recode.usage import Usage
from tests.examples import examples

from .simulated_time import run


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A call that reserves `most` dollars and costs a `share` of it. None: it gets no answer."""

    at: float
    seconds: float
    most: float
    share: float | None
    model: str


def spend(ledger: FileLedger, calls: Sequence[Spending]) -> int:
    """How many calls were made; the others found the budget spent."""
    budget = Budget(ledger)

    async def one(call: Spending) -> int:
        await asyncio.sleep(call.at)
        try:
            while (place := budget.begin_call(call.model, call.most)) is None:
                await budget.changed()
        except BudgetSpent:
            return 0
        await asyncio.sleep(call.seconds)
        if call.share is None:
            budget.end_call(place, call.model, "server")
        else:
            cost = call.most * call.share
            budget.end_call(place, call.model, Usage(prompt_tokens=1, completion_tokens=1, cost_usd=cost))
        return 1

    async def everything() -> int:
        return sum(await asyncio.gather(*map(one, calls)))

    return run(everything())


CALLS = st.lists(
    st.builds(
        Spending,
        at=st.floats(0, 10),
        seconds=st.floats(0, 10),
        most=st.floats(0, 2),
        share=st.none() | st.floats(0, 1),
        model=st.sampled_from(["a", "b"]),
    ),
    min_size=1,
    max_size=25,
)


@examples(200)
@given(calls=CALLS, limit=st.floats(0.1, 10), own=st.none() | st.floats(0.1, 3))
def test_a_limit_is_exceeded_by_less_than_the_most_that_one_call_may_cost(
    calls: Sequence[Spending], limit: float, own: float | None
) -> None:
    """No call waits for ever, either: the simulated loop would say so."""
    with tempfile.TemporaryDirectory() as place:
        ledger = FileLedger(Path(place, "spending.jsonl"), limit, max_cost_of={"a": own} if own is not None else None)
        calls_made = spend(ledger, calls)
        spent = ledger.total.cost_usd or 0.0
        assert spent < limit + max(call.most for call in calls)
        most = sum(call.most for call in calls)
        if most < min(limit, own if own is not None else limit) - 1e-6:
            assert calls_made == len(calls)
        assert ledger.unbooked == 0


def test_a_call_waits_while_others_may_use_up_the_limit(tmp_path: Path) -> None:
    """One dollar, calls that may cost 0.60 and cost 0.10: two at the same time, never three."""
    ledger = FileLedger(tmp_path / "spending.jsonl", 1.0)
    budget = Budget(ledger)
    first, second = budget.begin_call("m", 0.6), budget.begin_call("m", 0.6)
    assert first is not None
    assert second is not None
    assert budget.begin_call("m", 0.6) is None
    budget.end_call(first, "m", Usage(prompt_tokens=1, completion_tokens=1, cost_usd=0.1))
    assert budget.begin_call("m", 0.6) is not None


def test_the_calls_of_an_earlier_gateway_hold_no_budget(tmp_path: Path) -> None:
    path = tmp_path / "spending.jsonl"
    died = Budget(FileLedger(path, 1.0))
    assert died.begin_call("m", 5.0) is not None
    ledger = FileLedger(path, 1.0)
    assert Budget(ledger).begin_call("m", 0.5) is not None
    assert ledger.unbooked == 2  # what was cut off may be billed, and the new one is not answered yet


def test_the_end_of_a_gateway_marks_its_open_calls(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spending.jsonl", 1.0)
    budget = Budget(ledger)
    budget.begin_call("m", 0.5)
    budget.close()
    assert '"unanswered": "cut off"' in (tmp_path / "spending.jsonl").read_text()


def test_a_gateway_that_made_no_call_leaves_no_ledger(tmp_path: Path) -> None:
    Budget(FileLedger(tmp_path / "spending.jsonl")).close()
    assert not list(tmp_path.iterdir())


def test_a_spent_budget_says_so(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spending.jsonl", 0.5)
    assert spend(ledger, [Spending(at=0, seconds=1, most=0.6, share=1.0, model="m")]) == 1
    with pytest.raises(BudgetSpent):
        Budget(ledger).begin_call("m", 0.1)
