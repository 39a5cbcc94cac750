"""Objects of the candidate whose class derives from a plain type: data here, and methods by calls to the candidate."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade, only

TOKENIZER_TESTS = """
    def test_train(candidate):
        tokenizer = candidate.m.train("abcab")
        assert tokenizer.encode("cab") == [2, 0, 1]
        assert tokenizer.decode([2, 0, 1]) == "cab"
        assert tokenizer.size == 3

    def test_as_an_argument(candidate):
        tokenizer = candidate.m.train("abcab")
        assert candidate.m.count(tokenizer, "cab") == 3
        assert candidate.m.count(text="cab", tokenizer=tokenizer) == 3
"""
METHODS = """
        def encode(self, text):
            return [self.table()[c] for c in text]

        def decode(self, ids):
            return "".join(c for i in ids for c, n in self.table().items() if n == i)

        @property
        def size(self):
            return len(self.table())

    def count(tokenizer, text):
        return len(tokenizer.encode(text))

    def table(text):
        return {c: n for n, c in enumerate(sorted(set(text)))}
"""
TOKENIZERS = {
    "a class": """
    class Tokenizer:
        def __init__(self, vocabulary):
            self.vocabulary = vocabulary
        def table(self):
            return self.vocabulary
    def train(text):
        return Tokenizer(table(text))
    """,
    "a named tuple": """
    from typing import NamedTuple
    class Tokenizer(NamedTuple):
        vocabulary: dict
        def table(self):
            return self.vocabulary
    def train(text):
        return Tokenizer(table(text))
    """,
    "a dict": """
    class Tokenizer(dict):
        def table(self):
            return self
    def train(text):
        return Tokenizer(table(text))
    """,
    "an OrderedDict": """
    from collections import OrderedDict
    class Tokenizer(OrderedDict):
        def table(self):
            return self
    def train(text):
        return Tokenizer(table(text))
    """,
    "a list": """
    class Tokenizer(list):
        def table(self):
            return {c: n for n, c in enumerate(self)}
    def train(text):
        return Tokenizer(sorted(set(text)))
    """,
    "a frozenset": """
    class Tokenizer(frozenset):
        def table(self):
            return {c: n for n, c in enumerate(sorted(self))}
    def train(text):
        return Tokenizer(text)
    """,
    "an int": """
    class Tokenizer(int):
        def table(self):
            return {chr(97 + n): n for n in range(self)}
    def train(text):
        return Tokenizer(len(set(text)))
    """,
    "a float": """
    class Tokenizer(float):
        def table(self):
            return self.vocabulary
    def train(text):
        made = Tokenizer(1.0)
        made.vocabulary = table(text)
        return made
    """,
}


def tokenizer(head: str) -> str:
    before, methods = head.split("    def train", 1)
    kind, _, rest = METHODS.partition("\n    def count")
    return f"{before.rstrip()}\n{kind}\n    def train{methods}\n    def count{rest}"


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_of_any_base_is_solved(name: str, bare: Sandbox) -> None:
    verdict = grade(bare, TOKENIZER_TESTS, tokenizer(TOKENIZERS[name]), interfaces=("m",))
    assert verdict.solved, [case.message for case in verdict.cases]


CODE = """
    import enum
    from collections import Counter, namedtuple
    from typing import NamedTuple

    class Stats(NamedTuple):
        count: int
        mean: float
        def scaled(self, by):
            return Stats(self.count, self.mean * by)

    class Colour(enum.IntEnum):
        RED = 1
        BLUE = 2
        def other(self):
            return Colour(3 - self)

    class Mode(str, enum.Enum):
        FAST = "fast"
        def doubled(self):
            return self.value * 2

    class Affine(tuple):
        def __call__(self, /, x, *, self_=0):
            return self[0] * x + self[1]

    class Config(dict):
        def size(self):
            return len(self)

    class Result(dict):
        def __getattr__(self, name):
            if name in self:
                return self[name]
            raise AttributeError(name)
        __setattr__ = dict.__setitem__

    class Lazy(tuple):
        def __getattribute__(self, name):
            return self[0] if name == "loss" else super().__getattribute__(name)

    class Bare(dict):
        def _private(self):
            return 1

    Pair = namedtuple("Pair", "left right")

    def stats():
        return Stats(3, 0.5)

    def pair():
        return Pair([1], Pair(2, 3))

    def config():
        return Config(a=[1])

    def kind(x):
        return type(x).__name__

    def items(x):
        return sorted(x.items())

    def bare():
        return Bare(a=1)

    def count():
        return Counter("aab")

    def result():
        return Result(x=[1.0], inner=Result(fun=0.5))

    def lazy():
        return Lazy((1.0, 2.0))

    def affine():
        return Affine((2, 1))

    def add(config):
        config["b"] = 2
        return config
