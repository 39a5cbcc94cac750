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
"""Number of pointers before `tp_version_tag` in a 64-bit type object."""


class ClassVersions:
    """The version tags of some classes at one time."""

    def __init__(self, classes: Mapping[str, type]) -> None:
        self._classes = classes
        self._before = {name: version(each) for name, each in self._classes.items()}

    def changed(self) -> list[str]:
        return [name for name, each in self._classes.items() if version(each) != self._before[name]]


def version(cls: type) -> Optional[int]:
    """The version tag of a class; None where the interpreter keeps none for it, or it cannot be read."""
    if not _is_readable():
        return None
    with contextlib.suppress(AttributeError):  # a lookup assigns a new tag to a class that was modified
        type.__getattribute__(cls, "no_such_name")
    return raw(cls)


def raw(cls: type) -> Optional[int]:
    """The tag as it is in memory; None for a class that was modified and has had no lookup since."""
    return ctypes.c_uint.from_address(id(cls) + _WORDS * ctypes.sizeof(ctypes.c_void_p)).value or None


@functools.lru_cache(maxsize=None)
def _is_readable() -> bool:
    """Whether the tag is where this module looks for it."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or type.__sizeof__(type) < (_WORDS + 1) * 8:
        return False

    class Modified:
        value = 1

    class Other:
        value = 1

    def tag(cls: type) -> Optional[int]:
        getattr(cls, "no_such_name", None)
        return raw(cls)

    one, other = tag(Modified), tag(Other)
    Modified.value = 2
    Modified.value = 1
    return one is not None and one != other and tag(Modified) not in (one, None) and tag(Other) == other
