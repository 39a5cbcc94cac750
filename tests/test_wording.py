"""Lists in words."""

from __future__ import annotations

import pytest

from pytest_recode.wording import some_of


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a, b"),
        (["a", "b", "c"], "a, b and 1 more"),
        ([*"abcd"], "a, b and 2 more"),
    ],
)
def test_the_first_names_and_how_many_more_there_are(names: list[str], text: str) -> None:
    assert some_of(names, 2) == text
