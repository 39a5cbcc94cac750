"""What a server states of a model's context window, through the real litellm: when it refuses a prompt, and in its list of models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_recode.faults import ModelFault
from tests.chat_server import Answer, ChatServer, Script, fault, say
from tests.messages import assert_message

from .test_litellm import failing, model

Serve = Callable[[Script], ChatServer]
LLAMA_CPP = {
    "code": 400,
    "message": "the request exceeds the available context size, try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 9000,
    "n_ctx": 8192,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "window"),
    [
        (
            fault(
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                code="context_length_exceeded",
            ),
            8192,
        ),
        (
            fault(
                400,
                "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (4904 in the messages, 4096"
                " in the completion).",
            ),
            8192,
        ),
        (
            fault(
                400,
                "'max_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 5000"
                " input tokens (4096 > 8192 - 5000).",
            ),
            8192,
        ),
        (fault(400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."), 8192),
        (fault(400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."), 8192),
        (fault(400, "prompt is too long: 210000 tokens > 200000 maximum"), 200_000),
        (fault(400, "Input tokens exceed the configured limit of 272,000 tokens. Yours have 300,000."), 272_000),
        (fault(400, "The model is loaded with context length of only 4096 tokens, which is not enough"), 4096),
        (Answer(status=400, raw=json.dumps({"error": LLAMA_CPP}).encode()), 8192),
        (fault(400, "too much of it", code="context_length_exceeded"), None),
    ],
)
def test_a_refused_prompt_is_a_fault_of_its_own_with_the_window(
    chat_server: Serve, answer: Answer, window: int | None
) -> None:
    server = chat_server([answer])
    error = failing(model(server, "local"))
    assert (error.fault, error.window, error.fatal) == (ModelFault.CONTEXT, window, False)
    assert len(server.requests) == 1
    stated = () if window is None else (f"{window:,} tokens",)
    assert_message(str(error), "model local", "the prompt has some", *stated, "context:", "--recode-models-file")
    assert "the prompt has some" not in error.cause  # the sizes of prompts differ, what to do does not


@pytest.mark.parametrize(
    "answer",
    [
        fault(400, "max_tokens: 100000 > 64000, which is the maximum number of output tokens"),
        fault(413, "Request too large: tokens per minute (TPM): Limit 6000, Requested 9000"),
    ],
)
def test_other_limits_are_no_context_window(chat_server: Serve, answer: Answer) -> None:
    assert failing(model(chat_server([answer]), "local")).fault is ModelFault.REQUEST


def test_a_limit_of_the_answer_is_part_of_the_advice(chat_server: Serve) -> None:
    server = chat_server([fault(400, "too long", code="context_length_exceeded")])
    table = {"mine": {"model": "openai/local", "params": {"max_tokens": 4096}, "context": 8192}}
    error = failing(model(server, "mine", table=table))
    assert_message(error.detail, "too long", "max_tokens", "4,096", "8,192 tokens", "lower max_tokens")


VLLM = {"id": "local", "object": "model", "max_model_len": 8192}


@pytest.mark.parametrize(
    ("models", "fields", "window"),
    [
        ([{"id": "other", "max_model_len": 4096}, VLLM], {}, 8192),
        ([{"id": "/models/x.gguf", "meta": {"n_ctx_train": 32768}}], {}, 32_768),
        ([{"id": "/models/x.gguf", "meta": {"n_ctx_train": 32768, "n_ctx": 8192}}], {}, 8192),
        ([VLLM], {"context": 4096}, 4096),
        ([{"id": "other", "max_model_len": 4096}, {"id": "another"}], {}, None),
        ([{"id": "local"}], {}, None),
        ([{"id": "local", "max_model_len": "many", "meta": 7}, "?"], {}, None),
        (None, {}, None),
    ],
)
def test_a_local_servers_list_of_models_has_the_window(
    chat_server: Serve, models: Sequence[object] | None, fields: Mapping[str, Any], window: int | None
) -> None:
    server = chat_server([say("hi")])
    server.models = models
    made = model(server, "mine", table={"mine": {"model": "openai/local", **fields}})
    assert made.window == window
    assert server.requests == []


def test_an_unknown_name_is_reported_with_those_that_the_server_lists(chat_server: Serve) -> None:
    server = chat_server([fault(404, "The model does not exist.")])
    server.models = [*({"id": f"m{number}"} for number in range(7)), {"id": 7}]
    detail = failing(model(server)).detail
    assert_message(
        detail,
        f"does not exist (asked at {server.url})",
        "check the model's name",
        "lists m0, m1, m2, m3, m4 and 2 more",
    )


def test_a_server_knows_its_window_better_than_litellm(chat_server: Serve) -> None:
    server = chat_server([])
    server.models = [{"id": "gpt-5-mini", "max_model_len": 8192}]
    assert model(server).window == 8192
    server.models = None
    assert model(server).window == 272_000
