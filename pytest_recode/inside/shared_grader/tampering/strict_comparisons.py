"""Makes comparisons of arrays and tensors strict: nothing equals something that is empty or masked.

Runs in the shared judge, in one process with the candidate. Called by `shared_judge.py` when it warms. Must not make a
comparison of values differ from the library's own.

Stdlib, numpy and torch where they were imported, Python 3.9+.
"""

from __future__ import annotations

import functools
import sys
from typing import Any


def install_strict_comparisons() -> None:
    """Make numpy's and torch's comparisons fail where one side only is empty or masked; they would hold by broadcasting.

    This cannot be undone. The reference is judged by the same comparisons.
    """
    np: Any = sys.modules.get("numpy")
    testing: Any = sys.modules.get("numpy.testing._private.utils")
    torch: Any = sys.modules.get("torch")
    if np is not None and not hasattr(np.allclose, "_recode_strict"):
        np.allclose = _strict(np.allclose, 0)
        if testing is not None:
            testing.assert_array_compare = _strict(testing.assert_array_compare, 1)
    if torch is not None and hasattr(torch, "allclose") and not hasattr(torch.allclose, "_recode_strict"):
        torch.allclose = _strict(torch.allclose, 0)
        torch.Tensor.allclose = _strict(torch.Tensor.allclose, 0)


def _strict(real: Any, at: int) -> Any:
    """`real` compares its arguments number `at` and the next."""

    @functools.wraps(real)
    def compare(*arguments: Any, **named: Any) -> Any:
        pair = arguments[at : at + 2]
        if len(pair) == 2 and (_has_no_values(*pair) or _has_no_values(*pair[::-1])):
            if at:
                raise AssertionError("nothing is compared: one side is empty or masked, and the other is not")
            return False
        return real(*arguments, **named)

    compare._recode_strict = True  # type: ignore[attr-defined]
    return compare


def _has_no_values(one: Any, other: Any) -> bool:
    """Whether `one` has entries without a value, where `other` has one."""
    if getattr(one, "mask", None) is not None and getattr(other, "mask", None) is None:
        ma: Any = sys.modules.get("numpy.ma")
        if ma is not None and isinstance(one, ma.MaskedArray) and bool(ma.is_masked(one)):
            return True
    return _size(one) == 0 and _size(other) not in (0, None)


def _size(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return len(value)
    if isinstance(value, (bool, int, float, complex)):
        return 1
    count = getattr(value, "numel", None)
    return count() if callable(count) else getattr(value, "size", None)
