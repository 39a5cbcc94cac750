"""What the correction of an interface holds, and what is said to be wrong around it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType

import pytest

from pytest_recode.program.differences import Reason
from pytest_recode.program.fixes import Fix, Own, Versions, fix
from pytest_recode.task import Parts


def fixed(
    reference: str | Mapping[str, str],
    candidate: str | Mapping[str, str],
    name: str = "f",
    written: str = "",
    raising: Mapping[str, Set[int]] = MappingProxyType({}),
    passing: Set[tuple[str, str]] = frozenset(),
) -> Fix:
    """The fix of an interface of `m.py`; the other files of `reference` are targets too."""
    ours, theirs = ({"m.py": each} if isinstance(each, str) else each for each in (reference, candidate))
    parts = Parts(
        instruction="",
        paper=None,
        repo={"tools.py": b"def helper(): return 1\n", "user.py": b"import math\nfrom m import a, b as two, f\n"},
        reference={path: text.encode() for path, text in ours.items()},
        tests={},
    )
    versions = Versions.of(parts, {path: text.encode() for path, text in theirs.items()}, tuple(ours))
    path = tuple(name.split("."))
    return fix(versions, "m.py", path, written=written, elsewhere={}, raising=raising, passing=passing)


def test_an_interface_that_passes_stays_as_the_candidate_wrote_it() -> None:
    authors = "def h(a): return a\ndef g(a): return h(a) + 1\ndef f(a): return h(a) * g(a)\n"
    theirs = "def h(a): return a\ndef g(a): return 1 + h(a)\ndef f(a): return 0\n"
    alone = "def f(a): return h(a) * g(a)"
    passing = {("m.py", "g")}
    assert fixed(authors, theirs, passing=passing).code == alone
    assert fixed(authors, theirs, written=authors, passing=passing).code == alone
    for other in (
        theirs.replace("def g(a): return 1 + h(a)", "def g(b): return 1 + h(b)"),  # calls by name
        theirs.replace("def h(a): return a\n", "def h(a): return 2 * a\n"),  # the fix changes what it uses
        theirs.replace("def f(a): return 0", "def f(a): return h(a) * g(a)"),  # nothing else is left to suspect
        theirs.replace("def g(a): return 1 + h(a)\n", ""),
    ):
        assert "def g(a): return h(a) + 1" in fixed(authors, other, passing=passing).code


CODE = {
    "decorators and comments": (
        "import functools\n\n@functools.cache\n# why\ndef f():\n    return 1\n",
        "def f():\n    return 2\n",
        "import functools\n\n\n@functools.cache\n# why\ndef f():\n    return 1",
    ),
    "of an import the names that are needed and lacking": (
        "from math import pi, tau, e\ndef f(): return pi + tau\n",
        "from math import pi\ndef f(): return pi\n",
        "from math import tau\n\n\ndef f(): return pi + tau",
    ),
    "the same name from elsewhere": (
        "from math import pi\ndef f(): return pi\n",
        "from cmath import pi\ndef f(): return pi\n",
        "from math import pi",
    ),
    "no local variables": (
        "x = 1\ndef f():\n    x = 2\n    return x\n",
        "def f(): return 3\n",
        "def f():\n    x = 2\n    return x",
    ),
    "no attributes": ("x = 1\ndef f(a): return a.x\n", "def f(a): return 3\n", "def f(a): return a.x"),
    "no variables of a comprehension": (
        "x = 1\ndef f(a): return [x for x in a]\n",
        "def f(a): return 3\n",
        "def f(a): return [x for x in a]",
    ),
    "no statement that shares the line": (
        "a = 1; b = 2\ndef f(): return a\n",
        "def f(): return a\n",
        "a = 1",
    ),
    "constants of constants": (
        "a = 1\nb = a\nc = 5\ndef f(): return b\n",
        "a = 2\nb = a\ndef f(): return b\n",
        "a = 1",
    ),
    "a constant in another notation is the same": (
        "a = 1e-2\ndef f(): return a\n",
        "a = 0.01\ndef f(): return a\n",
        "",
    ),
    "a base class": (
        "class A: x = 1\nclass f(A): pass\n",
        "class A: x = 2\nclass f(A): pass\n",
        "class A: x = 1",
    ),
    "a type alias in annotations that are evaluated": (
        "N = int | float\ndef f(x: N): return x\n",
        "N = 'any'\ndef f(x: N): return x\n",
        "N = int | float",
    ),
    "none in annotations that are not": (
        "from __future__ import annotations\nN = int | float\ndef f(x: N): return x\n",
        "from __future__ import annotations\nN = 'any'\ndef f(x: N): return x\n",
        "",
    ),
    "annotations that are not evaluated": (
        "from __future__ import annotations\nfrom a import N\ndef f(x: N): return x\n",
        "def f(x): return 2 * x\n",
        "from __future__ import annotations\n\nfrom a import N\n\n\ndef f(x: N): return x",
    ),
    "module state": (
        "n = 0\ndef reset():\n    global n\n    n = 0\ndef f(): return n\n",
        "n = 0\ndef f(): return n\n",
        "def reset():\n    global n\n    n = 0",
    ),
    "statements that touch what is needed": (
        "d = {}\nd['a'] = 1\nprint('b')\ndef f(): return d\n",
        "d = {}\ndef f(): return d\n",
        "d['a'] = 1",
    ),
    "statements that run on import, where all else is the same": (
        "import numpy as np\nnp.seterr(all='raise')\ndef f(): return 1\n",
        "def f(): return 1\n",
        "np.seterr(all='raise')",
    ),
    "names in strings of dynamic code": (
        "a = 1\nb = 2\ndef f(): return globals()['a']\n",
        "a = 3\nb = 4\ndef f(): return globals()['a']\n",
        "a = 1",
    ),
    "a candidate that does not parse": (
        "a = 1\ndef g(): return 1\ndef f(): return a\n",
        "def f(:",
        "a = 1\n\n\ndef f(): return a",
    ),
    "Windows' line ends": ("a = 1\r\ndef f(): return a\r\n", "a = 2\r\ndef f(): return a\r\n", "a = 1"),
}


@pytest.mark.parametrize(("reference", "candidate", "code"), CODE.values(), ids=CODE)
def test_a_correction_holds_what_the_interface_needs_and_the_candidate_lacks(
    reference: str, candidate: str, code: str
) -> None:
    assert fixed(reference, candidate).code == code


LINES = {
    "defined again": ("def f(): return 1\n", "def f(): return 1\n\ndef f():\n    return 2\n", "lines 3 to 4", ""),
    "defined before": ("def f(): return 1\n", "def f(): return 2\n\ndef f(): return 1\n", "", ""),
    "deleted": ("def f(): return 1\n", "def f(): return 1\ndel f\n", "line 2", ""),
    "bound in a condition": ("def f(): return 1\n", "def f(): return 1\nif True:\n    f = 2\n", "lines 2 to 3", ""),
    "bound in a loop": ("def f(): return 1\n", "def f(): return 1\nfor f in []: pass\n", "line 2", ""),
    "wrapped": ("def f(): return 1\n", "def f(): return 1\nf = staticmethod(f)\n", "line 2", ""),
    "changed from outside": ("def f(): return 1\n", "def f(): return 1\nf.__code__ = len\n", "line 2", ""),
    "a default bound before": (
        "a = 1\ndef f(x=a): return x\n",
        "a = 2\ndef f(x=a): return x\na = 1\n",
        "line 3",  # and line 1 becomes the correction
        "a = 1",
    ),
    "two constants at once": ("a = 1\ndef f(): return a\n", "a, b = 2, 3\ndef f(): return a\n", "line 1", "a = 1"),
    "a name of Python's": ("def f(x): return sum(x)\n", "sum = max\ndef f(x): return sum(x)\n", "line 1", ""),
    "only what an import does not run": (
        "def f(): return 1\n",
        "def f(): return 1\nif __name__ == '__main__':\n    f()\n",
        "",
        "",
    ),
}


@pytest.mark.parametrize(("reference", "candidate", "lines", "code"), LINES.values(), ids=LINES)
def test_lines_that_have_to_go_are_named(reference: str, candidate: str, lines: str, code: str) -> None:
    found = fixed(reference, candidate)
    removals = [each.lines for one in found.differences for each in one.removals]
    assert (removals, found.code) == ([lines] if lines else [], code)
    assert found.own is Own.SAME


def test_a_constant_below_its_use_has_to_move() -> None:
    found = fixed("a = 1\ndef f(x=a): return x\n", "def f(x=a): return x\na = 1\n")
    assert (found.code, found.own, found.differences[0].late) == ("", Own.SAME, (("a", 1),))


def test_a_constant_goes_above_all_its_uses_whichever_interface_is_asked_about() -> None:
    uses = "def f(x=a): return x\ndef g(x=a): return x\n"
    found = [fixed(f"a = 1\n{uses}", f"{uses}a = 1\n", name) for name in "fg"]
    assert [each.differences[0].late for each in found] == [(("a", 1),)] * 2


@pytest.mark.parametrize(
    "imports",
    [
        "from n import g\ndef f(): return g()\n",
        "import n\ndef f(): return n.g()\n",
        "from n import *\ndef f(): return g()\n",
    ],
)
def test_code_of_another_target_is_apart(imports: str) -> None:
    other = "a = 1\ndef g(): return a\ndef h(): return 2\n"
    found = fixed({"m.py": imports, "n.py": other}, {"m.py": imports, "n.py": other.replace("1", "3")})
    assert (found.code, found.elsewhere, found.own) == ("", {"n.py": "a = 1"}, Own.SAME)
    found = fixed({"m.py": imports, "n.py": other}, {"m.py": imports})
    assert found.elsewhere == {"n.py": "a = 1\n\n\ndef g(): return a"}


def test_of_a_method_that_is_right_the_rest_of_its_class_is_at_fault() -> None:
    reference = "class A:\n    def f(self): return self._g()\n    def _g(self): return 1\n"
    found = fixed(reference, reference.replace("1", "2"), "A.f")
    assert (found.own, found.code) == (Own.REST_OF_CLASS, reference.rstrip())
    assert fixed(reference, reference.replace("_g()", "h()"), "A.f").own is Own.DIFFERENT


WRITTEN = {
    "alone": ("def f(): return 2\n", "", "def f(): return 2\n"),
    "with its own helper": (
        "def h(): return 2\n\ndef f(): return h()\n",
        "",
        "def h(): return 2\n\ndef f(): return h()\n",
    ),
    "with what it uses": ("def f(): return 2 * a\n", "", "a = 1\n\n\ndef f(): return 2 * a"),
    "without what the candidate has": ("a = 1\ndef f(): return 2 * a\n", "a = 1\n", "def f(): return 2 * a"),
    "with another constant": ("a = 7\ndef f(): return 2 * a\n", "a = 1\n", "a = 7\ndef f(): return 2 * a\n"),
    "without Python": ("def f(:", "", "def f(:"),
}


@pytest.mark.parametrize(("written", "candidate", "code"), WRITTEN.values(), ids=WRITTEN)
def test_an_authors_correction_stays_and_gets_what_it_uses(written: str, candidate: str, code: str) -> None:
    assert fixed("a = 1\ndef f(): return a\n", candidate, written=written).code == code


def test_an_authors_correction_that_the_candidate_has_is_not_given_again() -> None:
    written = "def f(): return 2 * a\n"
    found = fixed("a = 1\ndef f(): return a\n", "a = 3\n" + written, written=written)
    assert (found.own, found.code) == (Own.SAME, "a = 1")


def test_an_authors_method_has_what_it_uses_beside_it() -> None:
    reference = "a = 1\nclass A:\n    def f(self): return a\n"
    written = "def f(self):\n    return a\n"
    found = fixed(reference, "class A:\n    def f(self): return 2\n", "A.f", written=written)
    assert (found.code, found.elsewhere) == (written, {"m.py": "a = 1"})


def test_nothing_is_given_of_what_is_all_the_same() -> None:
    code = "from tools import helper\ndef f(): return helper()\n"
    assert fixed(code, code + "\n# a comment\n") == Fix(own=Own.SAME, elsewhere={})


DEFAULTS = "from tools import a, b, c\n\n\ndef f():\n    return 1\n\n\ndef g(x=a):\n    return {g}\n\n\ndef h(y=b, z=c):\n    return {h}\n"
WITHOUT = {"the authors' functions": (1, 2), "other functions": (3, 4), "one other function": (3, 2)}


@pytest.mark.parametrize(("g", "h"), WITHOUT.values(), ids=WITHOUT)
def test_all_names_that_an_import_misses_are_given_at_once(g: int, h: int) -> None:
    """It ends at the first of them, in the function `g`, whose own code is not what raises."""
    candidate = DEFAULTS.format(g=g, h=h).removeprefix("from tools import a, b, c\n")
    found = fixed(DEFAULTS.format(g=1, h=2), candidate, raising={"m.py": {7}})
    assert (found.own, found.code) == (Own.SAME, "from tools import a, b, c")
    assert not any(each.removals for each in found.differences)


def test_a_statement_that_raises_without_missing_a_name_is_removed() -> None:
    found = fixed("def f(): return 1\n", "def f(): return 1\nx = 1 / 0\n", raising={"m.py": {2}})
    assert [one.reason for each in found.differences for one in each.removals] == [Reason.RAISES]


def test_all_names_that_another_file_imports_are_given_at_once() -> None:
    reference = "a = 1\nb = 2\nc = 3\ndef f(): return 1\n"
    assert fixed(reference, "c = 4\ndef f(): return 1\n", raising={"user.py": {2}}).code == "a = 1\nb = 2"
    assert fixed(reference, "from n import *\ndef f(): return 1\n", raising={"user.py": {2}}).code == ""


def test_all_names_that_a_target_imports_from_another_are_given_at_once() -> None:
    users = "from n import a\nfrom n import b\ndef f(): return 1\n"
    found = fixed({"m.py": users, "n.py": "a = 1\nb = 2\n"}, {"m.py": users, "n.py": "c = 3\n"}, raising={"m.py": {1}})
    assert (found.code, found.elsewhere) == ("", {"n.py": "a = 1\nb = 2"})


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_module_is_given_whole(name: str) -> None:
    parts = Parts(instruction="", paper=None, repo={}, reference={"m.py": b"a = 1\n"}, tests={})
    versions = Versions.of(parts, {"m.py": b"a = 2\n"}, ("m.py",))
    assert fix(versions, "m.py", (name,) if name else (), elsewhere={}, raising={}).code == "a = 1\n"


@pytest.mark.parametrize(
    "code",
    [
        "x" + ".x" * 50_000,
        "-" * 50_000 + "1",
        "f = " + "[" * 80 + "]" * 80,
        "return 1",
        "a = 1\n" * 20_000,
        "def f(): global x; x = x\nx: int",
    ],
)
def test_code_that_is_no_program_breaks_nothing(code: str) -> None:
    assert "def f" in fixed("def f(): return 1\n", code).code
