"""What a candidate sends is data or a call back to the candidate: nothing of it executes in the grader."""

from __future__ import annotations

import io
import json
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.inside.grading import value_kinds
from pytest_recode.inside.separate_grader import candidate_link, handles
from pytest_recode.inside.wire import codec, frames
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome
from tests.examples import examples
from tests.oracle.conftest import grade, only

PLAIN = {type(None), bool, int, float, complex, str, bytes, bytearray, slice, range, type(...)}
CONTAINERS = {list, tuple, dict, OrderedDict, set, frozenset}
HANDLES = {
    *handles.KINDS.values(),
    handles.RemoteModule,
    handles.CallbackHandle,
    handles.TypeHandle,
    handles.DtypeHandle,
}


def parts_of(value: Any) -> Any:
    yield value
    if any(type(value) is made for made, _ in value_kinds.DATA_TYPES):
        assert type(vars(value)["_recode_handle"]) in HANDLES
        for name, field in vars(value).items():
            if not name.startswith("_recode_"):
                yield from parts_of(field)
        value = type(value)._recode_plain(value)
    if type(value) in (dict, OrderedDict):
        for pair in value.items():
            yield from (*parts_of(pair[0]), *parts_of(pair[1]))
    elif type(value) in CONTAINERS:
        for item in value:
            yield from parts_of(item)


def link() -> candidate_link.CandidateLink:
    return candidate_link.CandidateLink(io.BytesIO(), io.BytesIO(), 1 << 20)


names = st.sampled_from(
    [
        *("float", "list", "type", "object", "bool", "numpy.load", "eval", "exec", "open", "os.system", "int", "str"),
        *("numpy float64", "numpy load", "numpy object_", "numpy __class__", "numpy generic", "numpy ", "", " "),
        *("dtype <f8", "dtype |O", "dtype <i4,<f8", "dtype V8", "module", "callable", "iterator", "callback", "rng"),
    ]
)
scalars = st.none() | st.booleans() | st.integers(-3, 70) | st.floats(allow_nan=False, allow_infinity=False) | names
tags = st.sampled_from(
    [*"@hnabyDQifTlodtszcSrE", "module", "callable", "type", "object", "iterator", "callback", "own", "rng", "dtype"]
)
trees = st.recursive(
    scalars,
    lambda below: (
        st.builds(lambda tag, rest: [tag, *rest], tags, st.lists(below, max_size=4))
        | st.builds(lambda kind, n, name: ["@", kind, n, name], tags, st.integers(0, 3), names | st.integers(0, 3))
        | st.builds(
            lambda data, name, field, kind: ["h", data, ["d", name, field], kind, 1, "x"],
            below,
            st.sampled_from(["count", "real", "_recode_handle", "__class__", "_x"]),
            below,
            st.sampled_from(["object", "callable", "iterator", "type", "module", "own"]),
        )
    ),
    max_leaves=12,
)


@examples(600)
@given(tree=trees, lengths=st.lists(st.integers(0, 16), max_size=3))
def test_any_answer_decodes_to_data_and_handles(tree: Any, lengths: list[int]) -> None:
    """Whatever a candidate writes into the pipe: no type, no function, no dtype, no object of the grader's comes of it."""
    owner = link()
    owner.functions = {1: len, 2: np.load, 3: eval}
    body = bytes(sum(length + -length % 16 for length in lengths))
    try:
        decoded = codec.parse(json.dumps([tree, lengths]).encode(), body, owner.resolve)
    except frames.WireError:
        return
    for part in parts_of(decoded):
        if isinstance(part, np.ndarray | np.generic):
            assert part.dtype.kind in "biufcmMSU"
            assert type(part) is np.ndarray or type(part).__module__ == "numpy"
        else:
            assert value_kinds.sent_type(part) in PLAIN | CONTAINERS | HANDLES, repr(part)


