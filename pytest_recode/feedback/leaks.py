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

    A run counts if half of its tokens are words or numbers: brackets in a row are nobody's secret.
    """
    tokens = _TOKEN.findall(text)
    hidden = set(_grams(_TOKEN.findall(secret), run)) - set(_grams(_TOKEN.findall(known), run))
    found: list[str] = []
    start = None
    grams = [*_grams(tokens, run), None]
    for index, gram in enumerate(grams):
        is_secret = gram is not None and gram in hidden and _telling(gram)
        if is_secret and start is None:
            start = index
        elif not is_secret and start is not None:
            found.append(" ".join(tokens[start : index - 1 + run]))
            start = None
    return tuple(dict.fromkeys(found))


def leaked_literals(text: str, tests: str, known: str) -> tuple[str, ...]:
    """The inputs and expected values in the Python source `tests` that `text` shows and `known` does not.

    Numbers of three or more significant digits, compared by value, and strings of four or more letters, as a whole.
    Raises `SyntaxError` where `tests` is no Python.
    """
    shown, public = _numbers(text), _numbers(known)
    found: list[str] = []
    for node in ast.walk(ast.parse(tests)):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and sum(map(str.isalpha, value)) >= _LETTERS:
            word = rf"(?<!\w){re.escape(value.strip())}(?!\w)"
            if re.search(word, text) and not re.search(word, known):
                found.append(value)
        elif isinstance(value, int | float) and _significant(repr(value)) and value in shown - public:
            found.append(repr(value))
    return tuple(dict.fromkeys(found))


def _grams(tokens: Sequence[str], run: int) -> Iterator[tuple[str, ...]]:
    return (tuple(tokens[index : index + run]) for index in range(len(tokens) - run + 1))


def _telling(gram: tuple[str, ...]) -> bool:
    return sum(token[0].isalnum() or token[0] == "_" for token in gram) * 2 >= len(gram)


def _numbers(text: str) -> set[float]:
    return {float(each.replace("_", "")) for each in _NUMBER.findall(text)}


def _significant(number: str) -> bool:
    mantissa = re.split("[eE]", number)[0].replace(".", "").strip("0")
    return mantissa.isdecimal() and len(mantissa) >= _DIGITS
