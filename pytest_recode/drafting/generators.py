"""Write the source of a function that draws inputs like those of a recorded call."""

from __future__ import annotations

import math
import re
from typing import Any

from pytest_recode.drafting.plans import DrawingPlan, Sizes
from pytest_recode.drafting.recorded_values import (
    Array,
    Elements,
    Generator,
    Mapping,
    RecordedCall,
    Scalar,
    Sequence,
    Value,
)

_SEED = re.compile(r"(^|_)(seed|random_state|rng)$")
_KEPT_FLOATS = {0.0, 1.0, -1.0, 2.0}
_SMALLEST_VARIED = 5
"""Ints up to this are an order, a number of dimensions, an axis: they are kept."""
_LEAST_WORDS = 3
_NATIVE = {"b": "|b1", "i": "<i8", "f": "<f8", "c": "<c16"}


class NotDrawable(Exception):
    """The plan cannot vary this value."""


def source_of(name: str, call: RecordedCall, plan: DrawingPlan, sizes: Sizes) -> str:
    """The function `name(rng)`, which returns positional and named arguments. Raises `NotDrawable`."""
    writer = _Writer(plan, sizes)
    args = [writer.expression(value, argument) for argument, value in call.args]
    kwargs = [f"{argument!r}: {writer.expression(value, argument)}" for argument, value in call.kwargs]
    names = [f"`{argument}`" for argument, _ in call.arguments]
    lines = [f"def {name}(rng):"]
    lines += [f'    """{_summary(call)}{f" Draws {plan.words}." if plan.words else ""}"""'] if names else []
    lines += [f"    {line}" for line in sizes.lines]
    listed = "".join(f"\n        {argument}," for argument in args)
    lines.append(f"    args = ({listed}\n    )" if args else "    args = ()")
    if not kwargs:
        return "\n".join([*lines, "    return args, {}", ""])
    listed = "".join(f"\n        {argument}," for argument in kwargs)
    return "\n".join([*lines, f"    kwargs = {{{listed}\n    }}", "    return args, kwargs", ""])


def _summary(call: RecordedCall) -> str:
    parts = []
    for name, value in call.arguments:
        if isinstance(value, Array):
            parts.append(f"{name} {'list ' if value.as_list else ''}{value.shape}")
        elif isinstance(value, Scalar) and (value.value is None or isinstance(value.value, bool | int | float)):
            parts.append(f"{name} {value.value}")
        else:
            parts.append(name)
    return f"Recorded with {', '.join(parts)}."


