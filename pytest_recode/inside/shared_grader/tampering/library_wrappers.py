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

_DEPTH = 8
_MOST = 1_000

Candidates = Callable[[str], bool]
"""Whether code of a file is the candidate's."""


def rebinds(frame: types.FrameType, module: types.ModuleType, before: Any, now: Any, candidates: Candidates) -> bool:
    """Whether a library, while one of its modules is imported, puts its own function around its own.

    `frame` is the code that sets it. A function of a library's that sets what it is given is none, nor is another library.
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
        and not candidates(frame.f_code.co_filename)
        and name.partition(".")[0] == module.__name__.partition(".")[0]
        and wraps(now, before, candidates)
    )


def wraps(now: Any, before: Any, candidates: Candidates) -> bool:
    """Whether `now` is a function of a library's around `before`, and holds nothing of the candidate's."""
    if type(now) is not types.FunctionType or candidates(now.__code__.co_filename):
        return False
    held = list(_held(now))
    return any(each is before for each in held) and not _is_any_of([*held, *_held(before)], before, candidates)


def _is_any_of(held: list[Any], before: Any, candidates: Candidates) -> bool:
    """Whether there is something of the candidate's among these and what they hold in turn; where there is too much, there may be."""
    left = [(each, 1) for each in held]
    seen = {id(before)}
    while left:
        thing, depth = left.pop()
        if id(thing) in seen or thing is None or isinstance(thing, (str, bytes, int, float, types.ModuleType)):
            continue
        seen.add(id(thing))
        if _is_of(thing, candidates) or depth > _DEPTH or len(seen) > _MOST:
            return True
        left += [(each, depth + 1) for each in _held(thing)]
    return False


def _is_of(thing: Any, candidates: Candidates) -> bool:
    kind = thing if isinstance(thing, type) else type(thing)
    module = sys.modules.get(str(type.__getattribute__(kind, "__module__")))
    if type(thing) is types.FunctionType and candidates(thing.__code__.co_filename):
        return True
    return candidates(str(getattr(module, "__file__", None) or ""))


def _held(thing: Any) -> Iterator[Any]:
    """What a function or a container keeps; of other objects, nothing is asked."""
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
