"""Agents' own calls: asked in a dialect, answered in it by the episode's model, which is behind a real server."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.clock import Clock
from pytest_recode.faults import BudgetSpent, CassetteError, ModelError, ModelFault, UserError
from pytest_recode.gateway import NUMBER, TURN
from pytest_recode.gateway.client import GatewayModel, check_adapters, make
from pytest_recode.gateway.dialects import adapters, stream_of
from pytest_recode.gateway.events import ENDED
from pytest_recode.models import Caller, ModelContext, Relayed, RelayedCall, Relaying, Reply, TokenParts
from pytest_recode.models.timed import TimedModel
from pytest_recode.records.null_ledger import NullLedger
from pytest_recode.usage import RateLimit
from tests.chat_server import Answer, ChatServer, Request, Script, call, fault, say
from tests.messages import assert_message

from .agents import FIRST, further, streamed, with_text
from .conftest import EPISODE, Gateway, Start

Serve = Callable[[Script], ChatServer]


def model(gateway: Gateway, caller: Caller = EPISODE, **context: Any) -> GatewayModel:
    return make(ModelContext(name="local", ledger=NullLedger(), gateway=gateway.address, caller=caller, **context))


def nothing() -> None: ...


def relay(asks: Relaying, dialect: str, body: Any, alive: Callable[[], None] = nothing) -> Relayed:
    """The answer to an agent's request. `alive` is called for each event that comes before it."""
    call = asks.relay(dialect, body)
    for event in call.events():
        if (relayed := call.take(event)) is not None:
            return relayed
        alive()
    raise AssertionError("no answer")


@pytest.mark.parametrize("dialect", FIRST)
def test_an_agent_is_answered_in_its_dialect(chat_server: Serve, start_gateway: Start, dialect: str) -> None:
    """A text, then two calls at once, whose results the agent sends back, then nothing."""
    calls = (("bash", '{"command": "ls"}'), ("bash", '{"command": "pwd"}'))
    provider = chat_server([say("done"), Answer(text=None, tool_calls=calls, finish="tool_calls"), say("")])
    asks = model(start_gateway(provider.url))
    assert isinstance(asks, Relaying)
    said = relay(asks, dialect, FIRST[dialect])
    assert said.reply.text == "done"
    assert said.asked_model == "alias"
    assert streamed(dialect, stream_of(dialect, said.answer)) == ("done", [])
    first = provider.requests[0].body
    assert [message["role"] for message in first["messages"]][:2] == ["system", "user"]
    assert "be brief" in str(first["messages"][0])
    assert "do it" in str(first["messages"][1])
    assert first["tools"][0]["function"]["name"] == "bash"
    assert first["model"] == "local"
    assert not {"stream", "store", "metadata", "context_management", "prompt_cache_key", "user"} & first.keys()

    body = with_text(dialect, further(dialect, FIRST[dialect], said.answer), "again")
    called = relay(asks, dialect, body)
    assert [(each.name, each.arguments) for each in called.reply.tool_calls] == list(calls)
    assert called.reply.usage.prompt_tokens == 11

    empty = relay(asks, dialect, further(dialect, body, called.answer, ["a file", "a directory"]))
    *_, asked, one, two = provider.requests[2].body["messages"]
    assert [each["function"]["name"] for each in asked["tool_calls"]] == ["bash", "bash"]
    assert [each["id"] for each in asked["tool_calls"]] == [one["tool_call_id"], two["tool_call_id"]]
    assert "a file" in one["content"]
    assert "a directory" in two["content"]
    assert empty.reply.text == ""
    assert streamed(dialect, stream_of(dialect, empty.answer)) == ("", [])


@pytest.mark.parametrize("dialect", FIRST)
def test_a_request_that_cannot_be_read_is_a_value_error(chat_server: Serve, start_gateway: Start, dialect: str) -> None:
    provider = chat_server([])
    asks = model(start_gateway(provider.url))
    for wrong in ({}, {"messages": 1, "input": 1, "contents": 1}, {"messages": [1], "input": [1], "contents": [1]}):
        with pytest.raises(ValueError, match="must be a list of objects"):
            relay(asks, dialect, wrong)
    assert not provider.requests


