"""Find relations between arguments that hold in all hidden tests of a drafted function, such as a length that is always twice a count.

Pure functions of the cases. The source of a case says how each number and size is drawn; a relation is one that holds for several
values of everything that is drawn.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from pytest_recode.drafting.draft import DraftedCase
from pytest_recode.drafting.recorded_values import Scalar, arrays_in
from pytest_recode.drafting.variation import sources_of_arguments

_DRAWS = 4
"""Values of everything that is drawn, for each case."""
_RELATIONS: Mapping[str, Callable[[int], int]] = {
    "{}": lambda other: other,
    "{} + 1": lambda other: other + 1,
    "{} - 1": lambda other: other - 1,
    "2 * {}": lambda other: 2 * other,
    "2 * {} + 1": lambda other: 2 * other + 1,
    "2 * {} - 1": lambda other: 2 * other - 1,
    "{} ** 2": lambda other: other**2,
}


def constant_relations(cases: Sequence[DraftedCase]) -> list[str]:
    """For each integer argument and axis, its relation to one before it, such as "n = 2 * axis 0 of x". Axes of equal sizes are no relation:
    a function that needs them says so."""
    samples = [dict(_quantities(case, random.Random(draw))) for case in cases for draw in range(_DRAWS)]
    names = [
        name
        for name in dict.fromkeys(name for sample in samples for name in sample)
        if all(name in sample for sample in samples)
    ]
    values = {name: [sample[name] for sample in samples] for name in sorted(names, key=lambda name: not _is_axis(name))}
    listed: list[str] = []
    before: dict[str, list[int]] = {}
    for name, own in values.items():
        if len(set(own)) == 1 or (_is_axis(name) and own in before.values()):
            continue
        relations = (
            f"{name} = {text.format(other)}"
            for other, others in before.items()
            for text, function in _RELATIONS.items()
            if own == list(map(function, others))
        )
        listed += [relation for relation in (next(relations, ""),) if relation]
        before[name] = own
    return listed


def _is_axis(name: str) -> bool:
    return " " in name


def _quantities(case: DraftedCase, numbers: random.Random) -> Iterator[tuple[str, int]]:
    """The integer arguments and the sizes of arrays of a case, drawn with `numbers`. Generators draw apart from each other."""
    drawn: dict[str, int] = {}
    for name, value in case.call.arguments:
        arrays = list(arrays_in(value))
        for number, array in enumerate(arrays, 1):
            of = name if len(arrays) == 1 else f"array {number} in {name}"
            for axis, size in enumerate(array.shape):
                text = case.sizes.get(size, str(size))
                yield f"axis {axis} of {of}", _value(ast.parse(text, mode="eval").body, drawn, numbers)
    sources = sources_of_arguments(case)
    for name, value in case.call.arguments:
        if isinstance(value, Scalar) and type(value.value) is int and not value.dtype:
            yield name, _value(sources[name], drawn, numbers)


def _value(node: ast.expr, drawn: dict[str, int], numbers: random.Random) -> int:
    """The value of an expression of sizes; of any other one a number that stands in no relation."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return drawn.setdefault(node.id, numbers.randrange(10**6))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        left, right = (_value(side, drawn, numbers) for side in (node.left, node.right))
        return left + right if isinstance(node.op, ast.Add) else left * right
    return numbers.randrange(10**6)
