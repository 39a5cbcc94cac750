"""Turn the tests of a step, statements that call the candidate and compare with a stored `target`, into hidden pytest tests.

The stored values are not needed: `target` is what the authors' code gives for the expression that is compared with it. Each test
becomes a function that runs the statements twice, with the authors' functions and with the candidate's. `one_process.py`, which
travels with the tests, makes the candidate's functions behave as if they ran in the process of the statements.
"""

from __future__ import annotations

import ast
import itertools
import symtable
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats.scicode.problem_lines import ProblemStep, ScicodeProblem
from pytest_recode.program.source import tree_of
from pytest_recode.task import Files

MODULE = "solution"
SUPPORT = "one_process.py"
_TARGET = "target"
_ALLCLOSE = "np.allclose"
_OWN = "_recode_"
"""Begins the names that are added among the statements of a test, so that they are none of its own."""
_COMPARISONS = "scicode.compare.cmp"
"""The benchmark's own module, in which `one_process.py` has the function that tests import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTest:
    """One test of a step: its statements, the comparison at their end, and the expressions whose values with the authors' code are its
    targets."""

    body: tuple[ast.stmt, ...]
    targets: tuple[ast.expr, ...]
    comparison: ast.Assert | None
    names: frozenset[str]
    reads: frozenset[str]  # names that it does not define before
    binds: frozenset[str]


def judged_shared(steps: Iterable[ProblemStep]) -> str:
    """Why the tests of these steps must share a process with the candidate; "" if they need not."""
    for step in steps:
        tree = tree_of(step.code.encode())
        classes = [node.name for node in (tree.body if tree else ()) if isinstance(node, ast.ClassDef)]
        if classes:
            return (
                f"step {step.number} defines the class {classes[0]}, whose objects cannot be passed between processes"
            )
    return ""


def test_files(problem: ScicodeProblem, steps: Sequence[ProblemStep], *, shared: bool) -> Files:
    """A file of hidden tests for each of `steps`, and what they import. Raises `UserError` for a test whose target cannot be computed."""
    files = {SUPPORT: Path(__file__).with_name(SUPPORT).read_bytes()}
    for step in steps:
        number = int(step.number.partition(".")[2])
        files[f"test_step_{number:02}.py"] = _test_file(problem, step, shared=shared).encode()
    return files


def without_target(step: ProblemStep) -> tuple[int, ...]:
    """The tests, from 1, that compare with nothing that is stored: they contain what they expect."""
    return tuple(number for number, test in enumerate(read_tests(step), 1) if test.comparison is None)


def draws_random_numbers(step: ProblemStep) -> bool:
    """Whether a test or the authors' code of a step may draw from a global generator."""
    return any("random" in text for text in (step.code, *step.tests))


def _test_file(problem: ScicodeProblem, step: ProblemStep, *, shared: bool) -> str:
    known = [each.name for each in problem.steps[: problem.steps.index(step) + 1]]
    tests = read_tests(step)
    lines = [
        f"from copy import deepcopy as {_OWN}deepcopy",
        "import pytest",
        "from pytest_recode.testing import call_and_return_arguments",
        f"from pytest_recode.testing import assert_equivalent as {_OWN}equivalent",
        f"from {Path(SUPPORT).stem} import both, cmp_tuple_or_list",
        f"from {Path(SUPPORT).stem} import allclose as {_OWN}allclose, close as {_OWN}close",
        *problem.imports.split("\n"),
        "",
        f'pytestmark = pytest.mark.interface("{MODULE}.{step.name}")',
    ]
    for name, case in _cases(step, tests, known):
        used = [name for name in known if any(name in test.names for test in case)]
        lines += [
            "",
            "",
            f"def {name}({'' if shared else 'candidate, '}reference):",
            f"    def statements({', '.join([*used, f'{_OWN}targets'])}):",
            f"        {_OWN}found = []",
            textwrap.indent("\n".join(statements(case)), " " * 8),
            f"        return {_OWN}found",
            "",
            *([f"    import {MODULE} as module", ""] if shared else []),
            f"    both(statements, {used!r}, reference.{MODULE}, {_candidate(step, shared=shared)})",
        ]
    return "\n".join([*lines, ""])


def _cases(
    step: ProblemStep, tests: Sequence[StepTest], known: Iterable[str]
) -> Iterator[tuple[str, Sequence[StepTest]]]:
    """The name and the tests of each case: one test, or several if the last one uses variables or random numbers of the first, because
    the benchmark runs the tests of a step in one script."""
    starts: list[int] = []
    for index, test in enumerate(tests):
        wanted = test.reads - set(known)
        before = [earlier for earlier in range(index) if wanted & tests[earlier].binds]
        first = 0 if draws_random_numbers(step) else before[-1] if before else index
        starts = [*(start for start in starts if start <= first), *([index] if first == index else [])]
    for start, stop in itertools.pairwise([*starts, len(tests)]):
        yield f"test_{start + 1}" + (f"_to_{stop}" if stop > start + 1 else ""), tests[start:stop]