class _Writer:
    def __init__(self, plan: DrawingPlan, sizes: Sizes) -> None:
        self.plan = plan
        self.sizes = sizes

    def expression(self, value: Value, name: str) -> str:
        if isinstance(value, Array):
            return self._array(value)
        if isinstance(value, Scalar):
            return self._scalar(value, name)
        if isinstance(value, Sequence):
            items = [self.expression(item, name) for item in value.items]
            if value.container == "list":
                return f"[{', '.join(items)}]"
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(value, Mapping):
            pairs = zip(value.keys, value.values, strict=True)
            return f"{{{', '.join(f'{key!r}: {self.expression(item, str(key))}' for key, item in pairs)}}}"
        if isinstance(value, Elements):
            return f"{value.container}([{', '.join(map(literal, value.items))}])"
        return self._generator(value)

    def _generator(self, value: Generator) -> str:
        made = "np.random.default_rng" if value.type == "Generator" else "np.random.RandomState"
        return f"{made}(seed(rng))"

    def _scalar(self, scalar: Scalar, name: str) -> str:
        text = self._number(scalar.value, name)
        return f'np.array({text}, "{scalar.dtype}")[()]' if scalar.dtype else text

    def _number(self, value: Any, name: str) -> str:
        if type(value) is int and _SEED.search(name):
            return "seed(rng)"
        if type(value) is int and self.plan.tied and value > 1 and value in self.sizes.names:
            return self.sizes.of(value)
        if type(value) is str and len(value.split(" ")) >= _LEAST_WORDS and self.plan.values != "recorded":
            return f"sentence(rng, {value!r})"
        if not self.plan.scalars:
            return literal(value)
        if type(value) is int and abs(value) > _SMALLEST_VARIED:
            return f"near_int(rng, {value})"
        if type(value) is float and math.isfinite(value) and value not in _KEPT_FLOATS:
            return f"near(rng, {value!r})"
        return literal(value)

    def _array(self, array: Array) -> str:
        if self.plan.values == "drawn" and array.size:
            text = self._drawn(array)
            native = _NATIVE.get(array.kind)
            if array.kind != "U" and array.dtype != native:
                text += f'.astype("{array.dtype}")'
        else:
            if array.data is None and array.size:
                raise NotDrawable
            data = literal(array.data) if array.data is not None else None
            text = f'np.array({data}, "{array.dtype}")' if data else f'np.zeros({array.shape}, "{array.dtype}")'
            if self.plan.values == "scaled" and array.kind in "fc":
                text = f"scaled(rng, {text})"
        return f"{text}.tolist()" if array.as_list else text

    def _shape(self, array: Array) -> str:
        parts = [self.sizes.of(size) for size in array.shape]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def _drawn(self, array: Array) -> str:
        shape, traits = self._shape(array), array.traits
        if "infinite" in traits or array.kind == "U":
            raise NotDrawable
        if array.kind == "b":
            return f"booleans(rng, {shape}, {array.share:.3g})"
        if array.kind in "iu":
            return self._integers(array, shape)
        if not array.quantiles:
            raise NotDrawable
        scale = _short(max(abs(each) for each in array.quantiles))
        quantiles = f"[{', '.join(map(_short, array.quantiles))}]"
        if array.kind == "c":
            if traits & {"positive_definite", "positive_semidefinite"}:
                return f"positive_definite(rng, {shape}, {scale}, imaginary=True)"
            return f"{'hermitian' if 'symmetric' in traits else 'complexes'}(rng, {shape}, {quantiles})"
        text = self._floats(array, shape, quantiles, scale)
        return f"with_missing(rng, {text}, {array.share:.3g})" if "nan" in traits else text

    def _integers(self, array: Array, shape: str) -> str:
        traits, low, high = array.traits, str(array.low), str(array.high)
        if self.plan.tied and array.low >= 0 and array.high + 1 in self.sizes.names:
            low, high = "0", f"{self.sizes.of(array.high + 1)} - 1"
        if "permutation" in traits:
            return f"permutation(rng, {shape})"
        if "constant" in traits:
            return f"constant(rng, {shape}, {array.low})"
        if "ascending" in traits:
            return f"ascending_integers(rng, {shape}, {low}, {high})"
        if "nondecreasing" in traits:
            return f"nondecreasing_integers(rng, {shape}, {low}, {high})"
        if array.choices and high == str(array.high):
            return f"choices(rng, {shape}, {literal(list(array.choices))})"
        return f"integers(rng, {shape}, {low}, {high})"

    def _floats(self, array: Array, shape: str, quantiles: str, scale: str) -> str:
        traits = array.traits
        if "diagonal" in traits and "unit_diagonal" in traits:
            return f"diagonal(rng, {shape}, [1.0] * 7)"
        if "constant" in traits:
            return f"constant(rng, {shape}, {literal(array.quantiles[0])})"
        if "diagonal" in traits and "positive_definite" in traits:
            return f"diagonal(rng, {shape}, [{', '.join(map(_short, (float(scale) / 3,) * 3 + (float(scale),) * 4))}])"
        if "orthogonal" in traits:
            return f"orthogonal(rng, {shape})"
        if traits & {"positive_definite", "positive_semidefinite"}:
            if "unit_diagonal" in traits:
                return f"correlations(rng, {shape})"
            return f"positive_definite(rng, {shape}, {scale})"
        for trait, text in {
            "sums_to_one": f"probabilities(rng, {shape})",
            "total_one": f"probabilities(rng, {shape}, total=True)",
            "unit_rows": f"unit_rows(rng, {shape})",
            "ascending": f"ascending(rng, {shape}, {quantiles})",
            "nondecreasing": f"ascending(rng, {shape}, {quantiles})",
            "lower_triangular": f"np.tril(reals(rng, {shape}, {quantiles}))",
            "upper_triangular": f"np.triu(reals(rng, {shape}, {quantiles}))",
        }.items():
            if trait in traits:
                return text
        if array.choices and "integral" in traits:
            return f"choices(rng, {shape}, {literal([float(each) for each in array.choices])})"
        if "integral" in traits:
            drawn = f"integral(rng, {shape}, {quantiles})"
        else:
            drawn = f"{'symmetric' if 'symmetric' in traits else 'reals'}(rng, {shape}, {quantiles})"
        for trait, value in (("zero_diagonal", "0.0"), ("unit_diagonal", "1.0")):
            if trait in traits:
                return f"with_diagonal({drawn}, {value})"
        return drawn


def _short(value: float) -> str:
    return literal(float(f"{value:.6g}"))


def literal(value: Any) -> str:
    """Source of plain data; NaN and infinities by numpy's names."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    return repr(value)