LIVE = """
    import builtins, collections, ctypes, enum, fractions, functools, operator, typing
    import numpy as np

    class Plain:
        pass

    class MyError(ValueError):
        pass

    class Colour(enum.Enum):
        RED = 1

    class Level(enum.IntEnum):
        LOW = 1

    Point = collections.namedtuple("Point", "x y")
    ALL = [
        *(value for value in vars(builtins).values() if isinstance(value, type) or callable(value)),
        *(kind for kind in set(np.sctypeDict.values())),
        np.generic, np.floating, np.ndarray, np.dtype, np.dtype("f8"), np.dtype("O"), np.dtype("i4,f8"), np.dtype("V3"),
        np.sin, np.add, np.load, np.random.Generator, np.random.default_rng, np.vectorize(len),
        functools.partial(len), functools.lru_cache(len), operator.itemgetter(0), operator.attrgetter("x"), operator.add,
        Plain, Plain(), MyError, MyError("x"), Colour, Colour.RED, Level, Point, fractions.Fraction(1, 2), lambda: 0,
        list[int], typing.Any, typing.Optional[int], int | None, ctypes.c_double, type, object, NotImplemented,
        staticmethod(len), property(len), "a".join, [].append, {}.keys(), memoryview(b"x"), iter([1]), np, enum,
    ]

    def f(number):
        return ALL[number]

    def count():
        return len(ALL)

    def each():
        return list(ALL)
"""


def test_no_attribute_or_answer_is_live_in_the_grader(bare: Sandbox) -> None:
    tests = """
        import numpy as np

        HANDLES = "_recode.separate_grader.handles"

        def plain(value):
            return type(value).__module__ == HANDLES or type(value) in (int, str, tuple, list, type(...))

        def test_each(candidate):
            found = candidate.m.each()
            assert len(found) == candidate.m.count() > 200
            wrong = [(n, value) for n, value in enumerate(found) if not plain(value)]
            assert wrong == []
            assert sum(type(value).__module__ == HANDLES for value in found) > 200

        def test_attributes(candidate):
            for name in ("Plain", "MyError", "Colour", "Level", "Point", "f"):
                assert type(getattr(candidate.m, name)).__module__ == HANDLES
            assert repr(candidate.m.np) == "<module numpy of the candidate>"
            assert type(candidate.m.np.float64).__module__ == HANDLES
            assert type(candidate.m.np.float64(1)) is np.float64
            assert candidate.m.Level.LOW == 1
    """
    verdict = grade(bare, tests, LIVE)
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED] * 2, [case.message for case in verdict.cases]


TYPES = """
    import numpy as np

    kind, other, precision = float, list, np.float32
    exact = np.dtype("f8")

    class Base:
        pass

    class Child(Base):
        pass

    class MyError(ValueError):
        pass

    def make(kind):
        return kind(3)

    def fail():
        raise MyError("no")

    def filled(function):
        return function(2, np.float32)
"""


@pytest.mark.parametrize(
    "test",
    [
        "assert candidate.m.kind == float and candidate.m.kind != int",
        "assert candidate.m.precision == np.float32 == candidate.m.precision",
        "assert candidate.m.exact == np.float64 and candidate.m.exact == 'float64' and candidate.m.exact == np.dtype('f8')",
        "assert candidate.m.exact == candidate.m.exact and candidate.m.exact.name == 'float64'",
        "assert {np.float32: 1}[candidate.m.precision] == 1",
        "assert candidate.m.kind('3') == 3.0",
        "assert candidate.m.make(candidate.m.kind) == 3.0 and type(candidate.m.make(candidate.m.precision)) is np.float32",
        "assert np.zeros(2, dtype=candidate.m.precision).dtype == np.float32",
        "assert np.ones(2).astype(candidate.m.exact).dtype == np.float64",
        "assert np.issubdtype(candidate.m.precision, np.floating)",
        "assert candidate.m.filled(lambda n, kind: np.zeros(n, kind)).dtype == np.float32",
        "assert repr(candidate.m.exact) == '<dtype <f8 of the candidate>'",
        """
        with pytest.raises(ValueError) as caught:
            candidate.m.fail()
        assert caught.value.type == 'MyError'
        """,
    ],
)
def test_what_a_test_may_do_with_a_type(test: str, bare: Sandbox) -> None:
    from textwrap import dedent, indent

    tests = f"import numpy as np\nimport pytest\n\ndef test_it(candidate):\n{indent(dedent(test).strip(), '    ')}\n"
    case = only(grade(bare, tests, TYPES))
    assert case.outcome is Outcome.PASSED, case.message


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("assert isinstance(1.0, candidate.m.kind)", "__instancecheck__ of float"),
        ("assert isinstance(candidate.m.Child(), candidate.m.Base)", "__instancecheck__ of type"),
        ("assert issubclass(float, candidate.m.kind)", "__subclasscheck__ of float"),
        ("type('Mine', (candidate.m.Base,), {})", "type() doesn't support MRO entry resolution"),
        ("class Mine(candidate.m.Base): pass", "__mro_entries__ of type"),
        ("assert np.zeros(2, dtype=candidate.m.other).dtype", "list"),
        ("assert candidate.m.kind(object())", "the test passes a value that cannot be sent"),
    ],
)
def test_what_a_test_may_not_do_with_a_type_fails_the_case(test: str, words: str, bare: Sandbox) -> None:
    case = only(
        grade(bare, f"import numpy as np\n\ndef test_it(candidate):\n    candidate.m.make(int)\n    {test}\n", TYPES)
    )
    assert case.outcome is Outcome.FAILED
    assert words in case.message


