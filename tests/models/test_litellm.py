"""The real litellm against a real server: answers, every kind of fault, retries, usage and cost."""

from __future__ import annotations

import email.utils
import importlib.util
import json
import logging
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import BudgetSpent, ModelError, ModelFault, UserError
from pytest_recode.models import Message, ModelContext, Reach, Reply, Tool, ToolCall, Usage
from pytest_recode.models.chat_format import completion, reply_of
from pytest_recode.models.litellm_ import LitellmModel, make
from pytest_recode.models.retry import FailedTry, Retries
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.null_ledger import NullLedger
from tests.chat_server import (
    ANY_USAGE,
    Answer,
    ChatServer,
    DeadServer,
    Request,
    Script,
    dropped,
    fault,
    garbled,
    malformed,
    say,
    silent,
)
from tests.chat_server import call as calls

ASKED = [Message(role="system", content="be brief"), Message(role="user", content="hi")]
TOOL = Tool(name="read", description="Read.", parameters={"type": "object", "properties": {"path": {"type": "string"}}})
Serve = Callable[[Script], ChatServer]


def model(server: ChatServer | DeadServer, name: str = "gpt-5-mini", **fields: Any) -> LitellmModel:
    waits = fields.pop("waits", [])
    retries = Retries(**{"tries": 3, "base": 0.001, "wait": waits.append} | fields.pop("retries", {}))
    context = {"ledger": NullLedger(), "api_base": server.url, "call_seconds": 20.0}
    made = make(ModelContext(name=name, **context | fields))
    made.retries = retries
    return made


