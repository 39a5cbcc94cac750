"""Sizes of prompts in tokens, estimated, and the context window that they must fit into. Called by agents and by model researchers.

A size is the number of characters divided by the characters per token. (A tokenizer takes seconds to load, and public ones do not match
most models.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models import Message, Model

CHARACTERS = 3.5
"""To a token, until a provider has counted any."""
OF_EACH_MESSAGE = 4
"""Tokens that a provider adds to each message."""
MAX_ANSWER_TOKENS = 32_000
"""Kept free in the window for the answer, or a quarter of it where that is less."""


def tokens_of(messages: Sequence[Message], characters: float) -> int:
    """An estimate, including the tokens that a provider adds to each message."""
    return math.ceil(size(messages) / characters) + OF_EACH_MESSAGE * len(messages)


def characters_of(prompt: Sequence[Message], beside: int, tokens: int) -> float | None:
    """Characters per token (1 to 4.5) of a prompt for which the provider counted `tokens`; None if it counted none.

    `beside`: characters of the prompt's tools.
    """
    return min(max((size(prompt) + beside) / tokens, 1.0), 4.5) if tokens > 0 else None


def size(messages: Sequence[Message]) -> int:
    """In characters."""
    return sum(
        len(message.content)
        + len(message.opaque)
        + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
        for message in messages
    )


def window_of(model: Model, learned: int | None = None) -> int | None:
    """The model's context window in tokens, if the model knows it or refusals have shown its size (`learned`)."""
    known = getattr(model, "window", None)
    return min((size for size in (known, learned) if size is not None), default=None)


def answer_of(model: Model) -> int | None:
    """The limit of an answer in tokens that each request has, if the model knows one."""
    return getattr(model, "answer", None)


def room_in(window: int, answer: int | None) -> int:
    """The tokens of a window that a prompt may have.

    `answer`: the limit of an answer in tokens, if requests have one, which some servers subtract from the window.
    """
    return window - (min(MAX_ANSWER_TOKENS, window // 4) if answer is None else answer)


def learned_window(error: ModelError, tokens: int, before: int | None) -> int:
    """The window in tokens that a refusal shows: what it states, else less than the prompt had, which were an estimated number of `tokens`.

    `before`: what earlier refusals have shown. Raises `error` if it is no refusal of a prompt that is too long.
    """
    if error.fault is not ModelFault.CONTEXT:
        raise error
    shown = error.window or tokens
    return shown if before is None else min(shown, before)