def test_a_dialect_that_there_is_not(chat_server: Serve, start_gateway: Start) -> None:
    gateway = start_gateway(chat_server([]).url)
    with pytest.raises(ValueError, match="chat, responses, messages, google"):
        relay(model(gateway), "morse", {})
    assert gateway.ask("/v1/agents/morse").response.status == 404
    assert gateway.ask("/v1/agents/chat", request="none").response.status == 400


def test_each_call_has_an_identifier_of_its_own(chat_server: Serve, start_gateway: Start) -> None:
    """Though the server counts from 0 in each answer."""
    provider = chat_server(lambda _: call("bash", {"command": "ls"}))
    asks = model(start_gateway(provider.url))
    first = relay(asks, "chat", FIRST["chat"])
    second = relay(asks, "chat", further("chat", FIRST["chat"], first.answer, ["x"]))
    assert first.reply.tool_calls[0].id == "call_0"
    assert second.reply.tool_calls[0].id != "call_0"
    assert second.answer["choices"][0]["message"]["tool_calls"][0]["id"] == second.reply.tool_calls[0].id


def thinking(_: Request) -> Answer:
    function = {"name": "bash", "arguments": "{}"}
    message = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "a thought",
        "tool_calls": [{"id": "call_7", "type": "function", "function": function}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return Answer(
        raw=json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    )


@pytest.mark.parametrize("dialect", FIRST)
def test_a_provider_gets_its_own_fields_back(chat_server: Serve, start_gateway: Start, dialect: str) -> None:
    """As for any other agent, though no dialect has them."""
    provider = chat_server(thinking)
    asks = model(start_gateway(provider.url))
    relayed = relay(asks, dialect, FIRST[dialect])
    assert relayed.reply.thoughts == "a thought"
    relay(asks, dialect, further(dialect, FIRST[dialect], relayed.answer, ["x"]))
    assert provider.requests[1].body["messages"][-2]["reasoning_content"] == "a thought"


@pytest.mark.parametrize("dialect", FIRST)
def test_tokens_that_the_provider_counts_apart_reach_the_agent(
    chat_server: Serve, start_gateway: Start, tmp_path: Path, dialect: str
) -> None:
    """Also from a cassette."""
    details = {"prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 5}}
    usage: Any = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, **details}
    provider = chat_server([say("done", usage=usage)])
    for mode in ("record", "replay"):
        asks = model(start_gateway(provider.url, cassette=str(tmp_path / "cassette"), cassette_mode=mode))
        relayed = relay(asks, dialect, FIRST[dialect])
        assert relayed.reply.parts == TokenParts(cache_read=8, reasoning=5)
        assert "8" in re.findall(r"[Cc]ache[a-zA-Z_]*\": (\d+)", json.dumps(relayed.answer))


# Failures


def test_a_failure_for_good_is_the_models_error(chat_server: Serve, start_gateway: Start) -> None:
    provider = chat_server([fault(401, "no such key")])
    with pytest.raises(ModelError, match="no such key") as caught:
        relay(model(start_gateway(provider.url)), "messages", FIRST["messages"])
    assert caught.value.fault is ModelFault.AUTH


def test_a_prompt_that_is_too_long_is_the_models_error(chat_server: Serve, start_gateway: Start) -> None:
    provider = chat_server([fault(400, "too long", code="context_length_exceeded")])
    with pytest.raises(ModelError) as caught:
        relay(model(start_gateway(provider.url)), "responses", FIRST["responses"])
    assert caught.value.fault is ModelFault.CONTEXT


def test_a_rate_limit_is_waited_for(chat_server: Serve, start_gateway: Start) -> None:
    """No agent hears of it, but it is kept waiting."""
    provider = chat_server([fault(429, "slow down", retry_after="0.5"), say("done")])
    alive: list[None] = []
    asks = model(start_gateway(provider.url, alive_seconds=0.05))
    assert relay(asks, "google", FIRST["google"], lambda: alive.append(None)).reply.text == "done"
    assert len(provider.requests) == 2
    assert len(alive) >= 5


def test_an_agent_is_kept_waiting_while_the_model_answers(chat_server: Serve, start_gateway: Start) -> None:
    go = threading.Event()
    alive: list[None] = []

    def answer(request: Request) -> Any:
        return say("late", wait=go)

    def noticed() -> None:
        alive.append(None)
        if len(alive) == 5:
            go.set()

    asks = model(start_gateway(chat_server(answer).url, alive_seconds=0.05))
    assert relay(asks, "chat", FIRST["chat"], noticed).reply.text == "late"
    assert len(alive) >= 5


def test_a_client_that_leaves_ends_the_call_and_the_answer_is_booked(chat_server: Serve, start_gateway: Start) -> None:
    go = threading.Event()
    limits = {"*": RateLimit(concurrency=1)}
    gateway = start_gateway(chat_server(lambda _: say("late", wait=go)).url, alive_seconds=0.05, limits=limits)
    call = model(gateway).relay("chat", FIRST["chat"])
    events = call.events()
    while call.waits:
        call.take(next(events))
    call.leave()
    assert [str(each) for each in events] == [f"model local: gateway: {ENDED}"]
    go.set()
    relay(model(gateway), "chat", FIRST["chat"])
    assert [line["prompt_tokens"] for line in gateway.lines()] == [11, 11]


def test_a_call_that_is_left_before_it_is_sent_is_never_sent(chat_server: Serve, start_gateway: Start) -> None:
    provider = chat_server([say("the next one")])
    asks = model(start_gateway(provider.url))
    call = asks.relay("chat", FIRST["chat"])
    call.leave()
    assert [str(each) for each in call.events()] == [f"model local: gateway: {ENDED}"]
    assert relay(asks, "chat", FIRST["chat"]).reply.text == "the next one"


PRICED = {"local": {"model": "openai/local", "price": {"prompt": 1000.0, "completion": 1000.0}}}
"""A call of the scripted server costs 0.018 US dollars."""


@pytest.mark.parametrize(("budget", "answers"), [(0.03, 2), (0.01, 1)], ids=["enough for both", "spent by the first"])
def test_two_calls_at_once_share_a_budget_that_allows_one(
    chat_server: Serve, start_gateway: Start, budget: float, answers: int
) -> None:
    """The second waits, and is kept alive, until the first is answered."""
    came, go = threading.Event(), threading.Event()

    def answer(request: Request) -> Any:
        came.set()
        return say(f"answer {request.number}", wait=go)

    provider = chat_server(answer)
    gateway = start_gateway(provider.url, alive_seconds=0.05, max_cost=budget, table=PRICED)
    asks = model(gateway)
    first, second = (asks.relay("messages", FIRST["messages"]) for _ in range(2))
    one, two = first.events(), second.events()
    while first.waits:
        first.take(next(one))
    heard: list[Any] = []
    waiting = {"event": "wait", "what": "the budget that other calls may need"}
    while waiting not in heard[:-2]:  # and two more, which keep it alive
        heard.append(next(two))
        second.take(heard[-1])
    assert second.waits
    assert came.wait(60)
    assert len(provider.requests) == 1
    go.set()
    assert answered(first, one) == "answer 0"
    if answers == 2:
        assert answered(second, two) == "answer 1"
    else:
        with pytest.raises(BudgetSpent):
            answered(second, two)
    assert len(provider.requests) == answers
    assert [line["cost_usd"] for line in gateway.lines()] == [0.018] * answers


def answered(call: RelayedCall, events: Iterator[object]) -> str:
    for event in events:
        if (relayed := call.take(event)) is not None:
            return relayed.reply.text
    raise AssertionError("no answer")


# Options


def test_the_users_parameters_replace_the_agents(chat_server: Serve, start_gateway: Start) -> None:
    provider = chat_server([say("done"), say("done")])
    table = {"local": {"model": "openai/local", "params": {"max_tokens": 100}}}
    gateway = start_gateway(provider.url, table=table)
    relay(model(gateway, temperature=0.0), "google", FIRST["google"])
    relay(model(gateway), "google", FIRST["google"])
    own, agents = (request.body for request in provider.requests)
    assert (own["max_tokens"], own["temperature"], own["top_p"]) == (100, 0.0, 0.95)
    assert (agents["max_tokens"], agents["temperature"]) == (100, 1)


# Answers that are stored, by position


def numbered(request: Request) -> Any:
    return say(f"answer {request.number}")


def test_a_cassette_has_the_calls_of_a_turn_in_order(chat_server: Serve, start_gateway: Start, tmp_path: Path) -> None:
    """Whatever their prompts are: agents write dates into them."""
    provider = chat_server(numbered)
    cassette = str(tmp_path / "cassette")
    recording = model(start_gateway(provider.url, cassette=cassette, cassette_mode="record"))
    recorded = [relay(recording, "messages", FIRST["messages"]) for _ in range(2)]
    replaying = model(start_gateway(provider.url, cassette=cassette, cassette_mode="replay"))
    tomorrow = with_text("messages", FIRST["messages"], "It is tomorrow.")
    again = [relay(replaying, "messages", {**tomorrow, "model": "other"}) for _ in range(2)]
    assert [each.answer for each in again] == [each.answer for each in recorded]
    assert [each.reply.text for each in again] == ["answer 0", "answer 1"]
    assert [each.asked_model for each in again] == ["other", "other"]
    assert len(provider.requests) == 2
    with pytest.raises(CassetteError) as caught:
        relay(replaying, "messages", tomorrow)
    assert_message(str(caught.value), "cassette", "call 3 of turn 0", "--recode-cassette-mode=auto")
    with pytest.raises(CassetteError, match="dialect"):
        relay(replaying, "chat", FIRST["chat"])


def test_an_answer_that_a_run_has_paid_for_is_given_to_the_same_position(
    chat_server: Serve, start_gateway: Start, tmp_path: Path
) -> None:
    (out := tmp_path / "out").mkdir()
    provider = chat_server(numbered)

    def ask(gateway: Gateway, turn: int, number: int, text: str) -> dict[str, Any]:
        request = with_text("chat", FIRST["chat"], text)
        return gateway.ask("/v1/agents/chat", request=request, **{TURN: turn, NUMBER: number}).until("answer")

    first = start_gateway(provider.url, out, run="first")
    paid = [ask(first, 1, number, "monday") for number in (1, 2)]
    first.process.close()
    later = start_gateway(provider.url, out, run="later")
    again = [ask(later, 1, number, "tuesday") for number in (1, 2, 3)]
    assert [each["answer"]["choices"][0]["message"]["content"] for each in again] == [
        "answer 0",
        "answer 1",
        "answer 2",
    ]
    assert [each["call"] for each in again[:2]] == [each["call"] for each in paid]
    assert ask(later, 2, 1, "tuesday")["body"]["choices"][0]["message"]["content"] == "answer 3"
    assert len(provider.requests) == 4


# Around the model


def test_a_timed_model_relays_if_its_model_does(chat_server: Serve, start_gateway: Start) -> None:
    now = iter(range(1000))
    clock = Clock(lambda: float(next(now)))
    timed = TimedModel(model(start_gateway(chat_server([say("done")]).url)), clock)
    assert isinstance(timed, Relaying)
    waits: list[object] = []
    assert relay(timed, "chat", FIRST["chat"], lambda: waits.append(clock.wait)).reply.text == "done"
    assert all(waits)
    assert clock.wait is None
    assert not isinstance(TimedModel(Silent(), clock), Relaying)


class Silent:
    name, simulated, native_tools = "silent", True, False

    def complete(self, messages: Any, *, tools: Any = (), schema: Any = None) -> Reply:
        return Reply(text="")


def test_the_adapters_of_this_litellm_translate(chat_server: Serve, start_gateway: Start) -> None:
    check_adapters(start_gateway(chat_server([]).url).address)


def test_another_litellm_is_refused_with_the_one_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm.llms.anthropic.messages.adapters.transformation", None)
    with pytest.raises(UserError) as caught:
        adapters.check_adapters()
    assert_message(str(caught.value), "litellm", "adapters", f"pip install litellm=={adapters.TESTED}")
