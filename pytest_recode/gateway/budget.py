"""The run's budget in the gateway: calls reserve their highest cost in the ledger, and wait while others may use up the limit."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.run_directory import in_use
from pytest_recode.usage import Usage


class Budget:
    """The ledger of the run, for calls that wait for each other in one event loop."""

    def __init__(self, ledger: FileLedger) -> None:
        self.ledger = ledger
        self._ended = asyncio.Event()
        self._open: dict[int, str] = {}  # models of the calls in progress, by the place of their line
        self._held = ExitStack()
        self._used = False

    def begin_call(self, model: str, reserved_usd: float) -> int | None:
        """The place of the call's line; None if the calls in progress may use up the limit. Raises what `FileLedger.begin_call` raises."""
        if not self._used:
            self.ledger.end_lost_calls()
            # a run that is resumed waits until this gateway has ended
            self._held.enter_context(in_use(self.ledger.path.parent))
            self._used = True
        place = self.ledger.begin_call(model, reserved_usd)
        if place is not None:
            self._open[place] = model
        return place

    def end_call(self, place: int, model: str, answer: Usage | str) -> None:
        self._open.pop(place, None)
        try:
            self.ledger.end_call(place, model, answer)
        finally:
            ended, self._ended = self._ended, asyncio.Event()
            ended.set()

    async def changed(self) -> None:
        """Wait until a call has ended."""
        await self._ended.wait()

    def close(self) -> None:
        """Mark the calls that are in progress as interrupted."""
        for place, model in tuple(self._open.items()):
            self.end_call(place, model, "cut off")
        self._held.close()
