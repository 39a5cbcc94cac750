"""Refused requests and wrong addresses: the message names the thing and the next step, and no request is repeated."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pytest_recode.faults import ModelFault
from tests.chat_server import ChatServer, Script, dropped, fault
from tests.messages import assert_message
from tests.sandboxes.test_tls import certificate

from .test_litellm import failing, model

Serve = Callable[[Script], ChatServer]


@pytest.mark.parametrize(
    ("says", "fields", "steps"),
    [
        ("Unsupported value: 'top_k'", {"params": {"top_k": 1}}, ("remove top_k", "params", "--recode-models-file")),
        ("System role not supported", {}, ("params:", "supports_system_message: false")),
        (
            "Function tools with reasoning_effort are not supported for x in /v1/chat/completions. To use function tools, use"
            " /v1/responses or set reasoning_effort to 'none'.",
            {},
            ("tools: false", "--recode-models-file", "litellm"),
        ),
    ],
)
def test_a_refused_parameter_has_a_next_step(
    chat_server: Serve, says: str, fields: dict[str, Any], steps: tuple[str, ...]
) -> None:
    server = chat_server([fault(400, says)])
    error = failing(model(server, "mine", table={"mine": {"model": "openai/local", **fields}}))
    assert (error.fault, len(server.requests)) == (ModelFault.REQUEST, 1)
    assert_message(str(error), "model mine", says.rstrip("."), *steps)


def test_newer_models_of_openai_with_tools_go_to_the_responses_api() -> None:
    """litellm does it, for OpenAI's own address alone."""
    from litellm.responses.bridge_check import responses_api_bridge_check

    tools = [{"type": "function", "function": {"name": "run", "parameters": {}}}]

    def mode(name: str, **settings: Any) -> object:
        return responses_api_bridge_check(name, "openai", **settings)[0]["mode"]

    assert [mode(name, tools=tools) for name in ("gpt-6-sol", "gpt-6-astra")] == ["responses"] * 2
    assert [mode("gpt-6-sol"), mode("gpt-6-sol", tools=tools, api_base="http://127.0.0.1/v1")] == ["chat"] * 2


def test_an_http_address_of_a_server_that_speaks_tls_is_named_and_asked_once(
    tmp_path: Path, chat_server: Serve
) -> None:
    certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    waits: list[float] = []
    server = chat_server([])
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as tls:
        tls.socket = context.wrap_socket(tls.socket, server_side=True)
        Thread(target=tls.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{tls.server_port}/v1"
        error = failing(model(server, api_base=address, waits=waits))
        tls.shutdown()
    assert (error.fault, waits) == (ModelFault.CONNECTION, [])
    assert_message(error.detail, address, "TLS", "https://", "instead of http://")


def test_a_lost_connection_to_a_server_without_tls_is_none_of_its_address(chat_server: Serve) -> None:
    server = chat_server([dropped()] * 3)
    error = failing(model(server))
    assert (error.fault, len(server.requests)) == (ModelFault.CONNECTION, 3)
    assert "TLS" not in error.detail
