"""The queue in front of a provider, in simulated time: its order, its limits, its way back, and that it never stands still."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.gateway.throttle import MINUTE, SPACING, Throttle
from pytest_recode.usage import RateLimit
from tests.examples import examples

from .simulated_time import run

ANSWER = 100
"""Tokens of an answer."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One caller. It comes at `at`, and leaves after `patience` seconds in the queue. Its request takes `seconds`, or fails."""

    at: float = 0.0
    prompt: int = 10
    most: int = ANSWER
    answer: int = ANSWER
    seconds: float = 2.0
    patience: float = 1e9
    fails: bool = False


@dataclass
class Provider:
    """Takes `allowed(time)` calls at the same time; refuses others, after `slow` seconds. Notes what the throttle does."""

    throttle: Throttle
    allowed: Callable[[float], int] = lambda _: 10**9
    retry_after: float | None = None
    slow: float = 0.05
    busy: int = 0
    most_busy: int = 0
    sent: int = 0
    refused: list[float] = field(default_factory=list)
    started: list[tuple[float, int]] = field(default_factory=list)  # time and tokens of each request
    waiting: dict[int, float] = field(default_factory=dict)  # places, and since when
    answered: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)

    async def ask(self, number: int, ask: Ask) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(ask.at)
        place = self.throttle.place()
        while True:
            self.waiting[place] = loop.time()
            try:
                async with asyncio.timeout(ask.patience):
                    call = await self.throttle.enter(place, ask.prompt, ask.most)
            except TimeoutError:
                del self.waiting[place]
                self.left.append(number)
                return
            before = [other for other, since in self.waiting.items() if other < place and since < call.at]
            assert not before, "the first in the queue starts first"
            del self.waiting[place]
            self.sent += 1
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
            taken = self.busy <= self.allowed(loop.time())
            self.started.append((loop.time(), (ask.prompt + ask.answer) * (taken and not ask.fails)))
            await asyncio.sleep(ask.seconds if taken else self.slow)
            self.busy -= 1
            if not taken:
                self.refused.append(loop.time())
                self.throttle.refused(call, self.retry_after)
            elif ask.fails:
                self.throttle.failed(call, 0)
                return
            else:
                self.throttle.succeeded(call, ask.prompt, ask.answer)
                self.answered.append(number)
                return


def play(
    asks: Sequence[Ask], limit: RateLimit | None = None, workers: int = 8, **provider: object
) -> tuple[Provider, float]:
    """The result of the call, and how long it took."""

    async def played() -> tuple[Provider, float]:
        made = Provider(Throttle(limit or RateLimit(), workers, random.Random(0)), **provider)  # type: ignore[arg-type]
        await asyncio.gather(*(made.ask(number, ask) for number, ask in enumerate(asks)))
        return made, asyncio.get_running_loop().time()

    return run(played())


