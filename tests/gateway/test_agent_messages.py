"""Messages of agents as providers take them: each call has one result, right behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.gateway.agent_messages import NO_IMAGE, NO_RESULT, prepared

USER = {"role": "user", "content": "do it"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
TEXT = {"type": "text", "text": "a plot"}


def calls(*identifiers: str) -> dict[str, Any]:
    made = [
        {"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}, "index": 0}
        for each in identifiers
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(identifier: str, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def sent(*messages: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    return prepared(messages, options.pop("own", {}), **{"images": True, "in_results": False, **options})


def shape(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"{each['tool_call_id']}={each['content']}" if each["role"] == "tool" else each["role"] for each in messages
    ]


def test_a_call_that_was_interrupted_gets_a_result() -> None:
    """As after a turn that was stopped by its limit."""
    assert shape(sent(USER, calls("a", "b"), result("b"), USER)) == [
        "user",
        "assistant",
        f"a={NO_RESULT}",
        "b=done",
        "user",
    ]
    assert shape(sent(USER, calls("a"))) == ["user", "assistant", f"a={NO_RESULT}"]


def test_a_second_result_is_left_out() -> None:
    """Gemini CLI sends each result twice in a session that it resumes."""
    assert shape(sent(USER, calls("a"), result("a"), result("a"), USER)) == ["user", "assistant", "a=done", "user"]


def test_a_result_without_a_call_is_the_users_text() -> None:
    assert sent(USER, result("a", "of old"))[1] == {"role": "user", "content": "of old"}


def test_results_stand_behind_their_call() -> None:
    assert shape(sent(calls("a"), USER, result("a"))) == ["assistant", "a=done", "user"]
    assert shape(sent(calls("a"), result("a", 1), calls("a"), result("a", 2))) == [
        "assistant",
        "a=1",
        "assistant",
        "a=2",
    ]


identifiers = st.sampled_from("abc")
conversations = st.lists(
    st.just(USER) | identifiers.map(result) | st.lists(identifiers, min_size=1, max_size=3, unique=True).map(lambda ids: calls(*ids)),
    max_size=12,
)  # fmt: skip


@given(conversations)
def test_every_conversation_is_one_that_providers_take(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for message in sent(*messages):
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls", ())]
    assert not waiting


def test_images_follow_the_results() -> None:
    both = [TEXT, PICTURE]
    one, two, images = sent(calls("a", "b"), result("a", both), result("b"))[1:]
    assert (one["content"], two["content"]) == ("a plot", "done")
    assert images == {"role": "user", "content": [PICTURE]}
    assert sent(calls("a"), result("a", both), in_results=True)[1]["content"] == both
    assert sent(calls("a"), result("a", both), images=False)[1]["content"] == f"a plot\n{NO_IMAGE}"


def test_fields_of_the_provider_replace_what_the_agent_made_of_them() -> None:
    own = {"a": '{"reasoning_content": "right", "thinking_blocks": [{"signature": "s"}]}'}
    said = {**calls("a"), "reasoning_content": "wrong", "thinking_blocks": [{"type": "thinking", "thinking": "wrong"}]}
    first = sent(said, result("a"), own=own)[0]
    assert first["reasoning_content"] == "right"
    assert first["thinking_blocks"] == [{"signature": "s"}]
    assert "index" not in first["tool_calls"][0]
    bare = sent(said, result("a"))[0]
    assert bare.keys() == {"role", "content", "tool_calls"}


@pytest.mark.parametrize(
    "block", [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}]
)
def test_signed_thoughts_stay(block: dict[str, Any]) -> None:
    assert sent({**calls("a"), "thinking_blocks": [block]}, result("a"))[0]["thinking_blocks"] == [block]