def failing(client: LitellmModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        client.complete(ASKED)
    return caught.value


@pytest.mark.slow
def test_an_answer_with_its_tokens_and_its_price(chat_server: Serve) -> None:
    server = chat_server([say("hello")])
    reply = model(server).complete(ASKED)
    # litellm's table: 0.25 and 2 dollars per million tokens of gpt-5-mini
    cost = (11 * 0.25 + 7 * 2.0) / 1e6
    assert (reply.text, reply.tool_calls, reply.finish) == ("hello", (), "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)
    assert reply.usage.cost_usd == pytest.approx(cost)
    assert server.requests[0].body == {
        "model": "gpt-5-mini",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize(
    ("name", "sent"), [("my-local", {"temperature": 0.5}), ("gpt-5-mini", {})], ids=["takes it", "refuses it"]
)
def test_temperature_is_sent_when_given_to_models_that_take_one(
    chat_server: Serve, name: str, sent: dict[str, float]
) -> None:
    server = chat_server([say("a"), say("b")])
    model(server, name, temperature=0.5).complete(ASKED)
    model(server, name).complete(ASKED)
    given = [{k: v for k, v in request.body.items() if k == "temperature"} for request in server.requests]
    assert given == [sent, {}]


def test_tools_go_out_and_their_calls_come_back_as_text(chat_server: Serve) -> None:
    server = chat_server([calls("read", '{"path": broken'), say("done")])
    client = model(server)
    assert client.native_tools
    reply = client.complete(ASKED, tools=[TOOL])
    assert reply.tool_calls == (ToolCall(id="call_0", name="read", arguments='{"path": broken'),)
    assert server.requests[0].body["tools"] == [
        {
            "type": "function",
            "function": {"name": "read", "description": "Read.", "parameters": dict(TOOL.parameters)},
        }
    ]
    answered = [
        *ASKED,
        Message(role="assistant", content="", tool_calls=(ToolCall(id="x", name="read", arguments="{}"),)),
        Message(role="tool", content="text of it", tool_call_id="x"),
    ]
    client.complete(answered, tools=[TOOL])
    assert server.requests[1].body["messages"][2:] == [
        {
            "role": "assistant",
            "tool_calls": [{"id": "x", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "text of it", "tool_call_id": "x"},
    ]


def test_a_name_litellm_does_not_know_has_no_native_tools_unless_the_table_says_so(chat_server: Serve) -> None:
    server = chat_server([])
    assert not model(server, "my-local").native_tools
    assert model(server, "mine", table={"mine": {"model": "openai/x", "tools": True}}).native_tools


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            True,
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
    ],
)
def test_a_schema_is_asked_for_where_the_model_takes_one(
    chat_server: Serve, schema: dict[str, Any], strict: bool
) -> None:
    server = chat_server([say("{}"), say("{}")])
    model(server).complete(ASKED, schema=schema)
    model(server, "my-local").complete(ASKED, schema=schema)
    wanted = {"name": "answer", "schema": schema, "strict": strict}
    assert server.requests[0].body["response_format"] == {"type": "json_schema", "json_schema": wanted}
    assert "response_format" not in server.requests[1].body


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (say(None), ""),
        (say(""), ""),
        (say(None, refusal="I will not do that."), "I will not do that."),
        (say("half a pair: \ud800."), "half a pair: ?."),
        (say("naïve ∑ 漢字 🙂"), "naïve ∑ 漢字 🙂"),
    ],
    ids=["no content", "empty", "refusal", "lone surrogate", "unicode"],
)
def test_whatever_it_says_is_data(chat_server: Serve, answer: Answer, text: str) -> None:
    reply = model(chat_server([answer])).complete(ASKED)
    assert reply.text == text
    reply.text.encode("utf-8")


def test_ten_megabytes_are_an_answer(chat_server: Serve) -> None:
    reply = model(chat_server([say("x" * 10_000_000, usage=None)])).complete(ASKED)
    assert len(reply.text) == 10_000_000
    assert reply.usage.completion_tokens == 2_500_000


@pytest.mark.parametrize(
    ("name", "cost"), [("my-local", None), ("claude-local", None), ("priced", (11 * 1.0 + 7 * 3.0) / 1e6)]
)
def test_an_unknown_price_is_none_and_the_table_can_state_one(
    chat_server: Serve, name: str, cost: float | None
) -> None:
    table = {
        "priced": {"model": "openai/some", "price": {"prompt": 1.0, "completion": 3.0}},
        # litellm's table has this name with zeros: a lost price, not a free model
        "claude-local": {"model": "openai/anthropic/claude-sonnet-4-20250514"},
    }
    reply = model(chat_server([say("x")]), name, table=table).complete(ASKED)
    assert reply.usage.cost_usd == (None if cost is None else pytest.approx(cost))


def test_what_the_provider_billed_counts_where_no_price_is_known(chat_server: Serve) -> None:
    server = chat_server([say("x", usage={**ANY_USAGE, "cost": 0.25})])
    assert model(server, "my-local").complete(ASKED).usage.cost_usd == 0.25


def test_a_server_that_counts_no_tokens_has_them_estimated(chat_server: Serve) -> None:
    server = chat_server([say("x" * 400, usage=None)])
    usage = model(server).complete(ASKED).usage
    assert usage.completion_tokens == 100
    assert usage.prompt_tokens > 0
    assert usage.cost_usd == pytest.approx((usage.prompt_tokens * 0.25 + 100 * 2.0) / 1e6)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5000, "completion_tokens": 7},
        {"prompt_tokens": 10**25, "completion_tokens": 7},
        {"prompt_tokens": 10**500, "completion_tokens": 7},
        {"prompt_tokens": 2**54, "completion_tokens": 7},
    ],
)
def test_impossible_counts_of_tokens_are_estimated_and_booked(
    chat_server: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture, usage: dict[str, Any]
) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl", max_cost=1.0)
    client = model(chat_server([say("x" * 400, usage=usage), say("y")]), ledger=ledger)
    reply = client.complete(ASKED)
    assert reply.usage.completion_tokens == 100
    assert any("impossible numbers of tokens" in line for line in said(caplog))
    assert client.complete(ASKED).text == "y"
    assert FileLedger(tmp_path / "spent.jsonl").total.completion_tokens == 107


@pytest.mark.parametrize("billed", ["Infinity", "-1", "NaN", "true"])
def test_an_impossible_bill_is_no_price(chat_server: Serve, billed: str) -> None:
    raw = b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": %s}}'
    reply = model(chat_server([Answer(raw=raw % billed.encode())]), "my-local").complete(ASKED)
    assert reply.usage.cost_usd is None


def test_a_refused_prompt_is_no_refused_key(chat_server: Serve, tmp_path: Path) -> None:
    """Neither if the provider says so, nor if the model has answered before: other episodes go on."""
    flagged = fault(403, "Your chosen model requires moderation and your input was flagged")
    server = chat_server([flagged, say("a"), fault(403, "no access"), say("b")])
    client = model(server, ledger=FileLedger(tmp_path / "spent.jsonl"))
    assert failing(client).fault is ModelFault.REQUEST
    assert client.complete(ASKED).text == "a"
    assert failing(client).fault is ModelFault.AUTH
    assert client.complete(ASKED).text == "b"


PARTS = Answer(
    raw=json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "An invalid API key."}]}}]}
    ).encode()
)
"""A text in parts, which is for requests: no reply of this protocol has it."""

