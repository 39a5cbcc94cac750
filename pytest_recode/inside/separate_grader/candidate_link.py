"""The grader's connection to the candidate: requests, answers, callbacks and exceptions.

Runs in the grader process. Called by the `candidate` fixture and by handles. Must not build anything from an answer
but plain data or an opaque handle (`handles.py`): never a function, a type or an object of this process, not even one
that the test passed before.

Stdlib and the wire, Python 3.9+.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from ..grading import candidate_error
from ..wire import codec, frames
from . import handles

__tracebackhide__ = True  # a failure is told from the test's own line, and pytest parses a file for every line it tells

MAX_TEXT, MAX_LINE, MAX_FRAMES = 2000, 600, 25  # of an exception: characters, characters of a frame, frames
_MERE = (handles.RemoteModule, handles.CallableHandle)  # as attributes: nothing in them can go wrong in a test
MAX_CALLBACKS = 50  # how deep a function of the test's and the code under test may call each other


class CandidateLost(Exception):
    """There is no answer: the candidate is dead, too slow, or sent what is no answer. The case fails, caught or not."""


class Link:
    """One case's line to the candidate. What `failed` holds at the end of the case fails it whatever the test did."""

    def __init__(self, reader: Any, writer: Any, limit: int) -> None:
        self.fill = frames.filler(reader)
        self.put = frames.putter(writer)
        self.limit = limit
        self.case = 0
        self.count = 0  # of functions: a number is never given twice
        self.renew()

    def renew(self) -> None:
        """A new case: nothing of the last one is known here any more."""
        self.case += 1
        self.heard = False  # whether anything of the candidate's reached this case
        self.told = False  # whether that was more than modules and functions to call
        self.failed: tuple[str, str] | None = None  # kind, text
        self.fault = ""  # what the test did that cannot be done, caught or not
        self.lost = ""  # why no answer comes any more in this case
        self.functions: dict[int, Callable[..., Any]] = {}
        self.first = True
        self.raised: list[BaseException] = []  # by functions of the test's, within a call
        self.dropped: list[int] = []
        self.depth = 0
        self.wording = (
            False  # whether pytest words an assertion that has failed: nothing it asks of a handle is the test's
        )

    def fail(self, kind: str, text: str) -> None:
        if self.failed is None:
            self.failed = (kind, text)

    def blame(self, text: str) -> handles.TestFault:
        """The fault to raise; on record here, so that a test which catches it does not pass."""
        self.fault = self.fault or text
        return handles.TestFault(text)

    def ask(self, op: str, **request: Any) -> Any:
        """One request and its answer. Callbacks are served in between."""
        drop, self.dropped = self.dropped, []
        message = {"op": op, "drop": drop, "first": self.first, **request}
        self.first = False
        while True:
            answer = self.exchange(message)
            if "value" in answer:
                return answer["value"]
            if "raised" in answer:
                raise self.error(answer["raised"])
            if "lost" in answer:
                text = f"the candidate returned what cannot travel: {str(answer['lost'])[:MAX_TEXT]}"
                self.fail("protocol", text)
                raise CandidateLost(text)
            message = self.serve(answer)

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        if self.lost:
            raise CandidateLost(self.lost)
        sequence = os.urandom(8)  # no answer can be there before its question
        try:
            frames.put_frame(self.put, frames.TO_CANDIDATE, message, sequence, self.refer)
        except frames.WireError as error:
            raise self.blame(f"the test passes a value that cannot travel: {error}") from None
        answer = _Answer(self.fill)
        try:
            told, self.heard, self.told = self.told, True, True
            frame = frames.fill_prefix(answer.take, self.limit)
            reply = frames.fill_message(answer.take, frame, self.resolve)
            if message["op"] == "get" and isinstance(reply, dict) and isinstance(reply.get("value"), _MERE):
                self.told = told
            if not isinstance(reply, dict) or not reply.keys() & {"value", "raised", "lost", "callback"}:
                raise frames.WireError("no answer")
        except frames.WireError as error:
            answer.drain()
            raise self.lose("protocol", f"the candidate sent garbage instead of an answer: {error}") from None
        except _NoAnswer as lost:
            raise self.lose(lost.kind, lost.text) from None
        answer.drain()
        return reply

    def lose(self, kind: str, text: str) -> CandidateLost:
        self.fail(kind, text)
        self.lost = text
        return CandidateLost(text)

    def serve(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Run the function of the test's that the candidate calls back."""
        try:
            function = self.functions[answer["callback"]]
            args, kwargs = tuple(answer["args"]), dict(answer["kwargs"])
        except (LookupError, TypeError):
            raise self.lose("protocol", "the candidate called a function that the test did not give it") from None
        self.depth += 1
        try:
            if self.depth > MAX_CALLBACKS:
                raise RecursionError(f"calls nested more than {MAX_CALLBACKS} deep")
            value = function(*args, **kwargs)
            codec.dump(value, self.refer)
            return {"op": "return", "value": value}
        except frames.WireError as error:
            raise self.blame(f"a function of the test returns a value that cannot travel: {error}") from None
        except (CandidateLost, handles.Misuse, handles.TestFault):
            raise
        except Exception as error:  # noqa: BLE001 - it is the candidate's to catch or to let through
            if isinstance(error, AssertionError):
                self.fail("assertion", f"an assertion failed in a function that the candidate calls: {error}")
            self.raised.append(error)
            name = _builtin([base.__name__ for base in type(error).__mro__])
            number = len(self.raised) - 1
            return {"op": "raise", "type": type(error).__name__, "base": name.__name__, "number": number}
        finally:
            self.depth -= 1

    def error(self, told: Any) -> BaseException:
        """The exception to raise in the test, of checked parts."""
        try:
            number = told["callback"]
            if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(self.raised):
                return self._own(self.raised[number])
            kind, text = str(told["type"])[:200], str(told["message"])[:MAX_TEXT]
            frames = tuple(str(frame)[:MAX_LINE] for frame in told["frames"][:MAX_FRAMES])
            base = _builtin([str(name) for name in told["bases"]])
        except (LookupError, TypeError):
            return self.lose("protocol", "the candidate sent garbage instead of an exception")
        try:
            made: BaseException = _error_type(kind, base)(kind, text, frames)
            if isinstance(made, AttributeError):
                made.name = None  # else a traceback asks the candidate's object for names alike
            return made
        except TypeError:  # a builtin that cannot be combined (ExceptionGroup)
            return candidate_error.CandidateError(kind, text, frames)

    def _own(self, error: BaseException) -> BaseException:
        """What a function of the test's raised, let through by the candidate, as `_builtin` has it."""
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            return candidate_error.CandidateError(type(error).__name__, "raised by a function of the test", ())
        return error

    def refer(self, value: Any) -> list[Any]:
        if isinstance(value, handles.RemoteModule):
            return ["module", value._recode_name]
        if isinstance(value, handles.Handle):
            return ["object", handles.number(value)]
        if (name := codec.type_name(value)) is not None:
            return ["type", name]
        np = sys.modules.get("numpy")
        if np is not None and isinstance(value, (np.random.Generator, np.random.RandomState)):
            return _generator(value)
        if callable(value):
            self.count += 1
            self.functions[self.count] = value
            return ["callback", self.count]
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise self.blame(f"the test passes a value that cannot travel: an object of type {kind}")

    def resolve(self, items: list[Any]) -> Any:
        kind = items[0]
        if kind == "module":
            return handles.RemoteModule(self, str(items[1]))
        if kind == "type":
            return handles.named(self, int(items[1]), str(items[2]))
        if kind == "own":
            return handles.OwnHandle(self, int(items[1]), self.functions[items[2]])
        return handles.KINDS[kind](self, int(items[1]), str(items[2]))


class _NoAnswer(Exception):
    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class _Answer:
    """The candidate's bytes, as the host passes them on: in pieces, so that it can say in between that no more come."""

    def __init__(self, fill: frames.Fill) -> None:
        self.fill = fill
        self.left = 0
        self.last = False

    def take(self, view: memoryview) -> None:
        while view:
            self.piece()
            if not self.left:
                raise frames.WireError("an answer that is too short")
            count = min(self.left, len(view))
            self.fill(view[:count])
            self.left -= count
            view = view[count:]

    def piece(self) -> None:
        while not self.left and not self.last:
            frame = frames.fill_prefix(self.fill, 1 << 40)
            if frame.kind == frames.LOST:
                self.last = True
                told = frames.fill_message(self.fill, frame)
                raise _NoAnswer(told["kind"], told["text"])
            self.last = frame.kind == frames.LAST
            self.left = frame.body

    def drain(self) -> None:
        """Read what is left of it, so that the next answer starts at its start."""
        scrap = memoryview(bytearray(frames.CHUNK))
        try:
            while not self.last or self.left:
                self.piece()
                while self.left:
                    count = min(self.left, len(scrap))
                    self.fill(scrap[:count])
                    self.left -= count
        except _NoAnswer:
            pass


def _error_type(name: str, base: type[BaseException]) -> type[candidate_error.CandidateError]:
    bases = (candidate_error.CandidateError,) if base is Exception else (candidate_error.CandidateError, base)
    # of no module, so that a failure names it as the candidate does
    return type(name if name.isidentifier() else "candidate_error.CandidateError", bases, {"__module__": "builtins"})


def _builtin(names: list[str]) -> type[BaseException]:
    """The first of `names` that is a builtin Exception; Exception itself where none is.

    Never StopIteration: in a test's `all(map(candidate.f, xs))` it would pass for the end of `xs`.
    """
    for name in names:
        found = getattr(builtins, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return Exception if issubclass(found, (StopIteration, StopAsyncIteration)) else found
    return Exception


def _generator(value: Any) -> list[Any]:
    """A numpy random generator travels as its state: each side draws the same numbers, neither advances the other."""
    import numpy as np

    kind = "Generator" if isinstance(value, np.random.Generator) else "RandomState"
    state = value.bit_generator.state if kind == "Generator" else value.get_state(legacy=False)
    if kind == "RandomState":
        state = {key: state[key] for key in ("bit_generator", "state")}
    return ["rng", kind, json.dumps(state, default=lambda array: array.tolist())]
