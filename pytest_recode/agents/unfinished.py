"""Answers that the provider ended early. No agent uses any part of them, and all agents tell the model the same reason."""

from __future__ import annotations

from pytest_recode.agents.markdown import UnclearError, without_any_thoughts
from pytest_recode.models import Reply

_FILTERED = "content_filter"
_LIMIT = frozenset({"length", "max_tokens"})
"""Reasons for the end of an answer at the limit of output: OpenAI's, which litellm gives for those of all providers, and Anthropic's."""


def unfinished(reply: Reply, *, nothing: str, shorter: str) -> str:
    """Why the answer is not whole and what to do, for the model; "" if the provider reports no early end.

    `nothing`: the sentence that nothing was done. `shorter`: how to answer within the limit of output.
    """
    if reply.finish == _FILTERED:
        return f"The provider's content filter ended your answer. {nothing} Answer again in other words."
    if reply.finish not in _LIMIT:
        return ""
    if _is_reasoning(reply):
        return (
            f"The model's limit of output was reached before your answer began: reasoning used all of it. {nothing}"
            " Reason less before you answer."
        )
    return f"Your answer was cut off at the model's limit of output. {nothing} {shorter}"


def _is_reasoning(reply: Reply) -> bool:
    """Whether an answer at the limit of output has reasoning only. Some providers keep its text, and the answer is empty."""
    try:
        return not reply.tool_calls and not without_any_thoughts(reply.text).strip()
    except UnclearError:  # thoughts in the text that do not end
        return True
