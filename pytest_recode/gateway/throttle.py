"""When calls of one model at one address may start: rate limits, an adaptive number of concurrent calls, and a fair queue.

All calls of a run wait in one queue in the order of their arrival; a call that the provider refused keeps its place. Below the given
limit, or the number of workers, the number of concurrent calls adapts by additive increase and decrease: a refusal shows that the provider takes no more than
the calls in flight, and calls that succeed raise the number by one. A level at which the provider refused a call is tried again
only after a pause, which doubles with each refusal, so that few requests are wasted. A call that is refused although no other was in flight when it started
shows that the provider takes none for now, whatever their number: then every success raises the number by one, so that an outage costs little more than its time. Starts at a level that is not proven are
spaced with jitter, so that a refusal is known before the next start, and no wave of retries forms.

Runs in the event loop of the gateway; no method may be called from another thread.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import random
from collections import deque
from dataclasses import dataclass, field

from pytest_recode.usage import RateLimit

MINUTE = 60.0
SPACING = 0.1
"""Mean seconds between two starts at a level that is not proven. Providers refuse within this time, but answer later."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds without calls after a refusal without a delay, if no call is in flight; doubled with each refusal in a row."""
FIRST_PROBE, LONGEST_PROBE = 30.0, 600.0
"""Seconds until a level that was refused is tried again; doubled with each refusal there."""
KNOWN, MARGIN = 8, 1.5
"""After so many answers, the next one is expected to have at most `MARGIN` times the tokens of the longest of them."""


@dataclass(slots=True, kw_only=True, eq=False)
class CallInFlight:
    """A call in flight. `tokens`: those that it takes, an estimate until it ends. `flight`: calls in flight when it started, with it.
    `counted`: whether it has a place among them, which no other call can have."""

    at: float
    tokens: int
    flight: int
    counted: bool = True


@dataclass(order=True, slots=True)
class _Waiting:
    place: int
    prompt: int = field(compare=False)
    answer: int = field(compare=False)
    admitted: asyncio.Future[CallInFlight] = field(compare=False)


