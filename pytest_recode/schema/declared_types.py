"""Check a Python value that code of others hands over against its declared type, and a function of theirs against what it is called with.

`stored_forms.py` checks plain JSON; here values are Python's: dataclasses, Protocols, functions. The standard library alone is imported.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pytest_recode.schema.rules import Rule

_MOST_SHOWN = 60
_WORDS = {str: "a str", bytes: "bytes", bool: "True or False", int: "a whole number", float: "a number", None: "None"}


def problem(value: Any, kind: Any) -> str:
    """The path of the first wrong field, its value and what it must be, such as `.steps=-1: must be a whole number from 0`; "" if
    there is none. It follows the name of the value."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return ""
    if origin is Annotated:
        return _problem_of_rules(value, args[0], [rule for rule in args[1:] if isinstance(rule, Rule)])
    if origin in (Union, types.UnionType):
        return _problem_of_union(value, args)
    if origin is Literal:
        valid = any(type(value) is type(choice) and value == choice for choice in args)
        return "" if valid else _must_be(value, " or ".join(map(repr, args)))
    if is_dataclass(kind):
        return _problem_of_fields(value, kind)
    if getattr(kind, "_is_protocol", False):
        return _problem_of_members(value, kind)
    if origin is not None and issubclass(origin, Callable):  # type: ignore[arg-type]
        return _problem_of_call(value, [None] * len(args[0]) if isinstance(args[0], list) else None)
    if origin is not None and issubclass(origin, Mapping):
        return _problem_of_mapping(value, *args)
    if origin is not None and issubclass(origin, Sequence):
        return _problem_of_sequence(value, kind)
    return "" if _is_a(value, kind) else _must_be(value, words(kind))


def described(value: object, wrong: str) -> str:
    """A value that a function returned, with what is wrong with it: "Move.steps=-1: must be …", or "None: must be …"."""
    return (
        f"{type(value).__name__}{wrong}" if wrong.startswith((".", "[")) else wrong.removeprefix("=").removeprefix(": ")
    )


def words(kind: Any) -> str:
    """What a value of the type is, in words that follow "must be"."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return words(args[0])
    if origin in (Union, types.UnionType):
        return " or ".join(words(each) for each in args)
    if origin is not None and issubclass(origin, Sequence):
        noun = "a tuple" if origin is tuple else "a list or tuple"
        return f"{noun} of {words(args[0]).removeprefix('a ')}"
    return _WORDS.get(None if kind is type(None) else kind) or f"a {getattr(kind, '__qualname__', kind)}"


def public_name(kind: type) -> str:
    """Where authors import a class from: its package, if that exports it, else its module."""
    package = kind.__module__.rpartition(".")[0]
    exported = getattr(sys.modules.get(package), kind.__name__, None) is kind
    return f"{package if exported else kind.__module__}.{kind.__name__}"


def shown(value: object) -> str:
    """The value on one line, at most 60 characters; an object without a text of its own by its class."""
    if inspect.isroutine(value) or inspect.isclass(value):
        text = f"{value.__qualname__}"
    elif type(value).__repr__ is object.__repr__:
        text = f"a {type(value).__qualname__}"
    else:
        text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _must_be(value: object, requirement: str) -> str:
    return f"={shown(value)}: must be {requirement}"


def _is_a(value: object, kind: Any) -> bool:
    if kind in (None, type(None)):
        return value is None
    if kind is float:
        return type(value) in (int, float) and not math.isnan(value)  # type: ignore[arg-type]
    if kind is int:
        return type(value) is int  # `True` is no number
    return isinstance(value, kind)


def _problem_of_rules(value: Any, kind: Any, rules: Sequence[Rule]) -> str:
    checks = [rule.check for rule in rules if rule.check is not None and rule.dump is None]
    wrong = next((wrong for check in checks if (wrong := check(value))), "")
    return _must_be(value, wrong.rpartition(": must be ")[2]) if wrong else problem(value, kind)


def _problem_of_union(value: Any, kinds: Sequence[Any]) -> str:
    problems = [problem(value, kind) for kind in kinds if kind is not type(None)]
    if not all(problems) or (value is None and type(None) in kinds):
        return ""
    within = next((wrong for wrong in problems if not wrong.startswith("=")), "")
    if within or len(problems) > 1:
        return within or _must_be(value, words(Union[tuple(kinds)]))  # noqa: UP007  made of a list
    return f"{problems[0]} or None" if ": must be " in problems[0] else problems[0]


@functools.cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _problem_of_fields(value: Any, kind: Any) -> str:
    if not isinstance(value, kind):
        return _must_be(value, f"a {public_name(kind)}")
    for each in fields(kind):
        if wrong := problem(getattr(value, each.name), _hints(kind)[each.name]):
            return f".{each.name}{wrong}"
    return ""


def _problem_of_members(value: Any, kind: Any) -> str:
    """A Protocol: its attributes with their types, and its methods with their arguments."""
    for name, declared in _hints(kind).items():
        if not hasattr(value, name):
            return f"={shown(value)}: lacks the attribute {name!r} ({words(declared)})"
        if wrong := problem(getattr(value, name), declared):
            return f".{name}{wrong}"
    for name, method in vars(kind).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        parameters = list(inspect.signature(method).parameters.values())[1:]
        signature = f"{name}({', '.join(parameter.name for parameter in parameters)})"
        if not hasattr(value, name):
            return f"={shown(value)}: lacks {signature}"
        positional = [
            None for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty
        ]
        named = {each.name: None for each in parameters if each.kind is each.KEYWORD_ONLY}
        if _problem_of_call(getattr(value, name), positional, named):
            return f".{name}: must be a method that takes {signature}"
    return ""


def _problem_of_call(
    value: Any, arguments: Sequence[Any] | None, named: Mapping[str, Any] = types.MappingProxyType({})
) -> str:
    if not callable(value):
        return _must_be(value, "a function or class")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # of a builtin, which has none
        return ""
    try:
        if arguments is not None:
            signature.bind(*arguments, **named)
    except TypeError:
        number = len(arguments or ())
        return f"={shown(value)}: must take {number} argument{'' if number == 1 else 's'}, not {signature}"
    return ""


def _problem_of_mapping(value: Any, keys: Any, values: Any) -> str:
    if not isinstance(value, Mapping):
        return _must_be(
            value,
            f"a mapping, such as a dict of {words(keys).removeprefix('a ')} to {words(values).removeprefix('a ')}",
        )
    for key, item in value.items():
        if wrong := problem(key, keys):
            return f": the key{wrong}"
        if wrong := problem(item, values):
            return f"[{key!r}]{wrong}"
    return ""


def _problem_of_sequence(value: Any, kind: Any) -> str:
    origin, args = get_origin(kind), get_args(kind)
    if not isinstance(value, origin) or isinstance(value, str | bytes):
        comma = (
            f", such as ({value!r},)" if origin is tuple and isinstance(value, str) and len(value) < _MOST_SHOWN else ""
        )
        return _must_be(value, words(kind) + comma)
    if origin is tuple and args[1:] != (...,):
        declared = list(args)
        if len(value) != len(args):
            return _must_be(value, f"a tuple of {len(args)} values")
    else:
        declared = [args[0]] * len(value)
    for place, (item, kind_of_item) in enumerate(zip(value, declared, strict=True)):
        if wrong := problem(item, kind_of_item):
            return f"[{place}]{wrong}"
    return ""
