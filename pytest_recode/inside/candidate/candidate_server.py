"""The candidate's end of the connection: runs the code under test and answers the calls of the hidden tests.

Runs in the candidate process, in a sandbox of its own. The host launches it (`oracle/programs.py`); the separate
grader sends it requests by way of the host. Must not be trusted: candidate code can rewrite it in memory, so no check
that a verdict rests on may be made here.

Each request gets exactly one answer, with the request's sequence number. During a call the answer may be a callback;
the test's reply to it arrives as the next request.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..setup.random_generators import seed_generators
from ..setup.task_files import write_files
from ..wire import codec, frames
from . import callbacks, candidate_turns, own_files

MAX_TEXT = 2000  # characters of an exception's message
_LOOKUPS = ("__getattr__", "__getattribute__")
MAX_GROUP, MAX_GROUPS = 50, 5  # exceptions of a group, and groups within groups, that are reported


def warm() -> None:
    """Import in the warm parent what every launch would import. No candidate code is present yet."""
    importlib.invalidate_caches()  # imports importlib.metadata
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")


def main(reader: Any, writer: Any) -> None:
    """Write the files of the repository and the targets, then answer requests until the pipe closes."""
    reader, writer = (_above_stdio(stream, mode) for stream, mode in ((reader, "rb"), (writer, "wb")))
    _silence()
    frame = frames.fill_prefix(frames.filler(reader), 1 << 40)
    start = frames.fill_message(frames.filler(reader), frame)
    directory = Path.cwd()
    write_files(start["files"], directory)
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(directory / root) for root in start["roots"]]
    importlib.invalidate_caches()
    if any(b"numpy" in data for data in start["files"].values()):  # so that its global generator is seeded, too
        with contextlib.suppress(Exception):  # the candidate's own import will report it
            importlib.import_module("numpy.random")
    seed_generators(start["entropy"])
    frames.put_frame(frames.putter(writer), frames.FROM_CANDIDATE, {"ready": True}, frame.sequence)
    _Server(reader, writer, start["limit"], own_files.OwnFiles(str(directory), start["files"])).serve()


def _above_stdio(stream: Any, mode: str) -> Any:
    """Move the pipe off the standard streams, so that code which prints does not write into it."""
    if stream.fileno() > 2:
        return stream
    return os.fdopen(os.dup(stream.fileno()), mode, buffering=0)


def _silence() -> None:
    """Connect the standard streams to /dev/null."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)


class _RequestedModule:
    """A module named in a request. It is imported when the request is answered, so that an exception of the import is
    the answer."""

    def __init__(self, name: str) -> None:
        self.name = name


