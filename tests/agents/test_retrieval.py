"""Search: what is found in a repository, by words."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_recode.agents.retrieval import MAX_FILE, MOST, Definition, Retrieval, definitions, words
from pytest_recode.models import Usage
from pytest_recode.task import Files
from tests.agents.scripted import a_brief

REPO: Files = {
    "optim/transport.py": b"import numpy as np\n\n\ndef sinkhorn(cost, epsilon):\n    return np.exp(-cost / epsilon)\n",
    "optim/losses.py": b"class HuberLoss:\n    def forward(self, residual):\n        return abs(residual)\n",
    "data/loader.py": b"def read_images(folder):\n    return sorted(folder.glob('*.png'))\n",
    "README.md": b"def sinkhorn(): this is no Python file\n",
}


def names(listed: tuple[Definition, ...]) -> list[str]:
    return [each.name for each in listed]


def find(query: str, repo: Files = REPO, targets: Files | None = None) -> list[str]:
    found, usage = Retrieval().find(query, a_brief(repo=repo, targets=("solver.py",)), targets or {})
    assert usage == Usage()
    return names(found)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("entropic optimal transport with a cost and an epsilon", "sinkhorn"),
        ("huber loss", "HuberLoss"),
        ("HuberLoss.forward of a residual", "HuberLoss.forward"),
        ("where are images read from a folder?", "read_images"),
        ("np.exp(-cost / epsilon)", "sinkhorn"),
    ],
)
def test_words_and_code_find_what_they_speak_of(query: str, first: str) -> None:
    assert find(query)[0] == first


def test_what_has_none_of_the_words_is_not_found() -> None:
    assert find("zebra") == []
    assert find("?!") == []
    assert find("sinkhorn", repo={"README.md": b"sinkhorn"}) == []


def test_the_targets_are_as_they_are_now() -> None:
    brief = a_brief(repo={**REPO, "solver.py": b"def zebra():\n    pass\n"}, targets=("solver.py",))
    retrieval = Retrieval()
    for text, expected in (
        (b"def zebra(): ...", ["zebra"]),
        (b"def solve(): ...", []),
        (b"def zebra_b(): ...", ["zebra_b"]),
    ):
        assert names(retrieval.find("zebra", brief, {"solver.py": text})[0]) == expected
    assert names(retrieval.find("zebra", brief, {})[0]) == []


def test_at_most_five_the_best_first() -> None:
    many = {f"m{n}.py": b"def rotate(image):\n    " + b"rotate = angle\n    " * n for n in range(9)}
    found = find("rotate", repo=many)
    assert len(found) == MOST
    assert find("rotate", repo=many) == found


def test_a_definition_is_shown_with_its_place() -> None:
    found, _ = Retrieval().find("sinkhorn", a_brief(repo=REPO), {})
    assert found[0].text == (
        "# optim/transport.py, lines 4 to 5: sinkhorn\ndef sinkhorn(cost, epsilon):\n    return np.exp(-cost / epsilon)"
    )


CODE = '''\
@register(
    "a",
)
@frozen
class Layer(Base):
    """A layer."""

    size = 3

    def __init__(
        self, size: int
    ) -> None:
        self.size = size

        def inner():
            return size

    @property
    async def width(self):  # in pixels
        return 2


def top(
    a,
    b=1,
):
    if a:
        return b
# a comment at the margin

    return a


if True:
    def conditional(): return 1
x = 1
def last(): pass'''


def test_code_is_cut_at_its_functions_classes_and_methods() -> None:
    cut = {each.name: each for each in definitions("a.py", CODE)}
    assert {name: (each.first, each.last) for name, each in cut.items()} == {
        "Layer": (4, 20),
        "Layer.__init__": (10, 16),
        "Layer.width": (18, 20),
        "top": (23, 31),
        "conditional": (35, 35),
        "last": (37, 37),
    }
    assert cut["top"].code.startswith("def top(\n")
    assert cut["top"].code.endswith("return a")
    layer = cut["Layer"].code
    assert "size = 3" in layer
    assert "async def width" in layer
    assert "self, size: int" in layer
    assert "self.size = size" not in layer
    assert "return 2" not in layer
    assert layer.endswith(
        "    ) -> None:\n        ...\n\n    @property\n    async def width(self):  # in pixels\n        ..."
    )


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n    return\n",
        "def f():\n\treturn 1\n        return 2\n",
        "<<<<<<< HEAD\ndef f():\n    print 'x'\n=======\n",
        "def f():\r\n    return 1\r\n",
        "\ufeffdef f():\n  return '''\ndef",
        "def f(x, x): {% if y %}",
    ],
)
def test_what_is_no_python_is_cut_as_well(text: str) -> None:
    assert [each.name for each in definitions("a.py", text.removeprefix("\ufeff"))][:1] == ["f"]


def test_files_that_hold_no_code_are_left_out() -> None:
    odd = {
        "a.py": b"def rotate(): \0",
        "b.py": b"def rotate(): ...\n" + b"#" * MAX_FILE,
        "c.py": b"\xff\xfe def rotate",
    }
    assert find("rotate", repo=odd) == []
    assert find("rotate", repo={**odd, "d.py": b"\xff = 1\ndef rotate(): ...\n"}) == ["rotate"]


def test_thousands_of_files() -> None:
    many = {f"package/m{n}.py": f"def f{n}(x):\n    return broken(\n".encode() for n in range(5000)}
    assert find("needle", repo={**many, "odd.py": b"def needle():\n    pass\n"}) == ["needle"]


def test_words_of_identifiers() -> None:
    assert words("LayerNorm_2 = getHTTPResponse(x1, Größe)") == [
        *("layer", "norm", "2", "layernorm_2", "get", "http", "response", "gethttpresponse", "x", "1", "x1", "größe")
    ]


def test_nothing_is_imported_before_a_search() -> None:
    program = (
        "import sys\nfrom pytest_recode.agents import recode, recode_h\n"
        "print(*{'bm25s', 'numpy', 'litellm', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
