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
_ELSEWHERE = (
    *(("numpy", "ndarray"), ("numpy", "generic"), ("torch", "Tensor")),
    *(("torch.overrides", "TorchFunctionMode"), ("torch.utils._python_dispatch", "TorchDispatchMode")),
)
_SAYS_NO = {"__ne__"}
_NUMBERS = (1.5e6, -3.25)
"""Nothing honest equals both."""


def strict() -> None:
    """numpy's and torch's comparisons hold of an empty array, as it is broadcast, and of masked entries: from now on they do not.

    For good. The reference is judged by the same.
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
        if len(pair) == 2 and (_vanishes(*pair) or _vanishes(*pair[::-1])):
            if at:
                raise AssertionError("nothing is compared: one side is empty or masked, and the other is not")
            return False
        return real(*given, **named)

    compare._recode_strict = True  # type: ignore[attr-defined]
    return compare


def _vanishes(one: Any, other: Any) -> bool:
    """Whether all or some of one side has no value that the other could be compared with."""
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


class Classes:
    """Those that are there before a candidate's code runs."""

    def __init__(self) -> None:
        self._before = {id(each): each for each in _all()}
        self._kept: dict[int, type] = {}

    def keep(self) -> None:
        """The new ones of now: one that was made in a case would be gone before it is asked."""
        for base in (object, *_data()):
            self._keep(type.__subclasses__(base))

    def _keep(self, found: list[type]) -> None:
        self._kept.update((id(cls), cls) for cls in found if id(cls) not in self._before)

    def liars(self, candidates: Callable[[str], bool]) -> Iterator[str]:
        """One line for each new class of the candidate's that cannot be taken at its word. `candidates`: whether a file is its."""
        data = tuple(_data())
        self._keep(_all())
        for cls in self._kept.values():
            yield from _lies(cls, data, candidates)


def file_of(thing: Any) -> str:
    """Where the code of a function, or of an object's class, lies; "" where it is not of Python."""
    for each in (thing, getattr(thing, "__func__", None), getattr(type(thing), "find_spec", None)):
        code = getattr(each, "__code__", None)
        if code is not None:
            return str(code.co_filename)
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    return str(getattr(module, "__file__", None) or "")


def _data() -> Iterator[type]:
    yield from _PLAIN
    for module, name in _ELSEWHERE:
        found = getattr(sys.modules.get(module), name, None)
        if isinstance(found, type):
            yield found


def _all() -> list[type]:
    """Classes that derive from nothing, and all those that derive from what tests compare."""
    found = list(object.__subclasses__())
    queue = list(_data())
    seen = {id(each) for each in queue}
    for cls in queue:
        children: list[type] = type.__subclasses__(cls)
        for below in children:
            if id(below) not in seen:
                seen.add(id(below))
                queue.append(below)
    return found + queue


def _lies(cls: type, data: tuple[type, ...], candidates: Callable[[str], bool]) -> Iterator[str]:
    asked = deny_rules.ANSWERS | deny_rules.OVERRIDES | deny_rules.DIFFERENCES
    own = {name: method for name, method in vars(cls).items() if name in asked and _counts(method)}
    whose = bool(own) and _whose(cls, candidates)
    if issubclass(cls, data) and not issubclass(cls, _PLAIN):
        for name in deny_rules.READS & vars(cls).keys():
            if candidates(file_of(vars(cls)[name])) and _counts(vars(cls)[name]):
                yield f"{cls.__qualname__}.{name} answers for itself what a comparison comes to"
    for name, method in own.items():
        place = file_of(method)
        if name in deny_rules.COMPARISONS and whose and not _is_method(method):
            yield f"{cls.__qualname__}.{name} compares by what is no method"
            continue
        if not whose and not candidates(place):
            continue
        made = not candidates(place) or place.startswith("<")  # by a dataclass, say
        if name in deny_rules.OVERRIDES:
            yield f"{cls.__qualname__}.{name} answers for itself what is computed of it"
        elif issubclass(cls, data) and name in deny_rules.COMPARISONS and not made:
            yield f"{cls.__qualname__}.{name} compares as it likes what is a plain value"
        elif name in deny_rules.COMPARISONS and _agrees(cls, name):
            yield f"{cls.__qualname__}.{name} holds of anything"
        elif name in deny_rules.DIFFERENCES and _cancels(cls, name):
            yield f"{cls.__qualname__}.{name} leaves nothing of anything"


def _counts(method: Any) -> bool:
    """Not of a method by which a class declines to answer, nor of one that gave the tests no answer."""
    if method is None or getattr(method, "__name__", "") == "_disabled_torch_function_impl":
        return False
    return type(method) is not types.FunctionType or executed_findings.answered(method)


def _whose(cls: type, candidates: Callable[[str], bool]) -> bool:
    """Whether a class is the candidate's: one of a library's is found by its name."""
    found: Any = sys.modules.get(cls.__module__)
    if candidates(str(getattr(found, "__file__", None) or "")):
        return True
    for name in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    files = [file_of(each) for each in vars(cls).values() if type(each) is types.FunctionType]
    return found is not cls and (not files or any(map(candidates, files)))


def _is_method(thing: Any) -> bool:
    """What Python calls with an instance and what it is compared with: no `id`, no property, no object that is called."""
    inherited = type(thing) is types.WrapperDescriptorType and thing.__name__ in deny_rules.COMPARISONS
    return inherited or type(thing) is types.FunctionType


def _cancels(cls: type, name: str) -> bool:
    """Whether an instance of it, even one that was never initialised, is as large as whatever it is compared with."""
    base: Any = next((each for each in _PLAIN if issubclass(cls, each)), object)
    try:
        return all(bool(round(abs(getattr(cls, name)(base.__new__(cls), other)), 7) == 0) for other in _NUMBERS)
    except Exception:  # noqa: BLE001  an honest one stumbles here
        return False


def _agrees(cls: type, name: str) -> bool:
    """Whether an instance of it, even one that was never initialised, compares well with what it cannot know."""
    return _agrees_with(cls, name, (object(), float("nan"))) or _agrees_with(cls, name, _NUMBERS)


def _agrees_with(cls: type, name: str, others: tuple[Any, ...]) -> bool:
    for other in others:
        try:
            answer = getattr(cls, name)(object.__new__(cls), other)
            if answer is NotImplemented or bool(answer) is (name in _SAYS_NO):
                return False
        except Exception:  # noqa: BLE001  an honest comparison stumbles here
            return False
    return True
