"""Notices what a call does besides computing: files, network, processes, random generators, global variables.

Runs in the sandbox of a repository whose calls are recorded or rehearsed. Called by `call_recorder.py` and `rehearsal.py`, and from an
audit hook while a call runs. Must not raise from the hook: the call must do what it does without it.

Stdlib, numpy where it was imported, Python 3.9+.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import threading
import types
from typing import Any

from ..wire import codec

_KINDS = {
    "open": "files",
    "os.listdir": "files",
    "os.scandir": "files",
    "os.remove": "files",
    "os.rename": "files",
    "os.mkdir": "files",
    "os.rmdir": "files",
    "shutil.rmtree": "files",
    "tempfile.mkstemp": "files",
    "tempfile.mkdtemp": "files",
    "sqlite3.connect": "files",
    "socket.connect": "network",
    "socket.bind": "network",
    "socket.getaddrinfo": "network",
    "urllib.Request": "network",
    "subprocess.Popen": "a process",
    "os.system": "a process",
    "os.fork": "a process",
    "os.posix_spawn": "a process",
    "os.exec": "a process",
}
MAX_GLOBAL = 1 << 20  # bytes of a global variable that is compared


class Watch:
    """Effects of the calls that run between `begin` and `end`, in this thread."""

    def __init__(self, directory: str) -> None:
        self._directory = os.path.realpath(directory)
        self._thread: int | None = None
        self._effects: set[tuple[str, str, str]] = set()
        self._random: list[Any] = []
        self._globals: dict[tuple[str, str], Any] = {}
        self._libraries = _library_directories(self._directory)
        sys.addaudithook(self._hook)

    def begin(self) -> None:
        self._effects = set()
        self._random = _random_states()
        self._globals = self._global_values()
        self._thread = threading.get_ident()

    def end(self) -> list[list[str]]:
        """Each effect as kind, place ("pkg/mod.py:12", "" if unknown) and detail."""
        self._thread = None
        for name, before, after in zip(("random", "numpy.random"), self._random, _random_states()):  # noqa: B905
            if before is not None and before != after:
                self._effects.add(("randomness without a seed", "", f"{name}'s global generator"))
        after_call = self._global_values()
        for place, before_call in self._globals.items():
            if after_call.get(place) != before_call:
                self._effects.add(("global state", _file_of(place[0], self._directory), f"{place[1]} of {place[0]}"))
        return [list(each) for each in sorted(self._effects)]

    def _hook(self, event: str, args: Any) -> None:
        if self._thread is None or event not in _KINDS or threading.get_ident() != self._thread:
            return
        try:
            if _KINDS[event] == "files" and self._of_library(args):
                return
            place = self._place()
            if place is not None and len(self._effects) < 100:
                self._effects.add((_KINDS[event], place, _detail(event, args)))
        except Exception:  # noqa: BLE001, S110 - the call must not notice
            pass

    def _of_library(self, args: Any) -> bool:
        """Whether it reads a file of an installed package or of the system, which libraries do on their own behalf."""
        path = args[0] if args and isinstance(args[0], str) else ""
        writes = len(args) > 2 and isinstance(args[2], int) and bool(args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        return not writes and os.path.abspath(path).startswith(self._libraries) and path != ""

    def _place(self) -> str | None:
        """The repository's innermost line on the stack; None within an import, or if there is none."""
        frame: Any = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith("<frozen importlib"):
                return None
            if file.startswith(self._directory + os.sep):
                return f"{os.path.relpath(file, self._directory)}:{frame.f_lineno}"
            frame = frame.f_back
        return None

    def _global_values(self) -> dict[tuple[str, str], Any]:
        """A fingerprint of each global variable of the repository's modules that is plain data."""
        fingerprints = {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not isinstance(module, types.ModuleType) or not isinstance(file, str):
                continue
            if not os.path.realpath(file).startswith(self._directory + os.sep):
                continue
            for variable, value in list(vars(module).items()):
                if variable.startswith("__") or isinstance(value, (types.ModuleType, type, types.FunctionType)):
                    continue
                fingerprints[name, variable] = _fingerprint(value)
        return fingerprints


def _library_directories(directory: str) -> tuple[str, ...]:
    places = [sys.prefix, sys.base_prefix, "/usr/", "/proc/", "/sys/", "/etc/", "/dev/", *sys.path]
    return tuple(path for path in places if path and not os.path.realpath(path).startswith(directory))


def _fingerprint(value: Any) -> Any:
    try:
        header, body = codec.dump(value, lambda other: [str(id(other))])
    except Exception:  # noqa: BLE001 - too large, or of a strange type
        return id(value)
    if sum(map(len, body)) > MAX_GLOBAL:
        return id(value)
    return header, b"".join(bytes(part) for part in body)


def _random_states() -> list[Any]:
    if "numpy" not in sys.modules:
        return [random.getstate(), None]
    numpy_random = importlib.import_module("numpy.random")  # numpy may load it at its first use, within the call
    name, keys, *rest = numpy_random.get_state()
    return [random.getstate(), (name, keys.tobytes(), *rest)]


def _detail(event: str, args: Any) -> str:
    first = args[0] if args else ""
    return f"{event} {os.path.basename(first)}" if isinstance(first, str) else event


def _file_of(module: str, directory: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", "") or ""
    return os.path.relpath(os.path.realpath(file), directory) if file else ""
