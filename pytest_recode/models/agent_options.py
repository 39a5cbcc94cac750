"""The options of a request that an agent of its own has sent: which ones reach the provider, and which the user's own replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

_SAME = ({"max_tokens", "max_completion_tokens"}, {"reasoning_effort", "thinking"})
"""Options that say the same: an agent's does not stand beside one of the user."""


def agent_options(entry: ModelEntry, chat: Mapping[str, Any], temperature: float | None) -> dict[str, Any]:
    """The options of a request. Parameters of the user's table and `temperature`, if it is not None, replace the agent's."""
    own = dict(entry.params) | ({"temperature": temperature} if temperature is not None else {})
    replaced = {name for same in _SAME if same & own.keys() for name in same}
    asked = {name: chat[name] for name in PASSED_ON if chat.get(name) is not None and name not in replaced}
    if not asked.get("tools"):
        for name in ("tools", "tool_choice", "parallel_tool_calls"):
            asked.pop(name, None)
    return asked | own
