"""Derive from a type what else has to be known of a value: its check, its JSON schema, and how it becomes plain JSON and is read again.

A type is a dataclass, which is loaded and dumped, or a TypedDict, whose values are plain JSON already; their fields have these types or are
str, int, float, bool, bytes, Enum, Literal, Any, a list, tuple or mapping of texts to values, or a union of one of these with None.
`rules.py` has the rules that `Annotated` adds; a str in it is a description. The checks run where files are read; schemas are generated
(`python -m docs.generate`).
"""

from __future__ import annotations

import base64
import functools
import json
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pytest_recode.schema import field_checks
from pytest_recode.schema.field_checks import FLAG, NUMBER, TEXT, Check
from pytest_recode.schema.rules import REMEMBERED, Rule, Stored, encoded

T = TypeVar("T")
Schema: TypeAlias = dict[str, Any]


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredForm:
    """What is derived from a type. `check` returns the path of the first wrong key and what it must be, or ""; `load` takes only a value
    that `check` accepts. `valid`: the types whose every value is valid, which need no check. `schema` allows no keys that the type does not
    have."""

    check: Check
    valid: tuple[type, ...] = ()
    schema: Schema
    dump: Callable[[Any], Any] = _same
    load: Callable[[Any], Any] = _same

    def checked(self, stored: Any) -> Any:
        """The value of what was stored. Raises `DamagedError`."""
        if wrong := self.check(stored):
            raise DamagedError(wrong.lstrip(".: "))
        return self.load(stored)


def check_of(kind: Any) -> Check:
    return stored_form(kind).check


def schema_of(kind: Any) -> Schema:
    return stored_form(kind).schema


def dump(value: object) -> dict[str, Any]:
    """A dataclass in plain JSON types."""
    kind: Any = type(value)
    plain: dict[str, Any] = stored_form(kind).dump(value)
    return plain


class DamagedError(ValueError):
    """A stored value that is not of its type. The message names the first wrong key and what it must be."""


def load(kind: type[T], stored: Any) -> T:
    """A dataclass from what `dump` returned, now or in an earlier version; a TypedDict as it is. Raises `DamagedError` for any other value."""
    return cast("T", stored_form(cast("Any", kind)).checked(stored))


def parsed(text: bytes) -> Any:
    """The value that a file or a line of one has as JSON. Raises `DamagedError`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{type(error).__name__}: {error}") from None


def view(value: object, kind: type[T]) -> T:
    """The keys of `kind`, a TypedDict, from the attributes of a dataclass; "" where the type has null for it is null."""
    return cast("T", stored_form(cast("Any", kind)).dump(value))


@functools.cache
def stored_form(kind: Any) -> StoredForm:
    kind, metadata = _parts(kind)
    rules = [each for each in metadata if isinstance(each, Rule)]
    inner = _without_null(kind)
    if inner is not kind:
        form = _or_null(stored_form(Annotated[inner, *rules] if rules else inner))
    else:
        form = _with_rules(kind, _form(kind), rules)
    if descriptions := [text for text in metadata if isinstance(text, str)]:
        form = replace(form, schema={**form.schema, "description": descriptions[-1]})
    return replace(form, check=field_checks.remembered(form.check)) if REMEMBERED in metadata else form


def _with_rules(kind: Any, form: StoredForm, rules: list[Rule]) -> StoredForm:
    for rule in rules:
        form = replace(
            form,
            schema={**form.schema, **rule.schema},
            dump=rule.dump or form.dump,
            load=rule.load or form.load,
        )
    if "enum" in form.schema:
        form = replace(form, schema={key: value for key, value in form.schema.items() if key != "type"})
    checks = [rule.check for rule in rules if rule.check is not None]
    if checks and (kind in _SINGLE or get_origin(kind) is tuple):
        return replace(form, check=checks[-1], valid=())
    return replace(form, check=field_checks.all_of(form.check, *checks))


def _or_null(form: StoredForm) -> StoredForm:
    schema = form.schema
    null = {"enum": [*schema["enum"], None]} if "enum" in schema else {"type": [schema["type"], "null"]}
    return StoredForm(
        check=field_checks.or_null(form.check),
        valid=(*form.valid, type(None)),
        schema={**schema, **null},
        dump=lambda value: None if value is None else form.dump(value),
        load=lambda stored: None if stored is None else form.load(stored),
    )


_SINGLE: Mapping[Any, StoredForm] = {
    str: StoredForm(check=TEXT, valid=(str,), schema={"type": "string"}),
    bool: StoredForm(check=FLAG, valid=(bool,), schema={"type": "boolean"}),
    int: StoredForm(check=field_checks.INTEGER, valid=(int,), schema={"type": "integer"}),
    float: StoredForm(check=NUMBER, schema={"type": "number"}),
    bytes: StoredForm(check=field_checks.BASE64, schema={"type": "string"}, dump=encoded, load=base64.b64decode),
    Any: StoredForm(check=field_checks.anything, schema={}),
}


def _form(kind: Any) -> StoredForm:
    origin, args = get_origin(kind), get_args(kind)
    if kind in _SINGLE:
        return _SINGLE[kind]
    if is_dataclass(kind) or is_typeddict(kind):
        return _form_of_object(kind)
    if origin is Literal:
        return StoredForm(check=field_checks.one_of(*args), schema={"enum": [*args]})
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = [each.value for each in kind]
        return StoredForm(
            check=field_checks.one_of(*choices), schema={"enum": choices}, dump=lambda value: value.value, load=kind
        )
    if origin in (list, tuple):
        return _form_of_list(args[0], tuple if origin is tuple else list)
    if origin in (dict, Mapping):
        return _form_of_mapping(stored_form(args[1]))
    raise TypeError(f"no form for {kind!r}")


def _form_of_list(element: Any, sequence: Callable[[Any], Any]) -> StoredForm:
    form = stored_form(element)
    check = field_checks.list_of(form.check, form.valid)
    if is_typeddict(element) and all(_is_text(field.hint) for field in fields(element)):
        texts = [field.key for field in fields(element) if stored_form(field.hint).valid == (str,)]
        others = [field.key for field in fields(element) if field.key not in texts]
        check = field_checks.list_of_texts(form.check, texts, others)
    return StoredForm(
        check=check,
        schema={"type": "array", "items": form.schema},
        dump=lambda values: [form.dump(value) for value in values],
        load=lambda stored: sequence(form.load(value) for value in stored),
    )


def _form_of_mapping(form: StoredForm) -> StoredForm:
    return StoredForm(
        check=field_checks.values_of(form.check, form.valid),
        schema={"type": "object"} | ({"additionalProperties": form.schema} if form.schema else {}),
        dump=lambda values: {key: form.dump(value) for key, value in values.items()},
        load=lambda stored: {key: form.load(value) for key, value in stored.items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a dataclass, or a key of a TypedDict."""

    name: str
    hint: Any
    required: bool
    stored: Stored

    @property
    def key(self) -> str:
        return self.stored.key or self.name


