"""Shifts what functions return to the tests, so that right code fails and only code that evades the comparison passes.

Runs in the shared judge, in one process with the candidate. Called by the runners in the gradings that follow a pass.
Must not change what the functions of one party's modules return to each other: only calls from outside are shifted.

First the reference is shifted. A shift depends on the value and on a secret seed alone, so code that calls the
reference itself gets what the tests get, and passes where right code fails. Cases that compare with no reference are
judged with a shifted candidate: a comparison that was patched, or an object that equals anything, passes there too.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import ast
import collections
import copy
import functools
import importlib.machinery
import io
import numbers
import random
import sys
import types
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, TypeVar, Union

from ..wire import messages
from .concealment import memory_modules

_SHIFTED_METHODS = ("__call__", "__getitem__")
"""The special methods whose results are shifted. Python or a library expects something particular of most others."""
_MOST_LOOKED_AT = 2_000  # values in which arrays are looked for that a function wrote to

_Value = TypeVar("_Value")


class Perturbation:
    """The shifts of one grading. The modules that it compiles are one party: calls among them are not shifted.

    Without `shifts`, functions are wrapped as with them and return what they return: nothing that wraps the reference
    tells a candidate in which grading it runs.
    """

    def __init__(self, party: messages.Party, seed: int, *, shifts: bool = True) -> None:
        self._party, self._shifts = party, shifts
        self.before: Callable[[], None] = _nothing
        """Called before each call from outside."""
        draw = random.Random(seed)
        self._factor, self._offset = -draw.uniform(1.2, 1.8), draw.uniform(0.3, 0.9)
        self._step = draw.randint(2, 7)
        self._suffix = "".join(draw.choices("bcdfghjklm", k=4))
        self._name = f"_{draw.getrandbits(64):x}"  # by which the modules' code finds `_outermost`
        self._depth = 0  # of calls in these modules
        self._modules: set[str] = set()

    def compilers(self, paths: Iterable[str]) -> dict[str, memory_modules.Compiler]:
        """By path, the compilers of the reference's files; {} if it is not the reference that is shifted.

        Fixtures are the tests': a wrapped one that yields would be no generator function for pytest, and all its tests would fail.
        """
        if self._party != "reference":
            return {}
        return {path: self.compiled for path in paths if path.rpartition("/")[2] != "conftest.py"}

    def begin(self, directory: str) -> None:
        """Shift what the repository in a directory returns, if that is the party, in all imports from now on."""
        if self._party == "candidate":
            sys.meta_path.insert(0, _RepositoryFinder(self, directory))

    def compiled(self, source: bytes, file: str, namespace: dict[str, Any]) -> Any:
        """Compile a module so that its functions return shifted values to callers outside. It runs in `namespace`."""
        methods = (*_SHIFTED_METHODS, "__new__") if self._party == "candidate" else _SHIFTED_METHODS
        tree = _Decorating(self._name, methods).visit(ast.parse(source, file))
        namespace[self._name] = self._outermost
        self._modules.add(namespace["__name__"])
        return compile(tree, file, "exec", dont_inherit=True)

    def wrap_callables(self, namespace: dict[str, Any]) -> None:
        """Wrap what a module of the candidate offers as functions and has not defined by `def`: a library's, or an object that can be called.

        Right code may offer such.
        """
        for name, value in [*namespace.items()]:
            ours = getattr(value, "__module__", None) in self._modules and isinstance(value, types.FunctionType)
            if callable(value) and not ours and not isinstance(value, type) and value is not self._outermost:
                wrapper = self._outermost(value)
                namespace[name] = wrapper if isinstance(value, types.FunctionType) else _CalledObject(value, wrapper)

    def _outermost(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that a call that no other wrapped function made returns a shifted value."""

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if not self._depth:
                self.before()
            if not self._shifts:
                return self._inner(function, args, named)
            arrays = [] if self._depth else [(array, _copied(array)) for array in _arrays([*args, *named.values()])]
            value = self._inner(function, args, named)
            if self._depth:
                return value
            written = [array for array, copied in arrays if not _have_same_contents(array, copied)]
            for array in written:
                self._shift_in_place(array)
            returns_self = args and value is args[0] and not _is_array(value)
            if returns_self or any(value is array for array in written):
                return value
            return self._inner(self.shifted, (value,), {})  # what its classes return meanwhile is not shifted

        return call

    def _inner(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self._depth += 1
        try:
            return function(*args, **named)
        finally:
            self._depth -= 1

    def _iterated(self, values: Iterator[Any]) -> Generator[Any, None, Any]:
        """The shifted items, which code of the modules may still have to work out."""
        while True:
            try:
                value = self._inner(next, (values,), {})
            except StopIteration as end:
                return end.value
            yield self.shifted(value)

    def shifted(self, value: Any) -> Any:
        """Another value of the same type and shape. Anything without numbers, truth values or texts is returned as it is."""
        kind = type(value)
        if kind is bool:
            return not value
        if kind in (float, complex):
            return value * self._factor + self._offset
        if _is_array(value):
            return self._shifted_array(value)
        if isinstance(value, numbers.Number):
            return value + self._step  # type: ignore[operator]
        if isinstance(value, (str, bytes)):
            return value + (self._suffix if isinstance(value, str) else self._suffix.encode())  # type: ignore[operator]
        if kind is range:
            return range(value.start + self._step, value.stop + self._step, value.step)
        if isinstance(value, dict):
            return _replaced(value, {key: self.shifted(part) for key, part in value.items()}, dict.__setitem__)
        if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            items = [self.shifted(item) for item in value]
            return kind(*items) if hasattr(value, "_fields") else kind(items)
        if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
            return self._iterated(value)
        if self._has_shifted_attributes(value):
            attributes = {name: self.shifted(part) for name, part in _attributes(value)}
            return _replaced(value, attributes, object.__setattr__)
        return value

    def _has_shifted_attributes(self, value: Any) -> bool:
        """Whether it is an object of the party, or one of a library in which a candidate may return its values."""
        if _is_layer(value):
            return False
        if type(value).__module__ in self._modules:
            return True
        code = (type, types.ModuleType, types.FunctionType, types.MethodType)
        return self._party == "candidate" and not isinstance(value, code) and bool(getattr(value, "__dict__", None))

    def _shift_in_place(self, array: Any) -> None:
        data = getattr(array, "data", array) if hasattr(array, "requires_grad") else array  # torch: not differentiated
        data[...] = self.shifted(data)

    def _shifted_array(self, array: Any) -> Any:
        dtype = str(array.dtype)
        if "bool" in dtype:
            return ~array
        if "int" in dtype:
            return array + self._step
        if "float" in dtype or "complex" in dtype:
            moved = array * self._factor + self._offset
            return moved if moved.dtype == array.dtype else moved.astype(array.dtype)
        return array


def _nothing() -> None: ...


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, type)


