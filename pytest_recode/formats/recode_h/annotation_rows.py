"""Read and check the lines of RECODE-H's `annotation_meta.jsonl`."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from pytest_recode.faults import UserError
from pytest_recode.formats.document import decoded, kind_of
from pytest_recode.formats.files import RELATIVE
from pytest_recode.formats.json_lines import WrongLine, numbered_lines

LARGEST = 64 * 1024 * 1024
KEYS = ("index", "repo_dir_name", "target_file_path", "if_test", "init_content", "test_cases")
_EMPTY = ("\n", "N/A")
"""Values of `init_content` that stand for an empty target, besides "" and null."""
_FOLDER = re.compile(r"(?!\.{1,2}$)[^/\\:\x00-\x1f\x7f-\x9f]+")
_PATH = re.compile(RELATIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationRow:
    """One line of the manifest. `line` counts from 1."""

    line: int
    index: int
    repository: str
    target: str
    begins: str
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ManifestLine:
    """A line of the file. `fields` is None if it is not a JSON object; `row` is None if the line has a `fault` or is not to be run."""

    number: int
    fields: Mapping[str, Any] | None
    row: AnnotationRow | None = None
    fault: str = ""


def rows(path: Path) -> Iterator[AnnotationRow | WrongLine]:
    """Yield each row with `if_test`, and a WrongLine for each line that cannot be read, in the order of the file.

    If several rows have the same index, the first valid one keeps it; invalid rows and rows that are not to be run do not count.
    Raises `UserError` if no line can be read.
    """
    lines = list(_lines(path))
    if not any(line.fields is not None for line in lines):
        raise UserError(
            lines[0].fault if lines else f"{path}: is empty; it must contain one line of JSON for each annotation"
        )
    taken: dict[int, int] = {}
    for line in lines:
        if line.row is not None:
            taken.setdefault(line.row.index, line.number)
    for line in lines:
        if line.fault:
            yield WrongLine(name=_name(path, line, taken), fault=line.fault)
        elif line.row is not None and (first := taken[line.row.index]) != line.number:
            why = f"{path}:{line.number}: index {line.row.index} is already used by line {first}; give this row another index"
            yield WrongLine(name=_name(path, line, taken), fault=why)
        elif line.row is not None:
            yield line.row


def _lines(path: Path) -> Iterator[_ManifestLine]:
    """The lines that are not blank."""
    for number, data in numbered_lines(path, most=LARGEST):
        fields = None
        try:
            fields = _object(path, number, decoded(path, data, number))
            yield _ManifestLine(number=number, fields=fields, row=_row(path, number, fields))
        except UserError as error:
            yield _ManifestLine(number=number, fields=fields, fault=str(error))


def _name(path: Path, line: _ManifestLine, taken: dict[int, int]) -> str:
    """The name of a line that cannot become a task: its annotation's, unless another line has that index, else its line number."""
    index = line.fields.get("index") if line.fields is not None else None
    if _is_index(index) and taken.setdefault(index, line.number) == line.number:
        return f"annotation_{index}"
    return f"line {line.number} of {path.name}"


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise UserError(f"{path}:{line}: is not valid JSON ({why}); fix or remove the line") from None
    if not isinstance(fields, dict):
        raise UserError(f"{path}:{line}: must be an object with {', '.join(KEYS)}, not {kind_of(fields)}")
    return fields


def _is_index(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _row(path: Path, line: int, fields: Mapping[str, Any]) -> AnnotationRow | None:
    """The checked row, or None if `if_test` is false, without checking its other values."""

    def wrong(key: str, allowed: str) -> UserError:
        if key not in fields:
            return UserError(f"{path}:{line}: missing key '{key}'; the required keys are {', '.join(KEYS)}")
        shown = json.dumps(fields[key], ensure_ascii=False)
        return UserError(
            f"{path}:{line}: {key}: must be {allowed}, not {shown if len(shown) < 80 else shown[:77] + '...'}"
        )

    index, tested, begins = fields.get("index"), fields.get("if_test"), fields.get("init_content")
    if tested is False:
        return None
    if not _is_index(index):
        raise wrong("index", "a whole number of at least 1")
    if not isinstance(tested, bool):
        raise wrong("if_test", "true or false")
    repository, target = fields.get("repo_dir_name"), fields.get("target_file_path")
    if not isinstance(repository, str) or not _FOLDER.fullmatch(repository):
        raise wrong("repo_dir_name", "the name of a folder in the annotation's folder")
    if not isinstance(target, str) or not _PATH.fullmatch(posixpath.normpath(target)) or not target.endswith(".py"):
        raise wrong("target_file_path", "the path of a .py file within the repository, with / and without ..")
    if begins is not None and not isinstance(begins, str):
        raise wrong("init_content", "text")
    cases = fields.get("test_cases")
    named = isinstance(cases, list) and all(isinstance(case, str) and case.strip() for case in cases)
    if not isinstance(cases, list) or not named or not cases or len(set(cases)) != len(cases):
        raise wrong("test_cases", "a list of at least one test name, without duplicates")
    return AnnotationRow(
        line=line,
        index=index,
        repository=repository,
        target=posixpath.normpath(target),
        begins="" if begins is None or begins in _EMPTY else begins,
        cases=tuple(cases),
    )
