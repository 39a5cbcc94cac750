"""Dialects without a model: what a request asks for, and that texts and calls of tools are the same in each of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.gateway.agent_messages import prepared
from pytest_recode.gateway.dialects import (
    DIALECTS,
    Asked,
    alive_of,
    asked,
    counted,
    key_of,
    messages_of,
    stream_of,
)
from pytest_recode.gateway.dialects.translation import MALFORMED_ARGUMENTS, TargetModel

from .agents import FIRST, PATHS, further, streamed, with_text

ANY = TargetModel(model="hosted_vllm/any", provider="hosted_vllm")


def completion(text: str, calls: Sequence[tuple[str, str]] = (), finish: str = "", **message: Any) -> dict[str, Any]:
    """As `AgentCall` gives it to a dialect. `calls`: names and arguments."""
    message |= {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls)
        ]
    return {
        "id": "1d",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "alias",
        "choices": [{"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def answer(dialect: str, whole: Mapping[str, Any], names: Mapping[str, str] | None = None) -> dict[str, Any]:
    return DIALECTS[dialect].answer(FIRST[dialect], whole, names or {})


def sent(dialect: str, body: Mapping[str, Any], target: TargetModel = ANY) -> list[dict[str, Any]]:
    """The messages of a request that reach the provider."""
    chat = DIALECTS[dialect].translated(body, target).chat
    return prepared(chat["messages"], {}, images=True, in_results=target.provider == "anthropic")


def test_no_worker_imports_litellm() -> None:
    code = "import sys, pytest_recode.gateway.dialects, pytest_recode.gateway.client; print('litellm' in sys.modules, 'aiohttp' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )


@pytest.mark.parametrize("dialect", FIRST)
def test_a_request_is_known_by_its_path(dialect: str) -> None:
    body = {key: value for key, value in FIRST[dialect].items() if (dialect, key) != ("google", "model")}
    assert asked("POST", PATHS[dialect], json.dumps(body).encode()) == Asked(
        dialect=dialect, counts=False, streams=True, body=FIRST[dialect]
    )


@pytest.mark.parametrize(
    ("path", "dialect", "counts", "streams"),
    [
        ("/chat/completions", "chat", False, False),
        ("/v1/responses/input_tokens", "responses", True, False),
        ("/v1/messages/count_tokens?beta=true", "messages", True, False),
        ("/v1beta/models/a/b:generateContent", "google", False, False),
        ("/v1beta/models/alias:countTokens", "google", True, False),
        ("/models/alias:streamGenerateContent", "google", False, True),
    ],
)
def test_each_path(path: str, dialect: str, counts: bool, streams: bool) -> None:
    request = asked("POST", path, b"{}")
    assert request is not None
    assert (request.dialect, request.counts, request.streams) == (dialect, counts, streams)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages"),
        ("POST", "/v1/models"),
        ("POST", "/v2/messages"),
        ("POST", "/v1/messages/x"),
        ("POST", ""),
        ("POST", "/v1/models/alias:embedContent"),
        ("POST", "/v1/v1/messages"),
    ],
)
def test_other_paths_are_of_no_dialect(method: str, path: str) -> None:
    assert asked(method, path, b"no JSON") is None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe"])
def test_a_body_that_is_no_json_object_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"^the body (is not JSON|must be a JSON object)[^\n]*$"):
        asked("POST", "/v1/messages", body)


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"Authorization": "Bearer abc"}, "abc"),
        ({"authorization": "bearer abc "}, "abc"),
        ({"X-Api-Key": "abc"}, "abc"),
        ({"x-goog-api-key": "abc", "authorization": "Basic Zm9v"}, "abc"),
        ({"Authorization": "Bearer"}, ""),
        ({}, ""),
    ],
)
def test_where_a_key_is(headers: Mapping[str, str], key: str) -> None:
    assert key_of(headers) == key


@pytest.mark.parametrize("dialect", FIRST)
def test_a_waiting_client_gets_what_it_skips(dialect: str) -> None:
    """Before an answer, in a stream; else white space before JSON."""
    streams = Asked(dialect=dialect, counts=False, streams=True, body={})
    whole = Asked(dialect=dialect, counts=False, streams=False, body={})
    assert alive_of(streams).endswith(b"\n")
    assert json.loads(alive_of(whole) * 3 + b'{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("dialect", FIRST)
def test_tokens_are_estimated(dialect: str) -> None:
    request = Asked(dialect=dialect, counts=True, streams=False, body={"model": "x" * 999, "a": "y" * 391})
    assert [value for value in counted(request).values() if isinstance(value, int)] == [100]


# Texts and calls

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,20}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
arguments = st.dictionaries(texts, values, max_size=3).map(lambda value: json.dumps(value, ensure_ascii=False))


def parsed(calls: Sequence[tuple[str, str]]) -> list[tuple[str, Any]]:
    return [(name, json.loads(text or "{}")) for name, text in calls]


@pytest.mark.parametrize("dialect", FIRST)
@given(text=st.just("") | texts, calls=st.lists(st.tuples(names, st.just("") | arguments), max_size=3), data=st.data())
def test_what_a_model_says_comes_back_to_it_unchanged(
    dialect: str, text: str, calls: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Through the answer, an agent that sends it again with results of its calls, and the request."""
    if not text and not calls:
        text = "nothing"
    whole = answer(dialect, completion(text, calls))
    results = data.draw(st.lists(texts, min_size=len(calls), max_size=len(calls)))
    body = with_text(dialect, further(dialect, FIRST[dialect], whole, results), "next")
    messages = sent(dialect, body)
    said = next(message for message in messages if message["role"] == "assistant")
    content = said.get("content") or ""
    assert (content if isinstance(content, str) else "".join(part["text"] for part in content)) == text
    back = [(call["function"]["name"], call["function"]["arguments"]) for call in said.get("tool_calls", ())]
    assert parsed(back) == parsed(calls)
    shown = [message for message in messages if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in shown] == [f"call_{number}" for number in range(len(calls))]
    as_sent = [json.dumps({"output": text}, ensure_ascii=False) for text in results] if dialect == "google" else results
    assert [message["content"] for message in shown] == as_sent
    assert "next" in str(messages[-1]["content"])


