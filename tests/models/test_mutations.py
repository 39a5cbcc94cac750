"""Mutations: always another program, always Python. And the laying in of corrections."""

from __future__ import annotations

import ast
import colorsys
import heapq
import inspect
import textwrap
from pathlib import Path
from random import Random

import pytest

from pytest_recode.program.source import tree_of
from pytest_recode.simulated.mutations import mutated, sites
from pytest_recode.simulated.patching import find, lay_in, replaced

TASKS = Path(__file__).parents[2] / "tasks"
SOURCES = {
    **{str(path.relative_to(TASKS)): path for path in sorted(TASKS.glob("*/reference/**/*.py"))},
    **{module.__name__: Path(inspect.getfile(module)) for module in (heapq, colorsys)},
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.mostly_slow
def test_a_mutation_is_another_program_that_parses(name: str) -> None:
    text = SOURCES[name].read_text("utf-8")
    tree = ast.parse(text)
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for node in definitions:
        before = ast.dump(node)
        for seed in range(6):
            made = mutated(node, Random(f"{name}/{seed}"), 1 + seed % 3)
            assert ast.dump(node) == before
            changed = replaced(text, node, ast.unparse(made))
            found = find(ast.parse(changed), (node.name,))
            assert found is not None
            assert ast.dump(found) != ast.dump(find(tree, (node.name,)))  # type: ignore[arg-type]


SLIPS = {
    "operator": ("a + b", "a - b"),
    "missing term": ("a - b * c", "a"),
    "missing normalisation": ("x / x.sum()", "x"),
    "constant": ("f(0.5)", "f(1.0)"),
    "axis": ("f(x, axis=0)", "f(x, axis=1)"),
    "off by one": ("x[1:n]", "x[1:n - 1]"),
    "comparison": ("a <= b", "a < b"),
    "order of arguments": ("f(a, b)", "f(b, a)"),
    "confused function": ("np.argmax(x)", "np.argmin(x)"),
    "missing function": ("np.sqrt(x)", "x"),
    "sign": ("-x", "x"),
    "logic": ("a and b", "a or b"),
}


@pytest.mark.parametrize("kind", SLIPS)
def test_kinds_of_slips(kind: str) -> None:
    before, after = SLIPS[kind]
    results = []
    for number in range(20):
        tree = ast.parse(f"def f():\n    return {before}")
        places = [site for site in sites(tree) if site.kind == kind]
        if number >= len(places):
            break
        places[number].apply()
        results.append(ast.unparse(ast.fix_missing_locations(tree).body[0].body[0]))  # type: ignore[attr-defined]
    assert f"return {after}" in results


def test_what_must_not_be_touched() -> None:
    code = '''
        def f(x: "int | None" = None) -> "tuple[int, int]":
            """Not 1 and not 2."""
            while x > 3:
                x = x - 1
            if x:
                raise ValueError(f"{x + 1} is over {2 * x}")
            assert x < 4
    '''
    kinds = [site.kind for site in sites(ast.parse(textwrap.dedent(code)))]
    assert kinds == ["missing case"]


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    return x",
        "def f():\n    raise NotImplementedError",
        "def f():\n    return None",
        "async def f(x):\n    return x",
        "class A:\n    pass",
        "class A:\n\n    def __init__(self):\n        raise NotImplementedError",
        "A = B",
        "A = None",
        "A: int = B",
    ],
)
def test_where_there_is_nothing_to_get_wrong_it_is_left_out(code: str) -> None:
    node = ast.parse(code).body[0]
    for seed in range(3):
        made = mutated(node, Random(str(seed)))  # type: ignore[arg-type]
        ast.parse(ast.unparse(made))
        assert ast.unparse(made) != ast.unparse(node)


FILE = '''\
"""About."""

from __future__ import annotations

import math

RATE = 2  # kept


@decorated
def one(x):
    return x + 1


class Two:
    def three(self):
        return 3

    def four(self):
        return 4
'''


def test_a_definition_replaces_the_one_of_its_name() -> None:
    made = lay_in(FILE, "def one(x):\n    return math.pi", ("one",))
    assert made == FILE.replace("@decorated\ndef one(x):\n    return x + 1", "def one(x):\n    return math.pi")


def test_a_method_replaces_the_one_of_its_class() -> None:
    made = lay_in(FILE, "    def four(self):\n        return 44\n", ("Two", "four"))
    assert made == FILE.replace("return 4\n", "return 44\n")


def test_imports_constants_and_helpers_come_along() -> None:
    definitions = "def helper():\n    return RATE\n\ndef one(x):\n    return helper()\n"
    code = f"import math\nimport numpy as np\n\nRATE = 3\n\n{definitions}"
    text = lay_in(FILE, code, ("one",))
    assert text is not None
    assert text.count("import math") == 1
    assert "import math\nimport numpy as np\n\nRATE = 3\n" in text
    assert text.endswith("\n\n\ndef helper():\n    return RATE\n")
    assert "return helper()" in text
    assert "return x + 1" not in text


def test_a_whole_class_replaces_the_class() -> None:
    made = lay_in(FILE, "class Two:\n    def four(self):\n        return 44\n", ("Two", "four"))
    assert made == FILE[: FILE.index("class Two")] + "class Two:\n    def four(self):\n        return 44\n"


def test_a_correction_of_a_whole_file_or_of_a_broken_one_is_the_file() -> None:
    assert lay_in(FILE, "x = 1\n", ()) == "x = 1\n"
    assert lay_in("def (", "def one():\n    pass\n", ("one",)) == "def one():\n    pass\n"


@pytest.mark.parametrize("code", ["", "def one(:", "see the paper", "paper", "def five(self):\n    pass"])
def test_what_is_no_correction_changes_nothing(code: str) -> None:
    assert lay_in(FILE, code, ("Two", "five")) is None


def test_no_python_is_none() -> None:
    assert tree_of("def (") is None
    assert tree_of("\0") is None
