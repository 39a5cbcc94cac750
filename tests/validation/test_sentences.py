"""Sentences of an instruction that no wrong answer quotes."""

from __future__ import annotations

import pytest

from pytest_recode.validation.sentences import unquoted

INSTRUCTION = """\
# Write `a.py`. In one go.

Write f(x) and
g(x). Both are
pure! Is 1.5 allowed? Yes: e.g. for f.

- f keeps the sign.
- g is exact;
  it never rounds.
3. Only numpy.

```python
f(1)  # No sentence. Really.
```

    x   a number; 0 is allowed
~~~
Nor this.
~~~
<!-- Nor a comment. -->
"""
ALL = (
    "Write f(x) and g(x).",
    "Both are pure!",
    "Is 1.5 allowed?",
    "Yes: e.g. for f.",
    "f keeps the sign.",
    "g is exact; it never rounds.",
    "Only numpy.",
    "x a number; 0 is allowed",
)


@pytest.mark.parametrize(
    ("quotations", "gone"),
    [
        ([], ()),
        (["keeps the\n sign"], ("f keeps the sign.",)),
        (["g(x).\nBoth are"], ("Write f(x) and g(x).", "Both are pure!")),
        (["is exact; it"], ("g is exact; it never rounds.",)),
        (["allowed"], ("Is 1.5 allowed?", "x a number; 0 is allowed")),
        (["In one go.", "No sentence.", "from the paper", ""], ()),
        (["sign. - g"], ("f keeps the sign.", "g is exact; it never rounds.")),
    ],
)
def test_a_sentence_counts_as_quoted_if_a_part_of_it_is(quotations: list[str], gone: tuple[str, ...]) -> None:
    assert unquoted(INSTRUCTION, quotations) == tuple(each for each in ALL if each not in gone)


def test_equal_sentences_are_each_found() -> None:
    assert unquoted("A b. A b.\n\nA c. A b.", ["A c."]) == ("A b.", "A b.", "A b.")