def statements(case: Sequence[StepTest]) -> Iterator[str]:
    """The statements of tests that run one after another."""
    count = 0
    for test in case:
        yield from map(_with_own_allclose, test.body)
        if test.comparison is None:
            continue
        targets = [f"{_OWN}targets[{count + number}]" for number in range(len(test.targets))]
        count += len(targets)
        yield f"if {_OWN}targets is None:"
        # A copy: what a later call changes in place may be this value
        yield f"    {_OWN}found += [{', '.join(f'{_OWN}deepcopy({_with_own_allclose(own)})' for own in test.targets)}]"
        yield "else:"
        yield textwrap.indent(_comparison(_with_targets(test.comparison, iter(targets))), "    ")


def _comparison(assertion: ast.Assert) -> str:
    """The assertion, or for one call of `numpy.allclose`, the same by a function that also says how the values differ."""
    if not isinstance(assertion.test, ast.Call) or ast.unparse(assertion.test.func) != _ALLCLOSE:
        return _with_own_allclose(assertion)
    call = ast.Call(
        func=ast.Name(f"{_OWN}close", ast.Load()), args=assertion.test.args, keywords=assertion.test.keywords
    )
    return f"{_with_own_allclose(call)[:-1]}, equivalent={_OWN}equivalent)"


def _with_own_allclose(tree: ast.AST) -> str:
    """The code, with the function of `one_process.py` for each call of `numpy.allclose`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == _ALLCLOSE:
            node.func = ast.Name(f"{_OWN}allclose", ast.Load())
    return ast.unparse(tree)


def _candidate(step: ProblemStep, *, shared: bool) -> str:
    if shared:
        return "module"
    randomness = ", candidate" if draws_random_numbers(step) else ""
    return f"candidate.{MODULE}, call_and_return_arguments{randomness}"


def read_tests(step: ProblemStep) -> list[StepTest]:
    tests = []
    for number, text in enumerate(step.tests, 1):
        tree = tree_of(text.encode())
        if tree is None:
            raise UserError(f"step {step.number}: test {number} is not valid Python; download the file again")
        try:
            tests.append(_test(tree.body))
        except ValueError as error:
            raise UserError(
                f"step {step.number}: test {number}: {error}: its target cannot be computed from the authors' code"
            ) from None
    return tests


def _test(statements: Sequence[ast.stmt]) -> StepTest:
    """Find the comparison with the target. Raises `ValueError` if the target is used in another way."""
    body = [node for node in statements if not _imports_comparisons(node)]
    using = [node for node in body if _TARGET in _names([node])]
    reads, binds = _free(body)
    comparison: ast.Assert | None = None
    targets: tuple[ast.expr, ...] = ()
    if using:
        last = body.pop()
        if using != [last] or not isinstance(last, ast.Assert):
            raise ValueError("`target` is not used in one assertion at the end")
        comparison, targets = last, tuple(own for own, _ in _pairs(last.test))
    names = _names([*body, *((comparison,) if comparison else ())])
    return StepTest(
        body=tuple(body), comparison=comparison, targets=targets, names=frozenset(names), reads=reads, binds=binds
    )


def _pairs(node: ast.expr) -> Iterator[tuple[ast.expr, ast.Name]]:
    """Each value that is compared with the target, or with an item of it, and the target's name there. Raises `ValueError`."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _pairs(value)
        return
    if isinstance(node, ast.Call) and len(node.args) == 2 and _TARGET not in _names([node.func, *node.keywords]):
        own, other = node.args
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        own, other = node.left, node.comparators[0]
    else:
        raise ValueError(f"`{ast.unparse(node)}` is not a comparison of one value with `target`")
    if _same_item(own, other):  # `f(x)[0]` and `target[0]`
        own, other = own.value, other.value  # type: ignore[attr-defined]
    if not isinstance(other, ast.Name) or other.id != _TARGET or _TARGET in _names([own]):
        raise ValueError(f"in `{ast.unparse(node)}`, `target` is not what a value is compared with")
    yield own, other


def _same_item(own: ast.expr, other: ast.expr) -> bool:
    items = (
        isinstance(own, ast.Subscript) and isinstance(other, ast.Subscript) and isinstance(other.slice, ast.Constant)
    )
    return items and ast.dump(own.slice) == ast.dump(other.slice)  # type: ignore[attr-defined]


def _with_targets(comparison: ast.Assert, targets: Iterator[str]) -> ast.Assert:
    """The comparison with the names of its targets."""
    for _, name in _pairs(comparison.test):
        name.id = next(targets)
    return comparison


def _imports_comparisons(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == _COMPARISONS


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _free(statements: Sequence[ast.stmt]) -> tuple[frozenset[str], frozenset[str]]:
    """Names that statements read before they bind them, and names that they bind, as the compiler sees them."""
    reads: set[str] = set()
    binds: set[str] = set()
    for node in statements:
        table = symtable.symtable(ast.unparse(node), "test", "exec")
        reads |= {name for name in _read_at_top(table) if name not in binds}
        binds |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    return frozenset(reads), frozenset(binds)


def _read_at_top(table: symtable.SymbolTable) -> Iterator[str]:
    """Names of the top level that a statement reads, also within its functions and comprehensions."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _read_at_top(inner)
