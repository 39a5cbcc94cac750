"""Compare the functions that two versions of an interface call, by names that the agent can know.

The authors' file has helpers that only they know. These are not named: what a helper calls counts as called by the interface that uses it,
in both versions.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence, Set

from pytest_recode.feedback.operations import CONVERSIONS, MOST_NAMES, has_root
from pytest_recode.feedback.symptoms import only_exceptions_asked_for, only_types
from pytest_recode.program import source
from pytest_recode.program.fixes import Versions
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.program.source import Definition
from pytest_recode.task import Parts, Task
from pytest_recode.verdict import Case

_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*")
_CALLED = re.compile(r"[^\W\d]\w*(?=\()")


def unused_of_repository(parts: Parts, versions: Versions, file: str, path: Sequence[str]) -> list[str]:
    """Functions of the repository that the reference calls and the candidate does not: "`name` (file)"."""
    ours, theirs = (program.module(file).parsed for program in (versions.authors, versions.theirs))
    wanted, given = source.definition(ours, path), _code(versions, file, path)
    if wanted is None or given is None:
        return []
    unused = source.borrowed(ours, wanted) - source.borrowed(theirs, given)
    found = {}
    for other, data in parts.repo.items():
        # Most files contain none of the names; a search of the bytes takes a hundredth of the time to parse them.
        if other.endswith(".py") and other not in parts.reference and any(name.encode() in data for name in unused):
            tree = source.parse(data).tree
            for node in tree.body if tree is not None else ():
                if isinstance(node, Definition) and node.name in unused:
                    found[node.name] = other
    return sorted(f"`{name}` ({other})" for name, other in found.items())[:MOST_NAMES]


def hints(
    task: Task,
    parts: Parts,
    versions: Versions,
    cases: Sequence[Case],
    file: str,
    path: Sequence[str],
    unused: Sequence[str],
) -> list[str]:
    """How the authors' code differs, by names of functions, without a line of it. `unused`: those of the repository."""
    wanted, given = source.definition(versions.authors.module(file).parsed, path), _code(versions, file, path)
    if wanted is None or given is None:
        return []
    found = [f"use what the repository has: {', '.join(unused)}"] if unused else []
    theirs = versions.theirs.module(file).parsed
    calls = {*source.called(given), *source.borrowed(theirs, given), *(["sqrt"] if has_root(given) else [])}
    lacking = {
        name
        for name in _called_by_authors(versions, file, wanted, _known(task, parts))
        if (last := name.rpartition(".")[2]) not in calls
        and not hasattr(builtins, last)
        and not any(f"`{name}`" in each for each in unused)
    }
    if only_types(cases):
        lacking = {name for name in lacking if name.rpartition(".")[2] in CONVERSIONS}
    if lacking and not only_exceptions_asked_for(cases):
        found.append(f"the authors also call {', '.join(f'`{name}`' for name in sorted(lacking)[:MOST_NAMES])}")
    return found


def _code(versions: Versions, file: str, path: Sequence[str]) -> ast.Module | None:
    """The candidate's definition at `path` with all code that it uses, because helpers do a part of its work; None if it is missing."""
    program = versions.theirs
    given = source.definition(program.module(file).parsed, path)
    return None if given is None else ast.Module([given, *program.used(file, path)], type_ignores=[])


def _called_by_authors(versions: Versions, file: str, wanted: Definition, known: Set[str]) -> Iterator[str]:
    """The functions that the authors' definition calls, directly or in helpers that only their files have: "norm", "linalg.norm".

    `known`: names that the agent knows besides those of libraries and of the repository. Names that nobody else can know are left out.
    """
    authors, repository = versions.authors, versions.repository
    pending: list[tuple[str, ast.AST]] = [(file, wanted)]
    seen: set[tuple[str, str]] = set()
    while pending:
        here, node = pending.pop()
        module = authors.module(here)
        for chain in source.functions_called(module.parsed, node):
            home = authors.home(here, chain)
            if home is None:
                if (original := authors.of_library(here, chain[0])) is not None:
                    yield ".".join(name for name in (original, *chain[1:]) if name)
            elif home[1] in known or home[1] in repository.module(home[0]).names:
                yield home[1]
            elif home not in seen:
                seen.add(home)
                where = authors.module(home[0])
                pending += [(home[0], where.statements[index].node) for index in where.positions.get(home[1], ())]


def _known(task: Task, parts: Parts) -> set[str]:
    """The names of interfaces, and those that the instruction has in code or calls."""
    code = " ".join(_CODE.findall(parts.instruction))
    interfaces = (
        name
        for each in task.interfaces
        if (target := file_of(each, task.targets))
        for name in path_within(each, target)[:1]
    )
    return {*interfaces, *_NAME.findall(code), *_CALLED.findall(parts.instruction)}
