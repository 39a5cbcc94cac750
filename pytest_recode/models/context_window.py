"""What a server states of a model's context window when it refuses a prompt, and what to tell the user about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_recode.models.litellm_client import litellm

_SMALLEST, _LARGEST = 128, 10**8
"""Tokens of a window; other numbers are taken for something else."""

_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})  # of OpenAI, llama.cpp
_TEXT = re.compile(r"\bcontext (length|size|window|limit)\b|\bmaximum model length\b", re.IGNORECASE)
"""In a 400: of servers whose words litellm does not know, such as LM Studio and older releases of vLLM."""
_WINDOW = (
    re.compile(r"[<>]=? ?(\d+)"),
    re.compile(
        r"(?:context (?:length|size|window|limit)|maximum model length|tokens allowed|\blimit)\D{0,30}?(\d+)", re.I
    ),
)
"""The number in a refusal: `210000 tokens > 200000 maximum`, `maximum context length is 8192 tokens`."""


def is_too_long(error: Exception, codes: Iterable[str], status: int, text: str) -> bool:
    """Whether a provider refuses a prompt because it, and room for the answer, do not fit into the window."""
    return (
        isinstance(error, litellm().exceptions.ContextWindowExceededError)
        or bool(_CODES.intersection(codes))
        or (status in (400, 413, 422) and _TEXT.search(text) is not None)
    )


def stated_window(bodies: Iterable[Mapping[str, Any]], text: str) -> int | None:
    """The window in tokens that a refusal states, in a field of its own (llama.cpp) or in words; None if it states none."""
    if window := next(filter(None, (valid_window(body.get("n_ctx")) for body in bodies)), None):
        return window
    plain = re.sub(r"(?<=\d)[,_](?=\d{3})", "", text)
    numbers = (number for pattern in _WINDOW for number in pattern.findall(plain))
    return next(filter(None, (valid_window(int(number[:12])) for number in numbers)), None)


def valid_window(value: object) -> int | None:
    """`value`, if it can be the number of tokens of a window."""
    return value if type(value) is int and _SMALLEST <= value <= _LARGEST else None


def too_long_step(window: int | None, characters: int, answer: int | None) -> tuple[str, str]:
    """What to tell the user about a prompt of so many `characters` that was refused: its size, and what to do.

    `answer`: the limit of the answer that the request had, in tokens.
    """
    size = f"the prompt has some {characters // 4:,} tokens"
    if answer is not None:
        size = f"{size}, and max_tokens reserves {answer:,} for the answer"
    fit = f"of {window:,} tokens" if window is not None else "of the model"
    lower = ", lower max_tokens" if answer is not None else ""
    step = (
        f"the context window {fit} is too small for it: serve the model with a larger one, and give that as `context:` in"
        f" --recode-models-file{lower}, or choose another model"
    )
    return size, step
