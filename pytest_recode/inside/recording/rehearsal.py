"""Calls functions of a repository with drawn inputs, and reports for each call what a hidden test must know.

Runs in a sandbox of its own, because the repository is untrusted. Called by `pytest_recode/drafting/rehearsing.py` on the host. Must
not be trusted: the host checks what it reads.

Reads one message with the files, the source of the functions that draw inputs, and the cases; writes a message for each case and
seed, and `end`. The results of an earlier process may be given, with which results are compared.

Stdlib and modules of `inside/`, numpy where the repository uses it, Python 3.9+.
"""

from __future__ import annotations

import importlib
import math
import os
import random
import signal
import sys
import time
import types
import warnings
from typing import Any

from ..grading import equivalence
from ..wire import codec, frames
from . import call_watch
from .placing import place

MAX_REQUEST = 1 << 31
MAX_RESULT = 8 << 20  # bytes
RTOL = 1e-9  # of results of the same code in another process
MAX_TEXT = 300
LEAST_SEEDS = 10
CASE_SECONDS = 3.0  # after which a case is called with no more than the least seeds


class _TooSlow(BaseException):
    """Not an `Exception`, so that the function does not catch it."""


def main(reader: Any, writer: Any) -> None:
    request = frames.read_message(reader, MAX_REQUEST)
    directory = place(request["files"], [""])
    warnings.simplefilter("ignore")
    watch = call_watch.Watch(str(directory))
    try:
        module = importlib.import_module(request["module"])
        _seed_differently()
        draw = types.ModuleType("draw")
        exec(compile(request["source"], "<draw>", "exec"), draw.__dict__)
    except BaseException as error:  # noqa: BLE001 - reported
        frames.write_message(writer, {"end": {"error": f"{type(error).__name__}: {error}"[:MAX_TEXT]}})
        os._exit(0)
    rehearsal = _Rehearsal(module, draw, watch, request["seconds"])
    for alternatives, function in request["cases"]:
        for case in alternatives:
            accepted = True
            started = time.monotonic()
            for number, seed in enumerate(request["seeds"]):
                if number >= LEAST_SEEDS and time.monotonic() - started > CASE_SECONDS:
                    break
                frames.write_message(writer, {"starts": [case, seed]})
                found = rehearsal.report(case, function, seed, request["expected"].get(f"{case} {seed}"))
                frames.write_message(writer, {"case": case, "seed": seed, **found})
                accepted = not found["problem"] and found["finite"]
                if not accepted:
                    break
            if accepted:
                break
    frames.write_message(writer, {"end": {"error": ""}})
    os._exit(0)


def _seed_differently() -> None:
    """A fork of a warm parent would draw the same numbers as another."""
    random.seed(os.urandom(16))
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(int.from_bytes(os.urandom(4), "big"))


class _Rehearsal:
    def __init__(self, module: Any, draw: Any, watch: call_watch.Watch, seconds: float) -> None:
        self.module = module
        self.draw = draw
        self.watch = watch
        self.seconds = seconds

    def report(self, case: str, name: str, seed: int, expected: Any) -> dict[str, Any]:
        """What one call does: `problem` is "" if it returns finite plain data in time."""
        import numpy as np

        report: dict[str, Any] = {"problem": "", "modified": False, "effects": [], "constant": "", "differs": ""}
        try:
            args, kwargs = getattr(self.draw, case)(np.random.default_rng(seed))
        except Exception as error:  # noqa: BLE001 - the plan does not fit
            return {**report, "problem": f"drawing raised {type(error).__name__}: {error}"[:MAX_TEXT]}
        before = _dumped((args, kwargs))
        self.watch.begin()
        started = time.monotonic()
        try:
            result = self._in_time(getattr(self.module, name), args, kwargs)
        except _TooSlow:
            report["problem"] = f"takes more than {self.seconds:g} s"
        except BaseException as error:  # noqa: BLE001 - reported
            report["problem"] = f"raised {type(error).__name__}: {error}"[:MAX_TEXT]
        report["seconds"] = time.monotonic() - started
        report["effects"] = self.watch.end()
        if report["problem"]:
            return report
        try:
            data = _dumped(result)
        except codec.WireError as error:
            return {**report, "problem": f"returned {error}"}
        report["modified"] = _dumped((args, kwargs)) != before
        report["constant"] = _constant(result, args)
        report["result"] = data if len(data) <= MAX_RESULT else b""
        report["finite"] = _finite(result)
        if expected:
            report["differs"] = _difference(result, expected)
        return report

    def _in_time(self, function: Any, args: Any, kwargs: Any) -> Any:
        def stop(*_: Any) -> None:
            raise _TooSlow

        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            return function(*args, **kwargs)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _dumped(value: Any) -> bytes:
    """A value as the bytes of a message; random generators by their state."""
    header, body = codec.dump(value, _refer)
    return len(header).to_bytes(8, "big") + header + b"".join(bytes(part) for part in body)


def _refer(value: Any) -> list[Any]:
    if type(value).__module__.startswith("numpy.random"):
        return [type(value).__name__]
    return codec.cannot_travel(value)


def _difference(result: Any, expected: bytes) -> str:
    """How the result differs from that of an earlier process; "" if it does not."""
    if _dumped(result) == expected:
        return ""
    size = int.from_bytes(expected[:8], "big")
    earlier = codec.parse(expected[8 : 8 + size], expected[8 + size :])
    mine = _dumped(result)
    size = int.from_bytes(mine[:8], "big")
    try:
        equivalence.assert_equivalent(codec.parse(mine[8 : 8 + size], mine[8 + size :]), earlier, rtol=RTOL)
    except AssertionError as error:
        return str(error)[:MAX_TEXT]
    return ""


def _constant(result: Any, args: Any) -> str:
    """Which meaningless answer is equivalent to the result; "" if none is."""
    answers: list[tuple[str, Any]] = [("None", None), ("True", True), ("0.0", 0.0), ("[]", []), ("nan", float("nan"))]
    answers += [("its first argument", args[0])] if args else []
    for name, answer in answers:
        try:
            equivalence.assert_equivalent(result, answer, rtol=1e-6)
        except AssertionError:
            continue
        return name
    return ""


def _finite(value: Any) -> bool:
    """Whether no number in it is NaN or infinite."""
    if isinstance(value, (float, complex)):
        return math.isfinite(abs(value))
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_finite, value))
    np = sys.modules.get("numpy")
    if np is not None and isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
        return bool(np.isfinite(value).all())
    return True
