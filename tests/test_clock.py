"""The episode's clock: only work and the last try of a call that is answered count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.clock import AskedModel, Clock, Wait
from pytest_recode.episode import Feedback, Move, Stop, Turn, loop
from pytest_recode.episode.meter import Meter
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models import Message
from pytest_recode.models.litellm_ import LitellmModel
from pytest_recode.models.provider import ProviderModel
from pytest_recode.models.retry import Retries
from pytest_recode.models.table import ModelEntry
from pytest_recode.models.timed import TimedModel
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.transcript import Transcript
from pytest_recode.task import Brief, Files
from pytest_recode.verdict import Case, Outcome, Verdict
from tests.agents.scripted import a_brief
from tests.chat_server import ChatServer, fault, say


class Seconds:
    """A time that passes only where somebody says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


SECONDS = st.integers(0, 1000).map(float)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("work"), SECONDS),
        st.tuples(st.just("wait"), SECONDS),
        st.tuples(st.just("answered"), st.lists(SECONDS, min_size=1, max_size=4)),
        st.tuples(st.just("failed"), st.lists(SECONDS, min_size=1, max_size=4)),
        st.tuples(st.just("does not say when it tries"), SECONDS),
    )
)


@given(EVENTS)
def test_work_counts_and_the_last_try_of_an_answered_call(events: list[tuple[str, object]]) -> None:
    time = Seconds()
    clock = Clock(time)
    counted = 0.0
    for kind, value in events:
        if kind == "work":
            time.pass_(value)  # type: ignore[arg-type]
            counted += value  # type: ignore[operator]
        elif kind == "wait":
            with clock.stopped(Wait(what="a person")):
                time.pass_(value)  # type: ignore[arg-type]
                assert clock.wait == Wait(what="a person")
        elif kind == "does not say when it tries":
            with clock.asking("other"):
                time.pass_(value)  # type: ignore[arg-type]
            counted += value  # type: ignore[operator]
        else:
            tries: list[float] = value  # type: ignore[assignment]
            try:
                with clock.asking("local"):
                    for seconds in tries:
                        clock.tried()
                        time.pass_(seconds)
                    assert clock.wait == Wait(what="model local", model="local")
                    if kind == "failed":
                        raise ModelError(ModelFault.RATE_LIMIT, "local", "")
                counted += tries[-1]
            except ModelError:
                pass
        assert clock.wait is None
        assert clock() == counted
        assert clock.waited == time() - counted


CALLS = st.lists(
    st.tuples(
        st.integers(0, 50),  # when it begins
        st.lists(st.integers(1, 50), min_size=1, max_size=3),  # seconds until each try, and until the end
        st.booleans(),  # whether it is answered
    ),
    max_size=5,
)


@given(CALLS)
def test_of_calls_at_the_same_time_each_second_counts_once(calls: list[tuple[int, list[int], bool]]) -> None:
    """Compared with the seconds one by one: those without a call, and those in the last try of a call that is answered."""
    time = Seconds()
    clock = Clock(time)
    open_ones: dict[int, AskedModel] = {}
    within, counted = set[int](), set[int]()
    ends = [begin + sum(tries) for begin, tries, _ in calls]
    for second in range(max(ends, default=0) + 1):
        for number, (begin, tries, answered) in enumerate(calls):
            sent = [begin + sum(tries[:count]) for count in range(1, len(tries) + 1)]
            if second == begin:
                open_ones[number] = clock.ask("local")
            if second in sent[:-1]:
                with clock.about(open_ones[number]):
                    clock.tried()
            if second == sent[-1]:
                clock.end(open_ones.pop(number), counts=answered)
                within |= set(range(begin, second))
                counted |= set(range(sent[-2], second)) if answered and len(sent) > 1 else set()
                counted |= set(range(begin, second)) if answered and len(sent) == 1 else set()
        time.pass_(1)
    assert clock.wait is None
    assert clock.waited == len(within - counted)


def verdict(solved: bool) -> Verdict:
    outcome = Outcome.PASSED if solved else Outcome.FAILED
    return Verdict(cases=(Case(id="a", interface="m.f", outcome=outcome),), seed=1, seconds=0.0)


class Asks:
    """An agent whose work is to ask, and to spend `seconds` on it."""

    def __init__(self, model: TimedModel, time: Seconds, seconds: float) -> None:
        self.model, self.time, self.seconds = model, time, seconds

    def act(self, brief: Brief, feedback: Feedback | None, workspace: object) -> Move:
        self.model.complete([Message(role="user", content="Write it.")])
        self.time.pass_(self.seconds)
        return Move()


class Nothing:
    def targets(self) -> Files:
        return {}


@pytest.mark.parametrize(
    ("work", "stop"), [pytest.param(1.0, Stop.TURNS, id="in time"), pytest.param(6.0, Stop.TIME, id="too slow itself")]
)
def test_rate_limits_use_up_no_time_of_an_episode(tmp_path: Path, work: float, stop: Stop) -> None:
    """25 seconds of 429 in an episode that has ten; three turns."""
    answers = [fault(429, retry_after="15"), fault(429), say("one"), say("two"), fault(500), say("three")]
    time = Seconds()
    clock = Clock(time)
    transcript = Transcript(tmp_path / "transcript.jsonl")
    meter = Meter(ledger=FileLedger(tmp_path / "spending.jsonl"), transcript=transcript, clock=clock)
    played: list[Turn] = []
    with ChatServer(answers) as server:
        model = LitellmModel(
            ProviderModel(
                name="local",
                entry=ModelEntry(model="openai/local", api_base=server.url),
                ledger=meter,
                native_tools=False,
                api_key="none",
                retries=Retries(wait=time.pass_),
            )
        )
        ended = loop.run(
            brief=a_brief(),
            agent=Asks(TimedModel(model, clock), time, work),
            workspace=Nothing(),  # type: ignore[arg-type]
            judge=lambda _: verdict(False),
            researcher=lambda turns, level: Feedback(level=level, text="", turn=len(turns)),
            policy=lambda _: 0,
            turns=3,
            seconds=10.0,
            on_turn=played.append,
            clock=clock,
        )
    transcript.close()
    assert ended.stop is stop
    assert [turn.seconds for turn in played] == pytest.approx([work] * len(played))
    events = [json.loads(line) for line in (tmp_path / "transcript.jsonl").read_text().splitlines()]
    retries = [event for event in events if event["event"] == "retry"]
    faults = ["model:rate-limit", "model:rate-limit", "model:server"][: 3 if stop is Stop.TURNS else 2]
    assert [(event["model"], event["error"]) for event in retries] == [("local", kind) for kind in faults]
    assert retries[0]["pause"] >= 15
    assert clock.waited == pytest.approx(sum(event["pause"] for event in retries), abs=0.01)