def fields(kind: Any) -> Iterator[Field]:
    """The stored fields of a dataclass, or the keys of a TypedDict."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        stored = next((one for one in _parts(hint)[1] if isinstance(one, Stored)), Stored(later=optional))
        if not stored.omitted:
            yield Field(
                name=name, hint=get_args(hint)[0] if optional else hint, required=not stored.later, stored=stored
            )


def _keys(kind: Any) -> Iterator[Field]:
    """The fields whose keys an object has, those of inline fields included."""
    for field in fields(kind):
        if field.stored.inline:
            yield from _keys(_parts(field.hint)[0])
        else:
            yield field


def _form_of_object(kind: Any) -> StoredForm:
    keys = list(_keys(kind))
    checks = {}
    for field in keys:
        form = stored_form(field.hint)
        checks[field.key] = field_checks.Key(check=form.check, required=field.required, valid=form.valid)
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [field.key for field in keys if field.required],
        "properties": {field.key: schema_of(field.hint) for field in keys},
    }
    members = [(field, stored_form(field.hint)) for field in fields(kind)]
    check = field_checks.object_of(checks)
    if is_typeddict(kind):
        return StoredForm(check=check, schema=schema, dump=functools.partial(_view, members))
    return StoredForm(
        check=check,
        schema=schema,
        dump=functools.partial(_dump, members),
        load=functools.partial(_load, kind, members),
    )


def _dump(members: list[tuple[Field, StoredForm]], value: object) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for field, form in members:
        member = getattr(value, field.name)
        if member is None and field.stored.optional:
            continue
        stored = form.dump(member)
        plain.update(stored if field.stored.inline else {field.key: stored})
    return plain


def _load(kind: Any, members: list[tuple[Field, StoredForm]], stored: Mapping[str, Any]) -> Any:
    values = {}
    for field, form in members:
        if field.stored.inline:
            values[field.name] = form.load(stored)
        elif field.key in stored:
            values[field.name] = form.load(stored[field.key])
        elif field.stored.absent is not ...:
            values[field.name] = field.stored.absent
    return kind(**values)


def _view(members: list[tuple[Field, StoredForm]], value: object) -> dict[str, Any]:
    plain = {}
    for field, form in members:
        member = getattr(value, field.name)
        if _allows_null(field.hint):
            plain[field.key] = None if member == "" else form.dump(member)
        elif member is not None:
            plain[field.key] = form.dump(member)
    return plain


def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its annotations, and these."""
    return (kind.__origin__, kind.__metadata__) if get_origin(kind) is Annotated else (kind, ())


def _without_null(kind: Any) -> Any:
    """The other type of a union with None; any other type as it is."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    [inner] = [each for each in get_args(kind) if each is not type(None)]
    return inner


def _allows_null(hint: Any) -> bool:
    kind, _ = _parts(hint)
    return _without_null(kind) is not kind


def _is_text(hint: Any) -> bool:
    return _parts(_without_null(_parts(hint)[0]))[0] is str