@pytest.mark.parametrize("dialect", FIRST)
@given(text=st.just("") | texts, calls=st.lists(st.tuples(names, st.just("") | arguments), max_size=3))
def test_a_stream_says_what_the_answer_says(dialect: str, text: str, calls: list[tuple[str, str]]) -> None:
    heard, called = streamed(dialect, stream_of(dialect, answer(dialect, completion(text, calls))))
    assert heard == text
    assert parsed([(name, each) for _, name, each in called]) == parsed(calls)


@pytest.mark.parametrize("dialect", FIRST)
@given(text=texts, calls=st.lists(st.tuples(names, arguments), min_size=1, max_size=3), data=st.data())
def test_a_transcript_has_texts_calls_and_results(
    dialect: str, text: str, calls: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole = answer(dialect, completion(text, calls))
    results = data.draw(st.lists(texts, min_size=len(calls), max_size=len(calls)))
    messages = messages_of(dialect, with_text(dialect, further(dialect, FIRST[dialect], whole, results), "next"))
    assert messages[0].role == "system"
    assert messages[0].content == "be brief"
    assert messages[-1].role == "user"
    assert messages[-1].content == "next"
    answered = [message for message in messages if message.role == "assistant"]
    assert "".join(message.content for message in answered) == text
    made = [call for message in answered for call in message.tool_calls]
    assert parsed([(call.name, call.arguments) for call in made]) == parsed(calls)
    shown = [message for message in messages if message.role == "tool"]
    assert [message.tool_call_id for message in shown] == [call.id for call in made]
    assert all(result in message.content or dialect == "google" for message, result in zip(shown, results, strict=True))


@pytest.mark.parametrize("dialect", ["messages", "google"])
@pytest.mark.parametrize("wrong", ['{"command": "ls', "[1]", '"ls"', "1"])
def test_arguments_that_are_no_object_reach_the_agents_own_check(dialect: str, wrong: str) -> None:
    assert json.dumps({MALFORMED_ARGUMENTS: wrong}) in json.dumps(answer(dialect, completion("", [("bash", wrong)])))


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_arguments_are_passed_on_as_they_are(dialect: str) -> None:
    assert r"{\"command\": \"ls" in json.dumps(answer(dialect, completion("", [("bash", '{"command": "ls')])))


@pytest.mark.parametrize(
    ("dialect", "ends"),
    [
        ("chat", {"stop": "stop", "length": "length", "content_filter": "content_filter", "tool_calls": "tool_calls"}),
        (
            "messages",
            {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"},
        ),
        ("google", {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "tool_calls": "STOP"}),
        (
            "responses",
            {"stop": "completed", "length": "incomplete", "content_filter": "incomplete", "tool_calls": "completed"},
        ),
    ],
)
def test_why_an_answer_ends(dialect: str, ends: Mapping[str, str]) -> None:
    def end(finish: str) -> Any:
        whole = answer(dialect, completion("text", finish=finish))
        return (
            whole.get("stop_reason")
            or whole.get("status")
            or whole.get("choices", [{}])[0].get("finish_reason")
            or whole["candidates"][0]["finishReason"]
        )

    assert {finish: end(finish) for finish in ends} == ends


@pytest.mark.parametrize("dialect", FIRST)
def test_an_empty_answer_is_an_answer(dialect: str) -> None:
    whole = answer(dialect, completion(""))
    assert streamed(dialect, stream_of(dialect, whole)) == ("", [])
    assert '"text"' not in json.dumps(whole), "a block without text may be in no request"


@pytest.mark.parametrize("dialect", FIRST)
def test_thoughts_are_shown_and_not_said(dialect: str) -> None:
    whole = answer(dialect, completion("text", reasoning_content="a thought"))
    assert "a thought" in json.dumps(whole)
    assert streamed(dialect, stream_of(dialect, whole))[0] == "text"
    body = further(dialect, FIRST[dialect], whole)
    assert "a thought" not in json.dumps(sent(dialect, body)), "it is unsigned: no provider wants it back"


SIGNED = [{"type": "thinking", "thinking": "a thought", "signature": "c2ln"}]


@pytest.mark.parametrize("dialect", ["messages", "responses"])
def test_signed_thoughts_come_back(dialect: str) -> None:
    claude = TargetModel(model="anthropic/claude-opus-4-5", provider="anthropic")
    whole = answer(dialect, completion("", [("bash", "{}")], reasoning_content="a thought", thinking_blocks=SIGNED))
    said = sent(dialect, further(dialect, FIRST[dialect], whole, ["done"]), claude)[-2]
    assert [block | {"type": "thinking"} for block in said["thinking_blocks"]] == SIGNED


# One dialect


def test_the_prompt_cache_of_claude_is_kept() -> None:
    claude = TargetModel(model="anthropic/claude-opus-4-5", provider="anthropic")
    assert sent("messages", FIRST["messages"], claude)[0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in json.dumps(sent("messages", FIRST["messages"]))


def test_a_system_message_in_the_middle_stays_where_it_is() -> None:
    """Claude Code writes such ones. Other models get them as the user's."""
    body = with_text("messages", FIRST["messages"], "next")
    assert ["Environment" in json.dumps(message) for message in sent("messages", body)] == [False, False, True, False]


def test_a_tool_whose_name_is_too_long_has_it_back() -> None:
    name = "mcp__server__" + "a" * 60
    body = {**FIRST["messages"], "tools": [{"name": name, "input_schema": SCHEMA_OF_ANYTHING}]}
    translated = DIALECTS["messages"].translated(body, ANY)
    short = translated.chat["tools"][0]["function"]["name"]
    assert len(short) <= 64
    whole = DIALECTS["messages"].answer(body, completion("", [(short, "{}")]), translated.names)
    assert whole["content"][0]["name"] == name
    assert sent("messages", further("messages", body, whole, ["ok"]))[-2]["tool_calls"][0]["function"]["name"] == short


SCHEMA_OF_ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


def test_tools_of_responses_that_chat_does_not_have() -> None:
    """A tool that takes text, as Codex's apply_patch, and tools in a namespace."""
    spawn = {"type": "function", "name": "spawn", "parameters": SCHEMA_OF_ANYTHING}
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: x"}
    tools = [
        {"type": "custom", "name": "apply_patch", "description": "patch", "format": grammar},
        {"type": "namespace", "name": "agents", "description": "others", "tools": [spawn]},
        {"type": "web_search"},
    ]
    body = {**FIRST["responses"], "tools": tools}
    chat = DIALECTS["responses"].translated(body, ANY).chat
    assert [tool["function"]["name"] for tool in chat["tools"]] == ["apply_patch", "agents__spawn"]
    patch = "*** Begin Patch\n+ü\n*** End Patch"
    calls = [("apply_patch", json.dumps({"content": patch})), ("agents__spawn", "{}")]
    whole = DIALECTS["responses"].answer(body, completion("", calls), {})
    custom, function = whole["output"]
    assert (custom["type"], custom["name"], custom["input"]) == ("custom_tool_call", "apply_patch", patch)
    assert (function["type"], function["namespace"], function["name"]) == ("function_call", "agents", "spawn")
    back = sent("responses", further("responses", body, whole, ["done", "ok"]))
    assert parsed([(each["function"]["name"], each["function"]["arguments"]) for each in back[-3]["tool_calls"]])[
        0
    ] == (
        "apply_patch",
        {"content": patch},
    )
    assert [message["content"] for message in back[-2:]] == ["done", "ok"]


def test_instructions_of_responses_are_one_message() -> None:
    body = {**FIRST["responses"], "instructions": "first"}
    assert [message["role"] for message in sent("responses", body)] == ["system", "user"]
    assert sent("responses", body)[0]["content"] == "first\n\nbe brief\n\nno jokes"


def test_a_text_as_input_of_responses() -> None:
    assert sent("responses", {"model": "alias", "input": "do it"}) == [{"role": "user", "content": "do it"}]
    assert [message.content for message in messages_of("responses", {"input": "do it"})] == ["do it"]


def test_an_answer_that_is_not_stored_cannot_be_continued() -> None:
    with pytest.raises(ValueError, match="previous_response_id"):
        DIALECTS["responses"].translated({**FIRST["responses"], "previous_response_id": "resp_1"}, ANY)


def test_calls_of_google_without_identifiers_are_told_apart() -> None:
    """Two of one tool in one answer; a third one later. Results without identifiers belong to them in order."""
    two = [{"functionCall": {"name": "bash", "args": {"command": each}}} for each in ("ls", "pwd")]
    results = [{"functionResponse": {"name": "bash", "response": {"output": each}}} for each in ("a", "b", "c")]
    contents = [
        *FIRST["google"]["contents"],
        {"role": "model", "parts": two},
        {"role": "user", "parts": results[:2]},
        {"role": "model", "parts": [{"text": "again"}, two[0]]},
        {"role": "user", "parts": results[2:]},
    ]
    messages = sent("google", {**FIRST["google"], "contents": contents})[2:]
    called = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert len(set(called)) == 3
    answered = [(message["tool_call_id"], message["content"]) for message in messages if message["role"] == "tool"]
    assert answered == [(each, json.dumps({"output": text})) for each, text in zip(called, "abc", strict=True)]


def test_signatures_of_gemini_come_back() -> None:
    whole = answer("google", completion("", [("bash", "{}")]) | {})
    whole = DIALECTS["google"].answer(FIRST["google"], signed("call_1__thought__c2ln+/="), {})
    part = whole["candidates"][0]["content"]["parts"][0]
    assert part["thoughtSignature"] == "c2ln+/="
    assert part["functionCall"]["id"] == "call_1"
    back = sent("google", further("google", FIRST["google"], whole, ["ok"]))
    assert back[-2]["tool_calls"][0]["id"] == back[-1]["tool_call_id"] == "call_1__thought__c2ln+/="


def signed(identifier: str) -> dict[str, Any]:
    whole = completion("", [("bash", "{}")])
    whole["choices"][0]["message"]["tool_calls"][0]["id"] = identifier
    return whole


def test_schemas_of_google_are_those_of_json() -> None:
    declared = {"name": "f", "parameters": {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}}}
    body = {**FIRST["google"], "tools": [{"function_declarations": [declared]}]}
    config = {"functionCallingConfig": {"mode": "ANY"}}
    chat = DIALECTS["google"].translated({**body, "toolConfig": config}, ANY).chat
    expected = {"type": "object", "properties": {"type": {"type": "string"}}}
    assert chat["tools"][0]["function"]["parameters"] == expected
    assert chat["tool_choice"] == "required"


def test_options_of_google() -> None:
    config = {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 100, "stopSequences": ["x"], "topK": 3}
    schema = {"type": "OBJECT", "properties": {}}
    chat = (
        DIALECTS["google"]
        .translated({**FIRST["google"], "generationConfig": {**config, "responseSchema": schema}}, ANY)
        .chat
    )
    options = {key: value for key, value in chat.items() if key not in ("messages", "tools")}
    form = {"name": "answer", "schema": {"type": "object", "properties": {}}}
    assert options == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ["x"],
        "response_format": {"type": "json_schema", "json_schema": form},
    }


PICTURE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("chat", {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}]}),
        ("messages", {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]}),
        ("responses", {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": PICTURE}]}),
        ("google", {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]}),
    ],
)  # fmt: skip
def test_images_of_the_user_are_passed_on(dialect: str, message: Mapping[str, Any]) -> None:
    key = {"responses": "input", "google": "contents"}.get(dialect, "messages")
    last = sent(dialect, {**FIRST[dialect], key: [*FIRST[dialect][key], message]})[-1]
    assert last["content"][0]["image_url"]["url"] == PICTURE


