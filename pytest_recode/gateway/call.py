"""One call in the gateway: its place in the queue, its reservation of the budget, its line in the ledger, its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.gateway.budget import Budget
from pytest_recode.gateway.events import Event
from pytest_recode.gateway.throttle import CallInFlight, Throttle
from pytest_recode.models import Embedded, Reach, Reply, Timing, Usage
from pytest_recode.models.retry import FailedTry
from pytest_recode.records.ledger import MAYBE_BILLED

LONG_WAIT = 30.0
"""Seconds that a call waits before this is reported to the user."""


class GatewayCall:
    """The ledger and the admission of one call (see `models/provider.py`), for all of its tries.

    `prompt`, `answer` (in tokens) and `reserved_usd`: the most that one try may take. `max_wait`: seconds that the call may wait for rate limits and other
    calls. `emit` sends an event to the caller. `redact` removes keys from a text for the ledger.
    """

    def __init__(
        self,
        model: str,
        *,
        budget: Budget,
        throttle: Throttle,
        prompt: int,
        answer: int,
        reserved_usd: float,
        max_wait: float,
        emit: Callable[[Event], None],
        redact: Callable[[str], str] = str,
    ) -> None:
        self._model = model
        self._budget = budget
        self._throttle = throttle
        self._prompt, self._longest = prompt, answer
        self._reserved_usd = reserved_usd
        self._max_wait = max_wait
        self._emit = emit
        self._redact = redact
        self._place = throttle.place()
        self._started: CallInFlight | None = None
        self._line: int | None = None
        self._waited = 0.0
        self._begun = self._sent = self._now()
        self._answered = 0.0
        self._refused_by = ""
        self._withdrawn = False
        self.abandoned = False  # whether the caller has left

    @property
    def sent(self) -> bool:
        """Whether a request is at the provider."""
        return self._started is not None

    @property
    def timing(self) -> Timing:
        """The times of the call, which has ended."""
        return Timing(waited=self._sent - self._begun, answering=self._answered - self._sent)

    def abandon(self) -> None:
        """The caller has left. A request in progress is awaited, because it is billed; other calls need not wait for it."""
        self.abandoned = True
        if self._started is not None:
            self._throttle.abandoned(self._started)

    def withdraw(self) -> None:
        """After the request in progress, if there is one, send no other."""
        self._withdrawn = True

    async def admitted(self) -> None:
        if self._withdrawn:
            raise asyncio.CancelledError
        left = self._max_wait - self._waited
        if self._throttle.paused > left:
            raise self._waited_too_long(f"; it takes requests again in {self._throttle.paused:.0f} s")
        since = self._now()
        reminder = asyncio.get_running_loop().call_later(LONG_WAIT, self._report_wait)
        try:
            async with asyncio.timeout(left):
                self._started, self._line = await self._reserved()
        except TimeoutError:
            raise self._waited_too_long() from None
        finally:
            reminder.cancel()
            self._waited += self._now() - since
        self._sent = self._now()
        self._emit({"event": "try"})

    def _report_wait(self) -> None:
        """Report that calls wait, at most once in `LONG_WAIT` seconds for all calls of the model."""
        if self._throttle.may_report_wait(LONG_WAIT):
            why = f"the provider's last refusal: {self._refused_by}" if self._refused_by else "other calls are first"
            text = f"model {self._model}: a call has waited {LONG_WAIT:g} s for the rate limit or the budget ({why})"
            self._emit({"event": "warning", "text": f"{text}; it waits up to {self._max_wait:g} s (--recode-max-wait)"})

    async def _reserved(self) -> tuple[CallInFlight, int]:
        """Wait for a place among the calls in flight, and for a reservation of the budget."""
        while True:
            started = await self._throttle.enter(self._place, self._prompt, self._longest)
            line = None
            try:
                line = self._budget.begin_call(self._model, self._reserved_usd)
            finally:
                if line is None:
                    self._throttle.withdraw(started)
            if line is not None:
                return started, line
            self._emit({"event": "wait", "what": "the budget that other calls may need"})
            await self._budget.changed()

    def ended(self, answer: Reply | Embedded | FailedTry) -> bool:
        self._answered = self._now()
        started, self._started = self._started, None
        assert started is not None, "it was admitted"
        if not isinstance(answer, FailedTry):
            self._throttle.succeeded(started, answer.usage.prompt_tokens, answer.usage.completion_tokens)
        elif answer.throttled:
            self._refused_by = answer.detail
            self._throttle.refused(started, answer.retry_after)
            self._emit({"event": "wait", "what": "the provider's rate limit"})
            pause = self._throttle.paused
            self._emit({"event": "retry", "fault": answer.fault.value, "detail": answer.detail, "pause": pause})
            return True
        else:
            self._throttle.failed(started, None if answer.reason in MAYBE_BILLED else 0)
        return False

    def close(self) -> None:
        """Call it when the call has ended in any way, so that others may start."""
        if self._started is not None:
            started, self._started = self._started, None
            self._throttle.failed(started)
        self._end_line("cut off")

    def _waited_too_long(self, more: str = "") -> ModelError:
        why = f"the provider's last answer: {self._refused_by}" if self._refused_by else "other calls were first"
        detail = (
            f"no place within the {self._max_wait:g} s that a call waits for the rate limit ({why}{more}):"
            " use fewer workers (-n), or raise --recode-max-wait"
        )
        return ModelError(ModelFault.RATE_LIMIT, self._model, detail)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # What `ProviderModel` tells the ledger of a run

    def before_call(self, model: str) -> None:
        """`admitted` has written the line."""

    def enter(self) -> None: ...

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    def spent(self, model: str, usage: Usage) -> None:
        self._end_line(usage)

    def unanswered(self, model: str, why: str) -> None:
        self._end_line(why)

    def _end_line(self, answer: Usage | str) -> None:
        if self._line is not None:
            line, self._line = self._line, None
            self._budget.end_call(line, self._model, answer)

    def settle(self) -> None: ...

    def fault(self, error: ModelError) -> None:
        self._budget.ledger.fault(ModelError(error.fault, error.model, self._redact(error.detail)))

    def retry(self, error: ModelError, pause: float) -> None:
        self._emit({"event": "retry", "fault": error.fault.value, "detail": error.detail, "pause": pause})

    def answered(self, model: str) -> bool:
        return self._budget.ledger.answered(model)

    def reached(self, where: str, now: Reach) -> Reach:
        return self._budget.ledger.reached(where, now)
