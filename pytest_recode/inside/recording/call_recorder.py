"""Runs a program of a repository (its tests, a script) and reports the calls of chosen functions as plain data.

Runs in a sandbox of its own, because the repository is untrusted. Called by `pytest_recode/drafting/recording.py` on the host. Must
not be trusted: the repository's code can report anything, so the host checks what it reads.

Reads one message with the files and what to run; writes a message for each recorded call, and `end`.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import runpy
import sys
import threading
import time
import traceback
import types
from collections import Counter
from pathlib import Path
from typing import Any

from ..wire import codec, frames
from . import call_watch, descriptions
from .placing import place

MAX_REQUEST = 1 << 31
MAX_OUTPUT = 4000  # characters of what the program printed last
MAX_CALL = 64 << 20  # bytes of arguments and result
QUIET_SECONDS = 15.0
"""If every function has a recorded call, and no call has been new for so long, the program is ended."""
OUTPUT = "output-of-the-recorded-program"


class _Recorder:
    """Counts, limits and reports the calls of the chosen functions."""

    def __init__(self, writer: Any, functions: list[str], most: int, watch: call_watch.Watch) -> None:
        self.writer = writer
        self.most = most
        self.watch = watch
        self.process = os.getpid()
        self.local = threading.local()
        self.seen: dict[str, set[Any]] = {name: set() for name in functions}
        self.numbers: dict[str, set[Any]] = {
            name: set() for name in functions
        }  # of calls that differ from others in numbers only
        self.counts: Counter[tuple[str, str]] = Counter()
        self.newest = time.monotonic()

    def call(self, name: str, original: Any, args: Any, kwargs: Any) -> Any:
        if os.getpid() != self.process or getattr(self.local, "inside", False):
            return original(*args, **kwargs)
        self.counts[name, "calls"] += 1
        if time.monotonic() - self.newest > QUIET_SECONDS and all(self.seen.values()):
            raise KeyboardInterrupt  # ends pytest in order, and a script
        if len(self.seen[name]) >= self.most:
            return original(*args, **kwargs)
        self.local.inside = True
        try:
            return self._recorded(name, original, args, kwargs)
        finally:
            self.local.inside = False

    def _recorded(self, name: str, original: Any, args: Any, kwargs: Any) -> Any:
        arguments = _by_name(original, args, kwargs)
        try:
            described = {parameter: self._described(parameter, value) for parameter, value in arguments.items()}
            key, numbers = (
                tuple(
                    (parameter, descriptions.shape_key(description, numbers))
                    for parameter, description in described.items()
                )
                for numbers in (False, True)
            )
            before = {parameter: _dumped(value) for parameter, value in arguments.items()}
        except descriptions.CannotDescribe as error:
            self.counts[name, str(error)] += 1
            return original(*args, **kwargs)
        known = key in self.seen[name]
        if known and (numbers in self.numbers[name] or len(self.numbers[name]) >= 2 * self.most):
            return original(*args, **kwargs)
        self.watch.begin()
        try:
            result = original(*args, **kwargs)
        except Exception as error:
            self.watch.end()
            self.counts[name, f"raised {type(error).__name__}"] += 1
            raise
        effects = self.watch.end()
        self.seen[name].add(key)
        self.numbers[name].add(numbers)
        if not known:
            self.newest = time.monotonic()
        positional = list(described)[: len(args)]
        call: dict[str, Any] = {
            "function": name,
            "args": [described[parameter] for parameter in positional],
            "kwargs": {
                parameter: description for parameter, description in described.items() if parameter not in positional
            },
            "names": positional,
            "modified": [parameter for parameter, value in arguments.items() if _dumped(value) != before[parameter]],
            "effects": effects,
            "result": _result(result),
        }
        frames.write_message(self.writer, {"call": call})
        if all(len(calls) >= self.most for calls in self.seen.values()):
            raise KeyboardInterrupt  # enough
        return result

    def _described(self, name: str, value: Any) -> dict[str, Any]:
        try:
            return descriptions.describe(value)
        except descriptions.CannotDescribe as error:
            raise descriptions.CannotDescribe(f"{name} is {error}") from None


def _by_name(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by the names of their parameters, positional ones first; those of `*args` as "*0", "*1", …"""
    try:
        parameters = [
            each.name
            for each in inspect.signature(function).parameters.values()
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        parameters = []
    names = [parameters[i] if i < len(parameters) else f"*{i - len(parameters)}" for i in range(len(args))]
    return {**dict(zip(names, args)), **kwargs}  # noqa: B905 - Python 3.9


def _dumped(value: Any) -> Any:
    try:
        header, body = codec.dump(value, descriptions.refer)
    except codec.WireError as error:
        raise descriptions.CannotDescribe(str(error)) from None
    if sum(map(len, body)) > MAX_CALL:
        raise descriptions.CannotDescribe(f"more than {MAX_CALL >> 20} MiB")
    return header, b"".join(bytes(part) for part in body)


def _result(value: Any) -> str:
    """ "" if a candidate could send the result; else what it is."""
    if inspect.iscoroutine(value) or inspect.isasyncgen(value):
        return "a coroutine"
    if inspect.isgenerator(value):
        return "a generator"
    try:
        codec.dump(value)
    except codec.WireError as error:
        return str(error)
    return ""


def main(reader: Any, writer: Any) -> None:
    request = frames.read_message(reader, MAX_REQUEST)
    directory = place(request["files"], request["roots"])
    _capture(directory.parent / OUTPUT)
    error = ""
    recorder = _Recorder(writer, request["functions"], request["most"], call_watch.Watch(str(directory)))
    try:
        module = importlib.import_module(request["module"])
        for name in request["functions"]:
            _replace(module, name, recorder, str(directory))
    except BaseException as exc:  # noqa: BLE001 - reported
        error = _last_line(exc, str(directory))
    else:
        _run(request["command"], str(directory))
    sys.stdout.flush()
    counts = [[name, what, count] for (name, what), count in recorder.counts.items()]
    output = (directory.parent / OUTPUT).read_text("utf-8", "replace")[-MAX_OUTPUT:]
    end = {"error": error, "counts": counts, "output": output, "versions": _versions(request["imports"])}
    frames.write_message(writer, {"end": end})
    os._exit(0)  # threads of the repository must not delay it


def _capture(path: Path) -> None:
    """Send the standard streams to a file."""
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(fd, number)
    sys.stdout = open(1, "w", closefd=False, encoding="utf-8", errors="replace", buffering=1)
    sys.stderr = open(2, "w", closefd=False, encoding="utf-8", errors="replace", buffering=1)


def _run(command: list[str], directory: str) -> None:
    """Run `-m module arguments…` or `script arguments…` in this process."""
    try:
        if command[0] == "-m":
            sys.argv = command[1:]
            sys.path.insert(0, directory)
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = command
            sys.path.insert(0, os.path.dirname(os.path.join(directory, command[0])))
            runpy.run_path(command[0], run_name="__main__")
    except SystemExit:
        pass
    except BaseException:  # noqa: BLE001 - the output has it; calls were reported before
        traceback.print_exc()


def _last_line(error: BaseException, directory: str) -> str:
    frames_of_it = [each for each in traceback.extract_tb(error.__traceback__) if each.filename.startswith(directory)]
    place = ""
    if frames_of_it:
        place = f" ({os.path.relpath(frames_of_it[-1].filename, directory)}:{frames_of_it[-1].lineno})"
    return f"{type(error).__name__}: {error}"[:500] + place


def _replace(module: Any, name: str, recorder: _Recorder, directory: str) -> None:
    """Make every caller of the function go through the recorder."""
    function = getattr(module, name)
    if isinstance(function, types.FunctionType) and not function.__code__.co_freevars:
        original = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        original.__kwdefaults__ = function.__kwdefaults__
        original.__annotations__ = function.__annotations__
        function.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        key = f"__recorded_{name}__"
        function.__globals__[key] = functools.partial(recorder.call, name, original)
        namespace: dict[str, Any] = {}
        exec(f"def {name}(*args, **kwargs):\n    return {key}(args, kwargs)\n", namespace)
        function.__code__ = namespace[name].__code__  # the object stays, also where other modules have imported it
        return

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return recorder.call(name, function, args, kwargs)

    for loaded in list(sys.modules.values()):
        file = getattr(loaded, "__file__", None)
        if isinstance(file, str) and file.startswith(directory):
            for attribute, value in list(vars(loaded).items()):
                if value is function:
                    setattr(loaded, attribute, wrapper)


def _versions(modules: list[str]) -> dict[str, Any]:
    """For each top-level module, the distribution that has it and its version; None if it is not installed."""
    import importlib.metadata as metadata

    names: dict[str, list[str]] = getattr(metadata, "packages_distributions", dict)()  # Python 3.10+
    versions: dict[str, Any] = {}
    for module in modules:
        candidates = names.get(module, [module])
        try:
            versions[module] = [candidates[0], metadata.version(candidates[0])]
        except metadata.PackageNotFoundError:
            versions[module] = None
    return versions