# Clients of the makers


def client(dialect: str, stream: bytes) -> openai.OpenAI:
    """OpenAI's own, whose server answers with this stream, after a wait."""
    waits = alive_of(Asked(dialect=dialect, counts=False, streams=True, body={}))

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=waits * 2 + stream)

    return openai.OpenAI(
        base_url="http://door/v1", api_key="k", http_client=httpx.Client(transport=httpx.MockTransport(respond))
    )


def test_openais_client_reads_a_stream_of_chat() -> None:
    whole = answer("chat", completion("a text", [("bash", '{"command": "ls"}'), ("bash", "{}")], reasoning_content="t"))
    with client("chat", stream_of("chat", whole)) as asks:
        chunks = list(asks.chat.completions.create(model="m", messages=[], stream=True))
    calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "a text"
    assert [(call.index, call.id) for call in calls] == [(0, "call_0"), (1, "call_1")]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 18


def test_openais_client_reads_a_stream_of_responses() -> None:
    whole = answer("responses", completion("a text", [("bash", '{"command": "ls"}')], reasoning_content="a thought"))
    with client("responses", stream_of("responses", whole)) as asks:
        events = list(asks.responses.create(model="m", input="hi", stream=True))
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "a text"
    assert [item.type for item in last.response.output] == ["reasoning", "message", "function_call"]
    assert last.response.usage is not None
    assert last.response.usage.total_tokens == 18


