"""Agents' own calls: asked in a dialect, answered in it by the episode's model, which is behind a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.gateway.client import GatewayModel, make
from pytest_recode.models import Caller, ModelContext, Relaying
from pytest_recode.records.null_ledger import NullLedger
from tests.chat_server import ChatServer, Request, Script, call, fault, say

from .agents import FIRST
from .conftest import EPISODE, Gateway, Start

Serve = Callable[[Script], ChatServer]


def model(gateway: Gateway, caller: Caller = EPISODE, **context: Any) -> GatewayModel:
    return make(ModelContext(name="local", ledger=NullLedger(), gateway=gateway.address, caller=caller, **context))


def nothing() -> None: ...


@pytest.mark.parametrize("dialect", FIRST)
def test_an_agent_is_answered_in_its_dialect(chat_server: Serve, start_gateway: Start, dialect: str) -> None:
    provider = chat_server([say("done"), call("bash", {"command": "ls"})])
    asks = model(start_gateway(provider.url))
    assert isinstance(asks, Relaying)
    said = asks.relay(dialect, FIRST[dialect], nothing)
    assert said.reply.text == "done"
    assert said.asked_model == "alias"
    assert [message["role"] for message in provider.requests[0].body["messages"]][:2] == ["system", "user"]
    assert "be brief" in str(provider.requests[0].body["messages"][0])
    assert "do it" in str(provider.requests[0].body["messages"][1])
    assert provider.requests[0].body["tools"][0]["function"]["name"] == "bash"
    assert "stream" not in provider.requests[0].body
    called = asks.relay(dialect, FIRST[dialect], nothing)
    assert [(each.name, each.arguments) for each in called.reply.tool_calls] == [("bash", '{"command": "ls"}')]
    assert "bash" in str(called.answer)
    assert called.reply.usage.prompt_tokens == 11


@pytest.mark.parametrize("dialect", FIRST)
def test_a_request_that_cannot_be_read_is_a_value_error(chat_server: Serve, start_gateway: Start, dialect: str) -> None:
    provider = chat_server([])
    asks = model(start_gateway(provider.url))
    for wrong in ({}, {"messages": 1, "input": 1, "contents": 1}, {"messages": [1], "input": [1], "contents": [1]}):
        with pytest.raises(ValueError, match="must be a list of objects"):
            asks.relay(dialect, wrong, nothing)
    assert not provider.requests


def test_a_failure_for_good_is_the_models_error(chat_server: Serve, start_gateway: Start) -> None:
    provider = chat_server([fault(401, "no such key")])
    with pytest.raises(ModelError, match="no such key") as caught:
        model(start_gateway(provider.url)).relay("messages", FIRST["messages"], nothing)
    assert caught.value.fault is ModelFault.AUTH


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
    assert asks.relay("chat", FIRST["chat"], noticed).reply.text == "late"
    assert len(alive) >= 5
