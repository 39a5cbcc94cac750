"""litellm's adapters that translate agents' requests: internal modules, which another release may have changed. Used in the gateway."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Any

from pytest_recode.faults import UserError

TESTED = "1.110.2"
"""The release of litellm whose adapters are tested here."""


def messages_to_chat(request: Mapping[str, Any], provider: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """A request of Anthropic's Messages in OpenAI's format, and the names of tools that are too long for it, by those that they get."""
    from litellm.llms.anthropic.messages.adapters.transformation import LiteLLMAnthropicMessagesAdapter

    adapter = LiteLLMAnthropicMessagesAdapter()
    chat, names = adapter.translate_anthropic_to_openai(dict(request), custom_llm_provider=provider)
    return chat, names


def responses_to_chat(model: str, items: object, options: Mapping[str, Any], provider: str) -> dict[str, Any]:
    """A request of OpenAI's Responses as one for a chat completion. `options`: the body without model, input and stream."""
    from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig

    chat: dict[str, Any] = LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request(
        model=model, input=items, responses_api_request=dict(options), custom_llm_provider=provider, stream=False
    )
    return chat | {"messages": [_plain(message) for message in chat["messages"]]}


def _plain(message: Any) -> Any:
    """The adapter has some messages as objects."""
    return message if isinstance(message, dict) else message.model_dump(mode="json", exclude_none=True)


def check_adapters() -> None:
    """Raise `UserError` if the installed litellm has no such adapters. Imports litellm."""
    hello = {"role": "user", "content": "hello"}
    try:
        request = {"model": "openai/any", "max_tokens": 1, "messages": [hello]}
        made = [messages_to_chat(request, "openai")[0]["messages"]]
        made.append(responses_to_chat("openai/any", [{"type": "message", **hello}], {}, "openai")["messages"])
        why = "" if made == [[hello], [hello]] else f"they made {made} of {hello}"
    except Exception as error:  # noqa: BLE001  another release raises anything
        why = f"{type(error).__name__}: {error}"
    if why:
        installed = importlib.metadata.version("litellm")
        raise UserError(
            f"litellm {installed}: its adapters cannot translate the requests of agents of their own ({why}): install the release with which they are"
            f" tested: pip install litellm=={TESTED}"
        )
