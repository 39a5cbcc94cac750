"""What a hidden test can do with the code under test."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade, only

CODE = """
import enum
import numpy as np

RATE = 0.5
TABLE = {"a": [1, 2.5, None], ("k", 2): {"x"}}


def double(x, *, times=2):
    return x * times


def apply(function, x):
    return function(x) + 1


def compose(function, n):
    return function(n - 1) + 1 if n else 0


def count(n):
    for i in range(n):
        yield i * np.ones(2)


def fail(kind):
    if kind == "own":
        class ShapeError(ValueError):
            pass
        raise ShapeError("bad shape")
    if kind == "two bases":
        class MissingError(KeyError, AttributeError):
            pass
        raise MissingError("nothing")
    if kind == "axis":
        np.ones(2).sum(axis=5)
    if kind == "group and more":
        class Group(ExceptionGroup, ValueError):
            pass
        raise Group("many", [OSError("one")])
    if kind == "end":
        class End(StopIteration, ValueError):
            pass
        raise End("no more")
    raise {"value": ValueError, "key": KeyError, "exit": SystemExit, "interrupt": KeyboardInterrupt}[kind]("no")


def copies(function, x):
    import copy
    shallow, deep = copy.copy(function), copy.deepcopy({"f": [function]})["f"][0]
    return shallow(x), deep(x), shallow is deep is function


def catch(function, name):
    import builtins
    try:
        function()
    except getattr(builtins, name) as error:
        return str(error)


class Model:
    kind = "linear"

    def __init__(self, weights, callback=None):
        self.weights = weights
        self.callback = callback

    @property
    def norm(self):
        return float(np.abs(self.weights).sum())

    @classmethod
    def zeros(cls, n):
        return cls(np.zeros(n))

    def predict(self, x):
        return x @ self.weights

    def step(self):
        self.weights = self.weights - self.callback(self.weights)
        return self

    def __eq__(self, other):
        return True

    __hash__ = None


def loss(model, x):
    return model.predict(x).sum()


def pair():
    return Model(np.ones(2)), 3.0


def draw(rng):
    return rng.normal(size=3)


def echo(x):
    return x


class Mine(float):
    pass


def mine():
    return Mine(2.0), np.arange(3).view(type("Sub", (np.ndarray,), {}))


def cast(x, dtype):
    return np.asarray(x).astype(dtype)


def sort_in_place(values, table=None):
    values.sort()
    if table is not None:
        table["seen"] = True
    return values


def same(f, g):
    return f is g


def name_of(f):
    return f.__name__


def keyed(self, *, function):
    return self + function


def call_with_self(function, x):
    return function(self=x)


def newest_last(table, key):
    table.move_to_end(key)
    return table


def group():
    raise ExceptionGroup("both", [ValueError("one"), ExceptionGroup("inner", [KeyError("two")])])


def group_of(function):
    try:
        function()
    except TypeError:
        return "another exception"


def cannot():
    return np.array([object()], dtype=object)
