"""The canonical solution is found by the directories that tests put on `sys.path`; by tests alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.sandboxes import Sandbox
from tests.recode_h.scene import FILES, RIGHT, graded, task_of, write

CANONICAL = FILES["canonical.py"].replace("from .base", "from base")
TESTS = """\
    import os
    import sys
    PUT
    TAKE

    def test_double():
        assert double(7) == right_double(7)

    def test_triple():
        assert triple(7) == right_triple(7)
    """
PUTS = {
    "insert": "sys.path.insert(0, os.path.dirname(__file__))",
    "append": "sys.path.append(os.path.dirname(__file__))",
    "abspath": "sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))",
    "relative": "sys.path.insert(0, 'pkg')",
    "joined": "sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'pkg'))",
}
TAKES = {
    "import": "import canonical, scale\n"
    "    double, triple, right_double, right_triple = scale.double, scale.triple, canonical.double, canonical.triple",
    "from": "from canonical import double as right_double, triple as right_triple\n    from scale import double, triple",
    "import_module": "from importlib import import_module\n    right = import_module('canonical')\n"
    "    right_double, right_triple = right.double, right.triple\n    from scale import double, triple",
}
WHERE = [("insert", "import"), *((put, "from") for put in PUTS), ("append", "import_module")]


def written(put: str, take: str) -> str:
    return TESTS.replace("PUT", PUTS[put]).replace("TAKE", TAKES[take])


@pytest.mark.slow
@pytest.mark.parametrize(("put", "take"), WHERE)
def test_what_is_hidden_is_found_by_a_directory_on_the_path(bare: Sandbox, tmp_path: Path, put: str, take: str) -> None:
    task = task_of(write(tmp_path, {"canonical.py": CANONICAL, "test.py": written(put, take)}))
    for answer in (None, RIGHT):
        verdict = graded(bare, task, answer)
        assert (verdict.solved, verdict.tampering) == (True, ())
    wrong = graded(bare, task, RIGHT.replace("x + x + x", "x"))
    assert [case.outcome.value for case in wrong.cases] == ["passed", "failed"]


def test_interfaces_are_known_by_such_names(tmp_path: Path) -> None:
    task = task_of(write(tmp_path, {"canonical.py": CANONICAL, "test.py": written("insert", "from")}))
    assert task.load().cases == {"test_double": "pkg.scale.double", "test_triple": "pkg.scale.triple"}


@pytest.mark.slow
def test_two_names_are_two_modules(bare: Sandbox, tmp_path: Path) -> None:
    more = """
        import canonical
        import pkg.canonical as other

        def test_triple():
            canonical.SEEN = 1
            assert canonical is not other and not hasattr(other, "SEEN")
            assert canonical.double is right_double is not other.double
            assert triple(7) == right_triple(7)
    """
    text = written("insert", "from").partition("    def test_triple")[0] + more.replace("\n    ", "\n")
    task = task_of(write(tmp_path, {"canonical.py": CANONICAL.replace("from base", "from pkg.base"), "test.py": text}))
    assert graded(bare, task).solved
    assert graded(bare, task, RIGHT).solved


@pytest.mark.slow
def test_no_directory_no_name(bare: Sandbox, tmp_path: Path) -> None:
    """As in plain Python; and what a candidate calls so is not taken for it."""
    text = """\
        from pkg import scale
        from pkg.scale import double, triple

        def right():
            try:
                import canonical
            except ModuleNotFoundError:
                from pkg import canonical
            return canonical

        def test_double():
            assert double(7) == right().double(7)

        def test_triple():
            assert triple(7) == right().triple(7)
        """
    task = task_of(write(tmp_path, {"test.py": text}))
    assert graded(bare, task, RIGHT).solved
    fake = "import pkgutil, sys\nMODULES = pkgutil.resolve_name('sys:mod' + 'ules')\nMODULES['canonical'] = MODULES[__name__]\n"
    verdict = graded(bare, task, fake + RIGHT.replace("x + x", "x"))
    assert not any(case.outcome.value == "passed" for case in verdict.cases)


@pytest.mark.slow
def test_the_repositorys_own_comes_first_where_its_directory_does(bare: Sandbox, tmp_path: Path) -> None:
    files = {
        "canonical.py": CANONICAL,
        "test.py": TESTS.replace("PUT", "sys.path[:0] = ['old', 'pkg']").replace("TAKE", TAKES["from"])
        + "\n    import canonical\n    assert canonical.OLD\n",
        "scales/old/canonical.py": "OLD = True\n" + RIGHT,
    }  # fmt: skip
    assert graded(bare, task_of(write(tmp_path, files)), RIGHT).solved


@pytest.mark.slow
def test_the_source_of_a_function_is_read_by_tests_alone(bare: Sandbox, tmp_path: Path) -> None:
    text = (
        FILES["test.py"]
        + """
        import inspect
        from inspect import getsource
        assert getsource(right_double) == "def double(x):\\n    return times(x, 2)\\n"
        assert inspect.getsourcelines(right_triple)[1] == 6
        assert "return" in getsource(double) and list(inspect.signature(double).parameters) == ["x"]
    """
    )
    task = task_of(write(tmp_path, {"test.py": text}))
    assert graded(bare, task, RIGHT).solved
    reads = "import inspect\nfrom pkg import test\nprint(inspect.getsource(test.right_double))\n"
    verdict = graded(bare, task, reads + RIGHT)
    assert not verdict.solved
    assert verdict.tampering


CANDIDATES = {
    "in front": "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nfrom canonical import *\n",
    "behind": "import sys\nsys.path.append('pkg')\nfrom canonical import double, triple\n",
    "by a directory above": "import os, sys\nsys.path.append('..')\n"
    "import importlib\nright = importlib.import_module(os.path.basename(os.getcwd()) + '.pkg.canonical')\n"
    "double, triple = right.double, right.triple\n",
    "in a call": "import sys\nsys.path.insert(0, 'pkg')\n\n\ndef double(x):\n    import canonical\n"
    "    return canonical.double(x)\n\n\ndef triple(x):\n    return 3 * x\n",
    "where it lies": "import sys\nsys.path.insert(0, 'pkg')\nTEXT = open(sys.path[0] + '/canonical.py').read()\n",
}


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("put", ["insert", "relative"])
@pytest.mark.mostly_slow
def test_a_candidate_that_does_the_same_gets_nothing(bare: Sandbox, tmp_path: Path, name: str, put: str) -> None:
    task = task_of(write(tmp_path, {"canonical.py": CANONICAL, "test.py": written(put, "from")}))
    verdict = graded(bare, task, CANDIDATES[name])
    assert not verdict.solved
    assert verdict.cases[0].outcome.value == "failed"
    # these two find no such file
    assert name in ("by a directory above", "where it lies") or verdict.tampering


@pytest.mark.slow
def test_a_hidden_module_below_a_directory_on_the_path(bare: Sandbox, tmp_path: Path) -> None:
    files = {
        "canonical.py": CANONICAL.replace("from base", "from sub.base"),
        "test.sh": FILES["test.sh"].replace("pkg", "pkg/sub"),
        "test.py": TESTS.replace("PUT", "sys.path.insert(0, 'pkg')").replace("TAKE", TAKES["from"])
        .replace("from canonical", "from sub.canonical").replace("from scale", "from sub.scale"),
        "scales/pkg/sub/__init__.py": "",
        "scales/pkg/sub/base.py": FILES["scales/pkg/base.py"],
        "scales/pkg/base.py": None,
    }  # fmt: skip
    task = task_of(write(tmp_path, files, target_file_path="pkg/sub/scale.py"))
    assert graded(bare, task, RIGHT).solved
    verdict = graded(bare, task, "import sys\nsys.path.insert(0, 'pkg')\nfrom sub.canonical import *\n")
    assert not verdict.solved
    assert any("import of sub.canonical, a module that only the tests may use" in told for told in verdict.tampering)
