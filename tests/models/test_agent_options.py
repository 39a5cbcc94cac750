"""Options of agents of their own: which ones reach a provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_recode.models.agent_options import PASSED_ON, agent_options
from pytest_recode.models.litellm_client import highest_cost, listed_answer, reads_images
from pytest_recode.models.table import ModelEntry

MESSAGES = [{"role": "user", "content": "x" * 3000}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
LOCAL = ModelEntry(model="hosted_vllm/own")
CLAUDE = ModelEntry(model="anthropic/claude-opus-4-5")


def options(
    entry: ModelEntry = LOCAL, own_temperature: float | None = None, window: int | None = None, **chat: Any
) -> Mapping[str, Any]:
    return agent_options(entry, {"messages": MESSAGES, **chat}, own_temperature, window)


def test_only_known_options_reach_the_provider() -> None:
    every: dict[str, Any] = dict.fromkeys(PASSED_ON, "x") | {"tools": TOOLS, "max_tokens": 5}
    del every["max_completion_tokens"]
    assert options(**every, user="me", metadata={}, service_tier="x", seed=1, n=2, stream=True) == every


def test_nothing_about_tools_without_tools() -> None:
    assert options(tools=[], tool_choice="auto", parallel_tool_calls=True) == {}


@pytest.mark.parametrize("asked", ["max_tokens", "max_completion_tokens"])
def test_the_users_limit_stands_alone(asked: str) -> None:
    entry = ModelEntry(model="hosted_vllm/own", params={"max_tokens": 100})
    assert options(entry, **{asked: 32000}) == {"max_tokens": 100}


def test_the_users_temperature_and_effort_replace_the_agents() -> None:
    entry = ModelEntry(model="hosted_vllm/own", params={"reasoning_effort": "low", "temperature": 0.5})
    chat = {"temperature": 1, "reasoning_effort": "high", "thinking": {"type": "adaptive"}}
    assert options(entry, **chat) == {"reasoning_effort": "low", "temperature": 0.5}
    assert options(entry, 0.0, **chat) == {"reasoning_effort": "low", "temperature": 0.0}


def test_a_limit_is_lowered_to_what_the_model_writes() -> None:
    entry = ModelEntry(model="openai/gpt-4o")
    listed = listed_answer(entry)
    assert listed is not None
    assert options(entry, max_tokens=listed + 1) == {"max_tokens": listed}
    assert options(entry, max_tokens=listed - 1) == {"max_tokens": listed - 1}
    assert options(max_tokens=32000) == {"max_tokens": 32000}
    assert options(max_tokens="all") == {}


def test_a_limit_that_may_not_fit_into_the_window_is_left_out() -> None:
    assert options(max_tokens=32000, window=32768) == {}
    assert options(max_tokens=1000, window=32768) == {"max_tokens": 1000}


@pytest.mark.parametrize(
    "name",
    ["anthropic/claude-opus-4-5", "anthropic/of-my-own", "bedrock/anthropic.claude-x", "openrouter/anthropic/claude-x"],
)
def test_options_that_claude_refuses_are_left_out_whoever_serves_it(name: str) -> None:
    assert options(ModelEntry(model=name), temperature=1, top_p=0.9) == {"temperature": 1}
    assert options(temperature=1, top_p=0.9) == {"temperature": 1, "top_p": 0.9}


def test_what_claude_refuses_is_left_out() -> None:
    """A temperature beside top_p, one beside thoughts, and thoughts as long as the answer."""
    thinking = {"type": "enabled", "budget_tokens": 2000}
    assert options(CLAUDE, top_p=0.9) == {"top_p": 0.9}
    assert options(CLAUDE, temperature=1, top_p=0.9) == {"temperature": 1}
    assert options(CLAUDE, 0.0, thinking=thinking, reasoning_effort="high") == {"temperature": 0.0}
    assert options(CLAUDE, max_tokens=2000, thinking=thinking) == {"max_tokens": 2000}
    assert options(CLAUDE, max_tokens=2001, thinking=thinking) == {"max_tokens": 2001, "thinking": thinking}


def test_what_an_agent_asks_for_is_reserved() -> None:
    assert highest_cost(LOCAL, 10)[0] == 10 + 8192
    assert highest_cost(LOCAL, 10, 32000)[0] == 10 + 32000
    assert highest_cost(ModelEntry(model="hosted_vllm/own", params={"max_tokens": 100}), 10, 32000)[0] == 110


def test_which_models_read_images() -> None:
    assert reads_images(CLAUDE)
    assert reads_images(LOCAL), "it is unknown"
    assert not reads_images(ModelEntry(model="deepseek/deepseek-chat"))
