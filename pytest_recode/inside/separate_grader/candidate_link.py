"""The grader's connection to the candidate: requests, answers, callbacks and exceptions.

Runs in the grader process. Called by the `candidate` fixture and by handles. Must not build anything from an answer
but plain data or an opaque handle (`handles.py`): never a function, a type or an object of this process, not even one
that the test passed before.

Stdlib and the wire, Python 3.9+.
"""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from ..grading import candidate_error
from ..wire import codec, frames
from . import data_handles, exception_reports, handles, turns

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows

MAX_TEXT = 2000  # characters of a reason
_NO_DATA = (handles.RemoteModule, handles.CallableHandle)  # attributes that carry no data into a test
MAX_CALLBACKS = 50  # how deep a function of the test and the code under test may call each other


class CandidateLost(Exception):
    """There is no answer: the candidate has ended, is too slow, or sent something else. The case fails, even if the
    test catches this."""


class CandidateLink:
    """The connection of one case to the candidate. If `failure` is set at the end, the case fails whatever the test did."""

    def __init__(self, reader: Any, writer: Any, limit: int) -> None:
        self.fill = frames.filler(reader)
        self.put = frames.putter(writer)
        self.limit = limit
        self.turns = turns.GraderTurns()
        self.case = 0
        self.function_count = 0  # numbers of functions are never reused
        self.torn = False  # whether the test stopped waiting for an answer: nothing that follows can be read
        self.start_case()

    def next_message(self) -> Any:
        """Read an order of the host's, between two runs of the cases. Raises `EOFError` where there is none."""
        return frames.fill_message(self.fill, frames.fill_prefix(self.fill, self.limit))

    def after_fork(self) -> None:
        """Belong to this process, in which the tests run from now on."""
        self.turns = turns.GraderTurns()

    def start_case(self) -> None:
        """Forget everything about the previous case."""
        self.case += 1
        self.answered = False  # whether any answer of the candidate's reached this case
        self.requested: set[str] = set()  # names that the test asked for: "module.name", or ".name" of an object
        self.data_received = False  # whether that was more than modules and functions to call
        self.failure: tuple[str, str] | None = None  # kind and text
        self.test_fault = ""  # what the test did that is not possible, whether or not it caught the exception
        self.disconnected = ""  # why no further answer comes in this case
        self.functions: dict[int, Callable[..., Any]] = {}
        self.function_numbers: dict[tuple[int, ...], int] = {}  # by identity
        self.first = True
        self.raised: list[BaseException] = []  # by functions of the test, within a call
        self.dropped: list[int] = []
        self.explaining = (
            False  # whether pytest explains a failed assertion: what it does to a handle is not the test's
        )
        self.turns.open()

    def end_case(self) -> None:
        """Wait for the answers that other threads of the test have asked for. They belong to this case."""
        self.turns.close()

    def fail(self, kind: str, text: str) -> None:
        """Make the case fail, even if the test catches the exception. The first reason counts."""
        if self.failure is None:
            self.failure = (kind, text)

    def record_test_fault(self, text: str) -> handles.TestFault:
        """The exception to raise. It is recorded, so that a test which catches it does not pass."""
        self.test_fault = self.test_fault or text
        return handles.TestFault(text)

    def request(self, op: str, **arguments: Any) -> Any:
        """Send one request and return its answer. Callbacks are served in between. Other threads wait for their turn."""
        if not self.turns.in_this_process():
            raise handles.TestFault("the test uses the candidate in a process that it has forked: use threads instead")
        try:
            with self.turns.request() as turn:
                return self.answer_to(op, arguments, turn)
        except turns.Closed:
            raise handles.TestFault("a thread of a test uses the candidate after the test has ended") from None

    def answer_to(self, op: str, arguments: dict[str, Any], turn: turns.OpenRequest) -> Any:
        drop, self.dropped = self.dropped, []
        if op == "get":
            module = arguments["target"]._recode_name if isinstance(arguments["target"], handles.RemoteModule) else ""
            self.requested.add(f"{module}.{arguments['name']}")
        message = {"op": op, "drop": drop, "first": self.first, **arguments}
        self.first = False
        while True:
            answer = self.exchange(message)
            if "value" in answer:
                return answer["value"]
            if "raised" in answer:
                if (
                    answer.get("importing") is True
                ):  # otherwise a file that is not even Python passes a test of bad arguments
                    self.fail("exception", "a module of the candidate cannot be imported")
                error = self.error(answer["raised"])
                if op == "get" and isinstance(arguments["target"], handles.RemoteModule):
                    candidate_error.mark_undefined(error)
                raise error
            if "lost" in answer:
                if not isinstance(answer["lost"], str):
                    raise self.disconnect("protocol", "the candidate sent garbage instead of an answer: no reason")
                text = f"the candidate returned a value that cannot be sent: {str(answer['lost'])[:MAX_TEXT]}"
                self.fail("protocol", text)
                raise CandidateLost(text)
            message = self.serve(answer, turn)

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        if self.disconnected:
            raise CandidateLost(self.disconnected)
        sequence = os.urandom(8)  # so that no answer can be prepared before its request
        try:
            frames.put_frame(self.put, frames.TO_CANDIDATE, message, sequence, self.refer, data_handles.refer)
        except frames.WireError as error:
            raise self.record_test_fault(f"the test passes a value that cannot be sent: {error}") from None
        answer = _AnswerStream(self.fill)
        try:
            before, self.answered, self.data_received = self.data_received, True, True
            frame = frames.fill_prefix(answer.fill_from, self.limit)
            if frame.sequence != sequence:
                raise frames.WireError("an answer to another question")
            reply = frames.fill_message(answer.fill_from, frame, self.resolve)
            if message["op"] == "get" and isinstance(reply, dict) and isinstance(reply.get("value"), _NO_DATA):
                self.data_received = before
            if not isinstance(reply, dict) or not reply.keys() & {"value", "raised", "lost", "callback"}:
                raise frames.WireError("no field of an answer")
        except frames.WireError as error:
            answer.drain()
            raise self.disconnect("protocol", f"the candidate sent garbage instead of an answer: {error}") from None
        except _NoAnswer as reason:
            raise self.disconnect(reason.kind, reason.text) from None
        except BaseException:  # an alarm of the test's: the rest of the answer would be taken for the next one
            self.torn = True
            self.disconnect("timeout", "the test stopped waiting for an answer of the candidate")
            raise
        answer.drain()
        return reply

    def disconnect(self, kind: str, text: str) -> CandidateLost:
        """The exception to raise. No later request of this case gets an answer either."""
        self.fail(kind, text)
        self.disconnected = text
        return CandidateLost(text)

    def serve(self, answer: dict[str, Any], turn: turns.OpenRequest) -> dict[str, Any]:
        """Run the function of the test that the candidate calls back."""
        number, args, kwargs = (answer.get(name) for name in ("callback", "args", "kwargs"))
        function = self.functions.get(number) if type(number) is int else None
        if function is None:
            raise self.disconnect("protocol", "the candidate called a function that the test did not pass to it")
        if type(args) is not tuple or type(kwargs) is not dict or not exception_reports.all_text(kwargs):
            raise self.disconnect("protocol", "the candidate sent garbage instead of the arguments of a function")
        try:
            if turn.depth >= MAX_CALLBACKS:
                raise RecursionError(f"calls nested more than {MAX_CALLBACKS} deep")
            with self.turns.function_of_test(turn):
                value = function(*args, **kwargs)
            codec.dump(value, self.refer, data_handles.refer)
            return {"op": "return", "value": value}
        except frames.WireError as error:
            raise self.record_test_fault(
                f"a function of the test returns a value that cannot be sent: {error}"
            ) from None
        except (CandidateLost, handles.HandleMisuse, handles.TestFault):
            raise
        except BaseException as error:  # noqa: BLE001 - the candidate decides whether to catch it
            if isinstance(error, AssertionError) or not isinstance(error, Exception):  # `pytest.fail`
                self.fail("assertion", f"an assertion failed in a function that the candidate calls: {error}")
            self.raised.append(error)
            bases = exception_reports.builtin_bases([base.__name__ for base in type(error).__mro__])
            names, number = [base.__name__ for base in bases], len(self.raised) - 1
            return {"op": "raise", "type": type(error).__name__, "bases": names, "number": number}

    def error(self, report: Any) -> BaseException:
        """The exception to raise in the test, built from checked parts of the candidate's report."""
        if not exception_reports.is_report(report):
            return self.disconnect("protocol", "the candidate sent garbage instead of an exception")
        number = report["callback"]
        if type(number) is int and 0 <= number < len(self.raised):
            return self._from_callback(self.raised[number])
        group = report.get("group")
        return exception_reports.exception(report, [self.error(each) for each in group["exceptions"]] if group else [])

    def _from_callback(self, error: BaseException) -> BaseException:
        """An exception that a function of the test raised and the candidate let through, with the rule of `builtin`."""
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            return candidate_error.CandidateError(type(error).__name__, "raised by a function of the test", ())
        return error

    def refer(self, value: Any) -> list[Any]:
        """The reference by which a value that is not plain data travels. Raises `TestFault` where it has none."""
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
            return self._function(value)
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise self.record_test_fault(f"the test passes a value that cannot be sent: an object of type {kind}")

    def _function(self, function: Callable[..., Any]) -> list[Any]:
        """The reference of a function of the test: a function that is passed twice has one number."""
        key: tuple[int, ...] = (id(function),)
        if isinstance(function, types.MethodType):  # each access to a method makes another object
            key = (id(function.__self__), id(function.__func__))
        if key not in self.function_numbers:
            self.function_count += 1
            self.function_numbers[key] = self.function_count
            self.functions[self.function_count] = function
        name = getattr(function, "__name__", None)
        return ["callback", self.function_numbers[key], *([str(name)] if isinstance(name, str) else [])]

    def resolve(self, items: list[Any]) -> Any:
        """The handle for a reference that the candidate sent."""
        kind = items[0]
        if kind == "data":
            return data_handles.attach(items[1], items[2], self.resolve(items[3:]))
        if kind == "module":
            return handles.RemoteModule(self, str(items[1]))
        if kind == "type":
            return handles.type_handle(self, int(items[1]), str(items[2]))
        if kind == "own":
            return handles.CallbackHandle(self, int(items[1]), self.functions[items[2]])
        return handles.KINDS[kind](self, int(items[1]), str(items[2]))


