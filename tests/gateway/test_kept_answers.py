"""Answers that a session has paid for: a gateway of a later session in the same directory gives them again, once, to the same request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.gateway import FIRST_TURN, TURN
from pytest_recode.models import Caller
from pytest_recode.records.run_directory import ANSWERS
from pytest_recode.records.transcript import name
from tests.chat_server import ChatServer, Request, Script, say
from tests.messages import assert_message

from .conftest import EPISODE, Gateway, Start

Serve = Callable[[Script], ChatServer]
OTHER = Caller(episode="bench/tiny/task.yaml::episode[local-L4]")


def numbered(request: Request) -> Any:
    return say(f"answer {request.number}")


def ask(gateway: Gateway, turn: int = 1, caller: Caller = EPISODE, **body: Any) -> str:
    event = gateway.ask(caller=caller, **{TURN: turn}, **body).until("answer")
    return str(event["body"]["choices"][0]["message"]["content"])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.mkdir()
    return path


@pytest.mark.slow
def test_a_later_session_gives_each_answer_once_and_in_order(
    chat_server: Serve, start_gateway: Start, out: Path
) -> None:
    server = chat_server(numbered)
    first = start_gateway(server.url, out, run="first")
    assert [ask(first), ask(first)] == ["answer 0", "answer 1"]
    first.process.close()
    again = start_gateway(server.url, out, run="first")
    assert ask(again) == "answer 2", "a gateway that is started again belongs to the same session"
    again.process.close()
    later = start_gateway(server.url, out, run="later")
    assert [ask(later) for _ in range(4)] == ["answer 0", "answer 1", "answer 2", "answer 3"]
    assert len(later.lines()) == len(server.requests) == 4


@pytest.mark.slow
def test_other_turns_and_requests_are_asked(chat_server: Serve, start_gateway: Start, out: Path) -> None:
    server = chat_server(numbered)
    first = start_gateway(server.url, out, run="first")
    assert ask(first, turn=2) == "answer 0"
    first.process.close()
    later = start_gateway(server.url, out, run="later")
    assert ask(later, turn=1) == "answer 1"
    assert ask(later, turn=2, temperature=0.5) == "answer 2"
    assert ask(later, turn=2, caller=OTHER) == "answer 3"
    assert ask(later, turn=2) == "answer 0"


SHARED = {FIRST_TURN: "0123456789abcdef" * 2}


@pytest.mark.slow
def test_an_episode_gets_the_answers_of_a_first_turn_that_another_one_has_left(
    chat_server: Serve, start_gateway: Start, out: Path
) -> None:
    """In the same session, too."""
    server = chat_server(numbered)
    gateway = start_gateway(server.url, out, run="first")
    assert [ask(gateway, **SHARED), ask(gateway, **SHARED)] == ["answer 0", "answer 1"]
    assert [ask(gateway, caller=OTHER, **SHARED) for _ in range(3)] == ["answer 0", "answer 1", "answer 2"]
    assert ask(gateway, caller=OTHER) == "answer 3", "not shared"


def test_an_episode_waits_for_the_answer_to_one_that_has_died(
    chat_server: Serve, start_gateway: Start, out: Path
) -> None:
    go, came = threading.Event(), threading.Event()

    def answer(request: Request) -> Any:
        came.set()
        return say(f"answer {request.number}", wait=go)

    server = chat_server(answer)
    gateway = start_gateway(server.url, out, run="first")
    first = gateway.ask(**{TURN: 1}, **SHARED)
    assert came.wait(60)
    first.leave()
    second = gateway.ask(caller=OTHER, **{TURN: 1}, **SHARED)
    go.set()
    assert second.until("answer")["body"]["choices"][0]["message"]["content"] == "answer 0"
    assert len(server.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("key", ["../spending", "", 1, "0" * 31])
def test_a_key_of_a_first_turn_is_no_path(chat_server: Serve, start_gateway: Start, out: Path, key: Any) -> None:
    ask(start_gateway(chat_server(numbered).url, out, run="first"), **{FIRST_TURN: key})
    assert [path.name for path in (out / ANSWERS).iterdir()] == [name(EPISODE.episode)]


@pytest.mark.parametrize(
    ("caller", "turn"), [(Caller(), 1), (EPISODE, 0)], ids=["no-episode", "an-ordinary-clients-call"]
)
def test_calls_without_an_episode_or_a_turn_are_not_kept(
    chat_server: Serve, start_gateway: Start, out: Path, caller: Caller, turn: int
) -> None:
    ask(start_gateway(chat_server(numbered).url, out, run="first"), caller=caller, turn=turn)
    assert not (out / ANSWERS).exists()


@pytest.mark.slow
def test_a_damaged_file_is_named_with_its_line(chat_server: Serve, start_gateway: Start, out: Path) -> None:
    server = chat_server(numbered)
    first = start_gateway(server.url, out, run="first")
    ask(first)
    first.process.close()
    path = out / ANSWERS / name(EPISODE.episode)
    path.write_text(path.read_text().replace('"turn": 1', '"turn": "one"'))
    later = start_gateway(server.url, out, run="later")
    error = later.ask(**{TURN: 1}).until("error")
    assert error["kind"] == "user"
    assert_message(error["message"], f"{path.name}, line 1", "turn is 'one'", "remove the file")
    assert len(server.requests) == 1
