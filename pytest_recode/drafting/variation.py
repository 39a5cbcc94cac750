"""Find what the hidden tests of a drafted function never vary: arguments, and sizes of arrays. Pure functions of the cases."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pytest_recode.drafting.draft import DraftedCase
from pytest_recode.drafting.recorded_values import arrays_in
from pytest_recode.drafting.stubs import Function

_DEFAULT = "its default"
_FIXED_NAMES = {"np", "set", "frozenset"}
"""Names in the source of a value that no generator draws."""
_LONGEST = 30


def unvaried_arguments(function: Function, cases: Sequence[DraftedCase]) -> list[str]:
    """The arguments that have one value in all cases, such as "level=0.5" or "level (its default)"."""
    expressions = [dict(_expressions(case)) for case in cases]
    unvaried = []
    for name in dict.fromkeys([*_parameters(function), *(name for each in expressions for name in each)]):
        values = {each.get(name, _DEFAULT) for each in expressions}
        if len(values) == 1 and (value := values.pop()) is not None:
            shown = f"={value}" if len(value) <= _LONGEST else " (the recorded value)"
            unvaried.append(f"{name} ({_DEFAULT})" if value == _DEFAULT else f"{name}{shown}")
    return unvaried


def unvaried_sizes(cases: Sequence[DraftedCase]) -> list[str]:
    """The axes that have one size in all cases, such as "axis 1 of points (3)", of arguments whose values vary."""
    sizes: dict[str, set[int]] = {}
    drawn: set[str] = set()
    for case in cases:
        values = dict(_expressions(case))
        for name, value in case.call.arguments:
            arrays = list(arrays_in(value)) if values[name] is None else []
            for number, array in enumerate(arrays, 1):
                of = name if len(arrays) == 1 else f"array {number} in {name}"
                for axis, size in enumerate(array.shape):
                    sizes.setdefault(f"axis {axis} of {of}", set()).add(size)
                    if size in case.sizes:
                        drawn.add(f"axis {axis} of {of}")
    return [f"{axis} ({min(found)})" for axis, found in sizes.items() if len(found) == 1 and axis not in drawn]


def _expressions(case: DraftedCase) -> Iterator[tuple[str, str | None]]:
    """The arguments of a case with their source, None if it is drawn."""
    for name, value in sources_of_arguments(case).items():
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        yield name, ast.unparse(value) if names <= _FIXED_NAMES else None


def sources_of_arguments(case: DraftedCase) -> dict[str, ast.expr]:
    """The expression with which the source of a case makes each argument."""
    tree = ast.parse(case.source)
    assigned = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    args, kwargs = assigned["args"], assigned.get("kwargs")
    values = [
        *(args.elts if isinstance(args, ast.Tuple) else ()),
        *(kwargs.values if isinstance(kwargs, ast.Dict) else ()),
    ]
    return {name: value for (name, _), value in zip(case.call.arguments, values, strict=True)}


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