"""

TESTS = {
    "function": "assert candidate.m.double(3) == 6 and candidate.m.double(3, times=5) == 15",
    "value of a module": "assert candidate.m.RATE == 0.5",
    "nested value": "assert candidate.m.TABLE == {'a': [1, 2.5, None], ('k', 2): {'x'}}",
    "subpackage": "assert candidate.pkg.sub.deep.answer() == 42",
    "src layout": "assert candidate.elsewhere.here is True",
    "class": "assert candidate.m.Model([1.0, 2.0]).weights == [1.0, 2.0]",
    "class attribute": "assert candidate.m.Model.kind == 'linear'",
    "classmethod": "assert candidate.m.Model.zeros(3).norm == 0.0",
    "method": "assert (candidate.m.Model(np.ones(2)).predict(np.eye(2)) == [1, 1]).all()",
    "property": "assert candidate.m.Model(np.ones(2)).norm == 2.0",
    "attribute set": """
        model = candidate.m.Model(np.ones(2))
        model.weights = np.zeros(2)
        assert model.norm == 0.0""",
    "module attribute set": """
        candidate.m.RATE = 2
        assert candidate.m.RATE == 2""",
    "handle as argument": "assert candidate.m.loss(candidate.m.Model(np.ones(2)), np.eye(2)) == 2.0",
    "handle in a tuple": """
        model, number = candidate.m.pair()
        assert number == 3.0 and model.norm == 2.0""",
    "arguments that stay as they are": """
        from pytest_recode.testing import assert_unmodified
        model = candidate.m.Model(np.ones(2))
        assert assert_unmodified(candidate.m.loss, model, x=np.eye(2)) == 2.0
        assert assert_unmodified(candidate.m.apply, lambda x: x, 4) == 5
        assert assert_unmodified(lambda x, y, *, z: x + 1, 4, object(), z=len) == 5
        assert assert_unmodified(candidate.m.Model.zeros, 3).norm == 0.0
        for values in ([3, 1], np.array([3.0, 1.0])):
            with pytest.raises(AssertionError, match="argument 1 was modified by the call"):
                assert_unmodified(candidate.m.sort_in_place, values)
            assert list(values) == [3, 1]
        with pytest.raises(AssertionError, match="argument table was modified by the call"):
            assert_unmodified(candidate.m.sort_in_place, [1, 3], table={})
        with pytest.raises(AssertionError, match="argument 1 was modified by the call"):
            assert_unmodified(lambda values: values.sort(), [3, 1])
        with pytest.raises(KeyError):
            assert_unmodified(candidate.m.fail, "key")""",
    "callback": "assert candidate.m.apply(lambda x: 10 * x, 4) == 41",
    "callback with arrays": "assert (candidate.m.apply(lambda x: x.T, np.ones((2, 3))) == 2).all()",
    "callback kept by an object": """
        model = candidate.m.Model(np.ones(2), callback=lambda w: 0.5 * w)
        assert model.step().step().norm == 0.5""",
    "callback that calls back in": """
        def down(n):
            return candidate.m.compose(down, n)
        assert candidate.m.compose(down, 6) == 6""",
    "callback that fails and is let through": """
        def bad(x):
            raise ArithmeticError("mine")
        with pytest.raises(ArithmeticError, match="^mine$"):
            candidate.m.apply(bad, 1)""",
    "own function comes back": """
        def f(x): ...
        assert candidate.m.echo(f) == f""",
    "candidate's function as argument": "assert candidate.m.apply(candidate.m.double, 4) == 9",
    "generator": """
        items = list(candidate.m.count(3))
        assert [x.tolist() for x in items] == [[0, 0], [1, 1], [2, 2]]""",
    "generator in part": "assert next(iter(candidate.m.count(10**12))).tolist() == [0, 0]",
    "exception": """
        with pytest.raises(ValueError, match="^no$") as info:
            candidate.m.fail("value")
        assert (info.value.type, info.value.message) == ("ValueError", "no")
        assert info.value.frames[-1].startswith("m.py:") and "in fail: raise" in info.value.frames[-1]""",
    "exception by its base": """
        with pytest.raises(ValueError) as info:
            candidate.m.fail("own")
        assert info.value.type == "ShapeError" """,
    "exception by each of its bases": """
        for kind, bases in (("two bases", (KeyError, AttributeError)), ("axis", (ValueError, IndexError)), ("end", (ValueError,))):
            for base in bases:
                with pytest.raises(base) as info:
                    candidate.m.fail(kind)
                assert not isinstance(info.value, (TypeError, StopIteration))
        with pytest.raises(Exception, match="many") as info:
            candidate.m.fail("group and more")
        assert isinstance(info.value, ExceptionGroup) and isinstance(info.value.exceptions[0], OSError)""",
    "callback that the code copies": """
        def f(x):
            return x + 1
        assert candidate.m.copies(f, 1) == (2, 2, True)""",
    "callback whose exception has two bases": """
        class Both(KeyError, ValueError):
            pass
        def bad():
            raise Both("mine")
        for name in ("KeyError", "ValueError", "LookupError"):
            assert candidate.m.catch(bad, name) == "raised by a function of the test"
        with pytest.raises(Both, match="mine"):
            candidate.m.catch(bad, "TypeError")""",
    "exception with another str": """
        with pytest.raises(KeyError):
            candidate.m.fail("key")""",
    "SystemExit is a failed call": """
        with pytest.raises(Exception) as info:
            candidate.m.fail("exit")
        assert info.value.type == "SystemExit" and not isinstance(info.value, SystemExit)
        assert candidate.m.double(1) == 2""",
    "KeyboardInterrupt is a failed call": """
        with pytest.raises(Exception) as info:
            candidate.m.fail("interrupt")
        assert info.value.type == "KeyboardInterrupt" """,
    "missing attribute": """
        with pytest.raises(AttributeError):
            candidate.m.nothing
        assert not hasattr(candidate.m, "nothing")""",
    "random generator": """
        expected = np.random.default_rng(3).normal(size=3)
        assert (candidate.m.draw(np.random.default_rng(3)) == expected).all()
        expected = np.random.RandomState(3).normal(size=3)
        assert (candidate.m.draw(np.random.RandomState(3)) == expected).all()""",
    "random state after an odd number of normal draws": """
        mine = np.random.RandomState(3)
        mine.normal()
        given = np.random.RandomState(3)
        given.normal()
        assert (candidate.m.draw(given) == mine.normal(size=3)).all()
        assert given.normal() == np.random.RandomState(3).normal(size=2)[1]
        other = np.random.RandomState(np.random.PCG64(3))
        other.normal()
        assert (candidate.m.draw(other) == other.normal(size=3)).all()""",
    "a function is the same function": """
        def f(x): ...
        assert candidate.m.same(f, f) and not candidate.m.same(f, lambda x: x)
        class Mine:
            def method(self): ...
        mine = Mine()
        assert candidate.m.same(mine.method, mine.method)
        assert not candidate.m.same(mine.method, Mine().method)""",
    "the name of a function": """
        def named(x): ...
        assert candidate.m.name_of(named) == "named" and candidate.m.name_of(lambda: 0) == "<lambda>"
        assert candidate.m.name_of(np.sin) == "sin"
        with pytest.raises(AttributeError):
            candidate.m.name_of(__import__("functools").partial(named))""",
    "arguments of any name": """
        from pytest_recode.testing import assert_unmodified
        assert candidate.m.keyed(self=1, function=2) == 3
        assert candidate.m.apply(lambda x: candidate.m.keyed(self=x, function=0), 4) == 5
        assert assert_unmodified(candidate.m.keyed, self=1, function=2) == 3
        assert candidate.m.call_with_self(lambda self: self + 1, 4) == 5""",
    "the order of an OrderedDict": """
        from collections import OrderedDict
        given = OrderedDict(a=1, b=2, c=3)
        given.move_to_end("a")
        found = candidate.m.newest_last(given, "b")
        assert found == OrderedDict(c=3, a=1, b=2) and found != OrderedDict(a=1, b=2, c=3)
        found.move_to_end("c")
        assert list(candidate.m.newest_last(found, "a")) == ["b", "c", "a"]
        assert list(given) == ["b", "c", "a"] and type(given) is OrderedDict
        assert_equivalent(found, {"a": 1, "b": 2, "c": 3})""",
    "a group of exceptions": """
        with pytest.raises(ExceptionGroup, match="both") as info:
            candidate.m.group()
        assert str(info.value) == "both (2 sub-exceptions)"
        assert info.value.type == "ExceptionGroup" and info.value.message == "both"
        first, second = info.value.exceptions
        assert isinstance(first, ValueError) and str(first) == "one" and first.type == "ValueError"
        assert isinstance(second, ExceptionGroup) and isinstance(second.exceptions[0], KeyError)
        def fail():
            raise ExceptionGroup("x", [ValueError("y")])
        with pytest.raises(ExceptionGroup) as info:
            candidate.m.group_of(fail)
        assert info.value.message == "x" and str(info.value.exceptions[0]) == "y" """,
    "types as arguments": """
        for dtype in (np.float32, "f4", np.dtype("f4")):
            assert candidate.m.cast([1], dtype).dtype == np.float32
        assert candidate.m.cast([1], float).dtype == float""",
    "subclasses are plain": """
        number, array = candidate.m.mine()
        assert type(number) is float and type(array) is np.ndarray""",
    "same as the reference": """
        model = reference.m.Model(np.ones(3))
        assert_equivalent(candidate.m.Model(np.ones(3)).predict(np.eye(3)), model.predict(np.eye(3)))""",
}


def suite() -> str:
    head = "import numpy as np\nimport pytest\nfrom pytest_recode.testing import assert_equivalent\n"
    for number, body in enumerate(TESTS.values()):
        lines = "".join(f"\n    {line[8:] if line.startswith(' ' * 8) else line}" for line in body.splitlines())
        head += f"\n\ndef test_{number}(candidate, reference):{lines}\n"
    return head


@pytest.mark.slow
def test_everything_a_test_may_do(every_sandbox: Sandbox) -> None:
    code = {
        "m.py": CODE,
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/deep.py": "def answer(): return 42",
        "src/elsewhere.py": "here = True",
    }
    verdict = grade(every_sandbox, suite(), code)
    wrong = {
        name: case.message
        for name, case in zip(TESTS, verdict.cases, strict=True)
        if case.outcome is not Outcome.PASSED
    }
    assert wrong == {}, "".join(wrong.values())
    assert verdict.solved
    assert verdict.isolation == every_sandbox.isolation


OPAQUE = (
    "{0} of Model: this is an opaque candidate object (type Model); read a plain value from it instead: "
    "an attribute or the result of a method"
)


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("__eq__", "assert model == 1"),
        ("__eq__", "assert 1 == model"),
        ("__ne__", "assert model != 1"),
        ("__bool__", "assert model"),
        ("__len__", "len(model)"),
        ("__iter__", "list(model)"),
        ("__contains__", "1 in model"),
        ("__getitem__", "model[0]"),
        ("__add__", "model + 1"),
        ("__rmul__", "2 * model"),
        ("__lt__", "model < 1"),
        ("__float__", "float(model)"),
        ("__int__", "int(model)"),
        ("__index__", "[1][model]"),
        ("__str__", "str(model)"),
        ("__format__", "f'{model}'"),
        ("__hash__", "{model}"),
        ("__array_ufunc__", "np.add(model, 1)"),
        ("__enter__", "with model: pass"),
        ("__abs__", "abs(model)"),
        ("__deepcopy__", "__import__('copy').deepcopy(model)"),
    ],
)
@pytest.mark.mostly_slow
def test_nothing_else_of_a_handle_is_forwarded(bare: Sandbox, name: str, expression: str) -> None:
    tests = f"""
        import numpy as np

        def test_it(candidate):
            model = candidate.m.Model(np.ones(2))
            try:
                {expression}
            except TypeError:
                pass
    """
    case = only(grade(bare, tests, CODE))
    assert case.outcome is Outcome.FAILED
    assert case.kind == "protocol"
    assert OPAQUE.format(name) in case.message


def test_numpy_gets_nothing_out_of_a_handle(bare: Sandbox) -> None:
    for call in (
        "np.asarray(model)",
        "np.testing.assert_allclose(model, 1)",
        "np.isclose(1.0, model)",
        "np.sum(model)",
    ):
        tests = f"""
            import numpy as np

            def test_it(candidate):
                model = candidate.m.Model(np.ones(2))
                try:
                    {call}
                except Exception:
                    pass
        """
        assert only(grade(bare, tests, CODE)).kind == "protocol", call


def test_a_value_that_cannot_travel_is_a_failed_case(bare: Sandbox) -> None:
    case = only(grade(bare, "def test_it(candidate): candidate.m.cannot()", CODE))
    assert case.outcome is Outcome.FAILED
    assert case.kind == "protocol"
    assert "the candidate returned a value that cannot be sent: a numpy value of dtype object" in case.message


def test_a_proxy_is_an_object_like_any_other(bare: Sandbox) -> None:
    """It passes for what it stands for, and the functions of that type do not take it."""
    tests = """
        import pytest

        @pytest.mark.parametrize("kind", ["weak", "float", "str", "array"])
        def test_f(candidate, kind):
            assert candidate.m.f(kind).answer == 42
    """
    code = """
        import weakref
        import numpy as np

        class Held(dict):
            answer = 42

        class Proxy:
            answer = 42

            def __init__(self, kind):
                self.kind = kind

            @property
            def __class__(self):
                return self.kind

        held = Held()

        def f(kind):
            kinds = {"float": float, "str": str, "array": np.ndarray}
            return weakref.proxy(held) if kind == "weak" else Proxy(kinds[kind])
    """
    verdict = grade(bare, tests, code)
    assert verdict.passed, [case.message for case in verdict.cases]


@pytest.mark.slow
def test_a_hundred_megabytes_travel(walls: Sandbox) -> None:
    tests = """
        import numpy as np

        def test_it(candidate, rng):
            data = rng.random((100, 1024, 128))
            assert (candidate.m.echo(data) == data).all()
    """
    case = only(grade(walls, tests, CODE))
    assert case.outcome is Outcome.PASSED, case.message


def test_an_assertion_in_a_callback_cannot_be_swallowed(bare: Sandbox) -> None:
    code = """
        def f(check):
            try:
                check(1)
            except Exception:
                pass
            return 1
    """
    tests = """
        def test_it(candidate):
            def check(x):
                assert x == 2
            assert candidate.m.f(check) == 1
    """
    case = only(grade(bare, tests, code))
    assert (case.outcome, case.kind) == (Outcome.FAILED, "assertion")
    assert case.message.startswith("an assertion failed in a function that the candidate calls")
