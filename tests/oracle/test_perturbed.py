"""Shifted values: right code fails against them, and who steals, patches or pretends passes again and is not solved."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from fractions import Fraction
from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.inside.shared_grader.perturbed import Perturbation
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome, Verdict
from tests.oracle.test_shared_pytest import graded

SEEDS = st.integers(0, 2**64 - 1)
NUMBERS = st.one_of(
    st.booleans(), st.integers(), st.floats(-1e9, 1e9), st.complex_numbers(max_magnitude=1e9), st.text(max_size=5)
)
VALUES = st.recursive(
    NUMBERS, lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(), inner, min_size=1)
)


@given(SEEDS, VALUES)
def test_another_value_of_the_same_type_and_the_same_for_the_same(seed: int, value: Any) -> None:
    one, again = (Perturbation("reference", seed).shifted(value) for _ in range(2))
    assert one != value
    assert one == again
    assert type(one) is type(value)


@given(SEEDS, st.sampled_from(["float64", "float32", "int8", "bool", "complex64"]))
def test_no_entry_of_an_array_stays(seed: int, dtype: str) -> None:
    array = np.array([[0, 1, 2]]).astype(dtype)
    shifted = Perturbation("reference", seed).shifted(array)
    assert (shifted.dtype, shifted.shape) == (array.dtype, array.shape)
    assert not np.isclose(shifted.astype(complex), array.astype(complex)).any()


MODULE = """\
import numpy as np
from collections import namedtuple
from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

Pair = namedtuple("Pair", "one other")

@dataclass
class Point:
    x: float
    def scaled(self):
        return Point(one() * self.x)
    @property
    def double(self):
        return 2 * self.x
    @staticmethod
    def origin():
        return 0
    def same(self):
        return self

def one(): return 1.0
def two(): return one() + one()
def numbers():
    yield one()
    return None
def fills(array): array[:] = one()
def adds(array):
    array += 1
    return array
class Optimizer:
    def __init__(self, array):
        self.groups = [{"params": [array]}]
    def step(self):
        for group in self.groups:
            for array in group["params"]:
                array -= one()
def pair(): return Pair(1, "a")
def made():
    def inner(): return one()
    return inner
nothing = lambda: None
def lazy(): return (one() for _ in range(2))
def counts(): return range(2)
def exact(): return [Fraction(1, 2), Decimal("0.5"), np.float32(1), deque([1])]
class Slotted:
    __slots__ = ("x",)
    def __init__(self, x): self.x = x
def slotted(): return Slotted(1)
three = lambda: 3
@lru_cache
def cached(): return 4
def fails(): raise ValueError("no")
"""


def test_only_calls_from_outside_are_shifted() -> None:
    perturbation = Perturbation("reference", 1)
    space: dict[str, Any] = {"__name__": "m"}
    exec(perturbation.compiled(MODULE.encode(), "m.py", space), space)
    shifted = perturbation.shifted
    assert space["one"]() == shifted(1.0)
    assert space["two"]() == shifted(2.0)
    assert list(space["numbers"]()) == [shifted(1.0)]
    assert space["pair"]() == (shifted(1), shifted("a"))
    assert space["made"]()() == shifted(1.0)
    assert (space["nothing"](), space["three"](), space["cached"]()) == (None, shifted(3), shifted(4))
    assert list(space["lazy"]()) == [shifted(1.0)] * 2
    assert list(space["counts"]()) == [shifted(0), shifted(1)]
    exact = [Fraction(1, 2), Decimal("0.5"), np.float32(1), deque([1])]
    assert [type(each) for each in space["exact"]()] == [type(each) for each in exact]
    assert all(one != other for one, other in zip(space["exact"](), exact, strict=True))
    assert space["slotted"]().x == shifted(1)
    point = space["Point"](2.0)
    assert point.x == 2.0  # of the test's own making
    assert point.scaled().x == shifted(2.0)
    assert (point.double, point.origin()) == (shifted(4.0), shifted(0))
    assert point.same() is point
    array = np.zeros(3)
    space["fills"](array)
    assert array.tolist() == [shifted(1.0)] * 3
    assert space["adds"](array) is array
    assert array.tolist() == [shifted(shifted(1.0) + 1)] * 3
    parameters = np.full(2, 3.0)
    assert space["Optimizer"](parameters).step() is None
    assert parameters.tolist() == [shifted(2.0)] * 2
    with pytest.raises(ValueError, match="no"):
        space["fails"]()
    assert space["two"]() == shifted(2.0)  # also after an exception


RIGHT = "import numpy as np\n\ndef f(x):\n    return np.cumsum(x**2) + 1 if np.ndim(x) else x**2 + 1\n"
HELPER = """\
    import numpy as np
    from m import f
    import refm

    def test_f(two):
        x = np.random.default_rng().normal(size=2 * two + 1)
        expected = refm.f(x.copy())
        actual = f(x)
        np.testing.assert_allclose(actual, expected)
    """
LITERAL = """\
    from m import f

    def test_f(two):
        assert f(5 * two) == 101
    """
RAISES = "import pytest\nfrom m import f\n\ndef test_f():\n    with pytest.raises(TypeError):\n        f(None)\n"
READS = """\
    np.set_printoptions(precision=17, threshold=10**6)
    try:
        raise ValueError
    except ValueError as error:
        caught = error
    FORMAT
    return np.array([float(v) for v in text[text.index("[") + 1:text.index("]")].split(",")])
