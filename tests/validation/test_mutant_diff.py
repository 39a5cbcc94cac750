"""The diff of a mutant changes the reference's own text, and the changed text is the mutant."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.validation.mutant_diff import unified_diff
from pytest_recode.validation.mutants import mutants

MANIFESTS = sorted((Path(__file__).parents[2] / "tasks").glob("*/task.yaml"))


def lines_of(reference: str, mutant: str) -> list[str]:
    """The changed lines of the diff."""
    return [line for line in unified_diff("a.py", reference, mutant).split("\n")[2:] if line[:1] in "+-"]


@pytest.mark.parametrize(
    ("reference", "mutant", "changed"),
    [
        ("x = (a +  # one\n     b)\n", "x = a - b\n", ["-x = (a +  # one", "-     b)", "+x = (a - b)"]),
        ("y = 2 * (a + b)  # é\n", "y = 2 * (a - b)\n", ["-y = 2 * (a + b)  # é", "+y = 2 * (a - b)  # é"]),
        ("é = 'é', 1  # s\n", "é = ('é', 2)\n", ["-é = 'é', 1  # s", "+é = 'é', 2  # s"]),
        ("if a < b:  # c\n    f()\n", "if True:\n    f()\n", ["-if a < b:  # c", "+if True:  # c"]),
        ("def f(a=0):  # c\n    return a\n", "def f(a=1):\n    return a\n", ["-def f(a=0):  # c", "+def f(a=1):  # c"]),
        ("def f():\n    raise E(\n        1)\n", "def f():\n    pass\n", ["-    raise E(", "-        1)", "+    pass"]),
        ("x = 3 * a\n", "x = 3 * (a + 1)\n", ["-x = 3 * a", "+x = 3 * (a + 1)"]),
        ("a = 1\r\nb = 2\r\n", "a = 1\nb = 3\n", ["-b = 2", "+b = 3"]),
        ("a = 1\f\nb = 2\n", "a = 1\nb = 3\n", ["-b = 2", "+b = 3"]),
        (
            "if a:\n    f()\nelif b:  # c\n    g()\n",
            "if a:\n    f()\nelse:\n    pass\n",
            ["-elif b:  # c", "-    g()", "+else:", "+    pass"],
        ),
        ("if a: f(1); g(2)\n", "if a:\n    f(1)\n    g(3)\n", ["-if a: f(1); g(2)", "+if a: f(1); g(3)"]),
    ],
)
def test_a_change_keeps_comments_and_layout(reference: str, mutant: str, changed: list[str]) -> None:
    assert lines_of(reference, mutant) == changed


def test_a_change_that_does_not_fit_is_shown_without_comments() -> None:
    reference = "@deco\ndef f():\n    return 1  # one\n"
    mutant = "@deco\ndef f():\n    return 1\n    return 2\n"
    found = unified_diff("a.py", reference, mutant)
    assert found.startswith("--- reference/a.py (without comments)\n+++ mutant/a.py\n")
    assert lines_of(reference, mutant) == ["+    return 2"]


@pytest.mark.slow
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_mutants_of_real_code_are_changes_of_its_text(manifest: Path) -> None:
    (task,) = FORMAT.load(manifest)
    reference = task.load().reference
    for mutant in mutants(reference, task.interfaces):
        text = reference[mutant.path].decode()
        found = unified_diff(mutant.path, text, mutant.source.decode())
        assert "(without comments)" not in found, found
        assert ast.dump(ast.parse(applied(text, found))) == ast.dump(ast.parse(mutant.source)), found


def applied(text: str, diff: str) -> str:
    """`text` with a diff of one hunk."""
    _, _, head, *body = diff.split("\n")
    start = int(head.split()[1].lstrip("-").partition(",")[0]) - 1
    old = [line[1:] for line in body if line[0] in " -"]
    new = [line[1:] for line in body if line[0] in " +"]
    lines = text.split("\n")
    assert lines[start : start + len(old)] == old
    return "\n".join([*lines[:start], *new, *lines[start + len(old) :]])
