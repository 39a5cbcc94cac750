"""Watches the arguments that hidden tests hand to a reference: contradictions within an object, and what extreme values of them do.

Runs in the candidate's process while a task's author validates the task. `validation/watched_arguments.py` adds it to the
reference's own targets; the first call that shows something raises `ArgumentFinding`, whose text the verdict has. Must not be added
to the targets of anybody else: it reports by raising, which a candidate could imitate.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import importlib
import inspect
import math
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

MOST_PROBES, MOST_OF_ONE = 12, 300
"""Changed calls for one call of a hidden test, and of one function in all."""
PROBE_SECONDS = 2
"""Whole seconds that a changed call may take."""
FACTORS = (1e-160, 1e150)
"""Squares of 1e-160 are not normal numbers, products of two are; sums of squares of 1e150 are finite, their squares are not."""
REFUSED = (ValueError, TypeError, NotImplementedError)
"""Exceptions with which a function says that it does not take an argument."""


Change = Callable[[Any], Any]


class ArgumentFinding(Exception):
    """What one call showed."""


class _Endless(BaseException):
    pass


def watch(
    namespace: dict[str, Any], names: list[str], module: str, invariants: list[tuple[str, str]], seed: str
) -> None:
    """Wrap the functions `names` of a module, dotted names within it, whose own dotted name is `module`.

    `invariants`: pairs of a class and a Python expression about its instance `self`, or of one of the functions and an expression about its
    parameters; classes and functions as dotted names. The names of the module of the class or of the function are known, too.
    """
    watched = _Watch(namespace, invariants, random.Random(seed))
    for name in names:
        owner, last = _owner(namespace, name)
        function = owner[last] if isinstance(owner, dict) else getattr(owner, last)
        label = module + "." + name
        if isinstance(function, type):
            for method in ("__init__", "__call__", *(each for each in vars(function) if not each.startswith("_"))):
                if inspect.isfunction(vars(function).get(method)):
                    setattr(function, method, watched.wrapped(label, vars(function)[method], of_class=True))
        elif isinstance(owner, dict):
            owner[last] = watched.wrapped(label, function, of_class=False)
        elif inspect.isfunction(vars(owner).get(last)):
            setattr(owner, last, watched.wrapped(label, function, of_class=True))


def _owner(namespace: dict[str, Any], name: str) -> tuple[Any, str]:
    *above, last = name.split(".")
    owner: Any = namespace
    for part in above:
        owner = owner[part] if isinstance(owner, dict) else getattr(owner, part)
    return owner, last


class _Watch:
    def __init__(self, namespace: dict[str, Any], invariants: list[tuple[str, str]], rng: random.Random) -> None:
        self._namespace, self._invariants, self._rng = namespace, invariants, rng
        self._inside = False
        self._probed: Counter[str] = Counter()

    def wrapped(self, name: str, function: Callable[..., Any], of_class: bool) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if self._inside:  # a call that the reference itself makes
                return function(*args, **named)
            try:
                bound = signature.bind(*args, **named)
            except TypeError:
                return function(*args, **named)
            bound.apply_defaults()
            self._inside = True
            try:
                about, problem = self._examined(name, bound.arguments)
                if problem:
                    raise ArgumentFinding("contradiction: " + problem)
                before = None if of_class or not about else _copied(bound)
                result = function(*args, **named)
                if before is not None and _finite(result):
                    self._probe(name, function, before)
                return result
            finally:
                self._inside = False

        return call

    def _examined(self, name: str, values: Mapping[str, Any]) -> tuple[bool, str]:
        """Whether an invariant is about these arguments, and what contradicts one, in words; "" if nothing does."""
        about = False
        for of, expression in self._invariants:
            if of == name:
                about = True
                if not _holds(expression, self._namespace, values):
                    return about, "{} gets arguments of which this is not true: {}".format(name, expression)
                continue
            for node in _nodes(values):
                if _is_a(node.value, of):
                    about = True
                    module = sys.modules.get(type(node.value).__module__)
                    if not _holds(expression, vars(module) if module is not None else {}, {"self": node.value}):
                        found = "{} gets {}, a {} of which this is not true: {}"
                        return about, found.format(name, node.label, of, expression)
        return about, ""

    def _probe(self, name: str, function: Callable[..., Any], before: inspect.BoundArguments) -> None:
        leaves = [node for node in _nodes(before.arguments) if _is_float(node.value) or _is_float_array(node.value)]
        changes = [(leaf, change) for leaf in leaves for change in _changes(leaf, leaves)]
        self._rng.shuffle(changes)
        most = min(self._probed[name] + MOST_PROBES, MOST_OF_ONE)
        for leaf, (words, change) in changes:
            bound = _copied(before)
            if self._probed[name] >= most or bound is None:
                return
            label = leaf.path[0]
            try:
                bound.arguments[label] = _replaced(bound.arguments[label], leaf.path[1:], change)
            except REFUSED:
                continue
            if self._examined(name, bound.arguments)[1]:
                continue
            self._probed[name] += 1
            if outcome := _outcome(function, bound):
                raise ArgumentFinding("extreme: {} with {} {} {}".format(name, leaf.label, words, outcome))


def _copied(bound: inspect.BoundArguments) -> inspect.BoundArguments | None:
    """The arguments as deep copies, or None if one cannot be copied."""
    try:
        return inspect.BoundArguments(bound.signature, copy.deepcopy(dict(bound.arguments)))
    except Exception:  # noqa: BLE001 - whatever a class does to be no value
        return None


def _outcome(function: Callable[..., Any], bound: inspect.BoundArguments) -> str:
    """What a changed call does that no brief promises, in words; "" if it refuses the argument or its results are finite."""
    try:
        with _Quiet(), _Limited():
            result = function(*bound.args, **bound.kwargs)
    except _Endless:
        return "does not end within {} s".format(PROBE_SECONDS)
    except REFUSED as error:
        return "raises {}: {}".format(type(error).__name__, error) if type(error).__name__ == "LinAlgError" else ""
    except Exception as error:  # noqa: BLE001 - that is the finding
        return "raises {}: {}".format(type(error).__name__, error)
    return "" if _finite(result) else "returns a value that is not finite"


class _Limited:
    """Ends the block after PROBE_SECONDS, in a main thread whose alarm nobody else uses."""

    def __enter__(self) -> None:
        try:
            self._earlier = signal.signal(signal.SIGALRM, self._end)
        except ValueError:
            self._earlier = None
            return
        signal.alarm(PROBE_SECONDS)

    def __exit__(self, *_: object) -> None:
        if self._earlier is not None:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, self._earlier)

    @staticmethod
    def _end(*_: object) -> None:
        raise _Endless


class _Quiet:
    """Without the warnings of numpy's arithmetic: the result tells."""

    def __enter__(self) -> None:
        self._numpy: Any = sys.modules.get("numpy")
        self._earlier: Any = self._numpy.seterr(all="ignore") if self._numpy else {}

    def __exit__(self, *_: object) -> None:
        if self._numpy:
            self._numpy.seterr(**self._earlier)


