"""Read a task's requirements file, and find requirements that an interpreter of this machine does not meet."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from pytest_recode.sandboxes.interpreters import Interpreter


def wanted(path: Path, version: str = "") -> list[Requirement]:
    """The requirements in `path` for this platform and Python `version` ("3.12"; "" is that of this process).

    Options of pip, URLs and requirements for other platforms are ignored.
    """
    python = {"python_version": version} if version else {}
    found = (_requirement(line) for line in path.read_text("utf-8").splitlines())
    return [
        each
        for each in found
        if each is not None and each.url is None and (each.marker is None or each.marker.evaluate(python))
    ]


def _requirement(line: str) -> Requirement | None:
    text = line.partition(" #")[0].strip()
    if not text or text.startswith(("#", "-")):
        return None
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


@cache
def unmet(python: Interpreter, path: Path) -> tuple[tuple[Requirement, str], ...]:
    """Each requirement of `path` that `python` does not meet, with the installed version ("" if it is not installed).

    Reads the metadata in the directories that `python` imports from, without starting a process.
    """
    found = []
    for requirement in wanted(path, python.version):
        versions = set(_versions(python, requirement.name))
        if not versions:
            found.append((requirement, ""))
        elif not any(requirement.specifier.contains(each, prereleases=True) for each in versions):
            found.append((requirement, sorted(versions)[0]))
    return tuple(found)


def _versions(python: Interpreter, name: str) -> Iterator[str]:
    """The installed versions of a package; "" for one whose metadata has no version."""
    for each in importlib.metadata.distributions(name=name, path=list(python.path)):
        yield each.version or ""
