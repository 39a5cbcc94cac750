"""Reads the parts of a task directory, when an item runs and not before."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats import hidden_tests
from pytest_recode.formats.document import fault, read, text_of
from pytest_recode.formats.fields import unknown, wrong
from pytest_recode.formats.links import link_refused, refuse_links
from pytest_recode.task import Parts

# Nothing that matches can leave the directory it is joined to.
_SEGMENT = r"(?!\.{1,2}(?:/|$))[^/\\\x00-\x1f\x7f-\x9f]+"
RELATIVE = rf"{_SEGMENT}(?:/{_SEGMENT})*"
IMPORTABLE = re.compile(r"(?:[^\W\d]\w*/)*[^\W\d]\w*\.py")

SKIPPED = frozenset({"__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".DS_Store"})
"""What tools leave in a directory: no part of a task."""

CATEGORIES = ("T0", "T1", "T2", "T3", "T4")
FIELDS = ("category", "description", "analysis", "suggestion", "correction")

_LARGEST_TEXT = 1024 * 1024


def is_test(name: str) -> bool:
    return name.startswith("test_") and name.endswith(".py")


def read_parts(root: Path, targets: tuple[str, ...], interfaces: tuple[str, ...], disk_mb: int) -> Parts:
    """Everything below `root` that an episode uses. Raises `UserError`.

    `disk_mb` bounds each of the three directories: they must fit into a sandbox with that much disk.
    """
    refuse_links(root, "instruction.md", "paper.md", "feedback.yaml", "reference", "tests", "repo")
    instruction = text_of(root / "instruction.md", most=_LARGEST_TEXT)
    if not instruction.strip():
        raise UserError(f"{root / 'instruction.md'}: is empty; write there what the agent is asked")
    paper = root / "paper.md"
    reference = files_below(root / "reference", disk_mb)
    _only_targets(root, reference, targets)
    tests = files_below(root / "tests", disk_mb)
    for name in tests:
        if is_test(name.rpartition("/")[2]):
            break
    else:
        raise UserError(f"{root / 'tests'}: holds no test_*.py; put the hidden tests there, in files test_*.py")
    if told := hidden_tests.wrong(tests, interfaces):
        raise UserError(f"{root / 'tests'}: {told}")
    return Parts(
        instruction=instruction,
        paper=text_of(paper, most=_LARGEST_TEXT) if paper.exists() else None,
        repo=files_below(root / "repo", disk_mb),
        reference=reference,
        tests=tests,
        feedback=read_feedback(root / "feedback.yaml", interfaces),
    )


def files_below(root: Path, disk_mb: int) -> dict[str, bytes]:
    """Contents by POSIX path of all regular files below `root`, sorted; empty directories leave no trace."""
    found: dict[str, Path] = {}
    total = 0
    pending = [(root, "")]
    while pending:
        directory, prefix = pending.pop()
        for entry in entries_of(str(directory)):
            if entry.name in SKIPPED:
                continue
            name, path = prefix + entry.name, directory / entry.name
            _encodable(path, name)
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                pending.append((path, f"{name}/"))
            elif stat.S_ISREG(status.st_mode):
                found[name] = path
                total += status.st_size
            elif stat.S_ISLNK(status.st_mode):
                raise link_refused(path)
            else:
                raise UserError(f"{path}: is a special file, which cannot go into a sandbox; remove it")
    if total > disk_mb * 1024 * 1024:
        raise UserError(
            f"{root}: holds {total / 1024 / 1024:.0f} MiB, more than limits.disk_mb ({disk_mb});"
            " remove files, or raise the limit"
        )
    return {name: _contents(found[name]) for name in sorted(found)}


def read_feedback(path: Path, interfaces: tuple[str, ...]) -> dict[str, Mapping[str, str]] | None:
    """The task's own words: interface -> field -> text; None where there is no such file."""
    if not path.exists():
        return None
    document = read(path, most=_LARGEST_TEXT)
    if not isinstance(document.data, dict):
        raise wrong(document, (), document.data, f"a mapping with the keys {', '.join(interfaces)}")
    words: dict[str, Mapping[str, str]] = {}
    for interface, fields in document.data.items():
        if interface not in interfaces:
            raise unknown(document, (interface,), interfaces)
        if not isinstance(fields, dict):
            raise wrong(document, (interface,), fields, f"a mapping with the keys {', '.join(FIELDS)}")
        for name, value in fields.items():
            at = (interface, name)
            if name not in FIELDS:
                raise unknown(document, at, FIELDS)
            if not isinstance(value, str):
                raise wrong(document, at, value, "text")
            if not value.strip():
                raise fault(document, at, f"{interface}.{name}: is empty; write it, or leave the key out")
            if name == "category" and value not in CATEGORIES:
                raise fault(document, at, f"{interface}.{name}: must be one of {', '.join(CATEGORIES)}, not '{value}'")
            if "```" in value:
                step = "write the code alone" if name == "correction" else "keep code for 'correction'"
                raise fault(document, at, f"{interface}.{name}: must not hold a code fence (```); {step}")
        words[interface] = dict(fields)
    return words


def _only_targets(root: Path, reference: Mapping[str, bytes], targets: tuple[str, ...]) -> None:
    for target in targets:
        if target not in reference:
            raise UserError(
                f"{root / 'reference' / target}: no such file; put the authors' version of the target there"
            )
    for name in reference:
        if name not in targets:
            raise UserError(
                f"{root / 'reference' / name}: is no target, so no candidate can have it;"
                f" remove it, or name it in 'targets' of {root / 'task.yaml'}"
            )


def entries_of(directory: str) -> list[os.DirEntry[str]]:
    """What is in a directory. Raises `UserError` where it cannot be read."""
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError as error:
        raise UserError(f"{directory}: cannot be read ({error.strerror}); make it a readable directory") from None


def _encodable(path: Path, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise UserError(f"{shown}: the name is not UTF-8; rename the file") from None


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); make it a readable file") from None
