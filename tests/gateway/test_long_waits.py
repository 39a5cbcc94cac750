"""The user is told of calls that wait for long, and not of each."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_recode.faults import ModelError
from pytest_recode.gateway.budget import Budget
from pytest_recode.gateway.call import GatewayCall
from pytest_recode.gateway.events import Event
from pytest_recode.gateway.throttle import Throttle
from pytest_recode.models import Reply
from pytest_recode.records.ledger import FileLedger
from pytest_recode.usage import RateLimit

from .simulated_time import run


def test_calls_that_wait_for_long_are_told_of_once_in_half_a_minute(tmp_path: Path) -> None:
    events: list[tuple[float, Event]] = []

    async def calls() -> None:
        loop = asyncio.get_running_loop()
        throttle, budget = Throttle(RateLimit(rpm=1), 4), Budget(FileLedger(tmp_path / "spending.jsonl"))

        def call(max_wait: float) -> GatewayCall:
            return GatewayCall(
                "m",
                budget=budget,
                throttle=throttle,
                prompt=1,
                answer=1,
                reserved_usd=0.0,
                max_wait=max_wait,
                emit=lambda event: events.append((loop.time(), event)),
            )

        async def asked(waiting: GatewayCall) -> None:
            try:
                await waiting.admitted()
                waiting.ended(Reply(text="x"))
            finally:
                waiting.close()

        # a minute between two starts: the third one gives up after 100 s
        results = await asyncio.gather(
            *(asked(call(max_wait)) for max_wait in (1800.0, 1800.0, 100.0)), return_exceptions=True
        )
        assert [type(each) for each in results] == [type(None), type(None), ModelError]

    run(calls())
    warnings = [(when, event["text"]) for when, event in events if event["event"] == "warning"]
    assert [when for when, _ in warnings] == [pytest.approx(30.0)]
    assert warnings[0][1].startswith("model m: a call has waited 30 s for the rate limit")
    assert "--recode-max-wait" in warnings[0][1]
