"""Which tests hand the expected value of one interface to another one on constant input."""

from __future__ import annotations

import pytest

from pytest_recode.validation.handed_on import handed_on
from tests.messages import assert_message

INTERFACES = ("m.loss", "m.g")
TEST = """
import numpy as np, pytest
X = np.arange(3.0)

{decorator}
def test_loss({parameters}):
    {lines}
"""
HANDED = "want = reference.m.g(X)\n    assert candidate.m.loss(want, X) == 0.0"


@pytest.mark.parametrize(
    ("lines", "parameters", "decorator", "named"),
    [
        (HANDED, "candidate, reference", "", True),
        ("assert candidate.m.loss(X, y=reference.m.g(X))", "candidate, reference", "", True),
        ("draw = np.random.default_rng(3)\n    " + HANDED, "candidate, reference", "", True),
        (HANDED, "candidate, reference, n", "@pytest.mark.parametrize('n', [1, 2])", True),
        (HANDED, "candidate, reference, rng", "", False),
        (HANDED, "candidate, reference, problem", "", False),  # a fixture may draw
        ("X = np.random.normal(size=3)\n    " + HANDED, "candidate, reference", "", False),
        ("want = reference.m.g(X)\n    assert candidate.m.g(want) == 0.0", "candidate, reference", "", False),
        (
            "want = reference.m.g(X)\n    want = X\n    assert candidate.m.loss(want) == 0.0",
            "candidate, reference",
            "",
            False,
        ),
        ("assert candidate.m.g(X) == reference.m.g(X)", "candidate, reference", "", False),
        ("assert candidate.m.loss(candidate.m.g(X)) == 0.0", "candidate, reference", "", False),
    ],
)
def test_an_expected_value_that_is_handed_on(lines: str, parameters: str, decorator: str, named: bool) -> None:
    source = TEST.format(lines=lines, parameters=parameters, decorator=decorator)
    findings = handed_on({"test_m.py": source.encode(), "test_b.py": b"def test(", "data.txt": b"x"}, INTERFACES)
    assert len(findings) == named
    if named:
        assert_message(findings[0], "tests/test_m.py:", "m.loss", "m.g", "constant input", "fixture rng")
