"""Recognizes wrappers that a library puts around its own functions, which are not tampering.

Runs in the shared judge, in one process with the candidate. Called by the snapshots after the tests, and by
`interceptors.py` when a module attribute is set. Must not call a method of a candidate's value, and must not accept a
wrapper that holds anything of the candidate's.

torch wraps `torch.manual_seed` when its compiler is first imported, and the `step` of an optimizer's class when an
instance is made.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_MAX_DEPTH = 8
_MAX_VALUES = 1_000

IsCandidateFile = Callable[[str], bool]
"""Whether the code of a file is the candidate's."""


def file_of(thing: Any) -> str:
    """The file of a function's code, or of the module of an object's class; "" where there is none."""
    for each in (thing, getattr(thing, "__func__", None), getattr(type(thing), "find_spec", None)):
        code = getattr(each, "__code__", None)
        if code is not None:
            return str(code.co_filename)
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    return str(getattr(module, "__file__", None) or "")


def rebinds(
    frame: types.FrameType, module: types.ModuleType, before: Any, now: Any, is_candidate: IsCandidateFile
) -> bool:
    """Whether a library wraps one of its functions while one of its modules is imported.

    `frame`: the code that sets the attribute. A function of the library that sets what it was passed does not count,
    and neither does another library.
    """
    space = frame.f_globals
    name = str(space.get("__name__") or "")
    holder = sys.modules.get(name)
    spec = getattr(holder, "__spec__", None)
    return (
        frame.f_code.co_name == "<module>"
        and frame.f_locals is space
        and holder is not None
        and types.ModuleType.__getattribute__(holder, "__dict__") is space
        and getattr(spec, "origin", None) == frame.f_code.co_filename
        and getattr(spec, "_initializing", False) is True
        and not is_candidate(frame.f_code.co_filename)
        and name.partition(".")[0] == module.__name__.partition(".")[0]
        and wraps(now, before, is_candidate)
    )


def wraps(now: Any, before: Any, is_candidate: IsCandidateFile) -> bool:
    """Whether `now` is a library's function that wraps `before` and holds nothing of the candidate's."""
    if type(now) is not types.FunctionType or is_candidate(now.__code__.co_filename):
        return False
    held = list(_held(now))
    return any(each is before for each in held) and not _includes_candidates(
        [*held, *_held(before)], before, is_candidate
    )


def _includes_candidates(held: list[Any], before: Any, is_candidate: IsCandidateFile) -> bool:
    """Whether these values, or values that they hold, include one of the candidate's. True also above the limits."""
    left = [(value, 1) for value in held]
    seen = {id(before)}
    while left:
        thing, depth = left.pop()
        if id(thing) in seen or thing is None or isinstance(thing, (str, bytes, int, float, types.ModuleType)):
            continue
        seen.add(id(thing))
        if _is_candidates(thing, is_candidate) or depth > _MAX_DEPTH or len(seen) > _MAX_VALUES:
            return True
        left += [(inner, depth + 1) for inner in _held(thing)]
    return False


def _is_candidates(thing: Any, is_candidate: IsCandidateFile) -> bool:
    kind = thing if isinstance(thing, type) else type(thing)
    module = sys.modules.get(str(type.__getattribute__(kind, "__module__")))
    if type(thing) is types.FunctionType and is_candidate(thing.__code__.co_filename):
        return True
    return is_candidate(str(getattr(module, "__file__", None) or ""))


def _held(thing: Any) -> Iterator[Any]:
    """The values in a function or a container. Other objects are not inspected."""
    if type(thing) is types.FunctionType:
        for cell in thing.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # empty
                continue
        yield from thing.__defaults__ or ()
        yield from (thing.__kwdefaults__ or {}).values()
        yield from vars(thing).values()
    elif type(thing) is types.MethodType:
        yield from (thing.__func__, thing.__self__)
    elif type(thing) is functools.partial:
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif type(thing) in (classmethod, staticmethod):
        yield thing.__func__
    elif type(thing) in (dict, types.MappingProxyType):
        yield from [part for pair in thing.items() for part in pair]
    elif type(thing) in (list, tuple, set, frozenset):
        yield from thing
