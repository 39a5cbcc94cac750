"""When calls of one model at one address may start: rate limits, an adaptive number of concurrent calls, and a fair queue.

All calls of a run wait in one queue in the order of their arrival; a call that the provider refused keeps its place. Without a given
limit, the number of concurrent calls adapts by additive increase and decrease: a refusal shows that the provider takes no more than
the calls in flight, and calls that succeed raise the number by one. A level at which the provider refused a call is tried again
only after a pause, which doubles with each refusal, so that few requests are wasted. Starts at a level that is not proven are
spaced with jitter, so that a refusal is known before the next start, and no wave of retries forms.

Runs in the event loop of the gateway; no method may be called from another thread.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_recode.settings import RateLimit

MINUTE = 60.0
SPACING = 0.1
"""Mean seconds between two starts at a level that is not proven. Providers refuse within this time, but answer later."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds without calls after a refusal that does not say how long, if no call is in flight; doubled with each refusal in a row."""
FIRST_PROBE, LONGEST_PROBE = 30.0, 600.0
"""Seconds until a level that was refused is tried again; doubled with each refusal there."""


@dataclass(slots=True, kw_only=True)
class Started:
    """A call in flight, and the tokens that it takes: an estimate until it ends."""

    at: float
    tokens: int


@dataclass(order=True, slots=True)
class _Waiting:
    place: int
    tokens: int = field(compare=False)
    admitted: asyncio.Future[Started] = field(compare=False)


class Throttle:
    """The queue of one model at one address. `workers`: the highest number of concurrent calls, unless `limit` has one."""

    def __init__(
        self,
        limit: RateLimit,
        workers: int,
        now: Callable[[], float] | None = None,
        jitter: random.Random | None = None,
    ) -> None:
        self._limit = limit
        self._most = limit.concurrency or max(workers, 1)
        self._level = self._most  # calls that may be in flight
        self._proven = 0  # highest number of calls in flight with which one succeeded
        self._in_flight = 0
        self._places = itertools.count()
        self._queue: list[_Waiting] = []
        self._calls: deque[Started] = deque()  # of the last minute
        self._paused_until = 0.0
        self._next_start = 0.0
        self._refusals = 0  # in a row
        self._succeeded = 0  # calls since the level changed
        self._refused_level = 0  # lowest level that was refused; 0: none
        self._probe_at = 0.0
        self._probe_after = FIRST_PROBE
        self._now = now or asyncio.get_running_loop().time
        self._random = jitter or random.Random()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def level(self) -> int:
        """The number of calls that may be in flight now."""
        return self._level

    def place(self) -> int:
        """A place in the queue, which a call keeps until it has an answer."""
        return next(self._places)

    async def enter(self, place: int, tokens: int) -> Started:
        """Wait until the call may start. `tokens`: an estimate of those that it takes, which `leave` corrects."""
        waiting = _Waiting(place, tokens, asyncio.get_running_loop().create_future())
        heapq.heappush(self._queue, waiting)
        self._admit()
        try:
            return await waiting.admitted
        except asyncio.CancelledError:
            if waiting in self._queue:
                self._queue.remove(waiting)
                heapq.heapify(self._queue)
            elif waiting.admitted.done() and not waiting.admitted.cancelled():
                self.leave(waiting.admitted.result(), 0)
            raise

    def leave(self, call: Started, tokens: int | None) -> None:
        """The call has ended. `tokens`: those that it took; None if that is not known."""
        self._in_flight -= 1
        if tokens is not None:
            call.tokens = tokens
        self._admit()

    def succeeded(self) -> None:
        """Call it before `leave`, for a call with an answer."""
        self._refusals = 0
        self._proven = max(self._proven, self._in_flight)
        if self._refused_level and self._in_flight >= self._refused_level:
            self._refused_level, self._probe_after = 0, FIRST_PROBE
        self._succeeded += 1
        if self._succeeded >= self._level < self._most and self._may_raise():
            self._level += 1
            self._succeeded = 0

    def refused(self, retry_after: float | None) -> None:
        """Call it before `leave`, for a call that the provider refused because of its rate limit or overload."""
        now, others = self._now(), self._in_flight - 1
        self._refusals += 1
        if self._limit.concurrency is None:
            if self._refused_level and self._in_flight >= self._refused_level:
                self._probe_after = min(self._probe_after * 2, LONGEST_PROBE)
            self._refused_level = max(self._in_flight, 2)
            self._probe_at = now + self._probe_after * self._random.uniform(1.0, 1.5)
            self._level = max(1, min(self._level, others))
        self._proven = min(self._proven, others)
        self._succeeded = 0
        if retry_after is None and (others == 0 or self._refusals > others + 1):
            retry_after = min(FIRST_PAUSE * 2.0 ** (self._refusals - 1), LONGEST_PAUSE)
        if retry_after is not None:
            self._paused_until = max(self._paused_until, now + retry_after + self._random.uniform(0, SPACING))

    def _may_raise(self) -> bool:
        return not self._refused_level or self._level + 1 < self._refused_level or self._now() >= self._probe_at

    def _admit(self) -> None:
        """Start the calls at the head of the queue that may start now, and set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue and self._in_flight < self._level:
            now = self._now()
            head = self._queue[0]
            at = max(self._paused_until, self._next_start, self._allowed_at(now, head.tokens))
            if at > now:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(at - now, self._admit)
                return
            heapq.heappop(self._queue)
            self._in_flight += 1
            started = Started(at=now, tokens=head.tokens)
            self._calls.append(started)
            if self._in_flight >= self._proven:
                self._next_start = now + SPACING * self._random.uniform(0.5, 1.5)
            head.admitted.set_result(started)

    def _allowed_at(self, now: float, tokens: int) -> float:
        """When the limits per minute allow a call of so many tokens."""
        while self._calls and self._calls[0].at <= now - MINUTE:
            self._calls.popleft()
        at = now
        if self._limit.rpm is not None and len(self._calls) >= self._limit.rpm:
            at = self._calls[-self._limit.rpm].at + MINUTE
        if self._limit.tpm is not None:
            taken = sum(each.tokens for each in self._calls)
            for each in self._calls:
                if taken == 0 or taken + tokens <= self._limit.tpm:  # a call above the limit starts in an empty minute
                    break
                taken -= each.tokens
                at = max(at, each.at + MINUTE)
        return at