class _Node(NamedTuple):
    """An argument, or a value in one. `path`: the parameter, then keys, positions and fields below it."""

    label: str
    path: tuple[Any, ...]
    value: Any


def _nodes(values: Mapping[str, Any]) -> Iterator[_Node]:
    """The arguments, and all that is in them."""
    for label, value in values.items():
        yield from _below(label, value, (label,))


def _below(label: str, value: Any, path: tuple[Any, ...]) -> Iterator[_Node]:
    yield _Node(label, path, value)
    for step, part in _parts(value):
        name = "{}.{}".format(label, step[1]) if step[0] == "field" else "{}[{!r}]".format(label, step[1])
        yield from _below(name, part, (*path, step))


def _parts(value: Any) -> Iterator[tuple[tuple[str, Any], Any]]:
    """The parts of a container or of a dataclass's instance, each with the step that leads to it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            if field.init and hasattr(value, field.name):
                yield ("field", field.name), getattr(value, field.name)
    elif isinstance(value, dict):
        for key, below in value.items():
            yield ("key", key), below
    elif isinstance(value, (list, tuple)):
        for at, below in enumerate(value):
            yield ("at", at), below


def _replaced(value: Any, path: tuple[Any, ...], change: Change) -> Any:
    """`value` with the part at `path` changed. Raises what the class of a dataclass raises for the new field."""
    if not path:
        return change(value)
    (kind, name), rest = path[0], path[1:]
    if kind == "field":
        return dataclasses.replace(value, **{name: _replaced(getattr(value, name), rest, change)})
    if kind == "key":
        return {**value, name: _replaced(value[name], rest, change)}
    parts = list(value)
    parts[name] = _replaced(parts[name], rest, change)
    if isinstance(value, list):
        return parts
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _changes(leaf: _Node, leaves: list[_Node]) -> Iterator[tuple[str, Change]]:
    """Pairs of words and a function that changes the leaf's value."""
    for factor in FACTORS:
        yield "times {:g}".format(factor), functools.partial(_times, factor)
    if _is_float(leaf.value):
        yield "0", lambda _: 0.0
        for other in leaves:
            if other is not leaf and _is_float(other.value) and math.isfinite(other.value):
                for end, words in ((math.inf, "just above"), (-math.inf, "just below")):
                    near = _next(other.value, end)
                    yield "{} {}".format(words, other.label), functools.partial(lambda near, _: near, near)
                yield "equal to {}".format(other.label), functools.partial(lambda value, _: value, other.value)
    elif leaf.value.size:
        yield "all 0", lambda array: array * 0
        yield "all equal", lambda array: array * 0 + array.flat[0]
        yield "of which the first times {:g}".format(FACTORS[0]), functools.partial(_first_times, FACTORS[0])


def _times(factor: float, value: Any) -> Any:
    return value * factor


def _first_times(factor: float, array: Any) -> Any:
    changed = array.copy()
    changed.flat[0] *= factor
    return changed


def _next(value: float, end: float) -> float:
    """The next double above or below: `math.nextafter` is newer than Python 3.9's first releases of some systems, numpy's is not."""
    numpy = sys.modules.get("numpy")
    return float(numpy.nextafter(value, end)) if numpy else value * (1 + math.copysign(2**-52, end))


def _is_float(value: Any) -> bool:
    return type(value) is float or (type(value).__module__ == "numpy" and isinstance(value, float))


def _is_float_array(value: Any) -> bool:
    return type(value).__name__ == "ndarray" and type(value).__module__ == "numpy" and value.dtype.kind == "f"


def _finite(value: Any) -> bool:
    if isinstance(value, (float, complex)):
        return math.isfinite(abs(value))
    if type(value).__name__ == "ndarray" and getattr(value, "dtype", None) is not None:
        return value.dtype.kind not in "fc" or bool((abs(value) < math.inf).all())
    return all(_finite(below) for _, below in _parts(value))


def _is_a(value: Any, kind: str) -> bool:
    return any("{}.{}".format(base.__module__, base.__qualname__) == kind for base in type(value).__mro__)


def _holds(expression: str, known: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    names = dict(known, __builtins__=builtins)
    if "numpy" in expression:
        names["numpy"] = importlib.import_module("numpy")
    return bool(eval(expression, names, dict(values)))