"""
USES = {
    "a named tuple is a tuple": """
        found = candidate.m.stats()
        assert found == (3, 0.5) and isinstance(found, tuple) and found[1] == 0.5 and len(found) == 2
        count, mean = found
        assert (found.count, found.mean) == (count, mean) == (3, 0.5)
        assert found.scaled(2).mean == 1.0 and found.scaled(2) == (3, 1.0)
        assert found._asdict() == {"count": 3, "mean": 0.5} and found._replace(mean=2.0) == (3, 2.0)
        assert hash(found) == hash((3, 0.5)) and {found: 1}[3, 0.5] == 1
        assert_equivalent(found, (3, 0.5))
        assert np.asarray(found).tolist() == [3.0, 0.5] and not hasattr(found, "median")""",
    "nested": """
        found = candidate.m.pair()
        assert found.left == [1] and found.right.left == 2 and found == ([1], (2, 3))""",
    "members of an IntEnum": """
        red = candidate.m.Colour.RED
        assert red == 1 and red + 1 == 2 and isinstance(red, int) and range(3)[red] == 1
        assert red.name == "RED" and red.value == 1 and red.other() == 2 and red.other().name == "BLUE"
        assert type(red + 1) is int""",
    "members of an Enum of texts": """
        fast = candidate.m.Mode.FAST
        assert fast == "fast" and fast.upper() == "FAST" and fast.doubled() == "fastfast" and fast.name == "FAST" """,
    "one that can be called": """
        found = candidate.m.affine()
        assert found == (2, 1) and found(3) == 7 and callable(found)""",
    "attributes that the class finds by code": """
        found = candidate.m.result()
        assert found.x == [1.0] and found.inner.fun == 0.5 and found["inner"]["fun"] == 0.5
        assert found == {"x": [1.0], "inner": {"fun": 0.5}} and not hasattr(found, "y")
        assert_equivalent(found, {"x": [1.0], "inner": {"fun": 0.5}})
        assert candidate.m.lazy().loss == 1.0 and candidate.m.lazy() == (1.0, 2.0)
        assert candidate.m.kind(found) == "Result" and candidate.m.kind(candidate.m.lazy()) == "Lazy" """,
    "given back": """
        assert candidate.m.kind(candidate.m.stats()) == "Stats"
        assert candidate.m.kind(candidate.m.Colour.RED) == "Colour"
        assert candidate.m.kind([candidate.m.config()]) == "list"
        assert candidate.m.kind(candidate.m.config()) == "Config" """,
    "given back after the test has modified it": """
        for change in (lambda found: found.update(b=2), lambda found: found["a"].append(2)):
            found = candidate.m.config()
            change(found)
            assert candidate.m.items(found) == sorted(found.items())
            assert found != {"a": [1]} and candidate.m.kind(found) == "dict" """,
    "its data stay what they were": """
        found = candidate.m.config()
        assert candidate.m.add(found) == {"a": [1], "b": 2}
        assert found == {"a": [1]} and found.size() == 2
        from pytest_recode.testing import assert_unmodified
        with pytest.raises(AssertionError, match="argument 1 was modified by the call"):
            assert_unmodified(candidate.m.add, candidate.m.config())""",
    "attributes that are set": """
        found = candidate.m.config()
        found.rate = 0.5
        assert found.rate == 0.5""",
    "copies are plain": """
        import copy, json, pickle
        for found in (candidate.m.config(), candidate.m.stats(), candidate.m.Colour.RED, candidate.m.Mode.FAST):
            for made in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
                assert made == found and type(made) in (dict, tuple, int, str)
        assert json.dumps(candidate.m.config()) == '{"a": [1]}'
        assert type(candidate.m.config().copy()) is dict""",
    "without attributes of its own it is plain": """
        assert type(candidate.m.bare()) is dict""",
    "of the standard library": """
        found = candidate.m.count()
        assert found == {"a": 2, "b": 1} and found.most_common(1) == [("a", 2)]""",
}


@pytest.mark.slow
def test_what_a_test_may_do_with_it(sandbox: Sandbox) -> None:
    head = "import numpy as np\nimport pytest\nfrom pytest_recode.testing import assert_equivalent\n"
    for number, body in enumerate(USES.values()):
        lines = "".join(f"\n    {line[8:] if line.startswith(' ' * 8) else line}" for line in body.splitlines())
        head += f"\n\ndef test_{number}(candidate):{lines}\n"
    verdict = grade(sandbox, head, CODE, interfaces=("m",))
    wrong = [case.message for case in verdict.cases if case.outcome is not Outcome.PASSED]
    assert wrong == [], "\n".join(wrong)


LIAR = """
    class Liar(BASE):
        def yes(self, *args, **kwargs):
            return True
        __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = yes
        startswith = endswith = isdigit = issubset = issuperset = isdisjoint = is_integer = yes
        __ne__ = lambda self, other: False
        __hash__ = lambda self: 0
        __len__ = lambda self: 5
        __getattr__ = lambda self, name: self.yes
        count = index = get = lambda self, *_: 1
        real = imag = 3

    def f():
        return Liar(MADE)
