"""What Markdown marks as code is taken out of words, and nothing else."""

from __future__ import annotations

import pytest

from pytest_recode.feedback.model_answers import code_in, words_only


@pytest.mark.parametrize(
    "text",
    [
        "Note: rescale\nfor each row:\nif weights are absent:",
        "That is x squared over 4, x ** 4 / 4, (n - 1) / 2 or log(1 - p).",
        "Use `a` + `b` * `c` - `d` / `e`, not `np.sqrt()`, nor `src/a.py`.",
        "return the mean (not the sum)",
    ],
)
def test_words_stay(text: str) -> None:
    assert words_only(text) == text
    assert code_in(text) == []


def test_blocks_and_inline_code_beyond_a_name_go_and_can_be_named() -> None:
    text = "So:\n```python\nx = 1\n```\nUse `a[0]` and `a`.\n~~~\nleft open"
    assert words_only(text) == "So:\n\nUse (code left out) and `a`."
    assert code_in(text) == ["```python\nx = 1\n```", "~~~\nleft open", "`a[0]`"]
