"""Leaks: what a text repeats of another that should have stayed secret. A measurement, not a guard."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

RUN = 8
"""So many tokens in a row are no longer chance: `float(np.sum(plan` has 8."""

# Words, numbers, and every other sign by itself; the same for prose and for Python: either can repeat the other.
_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[^\w\s]")
_NUMBER = re.compile(r"(?<![\w.])(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w])")

_DIGITS = 3
_LETTERS = 4


def leaked(text: str, secret: str, known: str, *, run: int = RUN) -> tuple[str, ...]:
    """The runs of at least `run` tokens of `text` that `secret` has and `known` has not, each as long as it goes.

    A run counts if it holds half of `run` words or numbers: brackets in a row are nobody's secret.
    """
    tokens = _TOKEN.findall(text)
    hidden = set(_grams(tokens, run)).intersection(_grams(_TOKEN.findall(secret), run))
    if hidden:  # seldom: only then is the largest of the three texts worth reading
        hidden.difference_update(_grams(_TOKEN.findall(known), run))
    found: list[str] = []
    start = None
    for index, gram in enumerate([*_grams(tokens, run), None]):
        if gram in hidden:
            start = index if start is None else start
        elif start is not None:
            repeated = tokens[start : index - 1 + run]
            if sum(token[0].isalnum() or token[0] == "_" for token in repeated) * 2 >= run:
                found.append(" ".join(repeated))
            start = None
    return tuple(dict.fromkeys(found))


def leaked_literals(text: str, tests: str, known: str) -> tuple[str, ...]:
    """The inputs and expected values in the Python source `tests` that `text` shows and `known` does not.

    Numbers of three or more significant digits, compared by value, and strings of four or more letters, as a whole.
    Raises `SyntaxError` where `tests` is no Python.
    """
    constants = [node.value for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Constant)]
    shown = [value for value in dict.fromkeys(constants) if _shown(value, text)]
    return tuple(value if isinstance(value, str) else repr(value) for value in shown if not _shown(value, known))


def _shown(value: object, text: str) -> bool:
    """Whether `value` is telling, and in `text`."""
    if isinstance(value, str) and sum(map(str.isalpha, value)) >= _LETTERS:
        word = value.strip()
        return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
    if isinstance(value, int | float) and _significant(repr(value)):
        return value in _numbers(text)
    return False


def _grams(tokens: Sequence[str], run: int) -> Iterator[tuple[str, ...]]:
    return (tuple(tokens[index : index + run]) for index in range(len(tokens) - run + 1))


def _numbers(text: str) -> set[float]:
    return {float(each.replace("_", "")) for each in _NUMBER.findall(text)}


def _significant(number: str) -> bool:
    mantissa = re.split("[eE]", number)[0].replace(".", "").strip("0")
    return mantissa.isdecimal() and len(mantissa) >= _DIGITS