class _NoAnswer(Exception):
    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class _AnswerStream:
    """The bytes of one answer, which the host forwards in pieces, so that it can report in between that the rest will
    not come."""

    def __init__(self, fill: frames.Fill) -> None:
        self.fill = fill
        self.left = 0
        self.last = False

    def fill_from(self, view: memoryview) -> None:
        """Fill `view` with the next bytes. Raises `_NoAnswer` where the host reports that there are none."""
        while view:
            self.next_piece()
            if not self.left:
                raise frames.WireError("the answer is too short")
            count = min(self.left, len(view))
            self.fill(view[:count])
            self.left -= count
            view = view[count:]

    def next_piece(self) -> None:
        while not self.left and not self.last:
            frame = frames.fill_prefix(self.fill, 1 << 40)
            if frame.kind == frames.LOST:
                self.last = True
                reason = frames.fill_message(self.fill, frame)
                raise _NoAnswer(reason["kind"], reason["text"])
            self.last = frame.kind == frames.LAST
            self.left = frame.body

    def drain(self) -> None:
        """Read the rest of the answer, so that the next one starts at its beginning."""
        scrap = memoryview(bytearray(frames.CHUNK))
        try:
            while not self.last or self.left:
                self.next_piece()
                while self.left:
                    count = min(self.left, len(scrap))
                    self.fill(scrap[:count])
                    self.left -= count
        except _NoAnswer:
            pass


def _generator(value: Any) -> list[Any]:
    """A numpy random generator travels as its state: each side draws the same numbers, neither advances the other."""
    import numpy as np

    kind = "Generator" if isinstance(value, np.random.Generator) else "RandomState"
    state = value.bit_generator.state if kind == "Generator" else value.get_state(legacy=False)
    seeds: Any = getattr(getattr(value, "bit_generator", None), "seed_seq", None)  # from which `spawn` makes others
    if type(seeds) is np.random.SeedSequence:
        state = {**state, "seeds": seeds.state}
    return ["rng", kind, json.dumps(state, default=lambda array: array.tolist())]