RETRIED = [
    (PARTS, ModelFault.SERVER),
    (fault(429), ModelFault.RATE_LIMIT),
    (fault(500), ModelFault.SERVER),
    (fault(502), ModelFault.SERVER),
    (fault(503), ModelFault.SERVER),
    (fault(529), ModelFault.SERVER),
    (dropped("before"), ModelFault.CONNECTION),
    (dropped("middle"), ModelFault.CONNECTION),
    (garbled(), ModelFault.SERVER),
    (malformed(), ModelFault.SERVER),
    (Answer(raw=b"<html>busy</html>"), ModelFault.SERVER),
    (Answer(raw=b""), ModelFault.SERVER),
    (Answer(raw=b'{"choices": []}'), ModelFault.SERVER),
]


@pytest.mark.parametrize("answer", [answer for answer, _ in RETRIED])
def test_a_passing_fault_is_asked_again(chat_server: Serve, answer: Answer) -> None:
    server = chat_server([answer, answer, say("at last")])
    assert model(server).complete(ASKED).text == "at last"
    assert len(server.requests) == 3


@pytest.mark.parametrize(("answer", "kind"), RETRIED)
def test_a_lasting_fault_is_an_error_of_its_kind(chat_server: Serve, answer: Answer, kind: ModelFault) -> None:
    server = chat_server([answer] * 9)
    error = failing(model(server))
    assert error.fault is kind
    assert not error.fatal
    assert re.search(r"\(gave up after 3 tries in \d+ s\)", error.detail)
    assert (f" (asked at {server.url}) (gave up" in error.detail) is (kind is not ModelFault.RATE_LIMIT)
    assert str(error) == f"{error.cause} {error.detail[error.detail.index('(gave up') :]}"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (PARTS, "Input should be a valid string"),
        (Answer(raw=b'{"choices": [{"message": "hi"}]}'), "'str' object has no attribute 'get'"),
        (Answer(raw=b'{"choices": [{"message": {"content": "x"}}], "usage": "y"}'), "must be a mapping"),
        (
            fault(500, 'CUDA error\nTraceback (most recent call last):\n  File "/srv/a.py", line 1, in f\nKeyError: 1'),
            "KeyError: 1",
        ),
        (malformed(), ""),
    ],
)
def test_a_reply_that_cannot_be_read_is_told_in_a_line_without_a_traceback(
    chat_server: Serve, answer: Answer, words: str
) -> None:
    error = failing(model(chat_server([answer] * 9)))
    assert words in error.detail
    assert not re.search(r"Traceback|\.py\b|received_args|\n|\^\^", str(error))


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (fault(401, "Incorrect API key provided"), ModelFault.AUTH, "Incorrect API key provided"),
        (fault(403, "no access"), ModelFault.AUTH, "no access"),
        (fault(402, "Insufficient Balance"), ModelFault.SPENT, "Insufficient Balance"),
        (fault(429, "You exceeded your quota", code="insufficient_quota"), ModelFault.SPENT, "You exceeded your quota"),
        (fault(429, "suspended", code="exceeded_current_quota_error"), ModelFault.SPENT, "suspended"),
        (fault(429, "You exceeded your quota. limit: 0"), ModelFault.SPENT, "You exceeded your quota. limit: 0"),
        (fault(429, "Limit on tokens per day (TPD)"), ModelFault.SPENT, "Limit on tokens per day (TPD)"),
        (fault(400, "not in good standing", code="Arrearage"), ModelFault.SPENT, "not in good standing"),
        (fault(404, "The model `x` does not exist"), ModelFault.UNKNOWN, "The model `x` does not exist"),
        (fault(400, "no such model", code="model_not_found"), ModelFault.UNKNOWN, "no such model"),
        (fault(400, "it was decommissioned", code="model_decommissioned"), ModelFault.UNKNOWN, "it was decommissioned"),
        (fault(400, "Invalid model: x", code="invalid_model"), ModelFault.UNKNOWN, "Invalid model: x"),
        (fault(410, "This version was retired"), ModelFault.UNKNOWN, "This version was retired"),
        (fault(400, "x is not a valid model ID"), ModelFault.UNKNOWN, "x is not a valid model ID"),
        (fault(400, "Model Not Exist"), ModelFault.UNKNOWN, "Model Not Exist"),
        (
            fault(404, "No endpoints found that support tool use."),
            ModelFault.NO_TOOLS,
            "No endpoints found that support tool use",
        ),
        (fault(400, "bad parameter"), ModelFault.REQUEST, "bad parameter"),
        (fault(413, "too large"), ModelFault.REQUEST, "too large"),
    ],
)
def test_a_fault_that_waiting_does_not_mend_is_an_error_at_once(
    chat_server: Serve, answer: Answer, kind: ModelFault, words: str
) -> None:
    server = chat_server([answer] * 2)
    error = failing(model(server))
    where = {
        ModelFault.AUTH: f" (asked at {server.url}, without a key: export OPENAI_API_KEY)",
        ModelFault.SPENT: f" (asked at {server.url}): the account has no credit or quota left: add credit, or export the key of another account",
        ModelFault.UNKNOWN: f" (asked at {server.url}): check the model's name, or the address (--recode-api-base)",
        ModelFault.NO_TOOLS: f" (asked at {server.url}): set `tools: false` for it in --recode-models-file, so that the"
        " agent writes its actions as text",
    }.get(kind, f" (asked at {server.url})")
    assert (error.fault, error.detail) == (kind, words + where)
    assert str(error) == f"model gpt-5-mini: {kind.value}: {words}{where}"
    assert len(server.requests) == 1