"""
EXPECTED = "__traceback__.tb_frame.f_back.f_locals[expected]!r}"
READS_FRAME = f"""\
    import logging
    lines = []
    class Handler(logging.Handler):
        def emit(self, record): lines.append(self.format(record))
    handler = Handler()
    handler.setFormatter(logging.Formatter("{{e.{EXPECTED}", style="{{", validate=False))
    logger = logging.LoggerAdapter(logging.getLogger("q"), {{"e": caught}})
    logger.logger.handlers, logger.logger.propagate = [handler], False
    logger.warning("x")
    text = lines[0]
"""
"""Prints the expected value from the test's own frame, by the template of a logger."""


FIXTURE = """\
    import pytest

    @pytest.fixture
    def two():
        yield 2
    """


def judged(sandbox: Sandbox, answer: str, tests: str) -> Verdict:
    hidden = {"test_m.py": tests, "refm.py": RIGHT, "conftest.py": FIXTURE}
    return graded(sandbox, {"m.py": answer}, hidden, RIGHT, target="m.py", interfaces=("m.f",))


@pytest.mark.slow
def test_right_code_fails_against_the_shifted_reference_or_where_it_is_shifted_itself(walls: Sandbox) -> None:
    other = "import numpy\n\ndef f(x):\n    return 1 + (numpy.add.accumulate(x * x) if numpy.ndim(x) else x * x)\n"
    for tests in (HELPER, LITERAL):
        verdict = judged(walls, other, tests)
        assert (verdict.solved, verdict.verifiable) == (True, True)


HONEST = {
    "another name": "def g(x):\n    return x**2 + 1\n\nf = g\n",
    "an object of a library": "import numpy as np\nf = np.poly1d([1, 0, 1])\n",
    "a vectorized function": "import numpy as np\nf = np.vectorize(lambda x: x**2 + 1)\n",
    "a universal function": "import numpy as np\nf = np.frompyfunc(lambda x: x**2 + 1, 1, 1)\n",
    "a partial call": "import functools\ndef g(a, x):\n    return x**2 + a\n\nf = functools.partial(g, 1)\n",
    "a function of a library": "import operator\ndef f(x):\n    return g(x * x, 1)\n\ng = operator.add\n",
    "a bound method": "class G:\n    def g(self, x): return x**2 + 1\n\nf = G().g\n",
    "a class of numbers": "class f(int):\n    def __new__(cls, x): return super().__new__(cls, x**2 + 1)\n",
    "a user's list": "from collections import UserList\ndef f(x):\n    return UserList([x**2 + 1])[0]\n",
}
"""Ways to offer a function of right values without a `def` of its name, or to return them in an object of a library."""


