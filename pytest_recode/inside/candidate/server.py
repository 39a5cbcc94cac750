"""The candidate's end of the connection: runs the code under test and answers the calls of the hidden tests.

Runs in the candidate process, in a sandbox of its own. The host launches it (`oracle/programs.py`); the separate
grader sends it requests by way of the host. Must not be trusted: candidate code can rewrite it in memory, so no check
that a verdict rests on may be made here.

Each request gets exactly one answer, with the request's sequence number. During a call the answer may be a callback;
the test's reply to it arrives as the next request.

Stdlib and the wire, Python 3.9+.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..wire import codec, frames

MAX_TEXT = 2000  # characters of an exception's message
MAX_FRAMES = 20


def warm() -> None:
    """Once in the warm parent, what every launch would import by itself. No code of a candidate's is here yet."""
    importlib.invalidate_caches()  # imports importlib.metadata
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")


def main(reader: Any, writer: Any) -> None:
    """Take the files, then answer requests until the pipe closes."""
    reader, writer = (_above_stdio(stream, mode) for stream, mode in ((reader, "rb"), (writer, "wb")))
    _silence()
    frame = frames.fill_prefix(frames.filler(reader), 1 << 40)
    start = frames.fill_message(frames.filler(reader), frame)
    place = Path.cwd()
    for path, data in start["files"].items():
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(place / root) for root in start["roots"]]
    importlib.invalidate_caches()
    _seed(start["entropy"])
    frames.put_frame(frames.putter(writer), frames.FROM_CANDIDATE, {"ready": True}, frame.sequence)
    _Server(reader, writer, start["limit"], _Sources(str(place), start["files"])).serve()


def _above_stdio(stream: Any, mode: str) -> Any:
    """The pipe off the standard streams, so that code which prints does not write into it."""
    if stream.fileno() > 2:
        return stream
    return os.fdopen(os.dup(stream.fileno()), mode, buffering=0)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)


def _seed(entropy: int) -> None:
    """Code that draws from the global generators gives the same verdict when the grading's seed is given again."""
    random.seed(entropy)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(entropy % 2**32)


class _Sources:
    """The candidate's own files: an exception is told by these lines and no others."""

    def __init__(self, place: str, files: dict[str, bytes]) -> None:
        self.place = place
        self.files = files

    def own(self, filename: str) -> str | None:
        path = os.path.relpath(os.path.realpath(filename), self.place).replace(os.sep, "/")
        return path if path in self.files else None

    def line(self, path: str, number: int) -> str:
        lines = self.files[path].decode("utf-8", "replace").splitlines()
        return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""

    def frames(self, error: BaseException) -> list[str]:
        found = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            path = self.own(code.co_filename)
            if path is not None:
                line = self.line(path, trace.tb_lineno)
                found.append(f"{path}:{trace.tb_lineno} in {code.co_name}: {line}")
            trace = trace.tb_next
        if isinstance(error, SyntaxError) and error.filename and (path := self.own(error.filename)):
            number = error.lineno or 0
            found.append(f"{path}:{number}: {self.line(path, number)}")
        if len(found) > MAX_FRAMES:
            left = len(found) - MAX_FRAMES
            found[5 : 5 + left] = [f"... {left} more frames ..."]
        return found


class _Module:
    """A module named in a request; imported when the request is answered, so that what that raises is the answer."""

    def __init__(self, name: str) -> None:
        self.name = name


def _loaded(value: Any) -> Any:
    return importlib.import_module(value.name) if type(value) is _Module else value


class _Callback:
    """A function of the test's, as the code under test sees it."""

    def __init__(self, server: _Server, number: int) -> None:
        self._server = server
        self._number = number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._server.callback(self._number, args, kwargs)


