"""Prompts that do not fit into a model's context window: what an agent learns from a refusal, and when its turn ends."""

from __future__ import annotations

from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models import Model


def window_of(model: Model, learned: int | None = None) -> int | None:
    """The model's context window in tokens, if the model knows it or refusals have shown its size (`learned`)."""
    known = getattr(model, "window", None)
    return min((size for size in (known, learned) if size is not None), default=None)


def answer_of(model: Model) -> int | None:
    """The limit of an answer in tokens that each request has, if the model knows one."""
    return getattr(model, "answer", None)


def learned_window(error: ModelError, tokens: int, before: int | None) -> int:
    """The window in tokens that a refusal shows: what it states, else less than the prompt had, which were an estimated number of `tokens`.

    `before`: what earlier refusals have shown. Raises `error` if it is no refusal of a prompt that is too long.
    """
    if error.fault is not ModelFault.CONTEXT:
        raise error
    shown = error.window or tokens
    return shown if before is None else min(shown, before)


def no_room(window: int | None) -> str:
    """Why a turn has ended without an answer."""
    size = "" if window is None else f" of some {window:,} tokens"
    return (
        f"No answer: even without what was done before, the prompt does not fit into the model's context window{size}. The turn has"
        " ended here, with the targets as they were."
    )