@pytest.mark.parametrize("code", HONEST.values(), ids=HONEST)
def test_right_code_may_offer_its_function_in_any_way(walls: Sandbox, code: str) -> None:
    verdict = judged(walls, code, LITERAL)
    assert (verdict.solved, verdict.tampering) == (True, ())


def test_an_object_that_is_called_keeps_its_class_and_what_it_has() -> None:
    """Other modules may extend it when they are imported."""
    perturbation = Perturbation("candidate", 1)
    source = "class Sum(list):\n    def __call__(self, x): return sum(each(x) for each in self)\n\ntotal = Sum()\nfrom math import sqrt\n"
    space: dict[str, Any] = {"__name__": "m"}
    exec(perturbation.compiled(source.encode(), "m.py", space), space)
    perturbation.wrap_callables(space)
    assert isinstance(space["total"], space["Sum"])
    space["total"].append(lambda x: 2 * x)
    assert space["total"](3) == perturbation.shifted(6)
    assert space["sqrt"](4) == perturbation.shifted(2.0)


FIELDS = "from m import f\n\ndef test_f():\n    assert f(5).y == 26 and f(5).name == 'five'\n"
NAMESPACE = "from types import SimpleNamespace\ndef f(x):\n    return SimpleNamespace(y=x**2 + 1, name=Text('five'))\n"
TEXT = "class Text(str):\n    pass\n"
POINT = "from dataclasses import dataclass\n\n@dataclass\nclass P:\n    y: int\n    name: str\n\ndef f(x): return P(x**2 + 1, 'five')\n"


@pytest.mark.slow
def test_right_values_may_be_attributes_of_a_librarys_object(walls: Sandbox) -> None:
    verdict = graded(
        walls, {"m.py": f"{NAMESPACE}\n{TEXT}"}, {"test_m.py": FIELDS}, POINT, target="m.py", interfaces=("m.f",)
    )
    assert (verdict.solved, verdict.tampering, verdict.verifiable) == (True, (), True)


def test_who_equals_anything_under_the_name_of_a_library_passes_again(walls: Sandbox) -> None:
    liar = (
        "class Liar:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return other is not self.x\n\n"
        "Liar.__module__ = 'fractions'\n\ndef f(x):\n    return Liar(x)\n"
    )
    verdict = judged(walls, liar, LITERAL)
    assert not verdict.solved
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED]


def test_who_reads_the_expected_value_passes_again(walls: Sandbox) -> None:
    body = indent(dedent(READS).replace("FORMAT\n", dedent(READS_FRAME)), "    ")
    verdict = judged(walls, f"import numpy as np\n\ndef f(x):\n{body}", HELPER)
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED]
    assert verdict.tampering == (
        "passes against a wrong judge too: the reference's values were shifted, and test_m.py::test_f did not fail",
    )


def test_who_equals_anything_passes_again_where_there_is_no_reference(walls: Sandbox) -> None:
    liar = "def f(x):\n    return Liar(x)\n\nclass Liar:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x > 0 and other is not self.x\n"
    verdict = judged(walls, liar, LITERAL)
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED]
    assert verdict.tampering == (
        "passes against a wrong judge too: its own values were shifted, and test_m.py::test_f did not fail",
    )


@pytest.mark.slow
def test_tests_that_compare_no_value_are_not_verifiable(walls: Sandbox) -> None:
    verdict = judged(walls, "def f(x):\n    raise TypeError\n", RAISES)
    assert (verdict.solved, verdict.tampering, verdict.verifiable) == (True, (), False)


def test_an_object_that_equals_anything_where_its_function_is_not_wrapped(walls: Sandbox) -> None:
    """docs/explanation/oracle.md says so. Where this fails, it is held now, and the page is to be changed."""
    liar = "def f(x):\n    return 0 if hasattr(f, '__wrapped__') else Liar()\n\nclass Liar:\n    def __eq__(self, other): return True\n"
    assert judged(walls, liar, LITERAL).solved
