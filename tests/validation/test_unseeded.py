"""Which calls of hidden tests create a random generator without a seed."""

from __future__ import annotations

import pytest

from pytest_recode.validation.unseeded import unseeded
from tests.messages import assert_message


@pytest.mark.parametrize(
    ("call", "unseeded_call"),
    [
        ("numpy.random.default_rng()", True),
        ("np.random.default_rng(None)", True),
        ("default_rng(seed=None)", True),
        ("np.random.RandomState()", True),
        ("random.SystemRandom()", True),
        ("np.random.default_rng(0)", False),
        ("np.random.default_rng(seed=rng.integers(9))", False),
        ("RandomState(seed)", False),
        ("random.Random(3)", False),
        ("rng.normal()", False),
    ],
)
def test_a_generator_without_a_seed(call: str, unseeded_call: bool) -> None:
    lines = unseeded({"sub/test_a.py": f"import numpy as np\n\ndef test_a(candidate):\n    x = {call}.f()\n".encode()})
    assert len(lines) == unseeded_call
    if unseeded_call:
        assert_message(lines[0], "tests/sub/test_a.py:4:", "seed", "fixture rng")


def test_other_files_and_code_that_does_not_parse() -> None:
    assert unseeded({"a.txt": b"default_rng()", "test_a.py": b"default_rng(\n", "test_b.py": b"\0"}) == []
