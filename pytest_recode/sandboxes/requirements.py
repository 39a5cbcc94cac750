"""A task's requirements file, and what of it an interpreter of this machine does not meet."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from pytest_recode.sandboxes.interpreters import Interpreter


def wanted(path: Path, version: str = "") -> list[Requirement]:
    """Requirements of named packages for this platform, and Python `version` ("3.12"; "": this process's own). Options of pip,
    addresses and requirements for other platforms are passed over."""
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
    """Each requirement of `path` that `python` does not meet, with the version that it has ("": it has none).

    Reads the metadata in the directories that `python` imports from, and starts nothing.
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
    """None for a package without metadata of its version: it is installed, and nothing is known of it."""
    for each in importlib.metadata.distributions(name=name, path=list(python.path)):
        yield each.version or ""