def _arrays(arguments: Iterable[Any]) -> Iterator[Any]:
    """The arrays to which a function with these arguments can write: an optimizer keeps them in a list of tables of lists."""
    left, seen = collections.deque(arguments), set[int]()
    while left and len(seen) < _MOST_LOOKED_AT:
        value = left.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if _is_array(value):
            yield value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, (list, tuple)):
            left += value
        elif not _is_layer(value) and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
            left += getattr(value, "__dict__", {}).values()


def _copied(array: Any) -> Any:
    return array.detach().clone() if hasattr(array, "detach") else copy.copy(array)


def _have_same_contents(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    same = (one == other) | ((one != one) & (other != other))  # where both are NaN
    return bool(same.all())


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(value, "__dict__", {}).items()
    slots = [vars(cls).get("__slots__", ()) for cls in type(value).__mro__]
    for name in [name for names in slots for name in ([names] if isinstance(names, str) else names)]:
        if hasattr(value, name):
            yield name, getattr(value, name)


def _replaced(value: _Value, parts: Mapping[Any, Any], put: Callable[[Any, Any, Any], None]) -> _Value:
    new = copy.copy(value)
    for key, part in parts.items():
        put(new, key, part)
    return new


class _Decorating(ast.NodeTransformer):
    """Decorates the functions and methods of a module, and the lambda expressions that have a name or are returned."""

    def __init__(self, name: str, methods: Sequence[str]) -> None:
        self._name, self._methods = name, methods

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Expressions are not entered: they define nothing, and may be nested deeper than Python can recurse."""
        return node if isinstance(node, ast.expr) else super().generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        special = node.name.startswith("__") and node.name.endswith("__")
        if not special or node.name in self._methods:
            node.decorator_list.append(self._decorator(node))  # innermost: below `property`, `staticmethod`
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self._with_value(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return self._with_value(node)

    def _with_value(self, node: Union[ast.Assign, ast.Return]) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Lambda):
            call = ast.Call(func=self._decorator(node.value), args=[node.value], keywords=[])
            node.value = ast.copy_location(call, node.value)
        return node

    def _decorator(self, node: ast.AST) -> ast.expr:
        return ast.copy_location(ast.Name(id=self._name, ctx=ast.Load()), node)


class _CalledObject:
    """Stands for an object that can be called: it has its attributes and its class, and calls a wrapper of it."""

    def __init__(self, value: Any, wrapper: Callable[..., Any]) -> None:
        self._value, self._wrapper = value, wrapper

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._wrapper(*args, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._value)


def _is_layer(value: Any) -> bool:
    """Whether it is a layer of torch: its results are shifted, and its parameters are not numbers but where training writes."""
    torch = sys.modules.get("torch")
    return isinstance(torch, types.ModuleType) and isinstance(value, torch.nn.Module)


class _RepositoryFinder:
    """A finder of Python's import system that compiles the files below a directory by a perturbation."""

    def __init__(self, perturbation: Perturbation, directory: str) -> None:
        self._perturbation, self._directory = perturbation, f"{directory}/"

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not spec.origin or not spec.origin.startswith(self._directory) or not spec.has_location:
            return None
        if spec.origin.endswith(".py"):
            spec.loader = _RepositoryLoader(name, spec.origin, self._perturbation)
        return spec


class _RepositoryLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, perturbation: Perturbation) -> None:
        super().__init__(name, path)
        self._perturbation = perturbation

    def exec_module(self, module: types.ModuleType) -> None:
        code = self._perturbation.compiled(self.get_data(self.path), self.path, module.__dict__)
        exec(code, module.__dict__)
        self._perturbation.wrap_callables(module.__dict__)