@pytest.mark.slow
def test_a_server_that_never_answers(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server([silent(), say("at last")])
    assert hanging(server, tmp_path / "spent.jsonl").complete(ASKED).text == "at last"
    error = failing(model(chat_server([silent()]), call_seconds=0.3, retries={"tries": 1}))
    assert error.fault is ModelFault.TIMEOUT


HANGS = "no complete answer within 1 s"


def hanging(server: ChatServer, path: Path) -> LitellmModel:
    """Whose caller has asked before: its first request takes it longer."""
    asks, server.script = server.script, lambda _: say("known")
    model(server).complete(ASKED)
    server.requests.clear()
    server.script = asks
    return model(server, ledger=FileLedger(path), call_seconds=1.0, retries={"tries": 6})


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.slow
def test_a_server_that_hangs_is_tried_twice_by_one_episode_and_once_by_the_next(
    chat_server: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "spent.jsonl"
    server = chat_server(lambda _: silent())
    made = hanging(server, path)
    first, second = (failing(made).detail for _ in range(2))
    assert re.fullmatch(rf"{HANGS} \(gave up after 2 tries in \d+ s\)", first)
    assert second == f"{HANGS} (tried once, because this run gave up on this model before)"
    assert len(server.requests) == 3
    assert said(caplog) == [f"model gpt-5-mini: {HANGS}; trying once more, for up to 1 s (--recode-call-seconds)"]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["reach"] for line in lines if "reach" in line] == ["waiting", "lost"]


@pytest.mark.slow
def test_another_model_there_is_not_taken_to_hang_and_an_answer_ends_it(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server(lambda _: silent())
    client = hanging(server, tmp_path / "spent.jsonl")
    failing(client)
    server.script = lambda request: silent() if request.number < 3 else say("at last")
    other = model(server, "gpt-4o-mini", ledger=client.ledger, call_seconds=1.0)
    assert other.complete(ASKED).text == "at last"  # in its second try
    assert client.complete(ASKED).text == "at last"
    server.script = lambda request: silent() if request.number < 6 else say("at last")
    assert client.complete(ASKED).text == "at last"  # in its second try again


@pytest.mark.slow
def test_a_rate_limit_is_waited_for_as_ever_and_only_long_pauses_are_told(
    chat_server: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = chat_server([fault(429, "slow down"), fault(429, "slow down", retry_after="45"), silent(), say("x")])
    assert model(server, call_seconds=2.0, retries={"tries": 6}).complete(ASKED).text == "x"
    first, second = said(caplog)
    assert re.fullmatch(r"model gpt-5-mini: rate-limit: slow down; trying again in 45 s", first)
    assert second.endswith("no complete answer within 2 s; trying once more, for up to 2 s (--recode-call-seconds)")


def test_that_the_first_answer_of_a_run_is_late_is_said_once(
    chat_server: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    late = threading.Event()
    server = chat_server(lambda _: silent(late))
    words = f"no answer in the first 0.1 s (server: {server.url}); waiting for up to 20 s (--recode-call-seconds)"

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            late.set()

    logger, handler = logging.getLogger("pytest_recode"), Said()
    logger.addHandler(handler)
    try:
        client = model(server, ledger=FileLedger(tmp_path / "spent.jsonl"))
        client.provider.late_seconds = 0.1
        assert client.complete(ASKED).text == "late"
    finally:
        logger.removeHandler(handler)
    assert said(caplog) == [f"model gpt-5-mini: {words}"]
    assert client.ledger.answered("gpt-5-mini")
    client.provider._late()
    assert len(said(caplog)) == 1


@pytest.mark.slow
def test_an_address_that_takes_no_connection_is_one_that_cannot_be_reached(chat_server: Serve) -> None:
    """As a firewall that drops packets, where a call would wait for all of its time."""
    with socket.socket() as full, socket.socket() as one, socket.socket() as two:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for each in (one, two):
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        error = failing(model(chat_server([]), api_base=url, call_seconds=4.0, retries={"tries": 1}))
    assert error.fault is ModelFault.CONNECTION
    assert error.detail.startswith(f"{url} cannot be reached (")


def test_a_server_that_drips_bytes_is_no_answer_either(chat_server: Serve) -> None:
    error = failing(model(chat_server([Answer(drip=True)]), call_seconds=0.5, retries={"tries": 1}))
    assert error.fault is ModelFault.TIMEOUT
    assert error.detail.startswith("no complete answer within 0.5 s (gave up after 1 try in ")


def test_a_late_answer_is_one(chat_server: Serve) -> None:
    event = threading.Event()
    server = chat_server([silent(event)])
    threading.Timer(0.1, event.set).start()
    assert model(server).complete(ASKED).text == "late"


def test_nobody_listens(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl")
    with DeadServer() as dead:
        error = failing(model(dead, api_base=dead.url.replace("//", "//user:secret@"), ledger=ledger))
    assert ledger.unbooked == 0  # nothing was sent
    assert error.fault is ModelFault.CONNECTION
    words = re.escape(
        f"{dead.url} cannot be reached (Connection refused): start the server there, or correct the address "
        "(gave up after 3 tries in "
    )
    assert re.fullmatch(words + r"\d+ s\)", error.detail)


def test_a_name_that_nobody_has() -> None:
    """`.invalid` is kept free for ever (RFC 2606); the system's words for it differ with its resolver."""
    with ChatServer([]) as server:
        made = model(server, api_base="http://no-such-host.invalid/v1")
    reason = error_of_looking_up("no-such-host.invalid")
    error = failing(made)
    assert error.fault is ModelFault.CONNECTION
    assert error.detail.startswith(f"http://no-such-host.invalid/v1 cannot be reached ({reason}): start the server")


def error_of_looking_up(host: str) -> str:
    with pytest.raises(socket.gaierror) as caught:
        socket.getaddrinfo(host, 80)
    return str(caught.value.strerror)


def test_an_address_is_waited_for_by_one_episode_and_not_by_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "spent.jsonl"
    with DeadServer() as dead:
        errors = [failing(model(dead, ledger=FileLedger(path))) for _ in range(3)]
    reason = f"{dead.url} cannot be reached (Connection refused): start the server there, or correct the address"
    assert [error.detail.partition(" (gave up after 3 tries in ")[0] for error in errors] == [
        reason,
        *[f"{reason} (not retried, because this run gave up on this server before)"] * 2,
    ]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["reach"] for line in lines if "reach" in line] == ["waiting", "lost"]
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == [f"model gpt-5-mini: {reason}; trying again for up to 5 s"]


def test_an_address_that_answers_again_is_waited_for_again(chat_server: Serve, tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl")
    server = chat_server([say("back"), fault(400, "no"), dropped("before"), dropped("before"), say("and again")])
    ledger.reached(server.url, Reach.LOST)
    client = model(server, ledger=ledger)
    assert client.complete(ASKED).text == "back"
    assert ledger.reached(server.url, Reach.LOST) is Reach.ANSWERS
    failing(client)  # a refusal is an answer of the address, too
    assert ledger.reached(server.url, Reach.ANSWERS) is Reach.ANSWERS
    assert client.complete(ASKED).text == "and again"


def test_what_another_worker_gives_up_is_not_waited_for_any_longer(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    waits: list[float] = []
    with DeadServer() as dead:
        client = model(dead, ledger=FileLedger(path))

        def meanwhile(seconds: float) -> None:
            waits.append(seconds)
            FileLedger(path).reached(dead.url, Reach.LOST)

        client.retries = Retries(wait=meanwhile)
        assert failing(client).detail.endswith(" (not retried, because this run gave up on this server before)")
    assert len(waits) == 1


def test_an_address_without_a_connection_is_waited_for_less_long() -> None:
    retries = Retries(knocking=5.0)
    refused = FailedTry(fault=ModelFault.CONNECTION, detail="", unreachable="Connection refused")
    cut = FailedTry(fault=ModelFault.CONNECTION, detail="")
    assert retries.pause(1, refused, 0.0) is not None
    assert retries.pause(1, refused, 4.0) is None
    assert retries.pause(1, cut, 4.0) is not None
    stopped = replace(refused, stopped=True)
    assert [Retries().limit(each) for each in (stopped, refused, cut)] == [5.0, 60.0, 1800.0]


@pytest.mark.parametrize(("answered", "limit"), [(False, 5), (True, 60)])
def test_a_server_of_this_machine_is_waited_for_if_its_model_has_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, answered: bool, limit: int
) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl")
    with DeadServer() as dead:
        client = model(dead, ledger=ledger)
        if answered:
            ledger.before_call(client.name)
            ledger.spent(client.name, Usage(prompt_tokens=1, completion_tokens=1))
        failing(client)
    assert [line.endswith(f"; trying again for up to {limit} s") for line in said(caplog)] == [True]


BODY = json.dumps({"type": "error", "error": {"type": "api_error", "message": "Words of the\nprovider"}}).encode()


@pytest.mark.parametrize("name", ["openai/x", "deepseek/x"])
@pytest.mark.parametrize(
    ("answer", "not_json"),
    [
        (Answer(raw=b""), True),
        (Answer(raw=b"<html>busy</html>"), True),
        (Answer(status=502, raw=b"<html>busy</html>"), False),
    ],
)
def test_an_answer_that_is_not_json_is_said_to_be_none(
    chat_server: Serve, name: str, answer: Answer, not_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-some-key")
    error = failing(model(chat_server([answer]), name, retries={"tries": 1}))
    assert error.detail.startswith("the server's answer is not JSON") is not_json


@pytest.mark.parametrize("name", ["openai/x", "anthropic/claude-x", "gemini/gemini-2.5-pro", "deepseek/x"])
@pytest.mark.parametrize("status", [400, 500])
def test_only_the_providers_words_are_shown(
    chat_server: Serve, name: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, "sk-some-key")
    error = failing(model(chat_server([Answer(status=status, raw=BODY)]), name, retries={"tries": 1}))
    assert error.detail.partition(" (asked at ")[0] == "Words of the provider"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/x", "OPENAI_API_KEY"),
        ("anthropic/claude-x", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("together_ai/x", "TOGETHERAI_API_KEY"),
        ("lab", "MY_LAB_KEY"),
    ],
)
def test_a_refused_key_is_named_by_its_variable_and_where_it_went(
    chat_server: Serve, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    monkeypatch.setenv(variable, "sk-some-key")
    server = chat_server([Answer(status=401, raw=BODY)])
    table = {"lab": {"model": "openai/lab-model", "api_key_env": "MY_LAB_KEY"}}
    assert failing(model(server, name, table=table)).detail == (
        f"Words of the provider (asked at {server.url}, with the key in {variable}): check that key and its account, "
        f"or export another as {variable}"
    )


def test_waits_double_and_are_jittered(chat_server: Serve) -> None:
    waits: list[float] = []
    failing(model(chat_server([fault(500)] * 6), waits=waits, retries={"tries": 6, "base": 2.0, "cap": 20.0}))
    assert len(waits) == 5
    for wait, least in zip(waits, [2.0, 4.0, 8.0, 16.0, 20.0], strict=True):
        assert least <= wait <= 1.5 * least
    assert len({wait / least for wait, least in zip(waits, [2.0, 4.0, 8.0, 16.0, 20.0], strict=True)}) == 5


def test_retry_after_in_seconds_and_as_a_date_is_kept(chat_server: Serve) -> None:
    waits: list[float] = []
    date = email.utils.formatdate(time.time() + 60, usegmt=True)
    server = chat_server([fault(429, retry_after="7"), fault(503, retry_after=date), say("x")])
    model(server, waits=waits).complete(ASKED)
    assert 7.0 <= waits[0] <= 7.1
    assert 30.0 <= waits[1] <= 60.1
    millis = Answer(status=429, raw=b"{}", headers={"retry-after-ms": "250"})
    model(chat_server([millis, say("x")]), waits=waits).complete(ASKED)
    assert 0.25 <= waits[2] <= 0.26


def test_retry_after_is_capped_and_that_is_said(chat_server: Serve) -> None:
    waits: list[float] = []
    server = chat_server([fault(429, "slow down", retry_after="3600")] * 2)
    error = failing(model(server, waits=waits, retries={"tries": 2, "cap": 5.0}))
    assert [round(wait) for wait in waits] == [5]
    words = (
        r"slow down \(gave up after 2 tries in \d+ s\) \(the server asked to wait 3600 s; this run waits at most 5 s\)"
    )
    assert re.fullmatch(words, error.detail)
    waiting = "(the server asked to wait 3600 s; this run waits at most 5 s)"
    assert error.cause == f"model {error.model}: rate-limit: slow down {waiting}"


def test_patience_ends_the_tries(chat_server: Serve) -> None:
    server = chat_server([fault(429, retry_after="50")] * 2)
    error = failing(model(server, retries={"patience": 40.0}))
    assert error.fault is ModelFault.RATE_LIMIT
    assert len(server.requests) == 1


def test_the_real_clock_waits(chat_server: Serve) -> None:
    server = chat_server([fault(500), say("x")])
    made = model(server)
    made.retries = Retries(base=0.001)
    assert made.complete(ASKED).text == "x"


def test_no_key_of_the_environment_shows_in_an_error(chat_server: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    server = chat_server([fault(401, "Incorrect API key provided: sk-very-secret-key.")])
    assert failing(model(server)).detail.startswith("Incorrect API key provided: <OPENAI_API_KEY> (asked at ")
    assert server.requests[0].headers["authorization"] == "Bearer sk-very-secret-key"


def test_the_key_may_be_in_another_variable(chat_server: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LAB_KEY", "lab-key")
    server = chat_server([say("x")])
    table = {"lab": {"model": "openai/lab-model", "api_base": server.url, "api_key_env": "MY_LAB_KEY"}}
    with ChatServer([]) as other:
        model(other, "lab", table=table).complete(ASKED)
        assert not other.requests  # an alias's own address beats the run's
    assert server.requests[0].headers["authorization"] == "Bearer lab-key"


def test_parameters_of_the_table_go_out_and_an_option_beats_them(chat_server: Serve) -> None:
    server = chat_server([say("a"), say("b")])
    table = {"hot": {"model": "openai/x", "params": {"temperature": 1.5, "max_tokens": 99}}}
    model(server, "hot", table=table).complete(ASKED)
    model(server, "hot", table=table, temperature=0.0).complete(ASKED)
    sent = [(request.body["temperature"], request.body["max_tokens"]) for request in server.requests]
    assert sent == [(1.5, 99), (0.0, 99)]


@pytest.mark.invariant("nothing-spent-silently")
def test_every_call_is_in_the_ledger_before_the_next(chat_server: Serve, tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl", max_cost=1.0)
    table = {"dear": {"model": "openai/x", "price": {"prompt": 50_000, "completion": 0}}}
    server = chat_server([say("a"), say("b"), say("c")])
    client = model(server, "dear", ledger=ledger, table=table)
    for _ in range(2):
        client.complete(ASKED)  # 11 tokens: 0.55 dollars
    with pytest.raises(BudgetSpent, match=r"^budget of 1\.00 USD is spent \(1\.10 USD so far\): resume"):
        client.complete(ASKED)
    assert len(server.requests) == 2


def test_a_fatal_fault_is_asked_about_once_by_all(chat_server: Serve, tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    server = chat_server([fault(401, "bad key")])
    first = failing(model(server, ledger=FileLedger(path)))
    second = failing(model(server, ledger=FileLedger(path)))
    words = f"bad key (asked at {server.url}, without a key: export OPENAI_API_KEY)"
    assert str(first) == str(second) == f"model gpt-5-mini: auth: {words}"
    assert len(server.requests) == 1


def test_what_another_worker_learns_ends_the_tries(chat_server: Serve, tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    server = chat_server([fault(500)] * 3)
    client = model(server, ledger=FileLedger(path, max_cost=1.0))

    def meanwhile(_: float) -> None:
        FileLedger(path).spent("gpt-5-mini", Usage(cost_usd=2.0))

    client.retries = Retries(wait=meanwhile)
    with pytest.raises(BudgetSpent):
        client.complete(ASKED)
    assert len(server.requests) == 1


def test_a_limit_and_an_unknown_price(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server([say("a"), say("b")])
    ledger = FileLedger(tmp_path / "spent.jsonl", max_cost=1.0)
    client = model(server, "my-local", ledger=ledger)
    for _ in range(2):
        with pytest.raises(UserError, match="model my-local has no known price"):
            client.complete(ASKED)
    assert len(server.requests) == 1


@pytest.mark.slow
def test_fresh_process_asks_nobody_but_the_server_and_stands_warnings_as_errors(
    chat_server: Serve, tmp_path: Path
) -> None:
    """litellm would fetch its price table, and read a .env file, while it is imported."""
    server = chat_server([say("hello")])
    (tmp_path / ".env").write_text("LEAKED_FROM_DOTENV=yes\n")
    script = f"""
import os, sys
hosts = []
sys.addaudithook(lambda event, args: hosts.append(args[0] if event == "socket.getaddrinfo" else args[1])
    if event in ("socket.connect", "socket.getaddrinfo") else None)
from pytest_recode.models import Message, ModelContext
from pytest_recode.models import litellm_
from pytest_recode.records.null_ledger import NullLedger
assert "litellm" not in sys.modules
context = ModelContext(name="gpt-5-mini", ledger=NullLedger(), api_base={server.url!r})
litellm_.check(context)
reply = litellm_.make(context).complete([Message(role="user", content="hi")])
assert "LEAKED_FROM_DOTENV" not in os.environ
print(reply.text, sorted({{str(host[0] if isinstance(host, tuple) else host) for host in hosts}}))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("hello ['127.0.0.1']\n", "")


def test_a_reply_is_plain(chat_server: Serve) -> None:
    reply = model(chat_server([say("x")])).complete(ASKED)
    assert reply == Reply(text="x", usage=reply.usage, finish="stop")


@pytest.mark.parametrize("reason", ["error", "abort", "network_error", "insufficient_system_resource"])
def test_an_answer_that_the_provider_breaks_off_is_no_answer(chat_server: Serve, reason: str) -> None:
    server = chat_server([say("def half(x):", finish=reason), say("whole")])
    assert model(server).complete(ASKED).text == "whole"
    broken = {"message": {"role": "assistant", "content": "def half"}, "finish_reason": "stop"}
    error = {"code": 502, "message": "upstream lost"}
    raw = json.dumps({"choices": [{"index": 0, **broken, "error": error}], "usage": ANY_USAGE}).encode()
    caught = failing(model(chat_server([Answer(raw=raw)] * 3)))
    assert caught.fault is ModelFault.SERVER
    assert "upstream lost" in caught.detail


def test_calls_of_other_forms_are_calls(chat_server: Serve) -> None:
    def message(**fields: Any) -> Answer:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **fields}}
        return Answer(raw=json.dumps({"choices": [choice], "usage": ANY_USAGE}).encode())

    custom = {"id": "a", "type": "custom", "custom": {"name": "write", "input": "text"}}
    server = chat_server([message(tool_calls=[custom]), message(function_call={"name": "read", "arguments": "{}"})])
    made = model(server)
    assert made.complete(ASKED).tool_calls == (ToolCall(id="a", name="write", arguments="text"),)
    assert made.complete(ASKED).tool_calls == (ToolCall(id="call_0", name="read", arguments="{}"),)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("OPENAI_API_KEY", "sk-0123456789\n", "line break"),
        ("OPENAI_API_KEY", "sk-\u201c0123456789\u201d", "\u201c"),
        ("NO_PROXY", "localhost,[::1]", "NO_PROXY"),
        ("ALL_PROXY", "socks5://127.0.0.1:9", "socksio"),
        ("SSL_CERT_FILE", "/nonexistent", "no such file"),
    ],
)
def test_what_the_environment_adds_is_checked_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    if variable == "ALL_PROXY" and importlib.util.find_spec("socksio"):
        pytest.skip("socksio is installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError) as caught:
        make(ModelContext(name="gpt-5-mini", ledger=NullLedger()))
    assert variable in str(caught.value)
    assert words in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_an_empty_key_is_a_missing_key_but_for_a_server_of_ones_own(
    chat_server: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with pytest.raises(UserError, match="OPENAI_API_KEY is empty"):
        make(ModelContext(name="gpt-5-mini", ledger=NullLedger()))
    assert model(chat_server([say("hello")])).complete(ASKED).text == "hello"


def test_a_proxy_that_refuses_and_a_server_without_tls_are_named_and_asked_once(
    chat_server: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, waits = chat_server([]), []
    without_tls = failing(model(server, api_base=server.url.replace("http:", "https:"), waits=waits))
    with DeadServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "")
        refused = failing(model(server, name="my-own", waits=waits))
    assert "http://" in without_tls.detail
    assert "TLS" in without_tls.detail
    assert f"proxy {proxy.url} (HTTP_PROXY)" in refused.detail
    assert (waits, server.requests) == ([], [])


def test_what_a_provider_adds_to_its_tool_calls_is_sent_back(chat_server: Serve) -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    message["tool_calls"] = [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]
    raw = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}], "usage": ANY_USAGE}

    def insists(request: Request) -> Answer:
        before = [each for each in request.body["messages"] if each["role"] == "assistant"]
        if any(each.get("reasoning_content") != "hm" for each in before):
            return fault(400, "the reasoning_content in thinking mode must be passed back to the API")
        return Answer(raw=json.dumps(raw).encode()) if len(before) < 2 else say("done")

    server = chat_server(insists)
    table = {"thinker": {"model": "deepseek/deepseek-reasoner", "tools": True, "price": {"prompt": 0, "completion": 0}}}
    client, asked = model(server, "thinker", table=table), list(ASKED)
    for _ in range(2):
        reply = reply_of(json.loads(json.dumps(completion("thinker", client.complete(asked, tools=[TOOL])))))
        asked += [
            Message(role="assistant", content="", tool_calls=reply.tool_calls, opaque=reply.opaque),
            Message(role="tool", content="text", tool_call_id="a"),
        ]
    assert client.complete(asked, tools=[TOOL]).text == "done"
