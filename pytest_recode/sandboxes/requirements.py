"""Read a task's requirements file, and find requirements that an interpreter of this machine does not meet."""

from __future__ import annotations

import codecs
import importlib.metadata
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from pytest_recode.faults import UserError
from pytest_recode.sandboxes.interpreters import Interpreter

_COMMENT = re.compile(r"(^|\s)#.*")
_OPTIONS = re.compile(r"\s--?\w.*")
_WIDE = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip


def requirements_in(path: Path, version: str = "") -> list[Requirement]:
    """The requirements in `path` for this platform and Python `version` ("3.12"; "" is that of this process).

    Options of pip, URLs and requirements for other platforms are ignored. Raises `UserError` if the file cannot be read.
    """
    python = {"python_version": version} if version else {}
    entries = map(_requirement, lines(path))
    return [
        each
        for each in entries
        if each is not None and each.url is None and (each.marker is None or each.marker.evaluate(python))
    ]


def lines(path: Path) -> list[str]:
    """The lines of a requirements file as pip reads them: decoded, joined where one continues, without comments.

    As with pip, the encoding is that of a byte order mark or of a comment such as `# -*- coding: latin-1 -*-`, otherwise UTF-8.
    pip then tries the encoding of the locale, which differs from machine to machine. Raises `UserError`.
    """
    try:
        data = path.read_bytes()
        text = data.decode(_encoding(data))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); make it a readable file") from None
    except (UnicodeDecodeError, SyntaxError) as error:
        raise UserError(
            f"{path}: cannot be decoded ({error}); save it as UTF-8, or name its encoding in the first line:"
            " # -*- coding: latin-1 -*-"
        ) from None
    # A comment does not continue, but ends what continues to it
    joined = re.sub(r"(?m)^([ \t]*#.*?)\\*$", r" \1", "\n".join([*text.splitlines(), ""])).replace("\\\n", "")
    return [line for each in joined.splitlines() if (line := _COMMENT.sub("", each).strip())]


def _encoding(data: bytes) -> str:
    wide = next((name for mark, name in _WIDE.items() if data.startswith(mark)), None)
    return wide or tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def _requirement(line: str) -> Requirement | None:
    if line.startswith("-"):
        return None
    try:
        return Requirement(_OPTIONS.sub("", line))
    except InvalidRequirement:
        return None


@cache
def unmet(python: Interpreter, path: Path) -> tuple[tuple[Requirement, str], ...]:
    """Each requirement of `path` that `python` does not meet, with the installed version ("" if it is not installed).

    Reads the metadata in the directories that `python` imports from, without starting a process. Raises `UserError`.
    """
    failures = []
    for requirement in requirements_in(path, python.version):
        versions = set(_versions(python, requirement.name))
        if not versions:
            failures.append((requirement, ""))
        elif not any(requirement.specifier.contains(each, prereleases=True) for each in versions):
            failures.append((requirement, sorted(versions)[0]))
    return tuple(failures)


def _versions(python: Interpreter, name: str) -> Iterator[str]:
    """The installed versions of a package; "" for one whose metadata has no version."""
    for each in importlib.metadata.distributions(name=name, path=list(python.path)):
        yield each.version or ""