asks = st.lists(
    st.builds(
        Ask,
        at=st.floats(0, 100),
        prompt=st.integers(0, 300),
        most=st.just(150),
        answer=st.integers(ANSWER, 150),
        seconds=st.floats(0, 50),
        patience=st.just(1e9) | st.floats(0, 100),
        fails=st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


@examples(300)
@given(
    asks=asks,
    workers=st.integers(1, 20),
    allowed=st.lists(st.integers(0, 20), min_size=1, max_size=5),
    retry_after=st.none() | st.floats(0, 30),
    slow=st.floats(0, 3),
    rpm=st.none() | st.integers(1, 20),
    tpm=st.none() | st.integers(500, 3000),
    concurrency=st.none() | st.integers(1, 20),
)
def test_whatever_the_provider_does_every_call_ends_within_the_limits(
    asks: Sequence[Ask],
    workers: int,
    allowed: Sequence[int],
    retry_after: float | None,
    slow: float,
    rpm: int | None,
    tpm: int | None,
    concurrency: int | None,
) -> None:
    """The provider allows other numbers of calls each minute, and at last at least one."""

    def allows(time: float) -> int:
        minute = int(time / MINUTE)
        return allowed[minute] if minute < len(allowed) else max(allowed[-1], 1)

    limit = RateLimit(rpm=rpm, tpm=tpm, concurrency=concurrency)
    outcome, _ = play(asks, limit, workers, allowed=allows, retry_after=retry_after, slow=slow)
    ended = len(outcome.answered) + len(outcome.left) + sum(ask.fails for ask in asks)
    assert ended >= len(asks) or not outcome.waiting
    assert set(outcome.answered) | set(outcome.left) | {n for n, ask in enumerate(asks) if ask.fails} == set(
        range(len(asks))
    )
    assert outcome.most_busy <= (concurrency or workers)
    for first, (time, _) in enumerate(outcome.started):
        window = [tokens for at, tokens in outcome.started[first:] if at < time + MINUTE * (1 - 1e-12)]
        assert rpm is None or len(window) <= rpm
        assert tpm is None or sum(window) <= tpm
    for refused in outcome.refused:
        assert not [at for at, _ in outcome.started if refused < at < refused + (retry_after or 0)]


def test_calls_start_in_the_order_of_their_arrival() -> None:
    found, _ = play([Ask(seconds=1.0) for _ in range(30)], workers=1)
    assert found.answered == list(range(30))


def test_a_call_that_was_refused_keeps_its_place() -> None:
    """The last of five is refused by a provider that takes four; others come later."""
    found, _ = play([*[Ask()] * 5, *[Ask(at=1.0)] * 5], workers=8, allowed=lambda _: 4)
    assert found.refused
    assert found.answered[4] == 4


def test_few_requests_are_wasted_with_a_provider_that_takes_four() -> None:
    """16 workers with 12 calls of 2 s each, one after the other."""
    found, seconds = play([Ask() for _ in range(192)], workers=16, allowed=lambda _: 4)
    assert len(found.refused) / found.sent <= 0.05
    assert seconds <= 1.15 * 192 / 4 * 2.0


def test_a_pause_that_the_provider_asks_for_is_for_all() -> None:
    outcome, _ = play([Ask() for _ in range(16)], workers=8, allowed=lambda time: 2 if time > 7 else 0, retry_after=7.0)
    first = outcome.refused[0]
    assert outcome.sent - len(outcome.answered) <= 3
    assert not [at for at, _ in outcome.started if first < at < first + 7.0]


@pytest.mark.slow
def test_the_level_recovers_when_the_provider_does() -> None:
    """It takes two calls for five minutes, and then as many as come."""
    outcome, _ = play(
        [Ask(at=number * 0.2) for number in range(6000)], workers=16, allowed=lambda time: 2 if time < 300 else 100
    )
    assert outcome.throttle.level == 16
    assert len(outcome.refused) <= 20


@pytest.mark.parametrize("slow", [0.05, 0.5])
@pytest.mark.parametrize("retry_after", [None, 1.0])
def test_an_outage_costs_little_more_than_its_time(slow: float, retry_after: float | None) -> None:
    """For 5 s the provider refuses every call, which says nothing on how many calls it takes at other times."""
    outcome, seconds = play(
        [Ask() for _ in range(320)],
        workers=16,
        allowed=lambda time: 0 if 10 < time < 15 else 100,
        retry_after=retry_after,
        slow=slow,
    )
    assert seconds <= 320 / 16 * 2.0 + 5 + 14
    assert len(outcome.refused) <= 48
    assert outcome.throttle.level == 16


def test_refusals_that_come_late_and_all_at_once_are_one_lesson() -> None:
    """Most are sent before the first is refused. When the provider takes more, that is noticed after a probe or two."""
    outcome, _ = play(
        [Ask(at=number * 0.2) for number in range(1500)],
        workers=16,
        slow=3.0,
        allowed=lambda time: 4 if time < 20 else 100,
    )
    assert len(outcome.refused) <= 16
    assert outcome.throttle.level == 16


def test_one_refusal_among_many_calls_costs_little() -> None:
    once = iter([0])
    outcome, seconds = play(
        [Ask() for _ in range(160)], workers=16, allowed=lambda time: 100 if time < 5 else next(once, 100)
    )
    assert len(outcome.refused) == 1
    assert seconds <= 160 / 16 * 2.0 * 1.2 + 2


def test_a_provider_that_refuses_everything_is_asked_less_and_less() -> None:
    outcome, _ = play([Ask() for _ in range(16)], workers=16, allowed=lambda time: 16 * (time > 1800))
    pauses = [b - a for a, b in zip(outcome.refused[16:], outcome.refused[17:], strict=False) if b < 1800]
    assert max(pauses) >= 60.0
    assert len([at for at in outcome.refused if at < 1800]) <= 16 + 40


def test_a_call_that_leaves_frees_the_next_one() -> None:
    """The first may take more tokens than the minute has left; the second fits, once the first has left."""
    asks = [Ask(prompt=900), Ask(at=3.0, prompt=800, patience=10.0), Ask(at=4.0, prompt=0, most=10, answer=10)]
    found, _ = play(asks, RateLimit(tpm=1100))
    assert found.left == [1]
    assert found.started[1][0] == pytest.approx(13.0)


def test_a_call_that_leaves_as_another_ends_does_not_take_its_turn() -> None:
    async def played() -> None:
        throttle = Throttle(RateLimit(concurrency=1), 8, random.Random(0))
        first = await throttle.enter(throttle.place(), 10, 10)
        leaves, stays = (asyncio.create_task(throttle.enter(throttle.place(), 10, 10)) for _ in range(2))
        await asyncio.sleep(1)
        leaves.cancel()
        throttle.succeeded(first, 10, 10)  # before the cancelled task has run
        await stays

    run(played())


def test_a_call_that_leaves_as_it_may_start_makes_room_again() -> None:
    async def played() -> None:
        throttle = Throttle(RateLimit(concurrency=1), 8, random.Random(0))
        first = await throttle.enter(throttle.place(), 10, 10)
        leaves, stays = (asyncio.create_task(throttle.enter(throttle.place(), 10, 10)) for _ in range(2))
        await asyncio.sleep(1)
        throttle.succeeded(first, 10, 10)
        leaves.cancel()  # before it has noticed that it may start
        await stays

    run(played())


def test_answers_to_calls_from_before_a_refusal_prove_nothing() -> None:
    """Ten calls are in flight when the provider begins to take only two; eight of them end with answers after that."""
    outcome, _ = play(
        [*[Ask(seconds=10.0)] * 10, *[Ask(at=5.0)] * 40],
        workers=11,
        allowed=lambda time: 100 if time < 5 else 2,
        slow=0.01,
    )
    assert outcome.throttle.level <= 3
    assert len(outcome.refused) <= 12


def test_a_call_that_was_not_sent_counts_for_no_limit() -> None:
    async def played() -> float:
        throttle = Throttle(RateLimit(rpm=1), 8, random.Random(0))
        throttle.withdraw(await throttle.enter(throttle.place(), 10, 10))
        await throttle.enter(throttle.place(), 10, 10)
        return asyncio.get_running_loop().time()

    assert run(played()) <= 2 * SPACING


def test_models_that_may_write_much_are_not_held_to_that() -> None:
    """40,000 tokens per minute, answers of 100 tokens, of 64,000 that the model may write: the first calls come one by one."""
    found, seconds = play([Ask(most=64_000) for _ in range(100)], RateLimit(tpm=40_000, concurrency=8))
    assert len(found.answered) == 100
    first = [at for at, _ in found.started[:8]]
    assert all(later - earlier >= 2.0 for earlier, later in itertools.pairwise(first))
    assert seconds <= 8 * 2.0 + 92 / 8 * 2.0 + 5


def test_a_provider_that_is_paused_says_for_how_long() -> None:
    async def played() -> float:
        throttle = Throttle(RateLimit(), 8, random.Random(0))
        throttle.refused(await throttle.enter(throttle.place(), 10, 10), 3600.0)
        return throttle.paused

    assert run(played()) == pytest.approx(3600.0, abs=1.0)


def test_a_call_that_nobody_waits_for_is_no_call_in_flight_when_it_is_refused() -> None:
    """The provider refuses it for the sake of the other one: all are to try again later, with no pause for both."""

    async def played() -> float:
        throttle = Throttle(RateLimit(), 8, random.Random(0))
        left, _ = [await throttle.enter(throttle.place(), 10, 10) for _ in range(2)]
        throttle.abandoned(left)
        throttle.refused(left, None)
        return throttle.paused

    assert run(played()) == 0.0
