"""One call in the gateway: its place in the queue, its reservation of the budget, its line in the ledger, its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.gateway.budget import Budget
from pytest_recode.gateway.events import Event
from pytest_recode.gateway.throttle import Started, Throttle
from pytest_recode.models import Embedded, Reach, Reply, Timing, Usage
from pytest_recode.models.retry import Failure


class Call:
    """The ledger and the admission of one call (see `models/provider.py`), for all of its tries.

    `tokens` and `reserved_usd`: the most that one try may take. `max_wait`: seconds that the call may wait for rate limits and other
    calls. `emit` sends an event to the caller.
    """

    def __init__(
        self,
        model: str,
        *,
        budget: Budget,
        throttle: Throttle,
        tokens: int,
        reserved_usd: float,
        max_wait: float,
        emit: Callable[[Event], None],
    ) -> None:
        self._model = model
        self._budget = budget
        self._throttle = throttle
        self._tokens = tokens
        self._reserved = reserved_usd
        self._max_wait = max_wait
        self._emit = emit
        self._place = throttle.place()
        self._started: Started | None = None
        self._line: int | None = None
        self._waited = 0.0
        self._begun = self._sent = self._now()
        self._answered = 0.0
        self._refused_by = ""
        self._abandoned = False

    @property
    def sent(self) -> bool:
        """Whether a request is at the provider."""
        return self._started is not None

    @property
    def timing(self) -> Timing:
        """The times of the call, which has ended."""
        return Timing(waited=self._sent - self._begun, answering=self._answered - self._sent)

    def abandon(self) -> None:
        """The caller has left: after the request in progress, if there is one, no other is sent."""
        self._abandoned = True

    async def admitted(self) -> None:
        if self._abandoned:
            raise asyncio.CancelledError
        since = self._now()
        try:
            async with asyncio.timeout(self._max_wait - self._waited):
                while True:
                    started = await self._throttle.enter(self._place, self._tokens)
                    try:
                        self._line = self._budget.begin_call(self._model, self._reserved)
                    finally:
                        if self._line is None:
                            self._throttle.leave(started, 0)
                    if self._line is not None:
                        self._started = started
                        break
                    self._emit({"event": "wait", "what": "the budget that other calls may need"})
                    await self._budget.changed()
        except TimeoutError:
            raise self._waited_too_long() from None
        finally:
            self._waited += self._now() - since
        self._sent = self._now()
        self._emit({"event": "try"})

    def ended(self, answer: Reply | Embedded | Failure) -> bool:
        self._answered = self._now()
        throttled = isinstance(answer, Failure) and answer.throttled
        if isinstance(answer, Failure):
            if answer.throttled:
                self._refused_by = answer.detail
                self._throttle.refused(answer.retry_after)
                self._emit({"event": "wait", "what": "the provider's rate limit"})
            self._leave(0 if throttled else None)
        else:
            self._throttle.succeeded()
            self._leave(answer.usage.prompt_tokens + answer.usage.completion_tokens)
        return throttled

    def close(self) -> None:
        """Call it when the call has ended in any way, so that others may start."""
        self._leave(None)

    def _leave(self, tokens: int | None) -> None:
        if self._started is not None:
            self._throttle.leave(self._started, tokens)
            self._started = None

    def _waited_too_long(self) -> ModelError:
        why = f"the provider's last answer: {self._refused_by}" if self._refused_by else "other calls were first"
        detail = f"waited {self._max_wait:g} s for the rate limit ({why}): use fewer workers (-n), or raise --recode-max-wait"
        return ModelError(ModelFault.RATE_LIMIT, self._model, detail)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # What `ProviderModel` tells the ledger of a run

    def before_call(self, model: str) -> None:
        """`admitted` has written the line."""

    def enter(self) -> None: ...

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
        self._budget.ledger.fault(error)

    def retry(self, error: ModelError, pause: float) -> None:
        self._emit({"event": "retry", "fault": error.fault.value, "detail": error.detail, "pause": pause})

    def answered(self, model: str) -> bool:
        return self._budget.ledger.answered(model)

    def reached(self, where: str, now: Reach) -> Reach:
        return self._budget.ledger.reached(where, now)
