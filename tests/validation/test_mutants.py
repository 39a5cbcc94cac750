"""Mutants: each differs from the reference in one statement, parses, and has a name of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.validation.mutants import Mutant, mutants, nearest

MANIFESTS = sorted((Path(__file__).parents[2] / "tasks").glob("*/task.yaml"))
SOURCE = """\
LIMIT = 3


def clip(x, low=0.0):
    if x < low:
        raise ValueError("too low")
    while x > LIMIT:
        x -= 1
    return x[1:] if x is not None else abs(x)


class Mean:
    def value(self, xs):
        return sum(xs) / len(xs)
"""


def of(source: str, *interfaces: str) -> list[Mutant]:
    return mutants({"pkg/mod.py": source.encode()}, interfaces)


def pairs(listed: list[Mutant]) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in listed}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("def clip(x, low=0.0):", "def clip(x, low=1.0):"),
        ("if x < low:", "if x <= low:"),
        ("if x < low:", "if True:"),
        ("raise ValueError('too low')", "pass"),
        ("raise ValueError('too low')", "raise TypeError('too low')"),
        ("while x > LIMIT:", "while x >= LIMIT:"),
        ("x -= 1", "x += 1"),
        ("x -= 1", "pass"),
        ("return x[1:] if x is not None else abs(x)", "return x[1:]"),
        ("return x[1:] if x is not None else abs(x)", "return x[2:] if x is not None else abs(x)"),
        ("return sum(xs) / len(xs)", "return sum(xs)"),
        ("return sum(xs) / len(xs)", "return len(xs) / sum(xs)"),
    ],
)
def test_a_mistake_is_tried(before: str, after: str) -> None:
    assert (before, after) in pairs(of(SOURCE))


def test_a_mutant_knows_line_definition_and_interface() -> None:
    listed = of(SOURCE, "pkg.mod.clip", "pkg.mod.Mean.value")
    [mutant] = [one for one in listed if (one.before, one.after) == ("if x < low:", "if x <= low:")]
    assert (mutant.line, mutant.definition, mutant.interface) == (5, "clip", "pkg.mod.clip")
    assert mutant.name == "pkg/mod.py clip: if x < low: -> if x <= low:"
    assert mutant.place == "pkg/mod.py:5 in clip"
    assert {one.interface for one in listed if one.definition == "Mean.value"} == {"pkg.mod.Mean.value"}
    assert {one.interface for one in listed if not one.definition} == {""}


def test_the_tree_is_as_it_was_after_each_mutant() -> None:
    """Each mutant differs from the reference in one place: none carries the mistake of the one before it."""
    before = ast.unparse(ast.parse(SOURCE)).split("\n")
    for mutant in of(SOURCE):
        after = mutant.source.decode().rstrip("\n").split("\n")
        changed = [line for line in before if line not in after]
        assert len(changed) <= 2, mutant.name  # an `if` that goes takes its body along


@pytest.mark.slow
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_mutants_of_real_code(manifest: Path) -> None:
    (task,) = FORMAT.load(manifest)
    reference = task.load().reference
    listed = mutants(reference, task.interfaces)
    assert len(listed) >= 100
    assert len({mutant.name for mutant in listed}) == len(listed)
    assert len({(mutant.path, mutant.source) for mutant in listed}) == len(listed)
    originals = {path: ast.unparse(ast.parse(data)) for path, data in reference.items()}
    for mutant in listed:
        assert ast.unparse(ast.parse(mutant.source)) != originals[mutant.path], mutant.name
    assert [each.name for each in mutants(reference, task.interfaces)] == [each.name for each in listed]


def test_the_nearest_name_is_for_lines_that_an_edit_made_stale() -> None:
    names = {mutant.name: mutant for mutant in of(SOURCE)}
    stale = "pkg/mod.py clip: if x < lowest: -> if x <= lowest:"
    assert nearest(stale, names) == "pkg/mod.py clip: if x < low: -> if x <= low:"
    assert nearest("&&&&", names) == ""