OTHER_TYPES = """
    import numpy as np

    class Own:
        pass

    kind, precision, exact, own = int, np.float32, np.dtype("f4"), Own
    kinds, by_kind, either = [int, np.float32], {"x": int}, {int, np.float32}

    def make():
        return int

    def number():
        return np.float32
"""


@pytest.mark.parametrize(
    ("assertion", "kind"),
    [
        ("candidate.m.kind == float", "mismatch"),
        ("float == candidate.m.kind", "mismatch"),
        ("candidate.m.kind != int", "assertion"),
        ("candidate.m.kind is float", "mismatch"),
        ("candidate.m.kind in (float, str)", "assertion"),
        ("candidate.m.kind in {float, str}", "assertion"),
        ("candidate.m.kind not in [int]", "assertion"),
        ("float in candidate.m.kinds", "assertion"),
        ("candidate.m.make() == float", "mismatch"),
        ("candidate.m.make() == candidate.m.precision", "mismatch"),
        ("candidate.m.precision == np.float64", "mismatch"),
        ("candidate.m.exact == np.float64", "mismatch"),
        ("candidate.m.exact == 'float64'", "mismatch"),
        ("np.dtype('f8') == candidate.m.exact", "dtype"),
        ("np.zeros(1).dtype == candidate.m.exact", "dtype"),
        ("candidate.m.exact in (np.float64, np.int64)", "assertion"),
        ("candidate.m.kinds == [float, np.float32]", "mismatch"),
        ("candidate.m.by_kind == {'x': float}", "mismatch"),
        ("candidate.m.either == {float, np.float64}", "mismatch"),
        ("{float: 1}[candidate.m.kind]", "assertion"),
        ("{float: 1}.get(candidate.m.kind) == 1", "mismatch"),
        ("{candidate.m.kind: 1, candidate.m.precision: 2} == {float: 1, str: 2}", "mismatch"),
        ("candidate.m.make() == pytest.approx(1.0)", "mismatch"),
        ("pytest.approx(1.0) == candidate.m.make()", "dtype"),
        ("candidate.m.number() == pytest.approx(1.0)", "mismatch"),
        ("candidate.m.make() > 1", "dtype"),
        ("np.allclose(candidate.m.make(), 1.0)", "dtype"),
        ("len(candidate.m.make()) == 2", "dtype"),
        ("candidate.m.own == float", "dtype"),
        ("float == candidate.m.own", "dtype"),
        ("candidate.m.own == candidate.m.kind", "dtype"),
        ("candidate.m.own in (float, int)", "dtype"),
        ("candidate.m.own == np.dtype('f8')", "dtype"),
        ("{float: 1}.get(candidate.m.own) == 1", "dtype"),
        ("assert_equivalent(candidate.m.make(), 1.0) is None", "dtype"),
    ],
)
@pytest.mark.mostly_slow
def test_another_type_is_a_wrong_answer_and_no_fault_of_the_pipe(assertion: str, kind: str, bare: Sandbox) -> None:
    tests = f"""
        import numpy as np
        import pytest
        from pytest_recode.testing import assert_equivalent

        def test_it(candidate):
            assert {assertion}
    """
    right = """
        import numpy as np

        kind, precision, exact, own = float, np.float64, np.dtype("f8"), float
        kinds, by_kind, either = [float, np.float32], {"x": float}, {float, np.float64}

        def make():
            return 1.0

        def number():
            return 1.0
    """
    case = only(grade(bare, tests, OTHER_TYPES, right))
    assert (case.outcome, case.kind) == (Outcome.FAILED, kind), case.message