# Tokens that a provider counts apart, and results that are errors

APART = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 15},
    "cache_creation_input_tokens": 30,
}
TOLD = {
    "chat": APART,
    "responses": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 15},
        "total_tokens": 120,
    },
    "messages": {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 60,
    },
    "google": {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 15,
        "totalTokenCount": 120,
    },
}


@pytest.mark.parametrize("dialect", TOLD)
def test_tokens_are_counted_apart_as_each_maker_counts_them(dialect: str) -> None:
    told = answer(dialect, {**completion("done"), "usage": APART})
    assert told["usageMetadata" if dialect == "google" else "usage"] == TOLD[dialect]


RESULTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "messages": (
        {"type": "tool_result", "tool_use_id": "call_0", "content": "no such file", "is_error": True},
        {"type": "tool_result", "tool_use_id": "call_0", "content": "a file", "is_error": False},
    ),
    "google": (
        {"functionResponse": {"id": "call_0", "name": "bash", "response": {"error": "no such file"}}},
        {"functionResponse": {"id": "call_0", "name": "bash", "response": {"output": "a file"}}},
    ),
}


@pytest.mark.parametrize("dialect", RESULTS)
def test_a_result_that_is_an_error_is_known_as_one(dialect: str) -> None:
    for failed, result in zip((True, False), RESULTS[dialect], strict=True):
        body = further(dialect, FIRST[dialect], answer(dialect, completion("", [("bash", "{}")])), ["x"])
        last = body["contents"][-1]["parts"] if dialect == "google" else body["messages"][-1]["content"]
        last[:] = [result]
        assert [message.failed for message in messages_of(dialect, body) if message.role == "tool"] == [failed]
        (shown,) = [message for message in sent(dialect, body) if message["role"] == "tool"]
        assert shown.keys() == {"role", "content", "tool_call_id"}, "providers refuse other fields"
        assert "file" in str(shown["content"])
