"""Functions of the repository that the reference uses and the candidate does not."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pytest_recode.program import source
from pytest_recode.program.fixes import Versions
from pytest_recode.program.source import Definition
from pytest_recode.task import Parts

MOST_NAMES = 5


def unused_of_repository(parts: Parts, versions: Versions, file: str, path: Sequence[str]) -> list[str]:
    """Functions of the repository that the reference calls and the candidate does not: "`name` (file)"."""
    reference, candidate = versions.authors.module(file).parsed, versions.candidate.module(file).parsed
    right, own = source.definition(reference, path), source.definition(candidate, path)
    if right is None or own is None:
        return []
    # The candidate's helpers do a part of its work
    whole = ast.Module([own, *versions.candidate.used(file, path)], type_ignores=[])
    unused = source.borrowed(reference, right) - source.borrowed(candidate, whole)
    files = {}
    for other, data in parts.repo.items():
        # Most files contain none of the names; a search of the bytes takes a hundredth of the time to parse them.
        if other.endswith(".py") and other not in parts.reference and any(name.encode() in data for name in unused):
            tree = source.parse(data).tree
            for node in tree.body if tree is not None else ():
                if isinstance(node, Definition) and node.name in unused:
                    files[node.name] = other
    return sorted(f"`{name}` ({other})" for name, other in files.items())[:MOST_NAMES]