"""


@pytest.mark.parametrize(
    ("base", "construction", "assertion"),
    [
        ("int", "0", "found == 3"),
        ("int", "0", "found.real == 3"),
        ("int", "0", "not found != 3"),
        ("float", "0.5", "found.is_integer()"),
        ("float", "0", "assert_equivalent(found, 3.0) is None"),
        ("str", "''", "found.startswith('a')"),
        ("str", "''", "'a' in found"),
        ("list", "[]", "len(found) == 5"),
        ("list", "[]", "found.count(3) == 1"),
        ("list", "[]", "assert_equivalent(found, [1]) is None"),
        ("tuple", "()", "3 in found"),
        ("dict", "{}", "found.get('a') == 1"),
        ("dict", "{}", "found"),
        ("set", "()", "found.issuperset({1})"),
        ("frozenset", "()", "assert_equivalent(found, {1}) is None"),
    ],
)
def test_no_operation_of_the_plain_type_is_answered_by_the_candidate(
    base: str, construction: str, assertion: str, bare: Sandbox
) -> None:
    tests = f"""
        from pytest_recode.testing import assert_equivalent

        def test_f(candidate):
            found = candidate.m.f()
            assert found.yes()
            assert {assertion}
    """
    case = only(grade(bare, tests, LIAR.replace("BASE", base).replace("MADE", construction)))
    assert case.outcome is Outcome.FAILED, case.message
    assert case.exception is None


def test_data_of_an_earlier_test_are_plain(bare: Sandbox) -> None:
    tests = """
        kept = []

        def test_1(candidate):
            kept.append(candidate.m.stats())
            assert candidate.m.kind(kept[0]) == "Stats"

        def test_2(candidate):
            assert candidate.m.kind(kept[0]) == "tuple"
    """
    verdict = grade(bare, tests, CODE, interfaces=("m",))
    assert verdict.solved, [case.message for case in verdict.cases]
