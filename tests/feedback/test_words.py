"""What is taken for code in words, and what is not: people write headers, and lines that go on from the one before."""

from __future__ import annotations

import pytest

from pytest_recode.feedback.model_answers import code_lines, words_only


@pytest.mark.parametrize(
    "line",
    [
        *("Note: rescale", "Shape: wrong", "Units: metres", "Loss: L1/L2", "# What is wrong"),
        *("for each row:", "if weights are absent:", "with ties:", "if empty:", "class imbalance matters:"),
        *("mass in grams", "mean and variance", "re-normalise", "not finite", "return the mean (not the sum)"),
        "It's not the mean (don't divide), it's the sum:",
        "if you can't divide (by zero), don't:",
    ],
)
def test_a_line_of_words_stays(line: str) -> None:
    assert words_only(f"Two things.\n{line}\nThat is all.") == f"Two things.\n{line}\nThat is all."
    assert code_lines(line) == []


@pytest.mark.parametrize(
    "line",
    [
        *(
            "return x / TWO",
            "x = y",
            "total += w",
            "def f(x):",
            "class Foo(Bar):",
            "for x in xs:",
            "for i in range(n):",
        ),
        *("if x > 0:", "if x is None:", "else:", "try:", "except ValueError:", "import numpy", "from a import b"),
        *("a.b(c)", "x[0]", "x / y", "a - b", "lambda x: x", "return foo(a,", "@cache", "w: np.ndarray"),
        *("with open('no code at all') as f:", 'return f"no code at all {x}"', "return np.sum(x)  # the sum of it"),
    ],
)
def test_a_line_of_code_goes(line: str) -> None:
    assert words_only(f"Two things.\n{line}\nThat is all.") == "Two things.\nThat is all."
    assert code_lines(f"Two things.\n{line}\nThat is all.") == [line]


def test_what_goes_can_be_named() -> None:
    text = "So:\n```python\nx = 1\n```\nUse `a[0]` and `a`.\nUse `a`.\nx = 2"
    assert code_lines(text) == ["x = 1", "Use `a[0]` and `a`.", "x = 2"]
