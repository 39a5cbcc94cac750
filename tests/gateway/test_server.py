"""A gateway in its own process: whom it serves, and what becomes of calls whose caller, provider or gateway ends."""

from __future__ import annotations

import json
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from pytest_recode.faults import BudgetSpent, ModelError, ModelFault, Stopped, UserError
from pytest_recode.gateway import TURN, client, connection, supervisor, token
from pytest_recode.gateway.client import make
from pytest_recode.gateway.connection import UnixConnection, connected
from pytest_recode.models import Caller, GatewayAddress, Message, ModelContext, Reply, Usage
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.null_ledger import NullLedger
from pytest_recode.usage import RateLimit
from tests.chat_server import Answer, ChatServer, Request, Script, dropped, fault, say
from tests.messages import assert_message

from .conftest import EPISODE, Gateway, Start, gone

Serve = Callable[[Script], ChatServer]
HI = [Message(role="user", content="hi")]
PRICED = {
    "local": {"model": "openai/local", "price": {"prompt": 1000, "completion": 1000}, "params": {"max_tokens": 100}}
}


def model(gateway: Gateway, caller: Caller = EPISODE, name: str = "local") -> client.GatewayModel:
    return make(ModelContext(name=name, ledger=NullLedger(), gateway=gateway.address, caller=caller))


class Held:
    """A provider that answers when `go` is set. `came` is released once per request."""

    def __init__(self, chat_server: Serve) -> None:
        self.go, self.came = threading.Event(), threading.Semaphore(0)
        self.server = chat_server(self._answer)

    def _answer(self, request: Request) -> Answer:
        self.came.release()
        return say(f"answer {request.number}", wait=self.go)


@pytest.fixture
def held(chat_server: Serve) -> Held:
    return Held(chat_server)


def test_a_worker_gets_the_answer_and_the_ledger_has_its_cost(chat_server: Serve, start_gateway: Start) -> None:
    server = chat_server([say("hello")])
    gateway = start_gateway(server.url, table=PRICED)
    reply = model(gateway).complete(HI)
    cost = 18 * 1000 / 1e6
    assert reply == Reply(
        text="hello", usage=Usage(prompt_tokens=11, completion_tokens=7, cost_usd=cost), finish="stop"
    )
    assert gateway.lines() == [{"model": "local", "prompt_tokens": 11, "completion_tokens": 7, "cost_usd": cost}]


def test_only_callers_with_a_token_of_the_run_are_served(chat_server: Serve, start_gateway: Start) -> None:
    gateway = start_gateway(chat_server([]).url)
    for given in ("", "Bearer ", "Bearer recode-", f"Bearer {token('another', EPISODE)}"):
        opened = UnixConnection(connected(gateway.address.socket))
        opened.request("POST", "/v1/chat/completions", "{}", {"Authorization": given})
        response = opened.getresponse()
        assert response.status == 401
        assert "token" in json.loads(response.read())["error"]["message"]
        opened.close()


