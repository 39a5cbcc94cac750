"""Files that cannot be imported, from the frames of the candidate's exceptions: nothing in such a file could be tested."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_recode.program import source
from pytest_recode.program.interfaces import file_of
from pytest_recode.program.source import FileVersion
from pytest_recode.task import Files
from pytest_recode.verdict import Case, Outcome, Verdict

REFUSALS = frozenset({"SyntaxError", "IndentationError", "TabError"})
"""The exceptions with which the interpreter refuses to compile a file."""

_COMPILED = re.compile(r"(?P<file>.+?):(?P<line>\d+): ")
"""Matches a frame of a file that is compiled; frames of code that runs have a function's name before the second colon."""
_ON_IMPORT = re.compile(r"(?P<file>.+?):(?P<line>\d+) in <module>")
_IN_FUNCTION = re.compile(r".+?:\d+ in (?!<module>)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFailure:
    """`type` is the exception's, `line` where the import of `file` ended. `refused`: the interpreter did not compile the file."""

    file: str
    line: int
    type: str
    refused: bool = False


def import_failure(case: Case, targets: Sequence[str]) -> ImportFailure | None:
    """The failed import of a target that ended the case; None if its exception, if any, is another one."""
    if case.exception is None or not case.exception.frames or case.outcome is not Outcome.FAILED:
        return None
    *_, last = frames = case.exception.frames
    refused = _COMPILED.match(last) if case.exception.type in REFUSALS else None
    for match in (refused, *map(_ON_IMPORT.match, reversed(frames))):
        if match is not None and match["file"] in targets:
            return ImportFailure(
                file=match["file"], line=int(match["line"]), type=case.exception.type, refused=match is refused
            )
    return None


def import_failures(verdict: Verdict, targets: Sequence[str]) -> dict[str, list[Case]]:
    """For each target that cannot be imported, the cases that this ended. A file counts only if no test of an interface in it came further."""
    ended: dict[str, list[Case]] = {}
    further = set()
    for case in verdict.cases:
        failure, home = import_failure(case, targets), file_of(case.interface, targets)
        if failure is not None:
            ended.setdefault(failure.file, []).append(case)
        if failure is None or failure.file != home:
            further.add(home)
    return {file: cases for file, cases in ended.items() if file not in further}


def _ran(case: Case, file: str) -> bool:
    """Whether the case shows that code of the file ran."""
    if case.outcome is Outcome.PASSED:
        return file_of(case.interface, [file]) is not None
    frames = case.exception.frames if case.exception is not None else ()
    return any(_IN_FUNCTION.match(frame) and frame.startswith(f"{file}:") for frame in frames)


def graded(candidate: Files, file: str, verdict: Verdict) -> FileVersion:
    """The candidate's file, with a problem if the interpreter refused to compile it: more than the grammar is checked then.

    A file that ran has no such problem, even if this Python cannot parse it: the sandbox may have a later one.
    """
    parsed = source.parse(candidate.get(file))
    if parsed.remedy == source.SYNTAX and any(_ran(case, file) for case in verdict.cases):
        return replace(parsed, problem="", remedy="")
    for case in verdict.cases:
        failure = import_failure(case, [file])
        if failure is not None and failure.refused and parsed.tree is not None:
            problem = f"cannot be imported: {failure.type} in line {failure.line}"
            return FileVersion(text=parsed.text, tree=None, problem=problem, remedy=source.SYNTAX)
    return parsed