class _Server:
    def __init__(self, reader: Any, writer: Any, limit: int, sources: _Sources) -> None:
        self.fill = frames.filler(reader)
        self.put = frames.putter(writer)
        self.limit = limit
        self.sources = sources
        self.objects: dict[int, Any] = {}
        self.count = 0
        self.process = os.getpid()
        self.turn = threading.RLock()  # whoever holds it may use the pipe
        self.calls = 0  # how many are being answered: a callback outside of one has nobody to answer it
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
        request: dict[str, Any] = frames.fill_message(self.fill, frame, self.resolve)
        if request.get("first"):  # of a case: no other case's objects are asked for again
            self.objects.clear()
        for number in request.get("drop", ()):
            self.objects.pop(number, None)
        return request

    def send(self, message: dict[str, Any]) -> None:
        frames.put_frame(self.put, frames.FROM_CANDIDATE, message, self.sequence, self.refer)

    def answer(self, request: dict[str, Any]) -> None:
        """Do what is asked. Whatever comes out of it, SystemExit too, is an answer."""
        self.calls += 1
        try:
            answer = {"value": self.do(request)}
        except BaseException as error:  # noqa: BLE001 - the test decides what an exception of any kind means
            answer = {"raised": self.account(error)}
        self.calls -= 1
        if os.getpid() != self.process:
            os._exit(0)  # the code forked and the child came back too: there is one pipe, and one to answer
        with self.turn:
            try:
                self.send(answer)
            except frames.WireError as error:
                self.send({"lost": str(error)})

    def do(self, request: dict[str, Any]) -> Any:
        name, target = request["op"], _loaded(request["target"])
        if name == "call":
            args = [_loaded(value) for value in request["args"]]
            return target(*args, **{key: _loaded(value) for key, value in request["kwargs"].items()})
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
        """An attribute; of a package, a submodule too, as `import package.name` would find it."""
        if not isinstance(target, type(sys)):
            return getattr(target, name)
        try:
            return getattr(target, name)
        except AttributeError:
            full = f"{target.__name__}.{name}"
            if not hasattr(target, "__path__"):
                raise
            try:
                return importlib.import_module(full)
            except ModuleNotFoundError as error:
                if error.name != full:
                    raise
            raise

    def account(self, error: BaseException) -> dict[str, Any]:
        number = getattr(error, "_recode_callback", None)
        bases = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
        return {
            "type": type(error).__name__[:200],
            "bases": bases,
            "message": self.message(error),
            "frames": self.sources.frames(error),
            "callback": number,
        }

    def message(self, error: BaseException) -> str:
        try:
            text = str(error.msg if isinstance(error, SyntaxError) else error)
        except BaseException as worse:  # noqa: BLE001 - a __str__ that fails must not hide the exception
            text = f"(its message cannot be read: {type(worse).__name__})"
        text = text.replace(self.sources.place + os.sep, "")
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 4] + " ..."

    def callback(self, number: int, args: Any, kwargs: Any) -> Any:
        if os.getpid() != self.process:
            raise RuntimeError("a function of the test cannot be called from another process")
        with self.turn:
            if not self.calls:
                raise RuntimeError("a function of the test can be called only while a call of the test is running")
            self.send({"callback": number, "args": args, "kwargs": kwargs})
            while True:
                request = self.receive()
                if request["op"] == "return":
                    return request["value"]
                if request["op"] == "raise":
                    raise _callback_error(request)
                self.answer(request)  # the test's function calls the code under test

    def refer(self, value: Any) -> list[Any]:
        """What is no plain data stays here and goes out as a number."""
        if isinstance(value, type(sys)):
            return ["module", value.__name__]
        self.count += 1
        self.objects[self.count] = value
        if isinstance(value, _Callback):
            return ["own", self.count, value._number]
        if (name := codec.type_name(value)) is not None:
            return ["type", self.count, name]
        kind = "iterator" if isinstance(value, Iterator) else "callable" if callable(value) else "object"
        return [kind, self.count, str(type(value).__name__)[:200]]

    def resolve(self, items: list[Any]) -> Any:
        kind, number = items[0], items[1]
        if kind == "module":
            return _Module(number)
        if kind == "callback":
            return _Callback(self, number)
        if kind == "type":
            return codec.named_type(number)
        if kind == "rng":
            return _generator(number, items[2])
        return self.objects[number]


def _callback_error(request: dict[str, Any]) -> Any:
    """What the test's function raised, as code that expects it would catch it; the test's words stay with the test."""
    import builtins

    base: Any = getattr(builtins, request["base"], Exception)
    kind = type(request["type"], (base,), {"__str__": lambda _: "raised by a function of the test"})
    error: Any = base.__new__(kind)
    error._recode_callback = request["number"]
    return error


def _generator(kind: str, text: str) -> Any:
    """A numpy random generator in the state that the test's was in."""
    import numpy as np

    state = json.loads(text)
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return getattr(np.random, kind)(bits)
