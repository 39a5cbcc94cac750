"""The fix of an interface: the minimal code, in all target files, that makes the candidate's version equal to the authors'."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_recode.program import source
from pytest_recode.program.dependencies import ProgramModule, RepositoryProgram
from pytest_recode.program.differences import TargetDifference, difference, missing, remaining
from pytest_recode.program.imports import package_of
from pytest_recode.program.statements import Statement, statements_of
from pytest_recode.task import Parts
from pytest_recode.verdict import Case

_ON_IMPORT = re.compile(r"(?P<file>.+?):(?P<line>\d+) in <module>")


class Own(StrEnum):
    """How the candidate's own code of an interface compares with the correction."""

    SAME = "the same program"
    REST_OF_CLASS = "the method is the same program, and its class is not"
    DIFFERENT = "another program, or missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """`code` is for the interface's file; `elsewhere` is code for the file, or others, that does not fit into `code`."""

    own: Own
    code: str = ""
    elsewhere: Mapping[str, str]
    differences: tuple[TargetDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The repository with the authors' targets, and with the candidate's."""

    authors: RepositoryProgram
    candidate: RepositoryProgram
    targets: tuple[str, ...]

    @classmethod
    def of(cls, parts: Parts, candidate: Mapping[str, bytes], targets: Sequence[str]) -> Versions:
        beside = {path: data for path, data in parts.repo.items() if path not in targets}
        return cls(
            authors=RepositoryProgram({**parts.repo, **parts.reference}),
            candidate=RepositoryProgram({**beside, **{path: candidate[path] for path in targets if path in candidate}}),
            targets=tuple(targets),
        )


def fix(
    versions: Versions,
    file: str,
    path: Sequence[str],
    *,
    written: str = "",
    elsewhere: Mapping[str, Set[str]],
    raising: Mapping[str, Set[int]],
    passing: Set[tuple[str, str]] = frozenset(),
) -> Fix:
    """The fix of the interface at `path` of `file`; () is the whole file.

    `written`: a correction by the task's author, which replaces the reference's code of the interface if the candidate lacks that code.
    `elsewhere`: by file, names that are corrected elsewhere. `raising`: by file, also of the repository, lines at which an import raised.
    `passing`: the file and name of each interface that passes its hidden tests. If the interface's own code is wrong, the candidate's code of
    these stays, provided that it takes the same parameters and uses nothing that the fix changes.
    """
    whole = _fix(versions, file, path, written, elsewhere, raising)
    stays = {place for place in passing & _changed(whole) if place != (file, *path[:1]) and _same_call(versions, place)}
    if whole.own is not Own.DIFFERENT or not path or not stays:
        return whole
    besides = {
        target: {*elsewhere.get(target, ()), *(name for at, name in stays if at == target)}
        for target in versions.targets
    }
    less = _fix(versions, file, path, written, besides, raising)
    needs = versions.candidate.needs(sorted(stays), annotations=False)
    used = {(target, name) for target, found in needs.items() for name in found.names}
    return whole if less.own is not Own.DIFFERENT or used & _changed(less) else less


def _changed(correction: Fix) -> set[tuple[str, str]]:
    """The file and name of everything that a fix changes."""
    return {(each.file, name) for each in correction.differences for name in each.names}


def _same_call(versions: Versions, place: tuple[str, str]) -> bool:
    """Whether the candidate's and the authors' definition exist and take the same parameters."""
    file, name = place
    both = [source.definition(each.module(file).parsed, (name,)) for each in (versions.authors, versions.candidate)]
    right, own = (source.parameters(each) if each is not None else None for each in both)
    return right is not None and right == own


def _fix(
    versions: Versions,
    file: str,
    path: Sequence[str],
    written: str,
    elsewhere: Mapping[str, Set[str]],
    raising: Mapping[str, Set[int]],
) -> Fix:
    reference, candidate = versions.authors.module(file), versions.candidate.module(file)
    if reference.parsed.tree is None or (path and path[0] not in reference.names):
        return Fix(own=Own.DIFFERENT, code=written or reference.parsed.text, elsewhere={})
    differences = _compared(versions, versions.authors, file, path, elsewhere, raising)
    own = _own(differences, reference, candidate, path)
    if own is Own.SAME:
        return _with_code(own, differences, file)
    if not path:
        return replace(_with_code(own, differences, file), code=written or reference.parsed.text)
    if not written:
        return _with_code(own, differences, file)
    parsed = source.parse(written.encode(errors="replace"))
    statements = statements_of(parsed, package_of(file))
    if not any(path[0] in one.binds for one in statements):
        return _beside_piece(_with_code(own, differences, file), path, written)
    laid = RepositoryProgram(versions.authors.files, {file: _laid(reference, statements)})
    differences = _compared(versions, laid, file, path, elsewhere, raising)
    correction = _with_code(_own(differences, laid.module(file), candidate, path), differences, file)
    shown = next((one.shown for one in differences if one.file == file), ())
    verbatim = [one.program for one in shown] == [one.program for one in statements] and not differences[0].postponed
    return replace(correction, code=written) if verbatim else correction


def raised_on_import(cases: Sequence[Case], files: Collection[str]) -> dict[str, set[int]]:
    """The lines of `files` at which an import of the candidate raised, by file."""
    lines: dict[str, set[int]] = {}
    for case in cases:
        for frame in case.exception.frames if case.exception is not None else ():
            if match := _ON_IMPORT.match(frame):
                meant = [file for file in files if f"/{match['file']}".endswith(f"/{file}")]
                if meant:
                    lines.setdefault(max(meant, key=len), set()).add(int(match["line"]))
    return lines


def _compared(
    versions: Versions,
    authors: RepositoryProgram,
    file: str,
    path: Sequence[str],
    elsewhere: Mapping[str, Set[str]],
    raising: Mapping[str, Set[int]],
) -> tuple[TargetDifference, ...]:
    """The differences of the needed code, by file, starting with `file`."""
    names = list(path[:1]) or sorted(authors.module(file).names - {"*"})
    roots = [(file, name) for name in names] + list(_raising(versions, authors, raising))
    differences = list(_differences(versions, authors, roots, elsewhere, raising, annotations=False))
    own = next((one for one in differences if one.file == file), None)
    # Definitions are shown with the names of their annotations
    if own is not None and any(name in own.names for name in names):
        differences = list(_differences(versions, authors, roots, elsewhere, raising, annotations=True))
    if not differences:
        both = (authors.module(file), versions.candidate.module(file))
        differences = [one for one in [remaining(*both)] if one]
    return tuple(sorted(differences, key=lambda one: (one.file != file, one.file)))


def _raising(
    versions: Versions, authors: RepositoryProgram, raising: Mapping[str, Set[int]]
) -> Iterator[tuple[str, str]]:
    """Names without which an import of the candidate raises.

    Those that are bound and used by statements that raise although the authors have them too: a name they use is wrong. And all names that
    are missing for any statement, or that it imports in vain: an import ends at the first of them, so the others would raise in later
    turns, one by one.
    """
    for file, lines in raising.items():
        yield from _not_importable(versions, authors, file)
        if file not in versions.targets:
            continue
        right, own = authors.module(file), versions.candidate.module(file)
        known = {each.program for each in right.statements}
        for statement in own.statements:
            names = missing(statement, right, own)
            if statement.program in known and any(statement.line <= line <= statement.last_line for line in lines):
                names |= statement.binds | statement.now
            yield from ((file, name) for name in sorted(names))


def _not_importable(versions: Versions, authors: RepositoryProgram, file: str) -> Iterator[tuple[str, str]]:
    """The file and name of everything that a file imports from targets and that only the authors' bind."""
    for statement in versions.candidate.module(file).statements:
        origin = authors.origin(file, statement)
        if origin is not None and origin[0] in versions.targets:
            candidate = versions.candidate.module(origin[0])
            if candidate.names.isdisjoint({origin[1], "*"}):
                yield origin


def _differences(
    versions: Versions,
    authors: RepositoryProgram,
    roots: Sequence[tuple[str, str]],
    elsewhere: Mapping[str, Set[str]],
    raising: Mapping[str, Set[int]],
    *,
    annotations: bool,
) -> Iterator[TargetDifference]:
    needs = authors.needs(roots, annotations=annotations, elsewhere=elsewhere)
    for target in versions.targets:
        if target in needs:
            comparison = difference(
                authors.module(target),
                versions.candidate.module(target),
                needs[target],
                raising=raising.get(target, frozenset()),
            )
            if comparison:
                yield comparison


def _own(
    differences: Sequence[TargetDifference], authors: ProgramModule, candidate: ProgramModule, path: Sequence[str]
) -> Own:
    differing = {name for each in differences if each.file == authors.file for name in each.names}
    if not path:
        return Own.DIFFERENT if any(each.file == authors.file for each in differences) else Own.SAME
    if path[0] not in differing:
        return Own.SAME
    same = source.same(source.definition(authors.parsed, path), source.definition(candidate.parsed, path))
    return Own.REST_OF_CLASS if len(path) > 1 and same else Own.DIFFERENT


def _with_code(own: Own, differences: tuple[TargetDifference, ...], file: str) -> Fix:
    code = {each.file: each.code() for each in differences if each.shown}
    return Fix(own=own, code=code.pop(file, ""), elsewhere=code, differences=differences)


def _beside_piece(correction: Fix, path: Sequence[str], written: str) -> Fix:
    """The author's piece of a definition, with the other code that it needs."""
    rest = tuple(
        replace(comparison, shown=tuple(one for one in comparison.shown if path[0] not in one.binds))
        for comparison in correction.differences
    )
    code = {comparison.file: comparison.code() for comparison in rest if comparison.shown}
    return replace(correction, code=written, elsewhere=code)


def _laid(reference: ProgramModule, written: Sequence[Statement]) -> ProgramModule:
    """The reference, with statements replaced by those of a correction with the same names."""
    statements = list(reference.statements)
    programs = {statement.program for statement in statements}
    defined = {name for statement in written if not statement.program.startswith("import ") for name in statement.binds}
    at = next((index for index, old in enumerate(statements) if old.binds & defined), len(statements))
    for statement in written:
        imports = statement.program.startswith("import ")
        same = [index for index, old in enumerate(statements) if old.binds & statement.binds]
        if imports and statement.program in programs and len(same) == 1:
            continue
        if same:
            at = same[0]
        statements = [old for index, old in enumerate(statements) if index not in same]
        statements.insert(0 if imports else min(at, len(statements)), statement)
        at += 1
    return replace(reference, statements=tuple(statements))
