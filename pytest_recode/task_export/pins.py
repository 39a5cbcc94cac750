"""What an image must install so that an exported task is judged with the versions of this interpreter."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

from pytest_recode.faults import UserError
from pytest_recode.sandboxes.requirements import requirements_in

_JUDGES = ("pytest",)
"""What hidden tests need in any task."""


def pins(requirements: Path | None) -> tuple[str, ...]:
    """The requirements of a task with all that they require, each as `name==version`, sorted. Raises `UserError` for one that is not met here."""
    needed = [*map(Requirement, _JUDGES), *(requirements_in(requirements) if requirements else [])]
    versions: dict[str, str] = {}
    _collect(needed, versions, requirements)
    return tuple(f"{name}=={version}" for name, version in sorted(versions.items()))


def _collect(requirements: Iterable[Requirement], versions: dict[str, str], source: Path | None) -> None:
    for requirement in requirements:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            distribution = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            raise _unmet(requirement, "is not installed", source) from None
        if not requirement.specifier.contains(distribution.version, prereleases=True):
            raise _unmet(requirement, f"is not met: {distribution.version} is installed", source)
        name = distribution.metadata["Name"].lower().replace("_", "-")
        if name not in versions:
            versions[name] = distribution.version
            _collect(map(Requirement, distribution.requires or ()), versions, source)


def _unmet(requirement: Requirement, what: str, source: Path | None) -> UserError:
    return UserError(
        f"{source or 'the tests'}: {requirement} {what}: the exported task pins the versions of the interpreter that runs this command;"
        f" install it there (python -m pip install '{requirement}'), or give an image that has all requirements with --image"
    )