class Throttle:
    """The queue of one model at one address. `workers`: the highest number of concurrent calls, unless `limit` has one."""

    def __init__(self, limit: RateLimit, workers: int, jitter: random.Random | None = None) -> None:
        self._limit = limit
        self._most = limit.concurrency or max(workers, 1)
        self._level = self._most  # calls that may be in flight
        self._proven = 0  # highest number of calls in flight with which one succeeded
        self._in_flight = 0
        self._places = itertools.count()
        self._queue: list[_Waiting] = []
        self._calls: deque[CallInFlight] = deque()  # of the last minute
        self._longest: deque[int] = deque(maxlen=KNOWN)  # tokens of the latest answers
        self._paused_until = 0.0
        self._next_start = 0.0
        self._pauses = 0  # without a success in between
        self._paused_at = -1.0  # when the last of them began; calls that were sent before make it no longer
        self._refusals = 0  # in a row
        self._refused_at = -1.0
        self._succeeded = 0  # calls since the level changed
        self._refused_level = 0  # lowest level that was refused; 0: none
        self._probe_at = 0.0
        self._probe_after = FIRST_PROBE
        self._outage_at = -1.0  # when a call was last refused that had started alone
        self._recovering = False  # after an outage, until a level is refused
        self._random = jitter or random.Random()
        self._timer: asyncio.TimerHandle | None = None
        self._no_report_before = 0.0

    def may_report_wait(self, seconds: float) -> bool:
        """Whether to report now that calls wait: at most once in so many seconds."""
        now = asyncio.get_running_loop().time()
        if now < self._no_report_before:
            return False
        self._no_report_before = now + seconds
        return True

    @property
    def level(self) -> int:
        """The number of calls that may be in flight now."""
        return self._level

    @property
    def paused(self) -> float:
        """Seconds until the provider accepts calls again, according to its last refusal."""
        return max(self._paused_until - self._now(), 0.0)

    def place(self) -> int:
        """A place in the queue, which a call keeps until it has an answer."""
        return next(self._places)

    async def enter(self, place: int, prompt: int, answer: int) -> CallInFlight:
        """Wait until the call may start. `prompt`, `answer`: the most tokens that it takes."""
        waiting = _Waiting(place, prompt, answer, asyncio.get_running_loop().create_future())
        heapq.heappush(self._queue, waiting)
        self._admit()
        try:
            return await waiting.admitted
        except asyncio.CancelledError:
            if waiting.admitted.done() and not waiting.admitted.cancelled():
                self.withdraw(waiting.admitted.result())
            elif waiting in self._queue:
                self._queue.remove(waiting)
                heapq.heapify(self._queue)
                self._admit()  # another call may be the first now
            raise

    def withdraw(self, call: CallInFlight) -> None:
        """The call was not sent."""
        if call in self._calls:
            self._calls.remove(call)
        self._leave(call)

    def succeeded(self, call: CallInFlight, prompt: int, answer: int) -> None:
        """The call has an answer. `prompt`, `answer`: the tokens that it took."""
        call.tokens = prompt + answer
        self._longest.append(answer)
        self._refusals = self._pauses = 0
        if call.at > self._refused_at:
            self._proven = max(self._proven, call.flight)
            if self._refused_level and call.flight >= self._refused_level:
                self._refused_level, self._probe_after = 0, FIRST_PROBE
        self._succeeded += 1
        enough = 1 if self._recovering else self._level
        if self._succeeded >= enough and self._level < self._most and self._may_raise():
            self._level += 1
            self._succeeded = 0
        self._leave(call)

    def refused(self, call: CallInFlight, retry_after: float | None) -> None:
        """The provider refused the call because of its rate limit or overload."""
        call.tokens = 0
        now, others = self._now(), self._in_flight - call.counted
        self._refusals += 1
        self._refused_at = now
        self._level = max(1, min(self._level, call.flight - 1))
        if call.flight == 1:
            self._outage_at, self._recovering = now, True
            self._refused_level, self._probe_after = 0, FIRST_PROBE
        elif call.at > self._outage_at:  # others were sent in an outage
            self._recovering = False
            if self._refused_level and call.flight >= self._refused_level and now >= self._probe_at:
                self._probe_after = min(self._probe_after * 2, LONGEST_PROBE)
            self._refused_level = min(call.flight, self._refused_level or call.flight)
            self._probe_at = now + self._probe_after * self._random.uniform(1.0, 1.5)
        self._proven = min(self._proven, call.flight - 1)
        self._succeeded = 0
        if retry_after is None and call.at > self._paused_at and (others == 0 or self._refusals > others + 1):
            retry_after = min(FIRST_PAUSE * 2.0**self._pauses, LONGEST_PAUSE)
            self._pauses += 1
            self._paused_at = now
        if retry_after is not None:
            self._paused_until = max(self._paused_until, now + retry_after + self._random.uniform(0, SPACING))
        self._end(call)
        asyncio.get_running_loop().call_soon(self._admit)  # when the call waits again, at its place

    def failed(self, call: CallInFlight, tokens: int | None = None) -> None:
        """The call has ended without an answer, for another reason. `tokens`: those that it took; None if that is not known."""
        if tokens is not None:
            call.tokens = tokens
        self._leave(call)

    def abandoned(self, call: CallInFlight) -> None:
        """Nobody waits for the answer any more. The call goes on, and does not keep others waiting, unless the user limits the calls in flight."""
        if self._limit.concurrency is None:
            self._leave(call)

    def _leave(self, call: CallInFlight) -> None:
        if self._end(call):
            self._admit()

    def _end(self, call: CallInFlight) -> bool:
        """Give the call's place among those in flight to others. Returns whether it had one."""
        had_one, call.counted = call.counted, False
        self._in_flight -= had_one
        return had_one

    def _may_raise(self) -> bool:
        return not self._refused_level or self._level + 1 < self._refused_level or self._now() >= self._probe_at

    def _admit(self) -> None:
        """Start the calls at the head of the queue that may start now, and set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue and self._in_flight < self._level:
            now, head = self._now(), self._queue[0]
            if head.admitted.cancelled():
                heapq.heappop(self._queue)
                continue
            at = max(self._paused_until, self._next_start, self._allowed_at(now, head))
            if at > now:
                if at < math.inf:
                    self._timer = asyncio.get_running_loop().call_at(at, self._admit)
                return
            heapq.heappop(self._queue)
            self._in_flight += 1
            started = CallInFlight(at=now, tokens=self._estimate(head), flight=self._in_flight)
            self._calls.append(started)
            if self._in_flight >= self._proven:
                self._next_start = now + SPACING * self._random.uniform(0.5, 1.5)
            head.admitted.set_result(started)

    def _estimate(self, waiting: _Waiting) -> int:
        """The tokens that a call may take, by the latest answers: models seldom write as much as they may."""
        answer = waiting.answer
        if len(self._longest) == KNOWN:
            answer = min(answer, math.ceil(max(self._longest) * MARGIN))
        return waiting.prompt + answer

    def _allowed_at(self, now: float, head: _Waiting) -> float:
        """When the limits per minute allow a call; infinity if that depends on the calls in flight."""
        while self._calls and self._calls[0].at <= now - MINUTE:
            self._calls.popleft()
        at = now
        if self._limit.rpm is not None and len(self._calls) >= self._limit.rpm:
            at = self._calls[-self._limit.rpm].at + MINUTE
        if self._limit.tpm is not None:
            tokens = self._estimate(head)
            if tokens > self._limit.tpm:  # alone, and so that its prompt fits
                if self._in_flight:
                    return math.inf
                tokens = min(head.prompt, self._limit.tpm)
            taken = sum(call.tokens for call in self._calls)
            for call in self._calls:
                if taken + tokens <= self._limit.tpm:
                    break
                taken -= call.tokens
                at = max(at, call.at + MINUTE)
        return at

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