def test_what_words_an_assertion_hides_no_misuse_before_or_after_it(bare: Sandbox) -> None:
    tests = """
        def test_before(candidate):
            try:
                candidate.m.own == 1
            except TypeError:
                pass
            assert candidate.m.kind == int

        def test_after(candidate):
            try:
                assert candidate.m.kind == float
            except AssertionError:
                pass
            iter(candidate.m.kind)

        def test_caught(candidate):
            try:
                assert candidate.m.kind == float
                iter(candidate.m.kind)
            except (AssertionError, TypeError):
                pass
            try:
                list(candidate.m.own)
            except TypeError:
                pass
    """
    verdict = grade(bare, tests, OTHER_TYPES)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [
        (Outcome.FAILED, "protocol"),
        (Outcome.FAILED, "dtype"),
        (Outcome.FAILED, "protocol"),
    ]


def test_the_error_class_of_a_candidate_cannot_be_expected(bare: Sandbox) -> None:
    tests = """
        import pytest

        def test_it(candidate):
            with pytest.raises(candidate.m.MyError):
                candidate.m.fail()
    """
    assert only(grade(bare, tests, TYPES)).outcome is not Outcome.PASSED


def test_a_type_in_place_of_a_function_runs_with_the_candidate(bare: Sandbox) -> None:
    """`str` would call the `__str__` of what the test hands over, in the test's own process, and know the answer."""
    tests = """
        class Expected(float):
            def __str__(self):
                return "the expected value"

        def test_it(candidate):
            assert candidate.m.f(Expected(3.0)) == "the expected value"
    """
    case = only(grade(bare, tests, "f = str", "def f(x): return 'the expected value'"))
    assert case.outcome is Outcome.FAILED
    assert "3.0" in case.message


def test_a_function_of_the_tests_comes_back_as_the_candidates(bare: Sandbox) -> None:
    """Else a candidate could answer with the reference's own function, and what is done to its arguments would be seen."""
    code = """
        def f(function):
            return function
    """
    tests = """
        import numpy as np

        def test_it(candidate):
            seen = []
            def mine(x):
                seen.append(x)
                x[0] = 7
                return x
            back = candidate.m.f(mine)
            assert back is not mine and back == mine and back != len and type(back).__module__ == "_recode.separate_grader.handles"
            given = np.zeros(2)
            assert list(back(given)) == [7, 0]
            assert list(given) == [0, 0] and len(seen) == 1
    """
    case = only(grade(bare, tests, code))
    assert case.outcome is Outcome.PASSED, case.message


def test_the_end_of_the_tests_own_iterator_does_not_end_another_loop(bare: Sandbox) -> None:
    """A StopIteration that a function of the test's raised, let through later, would end `all(map(...))` early."""
    code = """
        kept = []

        def drain(function):
            while True:
                try:
                    function()
                except Exception as error:
                    kept.append(error)
                    return 1

        def f(x):
            raise kept[0]
    """
    tests = """
        def test_it(candidate):
            items = iter([1, 2])
            assert candidate.m.drain(lambda: next(items)) == 1
            assert all(map(candidate.m.f, [1, 2, 3]))
    """
    case = only(grade(bare, tests, code, "def drain(function): return 1\n\ndef f(x): return True\n"))
    assert case.outcome is Outcome.FAILED
    assert "StopIteration" in case.message
