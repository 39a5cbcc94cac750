"""The options of a request that an agent of its own has sent: which ones reach the provider, and which the user's own replace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_recode.models.litellm_client import is_claude, listed_answer
from pytest_recode.models.table import ModelEntry

PASSED_ON = (
    "tools",
    "tool_choice",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "reasoning_effort",
    "response_format",
    "parallel_tool_calls",
    "thinking",
)
"""The options of an agent that reach the provider, if the model has them; no other one does."""

_LIMITS = ("max_tokens", "max_completion_tokens")
_THINKING = ("reasoning_effort", "thinking")


def agent_options(
    entry: ModelEntry, chat: Mapping[str, Any], temperature: float | None, window: int | None
) -> dict[str, Any]:
    """The options of a request. Parameters of the user's table and `temperature`, if it is not None, replace the agent's.

    `window`: the context window in tokens, if it is known. An agent chooses its limit of an answer for another model: it is lowered to what this
    one can write, and left out where prompt and answer might not fit into the window.
    """
    own = dict(entry.params) | ({"temperature": temperature} if temperature is not None else {})
    asked = {name: chat[name] for name in PASSED_ON if chat.get(name) is not None}
    for same in (_LIMITS, _THINKING):  # the members of each say the same
        if any(name in own for name in same):
            _remove(asked, *same)
    if not asked.get("tools"):
        _remove(asked, "tools", "tool_choice", "parallel_tool_calls")
    for name in _LIMITS:
        if name in asked:
            _limit(asked, name, entry, chat, window)
    if is_claude(entry):
        _as_claude_takes_them(asked, own)
    return asked | own


def _limit(asked: dict[str, Any], name: str, entry: ModelEntry, chat: Mapping[str, Any], window: int | None) -> None:
    most, listed = asked[name], listed_answer(entry)
    if type(most) is not int or most < 1:
        return _remove(asked, name)
    asked[name] = most if listed is None else min(most, listed)
    size = len(json.dumps([chat["messages"], chat.get("tools")])) // 3  # tokens are seldom shorter
    if window is not None and size + asked[name] > window:
        return _remove(asked, name)
    thinking = asked.get("thinking")
    if isinstance(thinking, dict) and thinking.get("budget_tokens", 0) >= asked[name]:
        _remove(asked, *_THINKING)
    return None


def _as_claude_takes_them(asked: dict[str, Any], own: Mapping[str, Any]) -> None:
    """Anthropic refuses `top_p` beside a temperature, and any temperature but 1 for a model that thinks."""
    if "temperature" in asked or "temperature" in own:
        _remove(asked, "top_p")
    if own.get("temperature", 1) != 1:
        _remove(asked, *_THINKING)


def _remove(options: dict[str, Any], *names: str) -> None:
    for name in names:
        options.pop(name, None)
