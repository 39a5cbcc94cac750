"""`assert_equivalent`: compares what the candidate returned with what the reference returned.

Runs in the graders' processes, also in the shared judge's. Called by hidden tests, by way of `pytest_recode.testing`.
Must not call a method of a candidate's value: the actual value is plain data (see the wire) or an opaque handle,
which equals nothing.

Stdlib, numpy where the values are numpy's, Python 3.9+.
"""

from __future__ import annotations

import math
from typing import Any

from . import value_kinds

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows

ATOL_SHARE = 1e-3  # the default atol, as a share of rtol times the largest expected value
_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex", "U": "str", "S": "bytes"}


class Mismatch(AssertionError):
    """Not equivalent.

    `kind` is "mismatch" (other values), "not-finite" (NaN or infinite instead of finite, or the reverse), "shape", "length" (of a list or tuple), "keys" (of a dict; elements of a set), "dtype" (also:
    another type) or "protocol" (an opaque handle; "dtype" where it is that of a builtin or numpy type).
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def assert_equivalent(
    actual: Any,
    expected: Any,
    *,
    rtol: float = 1e-5,
    atol: float | None = None,
    equal_nan: bool = True,
    check_dtype: bool | str = "kind",
    check_shape: bool = True,
) -> None:
    """Raise `Mismatch` (an AssertionError) unless `actual` is `expected`, up to rounding.

    Floats and complex numbers agree where |actual - expected| <= atol + rtol * |expected|; ints, bools, strings and the
    rest exactly. By default `atol` is rtol / 1000 times the largest finite expected magnitude of the same array (or
    list of numbers): enough for rounding noise beside large values, and for zeros only in place of values below a
    rtol / 1000 of the largest (1e-8 by default). Compare quantities of unlike sizes one by one. Where everything expected is zero, that magnitude counts as 1. NaN agrees with NaN only (with `equal_nan`), an
    infinity only with the same infinity.

    `check_dtype`: "kind" wants bool, int, float, complex, str alike and lets precision differ; True wants the same
    dtype of arrays and numpy scalars (byte order aside); False compares any numbers. `check_shape=False` lets axes of
    length 1 differ. A Python number, a numpy scalar and a 0-d array of one kind are alike. Lists and tuples are alike;
    an array is no list. Dicts are compared by their keys, in any order.
    """
    if not (0 <= rtol < 1) or (atol is not None and not 0 <= atol < math.inf):
        raise ValueError(f"rtol must be in [0, 1) and atol finite and not negative, not rtol={rtol!r}, atol={atol!r}")
    if check_dtype not in (True, False, "kind"):
        raise ValueError(f"check_dtype must be True, False or 'kind', not {check_dtype!r}")
    _Comparison(rtol, atol, equal_nan, check_dtype, check_shape).compare(actual, expected, "result", None)


class _Comparison:
    def __init__(
        self, rtol: float, atol: float | None, equal_nan: bool, check_dtype: bool | str, check_shape: bool
    ) -> None:
        self.rtol = rtol
        self.atol = atol
        self.equal_nan = equal_nan
        self.check_dtype = check_dtype
        self.check_shape = check_shape

    def compare(self, actual: Any, expected: Any, path: str, scale: float | None) -> None:
        """`scale`: the largest expected magnitude in the list that these values are items of."""
        if getattr(type(actual), "_recode_opaque", False):
            raise Mismatch(
                getattr(type(actual), "_recode_kind", "protocol"),
                f"{path} is {actual!r}, expected {value_kinds.name(expected)}; read a plain value from it instead: an attribute, "
                "the result of a method or, of an iterator, list(...)",
            )
        actual, expected = value_kinds.text(actual), value_kinds.text(expected)
        if value_kinds.is_masked(expected):
            raise TypeError(
                f"the expected {path} is a masked array, which is not plain data; compare `filled(...)` and the mask"
            )
        if value_kinds.is_numeric(expected) or value_kinds.is_numpy(expected):
            if not (value_kinds.is_numeric(actual) or value_kinds.is_numpy(actual)):
                raise self._other_type(actual, expected, path)
            if value_kinds.is_numpy(actual) or value_kinds.is_numpy(expected):
                self._arrays(actual, expected, path, scale)
            else:
                self._numbers(actual, expected, path, scale)
        elif isinstance(expected, value_kinds.SEQUENCES):
            self._sequences(actual, expected, path, scale)
        elif isinstance(expected, dict):
            self._dicts(actual, expected, path)
        elif isinstance(expected, slice):
            if value_kinds.sent_type(actual) is not slice:
                raise self._other_type(actual, expected, path)
            for part in ("start", "stop", "step"):
                self.compare(getattr(actual, part), getattr(expected, part), f"{path}.{part}", None)
        elif isinstance(expected, (set, frozenset)):
            if value_kinds.sent_type(actual) not in (set, frozenset):
                raise self._other_type(actual, expected, path)
            self._same_keys(actual, expected, path, "elements")
        elif isinstance(expected, value_kinds.EXACT):
            if not isinstance(actual, value_kinds.EXACT) or value_kinds.sent_type(actual) is not value_kinds.plain_type(
                expected
            ):
                raise self._other_type(actual, expected, path)
            if actual != expected:
                raise Mismatch(
                    "mismatch", f"{path} is {value_kinds.show(actual)}, expected {value_kinds.show(expected)}"
                )
        else:
            raise TypeError(
                f"the expected {path} is of type {type(expected).__qualname__}, which is not plain data; compare plain "
                "values: numbers, strings, arrays, lists, dicts"
            )

    def _other_type(self, actual: Any, expected: Any, path: str) -> Mismatch:
        return Mismatch(
            "dtype",
            f"{path} is {value_kinds.name(actual)}, expected {value_kinds.name(expected)}: {value_kinds.show(actual)}",
        )

    def _sequences(self, actual: Any, expected: Any, path: str, scale: float | None) -> None:
        if value_kinds.sent_type(actual) not in value_kinds.SEQUENCES:
            raise self._other_type(actual, expected, path)
        if len(actual) != len(expected):
            raise Mismatch("length", f"{path} has {len(actual)} items, expected {len(expected)}")
        scale = value_kinds.magnitude(expected) if scale is None else scale
        for number, (found, wanted) in enumerate(zip(actual, expected)):  # noqa: B905 - Python 3.9
            self.compare(found, wanted, f"{path}[{number}]", scale)

    def _dicts(self, actual: Any, expected: Any, path: str) -> None:
        if value_kinds.sent_type(actual) is not dict:
            raise self._other_type(actual, expected, path)
        found = self._same_keys(actual, expected, path, "keys")
        for key, value in expected.items():
            self.compare(actual[found[value_kinds.as_key(key)]], value, f"{path}[{value_kinds.show(key)}]", None)

    def _same_keys(self, actual: Any, expected: Any, path: str, what: str) -> dict[Any, Any]:
        actual_keys, expected_keys = ({value_kinds.as_key(key): key for key in keys} for keys in (actual, expected))
        if len(actual) != len(actual_keys) and len(actual) != len(expected):  # several NaN
            raise Mismatch("keys", f"{path} has {len(actual)} {what}, expected {len(expected)}")
        missing = [value_kinds.show(expected_keys[key]) for key in expected_keys if key not in actual_keys]
        extra = [value_kinds.show(actual_keys[key]) for key in actual_keys if key not in expected_keys]
        if missing or extra:
            parts = [
                f"{word} {', '.join(sorted(keys)[:5])}"
                for word, keys in (("lacks", missing), ("has extra", extra))
                if keys
            ]
            raise Mismatch("keys", f"{path} has other {what}: it {' and '.join(parts)}")
        return actual_keys

    def _numbers(self, actual: Any, expected: Any, path: str, scale: float | None) -> None:
        kinds = [bool if isinstance(x, bool) else value_kinds.plain_type(x) for x in (actual, expected)]
        if self.check_dtype is not False and kinds[0] is not kinds[1]:
            raise self._other_type(actual, expected, path)
        if not {float, complex} & set(kinds):
            if actual != expected:
                raise Mismatch(
                    "mismatch", f"{path} is {value_kinds.show(actual)}, expected {value_kinds.show(expected)}"
                )
            return
        try:
            actual_number, expected_number = complex(actual), complex(expected)
        except OverflowError:
            actual_number, expected_number = complex(0 if actual == expected else math.inf), 0j
        size = value_kinds.size(expected_number)
        if math.isfinite(size) and math.isfinite(value_kinds.size(actual_number)):
            error, allowed = value_kinds.size(actual_number - expected_number), self._allowed(size, scale)
            if not error <= allowed or math.isinf(error):
                relative = f", relative error {error / size:.3g}" if expected_number else ""
                raise Mismatch(
                    "mismatch",
                    f"{path} is {value_kinds.show(actual)}, expected {value_kinds.show(expected)}: "
                    f"absolute error {error:.3g}{relative}, allowed {allowed:.3g}",
                )
        elif not all(
            self._same_odd(x, y)
            for x, y in ((actual_number.real, expected_number.real), (actual_number.imag, expected_number.imag))
        ):
            kind = "mismatch" if _is_finite(actual) == _is_finite(expected) else "not-finite"
            raise Mismatch(kind, f"{path} is {value_kinds.show(actual)}, expected {value_kinds.show(expected)}")

    def _same_odd(self, actual: float, expected: float) -> bool:
        """Whether real or imaginary parts agree, where the magnitude of one of the numbers is not finite."""
        if math.isnan(expected):
            return self.equal_nan and math.isnan(actual)
        if math.isinf(expected) or not math.isfinite(actual):
            return actual == expected
        return abs(actual - expected) <= self._allowed(abs(expected), None)

    def _allowed(self, magnitude: float, scale: float | None) -> float:
        atol = self.atol
        if atol is None:
            atol = self.rtol * ATOL_SHARE * ((magnitude if scale is None else scale) or 1.0)
        return atol + self.rtol * magnitude

    def _arrays(self, actual: Any, expected: Any, path: str, scale: float | None) -> None:
        import numpy as np

        actual_array, expected_array = np.asarray(actual), np.asarray(expected)
        if expected_array.dtype.kind not in "biufcUSmM" or expected_array.dtype.names:
            raise TypeError(f"the expected {path} is an array of dtype {expected_array.dtype}, which is not plain data")
        if actual_array.dtype.kind not in "biufcUSmM":
            raise Mismatch(
                "dtype", f"{path} is an array of dtype {actual_array.dtype}, expected {expected_array.dtype}"
            )
        self._dtypes(
            actual_array, expected_array, path, exact=value_kinds.is_numpy(actual) and value_kinds.is_numpy(expected)
        )
        if actual_array.shape != expected_array.shape:
            loose = [tuple(size for size in array.shape if size != 1) for array in (actual_array, expected_array)]
            if self.check_shape or loose[0] != loose[1]:
                raise Mismatch("shape", f"{path} has shape {actual_array.shape}, expected {expected_array.shape}")
            actual_array = actual_array.reshape(expected_array.shape)
        numbers = actual_array.dtype.kind in "biufc" and expected_array.dtype.kind in "biufc"
        if not numbers and actual_array.dtype.kind != expected_array.dtype.kind:
            raise Mismatch(
                "dtype", f"{path} is an array of dtype {actual_array.dtype}, expected {expected_array.dtype}"
            )
        with np.errstate(all="ignore"):
            if numbers and "f" in actual_array.dtype.kind + expected_array.dtype.kind + (
                "f" if "c" in _kinds(actual_array, expected_array) else ""
            ):
                self._close(np, actual_array, expected_array, path, scale)
            else:
                self._exact(np, actual_array, expected_array, path)

    def _dtypes(self, actual: Any, expected: Any, path: str, exact: bool) -> None:
        if self.check_dtype is False:
            return
        if self.check_dtype is True and exact:
            alike = actual.dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")
        else:
            alike = _KINDS.get(actual.dtype.kind, actual.dtype.kind) == _KINDS.get(
                expected.dtype.kind, expected.dtype.kind
            )
        if not alike:
            raise Mismatch("dtype", f"{path} has dtype {actual.dtype}, expected {expected.dtype}")

    def _exact(self, np: Any, actual: Any, expected: Any, path: str) -> None:
        if actual.dtype.kind in "mM":
            try:
                np.promote_types(actual.dtype, expected.dtype)
            except TypeError:  # of days and months, for example
                raise Mismatch("dtype", f"{path} has dtype {actual.dtype}, expected {expected.dtype}") from None
            cast = actual.astype(expected.dtype)
            wrong = cast != expected
            wrong |= cast.astype(actual.dtype) != actual  # what a coarser unit cuts off, or a finer one cannot count
            if "generic" in (units := [np.datetime_data(each.dtype)[0] for each in (actual, expected)]):
                wrong |= units[0] != units[1]  # numpy takes a number without a unit for one of any unit
            if self.equal_nan:
                wrong &= ~(np.isnat(actual) & np.isnat(expected))
        elif {actual.dtype.kind, expected.dtype.kind} == {"i", "u"}:
            # numpy may convert both to floats for a comparison and lose the last digits
            wrong = ((actual < 0) != (expected < 0)) | (actual.astype(np.uint64) != expected.astype(np.uint64))
        else:
            wrong = actual != expected
        self._report(np, np.asarray(wrong), actual, expected, path, "")

    def _close(self, np: Any, actual: Any, expected: Any, path: str, scale: float | None) -> None:
        common = np.result_type(actual.dtype, expected.dtype, np.float64)
        a, e = actual.astype(common, copy=False), expected.astype(common, copy=False)
        size = np.abs(e)
        finite = np.isfinite(size)  # the magnitude of a complex number can overflow although its parts are finite
        atol: Any = self.atol
        if atol is None:
            # not as a Python float: it cannot hold every longdouble
            largest: Any = scale if scale is not None else size[finite].max() if finite.any() else 0.0
            atol = self.rtol * ATOL_SHARE * (largest or 1.0)
        error = np.abs(a - e)
        both = finite & np.isfinite(np.abs(a))
        good = np.where(both, np.isfinite(error) & (error <= atol + self.rtol * size), False)
        good |= ~both & self._same_parts(np, a.real, e.real, atol) & self._same_parts(np, a.imag, e.imag, atol)
        with_error = np.where(both, error, 0)
        if (~good & both).any():
            at = _where(np, with_error.argmax(), e.shape)
            relative = np.where(both & (size > 0), error / np.where(size > 0, size, 1), 0)
            at_relative = _where(np, relative.argmax(), e.shape)
            worst = (
                f"; largest absolute error {float(with_error.max()):.6g}{at}, "
                f"largest relative error {float(relative.max()):.6g}{at_relative}; "
                f"tolerance rtol={self.rtol:g}, atol={float(atol):.3g}"
            )
        elif good.ndim:
            in_result = bool((good | ~np.isfinite(np.abs(a))).all())
            worst = ", all of them NaN or infinite" + ("" if in_result else " in the result or in what is expected")
        else:
            worst = ""
        self._report(np, ~good, actual, expected, path, worst)

    def _same_parts(self, np: Any, a: Any, e: Any, atol: Any) -> Any:
        same = (a == e) | (np.isfinite(a) & np.isfinite(e) & (np.abs(a - e) <= atol + self.rtol * np.abs(e)))
        return same | (np.isnan(a) & np.isnan(e)) if self.equal_nan else same

    def _report(self, np: Any, wrong: Any, actual: Any, expected: Any, path: str, worst: str) -> None:
        count = int(np.count_nonzero(wrong))
        if not count:
            return
        first = tuple(int(i) for i in np.unravel_index(int(wrong.reshape(-1).argmax()), wrong.shape))
        where = f"{path}[{', '.join(map(str, first))}]" if first else path
        text = (
            f"{where} is {value_kinds.show(actual[first].item())}, expected {value_kinds.show(expected[first].item())}"
        )
        if wrong.ndim:
            text += f"; {count} of {wrong.size} entries differ"
        numbers = actual.dtype.kind in "biufc" and expected.dtype.kind in "biufc"
        odd = numbers and bool((wrong & (np.isfinite(actual) != np.isfinite(expected))).any())
        raise Mismatch("not-finite" if odd else "mismatch", text + worst)


def _is_finite(number: Any) -> bool:
    try:
        converted = complex(number)
    except OverflowError:  # a large int
        return True
    return math.isfinite(converted.real) and math.isfinite(converted.imag)


def _where(np: Any, flat: Any, shape: tuple[int, ...]) -> str:
    index = ", ".join(str(int(i)) for i in np.unravel_index(int(flat), shape))
    return f" at [{index}]" if index else ""


def _kinds(*arrays: Any) -> str:
    return "".join(array.dtype.kind for array in arrays)
