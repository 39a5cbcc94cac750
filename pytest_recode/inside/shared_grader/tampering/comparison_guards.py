"""Makes comparisons strict, and detects candidate classes that fake the result of a comparison.

Runs in the shared judge, in one process with the candidate. Called by `judge.py` when it warms, after each case and
after the tests. It tries comparison methods of a candidate's class on a bare instance and values of the
judge's own; an exception there is no finding. Must not call a method of an object that a test compares.

Stdlib, numpy and torch where they were imported, Python 3.9+.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import deny_rules, executed_findings

_PLAIN = (float, int, complex, str, bytes, list, tuple, dict, set, frozenset)
_LIBRARY_TYPES = (
    *(("numpy", "ndarray"), ("numpy", "generic"), ("torch", "Tensor")),
    *(("torch.overrides", "TorchFunctionMode"), ("torch.utils._python_dispatch", "TorchDispatchMode")),
)
_INVERTED = {"__ne__"}
_NUMBERS = (1.5e6, -3.25)
"""No correct value equals both."""


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
    def compare(*given: Any, **named: Any) -> Any:
        pair = given[at : at + 2]
        if len(pair) == 2 and (_has_no_values(*pair) or _has_no_values(*pair[::-1])):
            if at:
                raise AssertionError("nothing is compared: one side is empty or masked, and the other is not")
            return False
        return real(*given, **named)

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


class NewClasses:
    """The classes that are created after this object: those that exist before candidate code runs are left out."""

    def __init__(self) -> None:
        self._before = {id(each): each for each in _all_classes()}
        self._new: dict[int, type] = {}

    def record(self) -> None:
        """Record new classes now: a class that a case created could be gone before the final check."""
        for base in (object, *_value_types()):
            self._record(type.__subclasses__(base))

    def _record(self, found: list[type]) -> None:
        self._new.update((id(cls), cls) for cls in found if id(cls) not in self._before)

    def findings(self, is_candidate: Callable[[str], bool]) -> Iterator[str]:
        """One line for each method by which a new class of the candidate's can fake a comparison. `is_candidate`: whether
        a file is the candidate's."""
        value_types = tuple(_value_types())
        self._record(_all_classes())
        for cls in self._new.values():
            yield from _class_findings(cls, value_types, is_candidate)


def file_of(thing: Any) -> str:
    """The file of a function's code, or of the module of an object's class; "" where there is none."""
    for each in (thing, getattr(thing, "__func__", None), getattr(type(thing), "find_spec", None)):
        code = getattr(each, "__code__", None)
        if code is not None:
            return str(code.co_filename)
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    return str(getattr(module, "__file__", None) or "")


def _value_types() -> Iterator[type]:
    """The types that tests compare."""
    yield from _PLAIN
    for module, name in _LIBRARY_TYPES:
        found = getattr(sys.modules.get(module), name, None)
        if isinstance(found, type):
            yield found


def _all_classes() -> list[type]:
    """The direct subclasses of `object`, and all subclasses of the types that tests compare."""
    found = list(object.__subclasses__())
    queue = list(_value_types())
    seen = {id(each) for each in queue}
    for cls in queue:
        children: list[type] = type.__subclasses__(cls)
        for below in children:
            if id(below) not in seen:
                seen.add(id(below))
                queue.append(below)
    return found + queue


def _class_findings(cls: type, value_types: tuple[type, ...], is_candidate: Callable[[str], bool]) -> Iterator[str]:
    relevant = deny_rules.MARKED_METHODS - deny_rules.RESULT_READS
    own = {name: method for name, method in vars(cls).items() if name in relevant and _is_used(method)}
    owned = bool(own) and _is_candidates(cls, is_candidate)
    if issubclass(cls, value_types) and not issubclass(cls, _PLAIN):
        for name in deny_rules.RESULT_READS & vars(cls).keys():
            if is_candidate(file_of(vars(cls)[name])) and _is_used(vars(cls)[name]):
                yield f"{cls.__qualname__}.{name} overrides how the result of a comparison is read"
    for name, method in own.items():
        file = file_of(method)
        if name in deny_rules.RICH_COMPARISONS and owned and not _is_method(method):
            yield f"{cls.__qualname__}.{name} is a comparison that is not a method"
            continue
        if not owned and not is_candidate(file):
            continue
        generated = not is_candidate(file) or file.startswith("<")  # by a dataclass, for example
        if name in deny_rules.OVERRIDES:
            yield f"{cls.__qualname__}.{name} overrides what library functions compute"
        elif issubclass(cls, value_types) and name in deny_rules.RICH_COMPARISONS and not generated:
            yield f"{cls.__qualname__}.{name} redefines the comparison of a builtin value type"
        elif name in deny_rules.RICH_COMPARISONS and _is_always_true(cls, name):
            yield f"{cls.__qualname__}.{name} is true for any operand; a class like this can fake a comparison"
        elif name in deny_rules.DIFFERENCES and _is_always_zero(cls, name):
            yield f"{cls.__qualname__}.{name} is zero for any operand; a class like this can fake a comparison"


def _is_used(method: Any) -> bool:
    """Whether the tests may have used a method: not if it only declines to compare, or they never called it."""
    if method is None or getattr(method, "__name__", "") == "_disabled_torch_function_impl":
        return False
    return type(method) is not types.FunctionType or executed_findings.answered(method)


def _is_candidates(cls: type, is_candidate: Callable[[str], bool]) -> bool:
    """Whether a class is the candidate's. A library's class is found in its module by its name."""
    found: Any = sys.modules.get(cls.__module__)
    if is_candidate(str(getattr(found, "__file__", None) or "")):
        return True
    for name in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    files = [file_of(each) for each in vars(cls).values() if type(each) is types.FunctionType]
    return found is not cls and (not files or any(map(is_candidate, files)))


def _is_method(thing: Any) -> bool:
    """Whether Python calls it with the instance and the operand: not `id`, a property or a callable object."""
    inherited = type(thing) is types.WrapperDescriptorType and thing.__name__ in deny_rules.RICH_COMPARISONS
    return inherited or type(thing) is types.FunctionType


def _is_always_zero(cls: type, name: str) -> bool:
    """Whether the difference of an instance that was never initialised and any number is zero."""
    base: Any = next((each for each in _PLAIN if issubclass(cls, each)), object)
    try:
        return all(bool(round(abs(getattr(cls, name)(base.__new__(cls), other)), 7) == 0) for other in _NUMBERS)
    except Exception:  # noqa: BLE001  a correct method raises without attributes
        return False


def _is_always_true(cls: type, name: str) -> bool:
    """Whether a comparison of an instance that was never initialised holds for operands that it cannot know."""
    return _holds_for(cls, name, (object(), float("nan"))) or _holds_for(cls, name, _NUMBERS)


def _holds_for(cls: type, name: str, operands: tuple[Any, ...]) -> bool:
    for other in operands:
        try:
            answer = getattr(cls, name)(object.__new__(cls), other)
            if answer is NotImplemented or bool(answer) is (name in _INVERTED):
                return False
        except Exception:  # noqa: BLE001  a correct comparison raises without attributes
            return False
    return True
