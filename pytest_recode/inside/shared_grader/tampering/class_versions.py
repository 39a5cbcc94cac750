"""Detects classes that were modified and then restored, by CPython's version tag.

Runs in the shared judge, in one process with the candidate. Called by the snapshots, before candidate code runs and
after the tests. Must not report a change where the interpreter has no readable version tag.

Stdlib only, CPython 3.9+.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Mapping
from typing import Optional

_WORDS = 48
"""Pointers before `tp_version_tag` in a type object of 64 bits."""


class Versions:
    def __init__(self, classes: Mapping[str, type]) -> None:
        self._classes = classes
        self._before = {name: version(each) for name, each in self._classes.items()}

    def changed(self) -> list[str]:
        return [name for name, each in self._classes.items() if version(each) != self._before[name]]


def version(cls: type) -> Optional[int]:
    """None where the interpreter keeps no count of this class, or it is not found."""
    if not _counts():
        return None
    with contextlib.suppress(AttributeError):  # a lookup, which has a changed class counted anew
        type.__getattribute__(cls, "no_such_name")
    return raw(cls)


def raw(cls: type) -> Optional[int]:
    """The count as it stands; None for a class that was changed and not looked at since."""
    return ctypes.c_uint.from_address(id(cls) + _WORDS * ctypes.sizeof(ctypes.c_void_p)).value or None


@functools.lru_cache(maxsize=None)
def _counts() -> bool:
    """Whether the count is where it is looked for."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or type.__sizeof__(type) < (_WORDS + 1) * 8:
        return False

    class Tried:
        value = 1

    class Other:
        value = 1

    def count(cls: type) -> Optional[int]:
        getattr(cls, "no_such_name", None)
        return raw(cls)

    one, other = count(Tried), count(Other)
    Tried.value = 2
    Tried.value = 1
    return one is not None and one != other and count(Tried) not in (one, None) and count(Other) == other
