"""What travels between workers and the gateway: tokens, events, requests and answers. Everything arrives as it was sent."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.faults import BudgetSpent, GatewayError, ModelError, ModelFault, RecordsError, Stopped, UserError
from pytest_recode.gateway import GatewayConfig, caller_of, token
from pytest_recode.gateway.events import dump_error, error_of
from pytest_recode.models import Caller, GatewayAddress, Message, Reply, Tool, ToolCall, Usage
from pytest_recode.models.chat_format import chat_request, completion, reply_of, request_body, request_of
from pytest_recode.usage import RateLimit

TEXT = st.text(max_size=30)
CALLERS = st.builds(Caller, episode=TEXT, attempt=st.integers(1, 99))
COUNTS = st.integers(0, 10**9)
TOOL_CALLS = st.lists(st.builds(ToolCall, id=TEXT, name=TEXT, arguments=TEXT), max_size=3).map(tuple)


@given(caller=CALLERS, secret=TEXT)
def test_a_token_names_its_caller(caller: Caller, secret: str) -> None:
    assert caller_of(secret, token(secret, caller)) == caller


@given(caller=CALLERS, other=CALLERS, secret=st.text(min_size=1, max_size=30), cut=st.integers(1, 60))
def test_no_other_token_is_taken(caller: Caller, other: Caller, secret: str, cut: int) -> None:
    given_token = token(secret, caller)
    assert caller_of(f"{secret}x", given_token) is None
    assert caller_of(secret, given_token[:-cut]) is None
    name, _, signature = given_token.partition(".")
    forged = base64.urlsafe_b64encode(json.dumps([f"{caller.episode}x", caller.attempt]).encode()).decode()
    assert caller_of(secret, f"recode-{forged}.{signature}") is None
    if other != caller:
        assert caller_of(secret, f"{token(secret, other).partition('.')[0]}.{signature}") is None
    assert caller_of(secret, f"{name}.") is None


@given(noise=st.text(max_size=80) | st.text("abc.=-_ ", max_size=40).map("recode-{}".format))
def test_noise_is_no_token(noise: str) -> None:
    assert caller_of("secret", noise) is None


ERRORS = [
    ModelError(ModelFault.SERVER, "m", "overloaded (gave up after 6 tries)", cause="overloaded"),
    BudgetSpent("budget of 1 USD is spent"),
    UserError("one line"),
    RecordsError("no space"),
    Stopped("stopped with the run"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_itself(error: BaseException) -> None:
    found = error_of(json.loads(json.dumps(dump_error(error))))
    assert type(found) is type(error)
    assert (str(found), vars(found)) == (str(error), vars(error))


def test_an_error_that_nobody_expects_arrives_with_its_traceback() -> None:
    try:
        raise ZeroDivisionError("here")
    except ZeroDivisionError as error:
        arrived = error_of(dump_error(error))
    assert isinstance(arrived, GatewayError)
    assert "test_formats.py" in str(arrived)
    assert "ZeroDivisionError: here" in str(arrived)


@given(
    messages=st.lists(
        st.builds(
            Message,
            role=st.sampled_from(["system", "user", "assistant", "tool"]),
            content=TEXT,
            tool_calls=TOOL_CALLS,
            tool_call_id=TEXT,
        ),
        min_size=1,
        max_size=4,
    ),
    tools=st.lists(st.builds(Tool, name=TEXT, description=TEXT, parameters=st.just({"type": "object"})), max_size=2),
    schema=st.none() | st.just({"type": "object", "properties": {"a": {"type": "string"}}}),
)
def test_a_request_arrives_as_it_was_made(
    messages: list[Message], tools: list[Tool], schema: dict[str, object] | None
) -> None:
    request = chat_request(messages, tools, schema)
    arrived = request_of(json.loads(json.dumps(request_body("m", request))))
    assert list(arrived.messages) == list(request.messages)
    assert list(arrived.tools) == list(request.tools)
    assert arrived.schema == request.schema


@given(
    reply=st.builds(
        Reply,
        text=TEXT,
        thoughts=TEXT,
        tool_calls=TOOL_CALLS,
        usage=st.builds(Usage, prompt_tokens=COUNTS, completion_tokens=COUNTS, cost_usd=st.none() | st.floats(0, 1e6)),
        finish=TEXT,
    )
)
def test_a_reply_arrives_as_it_was_given(reply: Reply) -> None:
    assert reply_of(json.loads(json.dumps(completion("m", reply)))) == reply


def test_the_configuration_arrives_as_it_was_given() -> None:
    config = GatewayConfig(
        address=GatewayAddress(socket="/tmp/s", secret="x"),
        out="/tmp/l",
        workers=3,
        max_cost=1.5,
        max_cost_of={"m": 0.5},
        limits={"m*": RateLimit(rpm=1, tpm=2, concurrency=3)},
        table={"m": {"model": "openai/m"}},
    )
    assert "\n" not in config.dumped()
    assert GatewayConfig.loaded(config.dumped()) == config