class _ImportFailed(Exception):
    """`error` was raised by the import of a module that a request names."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def _loaded(value: Any) -> Any:
    if type(value) is not _RequestedModule:
        return value
    try:
        return importlib.import_module(value.name)
    except BaseException as error:  # noqa: BLE001 - what it means is decided as for any other exception
        raise _ImportFailed(error) from None


class _Server:
    def __init__(self, reader: Any, writer: Any, limit: int, own: own_files.OwnFiles) -> None:
        self.fill = frames.filler(reader)
        self.put = frames.putter(writer)
        self.limit = limit
        self.own_files = own
        self.objects: dict[int, Any] = {}
        self.callbacks: dict[int, callbacks.Callback] = {}
        self.count = 0
        self.process = os.getpid()
        self.turns = candidate_turns.CandidateTurns()
        self.sequence = frames.NO_SEQUENCE

    def serve(self) -> None:
        while True:
            try:
                request = self.receive()
            except EOFError:
                return
            self.answer(request)

    def receive(self) -> dict[str, Any]:
        frame = frames.fill_prefix(self.fill, self.limit)
        self.sequence = frame.sequence
        earlier = list(self.callbacks)
        request: dict[str, Any] = frames.fill_message(self.fill, frame, self.resolve)
        if request.get("first"):  # of a case: objects and functions of earlier cases are not used again
            self.objects.clear()
            for number in earlier:
                del self.callbacks[number]
        for number in request.get("drop", ()):
            self.objects.pop(number, None)
        return request

    def send(self, message: dict[str, Any]) -> None:
        with self.turns.writing():
            frames.put_frame(self.put, frames.FROM_CANDIDATE, message, self.sequence, self.refer, self.refer_subclass)

    def answer(self, request: dict[str, Any]) -> None:
        """Carry out a request and send the answer. Any exception, SystemExit too, is an answer."""
        turn = self.turns.start_request()
        try:
            answer = {"value": self.perform(request)}
        except _ImportFailed as failed:
            answer = {"raised": self.exception_report(failed.error), "importing": True}
        except BaseException as error:  # noqa: BLE001 - the test decides what an exception of any kind means
            answer = {"raised": self.exception_report(error)}
        if os.getpid() != self.process:
            os._exit(0)  # the code forked, and the child returned too: only one process may answer
        with self.turns.answer_to(turn):
            try:
                self.send(answer)
            except frames.WireError as error:
                self.send({"lost": str(error)})

    def perform(self, request: dict[str, Any]) -> Any:
        name, target = request["op"], _loaded(request["target"])
        if name == "call":
            args = [_loaded(value) for value in request["args"]]
            return target(*args, **{key: _loaded(value) for key, value in request["kwargs"].items()})
        if name == "call_and_return_arguments":  # for a test of what a call modifies
            given = tuple(_loaded(value) for value in request["args"])
            named = {key: _loaded(value) for key, value in request["kwargs"].items()}
            return target(*given, **named), given, named
        if name == "get":
            return self.get(target, request["name"])
        if name == "set":
            return setattr(target, request["name"], _loaded(request["value"]))
        if name == "next":
            try:
                return (next(target),)
            except StopIteration:
                return ()
        raise ValueError(f"no such request: {name}")

    def get(self, target: Any, name: str) -> Any:
        """An attribute, or a submodule of a package, as `import package.name` would find it."""
        if not isinstance(target, type(sys)):
            return getattr(target, name)
        try:
            return getattr(target, name)
        except AttributeError:
            full = f"{target.__name__}.{name}"
            if not hasattr(target, "__path__"):
                raise
            try:
                return _loaded(_RequestedModule(full))
            except _ImportFailed as failed:
                if not isinstance(failed.error, ModuleNotFoundError) or failed.error.name != full:
                    raise
            raise

    def exception_report(self, error: BaseException, depth: int = 0) -> dict[str, Any]:
        try:
            number = object.__getattribute__(error, "_recode_callback")  # not the code's own `__getattr__`
        except AttributeError:
            number = None
        bases = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
        report = {
            "type": type(error).__name__[:200],
            "bases": bases,
            "message": self.message(error),
            "frames": self.own_files.frames(error),
            "callback": number,
        }
        groups = getattr(builtins, "BaseExceptionGroup", ())  # Python 3.11
        if isinstance(error, groups) and depth < MAX_GROUPS:
            inner = [self.exception_report(each, depth + 1) for each in error.exceptions[:MAX_GROUP]]
            report["group"] = {"message": str(error.message)[:MAX_TEXT], "exceptions": inner}
        return report

    def message(self, error: BaseException) -> str:
        try:
            text = str(error.msg if isinstance(error, SyntaxError) else error)
        except BaseException as worse:  # noqa: BLE001 - a __str__ that fails must not hide the exception
            text = f"(its message cannot be read: {type(worse).__name__})"
        text = text.replace(self.own_files.directory + os.sep, "")
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 4] + " ..."

    def callback(self, number: int, args: Any, kwargs: Any) -> Any:
        if os.getpid() != self.process:
            raise RuntimeError("a function of the test cannot be called from another process")
        with self.turns.function_of_test():
            if number not in self.callbacks:
                raise RuntimeError("a function of an earlier test cannot be called")
            self.send({"callback": number, "args": args, "kwargs": kwargs})
            while True:
                request = self.receive()
                if request["op"] == "return":
                    return request["value"]
                if request["op"] == "raise":
                    raise callbacks.error(request)
                self.answer(request)  # the test's function calls the code under test

    def refer(self, value: Any) -> list[Any]:
        """The reference by which a value that is not plain data travels: its kind and number. The value stays here."""
        if isinstance(value, type(sys)) and sys.modules.get(value.__name__) is value:
            return ["module", value.__name__]
        self.count += 1
        self.objects[self.count] = value
        if isinstance(value, callbacks.Callback):
            return ["own", self.count, value._number]
        if (name := codec.type_name(value)) is not None:
            return ["type", self.count, name]
        kind = "iterator" if isinstance(value, Iterator) else "callable" if callable(value) else "object"
        return [kind, self.count, str(type(value).__name__)[:200]]

    def refer_subclass(self, value: Any, plain: type) -> tuple[list[Any], dict[str, Any]] | None:
        """The reference of an object with attributes that its plain type does not have, to be sent with its data; and its
        values for attributes of that type, such as the field `count` of a named tuple."""
        names = _public_names(value, plain)
        if names <= _names(plain) and not callable(value) and not _finds_names(type(value), plain):
            return None
        fields = {}
        for name in names & _names(plain):
            try:
                field = getattr(value, name)
            except Exception:  # noqa: BLE001 - a property of the code under test
                continue
            if not callable(field):
                fields[name] = field
        return self.refer(value), fields

    def resolve(self, items: list[Any]) -> Any:
        kind, number = items[0], items[1]
        if kind == "module":
            return _RequestedModule(number)
        if kind == "callback":
            if number not in self.callbacks:  # a function that is passed twice is one object here, too
                self.callbacks[number] = callbacks.Callback(self, number, items[2] if len(items) > 2 else None)
            return self.callbacks[number]
        if kind == "type":
            return codec.named_type(number)
        if kind == "rng":
            return _generator(number, items[2])
        return self.objects[number]


@functools.lru_cache(maxsize=None)
def _names(plain: type) -> frozenset[str]:
    return frozenset(dir(plain))


def _public_names(value: Any, plain: type) -> set[str]:
    """The public attributes that an object has from its own class and by itself, not from the plain type."""
    names = set(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        if kind not in plain.__mro__:
            names.update(vars(kind))
    return {name for name in names if isinstance(name, str) and not name.startswith("_")}


def _finds_names(kind: type, plain: type) -> bool:
    """Whether a class finds attributes by code of its own: the keys of a dict, for example."""
    return any(getattr(kind, name, None) is not getattr(plain, name, None) for name in _LOOKUPS)


def _generator(kind: str, text: str) -> Any:
    """A numpy random generator in the state of the test's generator."""
    import numpy as np

    state = json.loads(text)
    seeds = state.pop("seeds", None)
    bit_generator = getattr(np.random, state["bit_generator"])
    bits = bit_generator() if seeds is None else bit_generator(np.random.SeedSequence(**seeds))
    bits.state = state
    generator = getattr(np.random, kind)(bits)
    if kind == "RandomState":
        generator.set_state(state)  # with the normal number that it holds in reserve
    return generator