def test_only_this_user_can_enter_the_directory_of_the_socket(start_gateway: Start) -> None:
    gateway = start_gateway("http://127.0.0.1:1/v1")
    place = Path(gateway.address.socket).parent
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_gateway_listens_where_the_path_of_the_temporary_directory_is_too_long_for_a_socket(
    chat_server: Serve, start_gateway: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (long := tmp_path / ("x" * 100)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    gateway = start_gateway(chat_server([say("hello")]).url)
    assert model(gateway).complete(HI).text == "hello"


def test_a_gateway_that_is_closed_leaves_nothing(start_gateway: Start) -> None:
    gateway = start_gateway("http://127.0.0.1:1/v1")
    pid = gateway.pid
    gateway.process.close()
    gone(pid)
    assert not Path(gateway.address.socket).parent.exists()
    assert gateway.notified == []


# An agent's own client in a sandbox


def plain(gateway: Gateway, **more: Any) -> openai.OpenAI:
    transport = httpx.HTTPTransport(uds=gateway.address.socket)
    return openai.OpenAI(
        base_url="http://gateway/v1",
        api_key=token(gateway.address.secret, EPISODE),
        http_client=httpx.Client(transport=transport, trust_env=False),
        **more,
    )


@pytest.mark.slow
def test_an_ordinary_client_gets_completions_and_vectors(chat_server: Serve, start_gateway: Start) -> None:
    vectors = {"data": [{"embedding": [0.5, 1.0], "index": 0}], "usage": {"prompt_tokens": 3, "total_tokens": 3}}
    server = chat_server([say("hello"), Answer(raw=json.dumps(vectors).encode())])
    with plain(start_gateway(server.url)) as asks:
        completion = asks.chat.completions.create(model="local", messages=[{"role": "user", "content": "hi"}])
        assert completion.choices[0].message.content == "hello"
        assert completion.usage is not None
        assert completion.usage.total_tokens == 18
        vector = asks.embeddings.create(model="local", input=["one"], encoding_format="float")
        assert vector.data[0].embedding == [0.5, 1.0]


ERRORS: list[tuple[Script, type[openai.APIStatusError], str]] = [
    ([fault(401, "no such key")], openai.AuthenticationError, "no such key"),
    ([fault(400, "too long")], openai.BadRequestError, "too long"),
    ([fault(404, "no such model")], openai.NotFoundError, "no such model"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("script", "kind", "words"), ERRORS)
def test_an_ordinary_client_gets_its_own_errors_and_does_not_ask_again(
    chat_server: Serve, start_gateway: Start, script: Script, kind: type[openai.APIStatusError], words: str
) -> None:
    server = chat_server(script)
    with plain(start_gateway(server.url)) as asks, pytest.raises(kind) as caught:
        asks.chat.completions.create(model="local", messages=[{"role": "user", "content": "hi"}])
    assert words in caught.value.message
    assert len(server.requests) == 1


def test_requests_of_another_form_are_refused_in_openais_format(chat_server: Serve, start_gateway: Start) -> None:
    server = chat_server([])
    gateway = start_gateway(server.url)
    with plain(gateway, max_retries=0) as asks:
        for wrong in (
            {"messages": []},
            {"messages": [{"role": "user", "content": "hi"}], "stream": True},
            {"messages": [{"role": "user", "content": "hi"}], "response_format": {"type": "json_object"}},
        ):
            with pytest.raises(openai.BadRequestError):
                asks.chat.completions.create(model="local", **wrong)  # type: ignore[call-overload]
        with pytest.raises(openai.BadRequestError) as caught:
            asks.post("/chat/completions", body="[]", cast_to=object)
    assert "JSON object" in caught.value.message
    assert not server.requests


# Callers that leave


def test_the_answer_to_a_caller_that_has_left_is_booked_and_nothing_else_is_sent(
    held: Held, start_gateway: Start
) -> None:
    """It leaves during the request; another one leaves in the queue. A third one waits for both to be over."""
    gateway = start_gateway(held.server.url, limits={"*": RateLimit(concurrency=1)})
    first = gateway.ask()
    assert first.event() == {"event": "try"}
    assert held.came.acquire(timeout=60)
    second, third = gateway.ask(), gateway.ask()
    second.leave()
    first.leave()
    held.go.set()
    assert third.until("answer")["body"]["choices"][0]["message"]["content"] == "answer 1"
    assert len(held.server.requests) == 2
    assert [line["prompt_tokens"] for line in gateway.lines()] == [11, 11]


def test_a_request_whose_caller_has_left_keeps_nobody_waiting(held: Held, start_gateway: Start) -> None:
    """A server that never answers one request is not the end of all that come after it."""
    gateway = start_gateway(held.server.url, workers=1)
    first = gateway.ask()
    assert first.event() == {"event": "try"}
    assert held.came.acquire(timeout=60)
    second = gateway.ask()
    first.leave()
    assert second.event() == {"event": "try"}
    assert held.came.acquire(timeout=60)
    held.go.set()
    second.until("answer")


@pytest.mark.slow
def test_no_other_try_is_made_for_a_caller_that_has_left(chat_server: Serve, start_gateway: Start) -> None:
    """Its request is answered by an error that is worth another try."""
    go, came = threading.Event(), threading.Event()

    def answer(request: Request) -> Answer:
        came.set()
        return say("fine") if request.number else Answer(status=500, raw=b"{}", wait=go)

    server = chat_server(answer)
    gateway = start_gateway(server.url, limits={"*": RateLimit(concurrency=1)})
    leaves = gateway.ask()
    assert came.wait(60)
    stays = gateway.ask()
    leaves.leave()
    go.set()
    assert stays.until("answer")
    gateway.process.close()  # what waits for another try ends
    assert len(server.requests) == 2
    assert [line.get("unanswered") for line in gateway.lines()] == ["server", None]


# Gateways that end


@pytest.mark.slow
def test_a_gateway_that_is_killed_is_an_error_of_the_calls_in_flight_alone(
    chat_server: Serve, start_gateway: Start
) -> None:
    came, never = threading.Event(), threading.Event()

    def answer(request: Request) -> Answer:
        came.set()
        return say("late", wait=never) if request.number == 1 else say("fine")

    server = chat_server(answer)
    gateway = start_gateway(server.url, table=PRICED)
    asks = model(gateway)
    assert asks.complete(HI).text == "fine"
    came.clear()
    with ThreadPoolExecutor() as pool:
        cut = pool.submit(asks.complete, HI)
        assert came.wait(60)
        gateway.kill()
        error = cut.exception(60)
    assert isinstance(error, ModelError)
    assert error.fault is ModelFault.GATEWAY
    assert_message(str(error), "model local", "gateway", "ended during the call", "resume the run")
    assert asks.complete(HI).text == "fine"
    assert [line.get("prompt_tokens") or line["unanswered"] for line in gateway.lines()] == [11, "cut off", 11]
    assert FileLedger(gateway.ledger).unbooked == 1
    [notified] = gateway.notified
    assert_message(notified, "gateway", "died", "signal 9", "started again")


@pytest.mark.slow
def test_a_gateway_that_is_told_to_end_lets_its_calls_fail(
    held: Held, start_gateway: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM to it alone, of whomever: the run goes on with the next one. A real interpreter gets the signal."""
    monkeypatch.setattr(supervisor, "interpreter", (sys.executable,))
    gateway = start_gateway(held.server.url)
    cut = gateway.ask()
    assert held.came.acquire(timeout=60)
    gateway.kill(signal.SIGTERM)
    event = cut.until("error")
    assert (event["kind"], event["fault"]) == ("model", "gateway")
    held.go.set()
    assert model(gateway).complete(HI).text.startswith("answer")
    assert [line.get("prompt_tokens") or line["unanswered"] for line in gateway.lines()] == ["cut off", 11]


def test_a_gateway_that_cannot_stay_is_given_up_and_calls_fail_at_once(
    start_gateway: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no module named pytest_recode' >&2\nexit 3\n")
    broken.chmod(0o755)
    started = start_gateway("http://127.0.0.1:1/v1")
    monkeypatch.setattr(supervisor, "interpreter", (str(broken),))
    started.kill()
    with pytest.raises(ModelError) as caught:
        model(started)
    assert caught.value.fault is ModelFault.GATEWAY
    started.process._watch.join()
    assert_message(
        started.notified[-1], "gateway", "exit status 3", "not started again", "no module named pytest_recode"
    )
    with pytest.raises(UserError) as found:
        client.check(ModelContext(name="other", ledger=NullLedger(), gateway=started.address))
    assert_message(str(found.value), "model other", "does not listen", "last line of output")


# Runs that stop


def test_when_the_run_stops_answers_are_awaited_and_what_waits_is_not_sent(held: Held, start_gateway: Start) -> None:
    gateway = start_gateway(held.server.url, limits={"*": RateLimit(concurrency=1)})
    sent = gateway.ask()
    assert held.came.acquire(timeout=60)
    queued = gateway.ask()
    gateway.process.stop()
    assert queued.until("error")["kind"] == "stopped"
    with pytest.raises(Stopped):
        model(gateway).complete(HI)
    held.go.set()
    assert sent.until("answer")
    assert len(held.server.requests) == 1


def test_a_call_between_two_tries_ends_when_the_run_stops(chat_server: Serve, start_gateway: Start) -> None:
    server = chat_server([fault(500)])
    gateway = start_gateway(server.url)
    asked = gateway.ask()
    assert asked.until("retry")
    gateway.process.stop()
    assert asked.until("error")["kind"] == "stopped"
    assert len(server.requests) == 1


def test_when_the_controller_dies_answers_under_way_are_booked_and_the_gateway_ends(
    held: Held, start_gateway: Start
) -> None:
    gateway = start_gateway(held.server.url, limits={"*": RateLimit(concurrency=2)})
    stays, leaves = gateway.ask(), gateway.ask()
    for _ in range(2):
        assert held.came.acquire(timeout=60)
    queued = gateway.ask()
    leaves.leave()
    pid = gateway.pid
    gateway.process._closing.set()  # nobody watches it any longer
    assert gateway.process._process.stdin is not None
    gateway.process._process.stdin.close()
    assert queued.until("error")["kind"] == "stopped"
    held.go.set()
    assert stays.until("answer")
    gone(pid)
    assert len(held.server.requests) == 2
    assert [line.get("prompt_tokens") for line in gateway.lines()] == [11, 11]
    assert not Path(gateway.address.socket).parent.exists()


# Rate limits and budgets


@pytest.mark.slow
def test_a_call_that_is_refused_waits_and_uses_no_retry(chat_server: Serve, start_gateway: Start) -> None:
    server = chat_server([*[fault(429, "slow down", retry_after="0")] * 12, say("at last")])
    gateway = start_gateway(server.url)
    asked = gateway.ask()
    for _ in range(12):  # the transcript and the report have each of them
        refused = asked.until("retry")
        assert (refused["fault"], refused["detail"]) == ("rate-limit", "slow down")
    answer = asked.until("answer")
    assert answer["body"]["choices"][0]["message"]["content"] == "at last"
    assert [line.get("unanswered") for line in gateway.lines()] == ["rate-limit"] * 12 + [None]


@pytest.mark.slow
def test_a_provider_that_asks_for_a_longer_pause_than_a_call_may_wait_is_not_waited_for(
    chat_server: Serve, start_gateway: Start
) -> None:
    server = chat_server([fault(429, "used up for today", retry_after="7200")])
    gateway = start_gateway(server.url, max_wait=3600.0)
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            model(gateway).complete(HI)
        assert caught.value.fault is ModelFault.RATE_LIMIT
        assert_message(str(caught.value), "model local", "7200 s", "3600 s", "--recode-max-wait")
    assert len(server.requests) == 1


@pytest.mark.slow
def test_a_budget_is_exceeded_by_less_than_one_call(chat_server: Serve, start_gateway: Start) -> None:
    """Each call costs 0.11 dollars and may cost some 0.12: eight callers at once, and a limit of 1 dollar."""
    usage = {"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110}
    server = chat_server(lambda _: say("x", usage=usage))
    gateway = start_gateway(server.url, table=PRICED, max_cost=1.0)

    def spend(_: int) -> int:
        asks, calls = model(gateway), 0
        while True:
            try:
                asks.complete(HI)
            except BudgetSpent:
                return calls
            calls += 1

    with ThreadPoolExecutor(8) as pool:
        calls = sum(pool.map(spend, range(8)))
    total = FileLedger(gateway.ledger).total.cost_usd
    assert total is not None
    assert calls == len(server.requests) == 10
    assert total == pytest.approx(1.1)


@pytest.mark.slow
def test_a_call_that_breaks_off_does_not_hold_the_budget(chat_server: Serve, start_gateway: Start) -> None:
    server = chat_server([dropped("middle"), say("fine")])
    gateway = start_gateway(server.url, table=PRICED, max_cost=100.0)
    asked = gateway.ask()
    assert asked.until("answer")
    assert [line.get("unanswered") for line in gateway.lines()] == ["connection", None]


def test_a_gateway_that_nobody_starts_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(connection, "STARTING", 0.0)
    address = GatewayAddress(socket=str(tmp_path / "socket"), secret="s")
    with pytest.raises(ModelError) as caught:
        make(ModelContext(name="local", ledger=NullLedger(), gateway=address))
    assert_message(str(caught.value), "model local", "does not listen", "resume the run")


@pytest.mark.slow
def test_a_key_that_a_provider_quotes_is_stored_and_shown_nowhere(
    chat_server: Serve, start_gateway: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable has a name of the user's own."""
    monkeypatch.setenv("HOUSE_PASS", "very-secret-pass")
    quoting = "Rejected: Bearer very-secret-pass"
    server = chat_server([fault(503, quoting, retry_after="0.01"), say(quoting), fault(401, quoting)])
    entry = {"model": "openai/x", "api_key_env": "HOUSE_PASS"}
    gateway = start_gateway(server.url, table={"one": entry, "two": entry})
    asked = gateway.ask(model="one", **{TURN: 1})
    events = [asked.until("retry"), asked.until("answer"), gateway.ask(model="two").until("error")]
    files = {path.name: path.read_text() for path in gateway.ledger.parent.rglob("*.jsonl")}
    assert len(files) == 2, "the ledger and the answer"
    for text in (*map(json.dumps, events), *files.values()):
        assert "<HOUSE_PASS>" in text
        assert "very-secret-pass" not in text
    assert server.requests[0].headers["authorization"] == "Bearer very-secret-pass"
