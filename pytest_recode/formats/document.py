"""Read a small YAML file as plain data, with the line number of every key for error messages.

Features of YAML that a hand-written manifest does not need are rejected: aliases (which allow decompression bombs), merge keys,
tags, keys that are not text, and duplicate keys (YAML would keep the last).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError, machine_error

At = tuple[str | int, ...]
"""A position in a document: keys of mappings and indices of lists, from the top."""

_TAG = "tag:yaml.org,2002:"
_STR = _TAG + "str"
# A date stays text; "=" has a special meaning only in YAML 1.1.
_TEXT = frozenset({_STR, _TAG + "timestamp", _TAG + "value"})
_SCALARS = frozenset({_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"})
_DEEPEST = 20
_OPENERS = ("[", "{", "- ", "? ")
_MOST_OPENERS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`data` is dicts with text keys, lists, str, int, float, bool, None; `node` is YAML's own tree of it."""

    path: Path
    data: Any
    node: Any = field(repr=False)


def read(path: Path, *, most: int) -> Document:
    """Read the only YAML document in `path`, of at most `most` bytes. Raises `UserError`."""
    text = text_of(path, most=most)
    loader = _loader(sum(text.count(opener) for opener in _OPENERS) < _MOST_OPENERS)(text)
    try:
        node = loader.get_single_node()
        data = None if node is None else _plain(path, loader, node, set(), 0)
    except RecursionError:
        raise _too_deep(path) from None
    except _yaml_error() as error:
        raise _malformed(path, error) from None
    finally:
        loader.dispose()
    return Document(path=path, data=data, node=node)


def text_of(path: Path, *, most: int) -> str:
    """The UTF-8 text of a file of at most `most` bytes. Raises `UserError`."""
    return decoded(path, data_of(path, most=most))


def data_of(path: Path, *, most: int) -> bytes:
    """The contents of a file of at most `most` bytes. Raises `UserError`."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; create it, or correct the path") from None
    except OSError as error:
        what = f"{path}: cannot be read"
        raise machine_error(error, what) or UserError(f"{what} ({error.strerror}); make it a readable file") from None
    if len(data) > most:
        raise UserError(f"{path}: is larger than {most // 1024} KiB, the limit for this file; shorten it")
    return data


def decoded(path: Path, data: bytes, line: int = 1) -> str:
    """Decode `data`, which starts at `line` of `path`, as UTF-8 without its byte order mark. Raises `UserError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise UserError(
            f"{path}:{line}: not UTF-8 text (byte 0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None


def fault(document: Document, at: At, text: str) -> UserError:
    """A `UserError` with `text`, prefixed by the file and the line of the key or item `at`."""
    node, _value = _nodes(document, at)
    line = f":{node.start_mark.line + 1}" if node is not None else ""
    return UserError(f"{document.path}{line}: {text}")


def written(document: Document, at: At) -> str:
    """The scalar at `at` as it is written in the file ("no", "1.10"), before YAML converts it to false or 1.1."""
    value = getattr(_nodes(document, at)[1], "value", None)
    return value if isinstance(value, str) else ""


def name_of(at: At) -> str:
    """`paper.authors[0]`"""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in at]
    return "".join(parts).removeprefix(".")


def kind_of(value: object) -> str:
    """The name of a value's type in messages."""
    names = {bool: "true/false", dict: "a mapping", list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(value), "a number")


def _nodes(document: Document, at: At) -> tuple[Any, Any]:
    """The YAML nodes of the key and of the value at `at`; for an item of a list, both are the item."""
    key = value = document.node
    for part in at:
        if isinstance(part, int):
            key = value = value.value[part]
        else:
            key, value = next(pair for pair in value.value if pair[0].value == part)
    return key, value


def _plain(path: Path, loader: Any, node: Any, seen: set[int], depth: int) -> Any:
    if id(node) in seen:
        raise UserError(
            f"{path}:{node.start_mark.line + 1}: YAML anchors and aliases (&name, *name) are not supported;"
            " write the value out"
        )
    seen.add(id(node))
    tag = node.tag
    if tag in _TEXT:
        return _encodable(path, node)
    if depth > _DEEPEST:
        raise _too_deep(path)
    if tag == _TAG + "map":
        return _mapping(path, loader, node, seen, depth)
    if tag == _TAG + "seq":
        return [_plain(path, loader, item, seen, depth + 1) for item in node.value]
    line = node.start_mark.line + 1
    if tag not in _SCALARS:
        raise UserError(f"{path}:{line}: the YAML tag {_shown(tag)} is not supported; write the plain value")
    try:
        return loader.construct_object(node)
    except (ValueError, OverflowError):
        raise UserError(
            f"{path}:{line}: not a valid number: {node.value[:40]}; correct it, or put it in quotes to make it text"
        ) from None


def _encodable(path: Path, node: Any) -> str:
    """Reject lone surrogates ("\\ud800"): PyYAML's Python parser accepts them, but no file and no request can be encoded with one."""
    text: str = node.value
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            line = node.start_mark.line + 1
            raise UserError(f"{path}:{line}: contains half of a surrogate pair; write the character itself") from None
    return text


def _mapping(path: Path, loader: Any, node: Any, seen: set[int], depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = key_node.value
        if key_node.tag not in _TEXT:
            line = key_node.start_mark.line + 1
            shown = f"the key {key}" if isinstance(key, str) else "a key that is a list or a mapping"
            raise UserError(f"{path}:{line}: {shown} is not text in YAML; put the key in quotes")
        if key in data:
            line = key_node.start_mark.line + 1
            raise UserError(f"{path}:{line}: the key '{key}' occurs twice in one mapping; keep one")
        data[key] = _plain(path, loader, value_node, seen, depth + 1)
    return data


def _malformed(path: Path, error: Any) -> UserError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = f":{mark.line + 1}" if mark is not None else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    problem = " ".join(str(problem).split())
    return UserError(f"{path}{line}: not valid YAML: {problem}; fix the line, or put the value in quotes")


def _too_deep(path: Path) -> UserError:
    return UserError(f"{path}: is nested deeper than {_DEEPEST} levels; flatten it")


def _shown(tag: str) -> str:
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag


@cache
def _loader(shallow: bool) -> Any:
    """The YAML loader: libyaml's if PyYAML was built with it (ten times as fast) and the text is `shallow`, else Python's.

    PyYAML's C composer recurses without a limit, and about 30,000 open brackets crash the interpreter. Text that
    could nest so deeply is parsed in Python, which raises `RecursionError`.
    """
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader) if shallow else yaml.SafeLoader


def _yaml_error() -> type[Exception]:
    import yaml

    return yaml.YAMLError
