"""RECODE-H (arXiv 2510.06186) as its data set lies: `annotation_meta.jsonl` and a folder `annotations/annotation_<id>/` for each row.

A Task is a row with `if_test` true: one file of a paper's repository is to be written. Nothing is converted, nothing in the
folders is run or written to here, and a repository is read when its item runs.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.document import kind_of, text_of
from pytest_recode.formats.parts import RELATIVE
from pytest_recode.formats.recode_h_cases import Names, bound, dotted, interfaces, taken_from_target
from pytest_recode.formats.recode_h_repository import files_of
from pytest_recode.formats.recode_h_script import SCRIPT, Script, read_script
from pytest_recode.task import Beside, Environment, Files, Limits, Oracle, Parts, Task

MANIFEST = "annotation_meta.jsonl"
FOLDERS = "annotations"
INSTRUCTION, PAPER, CANONICAL, TESTS = "instruction.txt", "latex.txt", "canonical.py", "test.py"
LARGEST = 64 * 1024 * 1024
LARGEST_TEXT = 8 * 1024 * 1024
KEYS = ("index", "repo_dir_name", "target_file_path", "if_test", "init_content", "test_cases")
LIMITS = Limits(
    test_seconds=600.0,
    grading_seconds=600.0,
    command_seconds=120.0,
    episode_seconds=4 * 3600.0,
    memory_mb=8192,
    disk_mb=4096,
    pids=512,
)
"""600 s is the benchmark's own limit, for a whole run of the tests; the rest is room for torch and for large repositories."""
_MOST_REPOSITORY = 2048  # MiB: the sandbox's disk holds it, and what the tests write besides
_EMPTY = ("\n", "N/A")
"""What rows say for a target that begins empty, besides nothing."""
_FOLDER = re.compile(r"(?!\.{1,2}$)[^/\\:\x00-\x1f\x7f-\x9f]+")
_PATH = re.compile(RELATIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the manifest. `line` counts from 1."""

    line: int
    index: int
    repository: str
    target: str
    begins: str
    cases: tuple[str, ...]


def load(path: Path) -> tuple[Task, ...]:
    """A Task per row with `if_test`, in the order of the rows.

    What is wrong with one row is a Task that says so in `fault`, so that the others can be played. Raises
    `UserError` where no line can be read at all.
    """
    root = path.parent if path.is_absolute() else path.parent.absolute()
    found: list[Task] = []
    taken: dict[int, int] = {}
    first, readable = "", False
    for line, text in enumerate(text_of(path, most=LARGEST).split("\n"), 1):
        if not text.strip():
            continue
        name, given = f"line {line} of {path.name}", None
        try:
            given = _object(path, line, text)
            readable = True
            row = _row(path, line, given, taken)
            if row is None:
                continue
            name = f"annotation_{row.index}"
            made = _task(path, root, row)
        except UserError as error:
            first = first or str(error)
            known = given.get("index") if given is not None else None
            whole = isinstance(known, int) and taken.get(known) == line
            made = unreadable(FORMAT.name, path, f"annotation_{known}" if whole else name, str(error))
        found.append(made)
    if not readable:
        raise UserError(first or f"{path}: is empty; it holds one line of JSON for each annotation")
    return tuple(found)


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise UserError(f"{path}:{line}: is no JSON ({why}); mend or remove the line") from None
    if not isinstance(given, dict):
        raise UserError(f"{path}:{line}: must be an object with {', '.join(KEYS)}, not {kind_of(given)}")
    return given


def _row(path: Path, line: int, given: Mapping[str, Any], taken: dict[int, int]) -> Row | None:
    """None for one that is not to be run, whatever else it says."""

    def wrong(key: str, says: str) -> UserError:
        if key not in given:
            return UserError(f"{path}:{line}: missing key '{key}'; needed are {', '.join(KEYS)}")
        shown = json.dumps(given[key], ensure_ascii=False)
        return UserError(
            f"{path}:{line}: {key}: must be {says}, not {shown if len(shown) < 80 else shown[:77] + '...'}"
        )

    index, tested, begins = given.get("index"), given.get("if_test"), given.get("init_content")
    if not isinstance(index, int) or isinstance(index, bool) or index < 1:
        raise wrong("index", "a whole number from 1 on")
    if index in taken:
        raise UserError(f"{path}:{line}: index {index} is taken by line {taken[index]}; give the row another")
    taken[index] = line
    if not isinstance(tested, bool):
        raise wrong("if_test", "true or false")
    if not tested:
        return None
    repository, target = given.get("repo_dir_name"), given.get("target_file_path")
    if not isinstance(repository, str) or not _FOLDER.fullmatch(repository):
        raise wrong("repo_dir_name", "the name of a folder in the annotation's")
    if not isinstance(target, str) or not _PATH.fullmatch(posixpath.normpath(target)) or not target.endswith(".py"):
        raise wrong("target_file_path", "the path of a .py file within the repository, with / and without ..")
    if begins is not None and not isinstance(begins, str):
        raise wrong("init_content", "text")
    cases = given.get("test_cases")
    named = isinstance(cases, list) and all(isinstance(case, str) and case.strip() for case in cases)
    if not isinstance(cases, list) or not named or not cases or len(set(cases)) != len(cases):
        raise wrong("test_cases", "a list of different names of tests, one at least")
    return Row(
        line=line,
        index=index,
        repository=repository,
        target=posixpath.normpath(target),
        begins="" if begins is None or begins in _EMPTY else begins,
        cases=tuple(cases),
    )


def _task(manifest: Path, root: Path, row: Row) -> Task:
    folder = root / FOLDERS / f"annotation_{row.index}"
    where = f"{manifest}:{row.line}"
    if not folder.is_dir():
        raise UserError(f"{where}: {folder}: no such folder; fetch it, or choose other tasks with -k")
    if not (folder / row.repository).is_dir():
        raise UserError(f"{where}: {folder / row.repository}: no such folder; fetch it, or mend repo_dir_name")
    for name in (INSTRUCTION, PAPER, CANONICAL, TESTS, SCRIPT):
        if not (folder / name).is_file():
            raise UserError(f"{where}: {folder / name}: no such file; fetch it, or choose other tasks with -k")
    script = read_script(folder / SCRIPT, row.repository)
    beside = _beside(folder / row.repository, script)
    place = (folder, row, script.copies.get(CANONICAL, CANONICAL), beside)
    seconds = LIMITS.test_seconds if script.seconds is None else script.seconds
    return Task(
        id=f"annotation_{row.index}",
        title=f"{row.repository}: {row.target}",
        format=FORMAT.name,
        manifest=manifest,
        targets=(row.target,),
        interfaces=(),  # of its cases: known once the tests are read
        load=partial(read_parts, *place),
        reference=partial(read_reference, *place),
        environment=Environment(name=script.environment),
        limits=Limits(
            test_seconds=seconds,
            grading_seconds=LIMITS.grading_seconds,
            command_seconds=LIMITS.command_seconds,
            episode_seconds=LIMITS.episode_seconds,
            memory_mb=LIMITS.memory_mb,
            disk_mb=LIMITS.disk_mb,
            pids=LIMITS.pids,
        ),
        oracle=Oracle(isolation="shared", beside=beside),
        facts={
            "annotation": row.index,
            "repository": row.repository,
            "target": row.target,
            "cases": len(row.cases),
            "environment": script.environment,
        },
    )


def _beside(repository: Path, script: Script) -> Beside:
    """The original's runner counts names from PYTHONPATH's first entry, else from the repository; pytest by itself from the first
    folder above the tests that is no package. Either is found here."""
    test = script.copies.get(TESTS, TESTS)
    base = script.pythonpath[0] if script.pythonpath else "."
    first = posixpath.dirname(test) or "."
    while first != "." and (repository / first / "__init__.py").is_file():
        first = posixpath.dirname(first) or "."
    roots = tuple(dict.fromkeys((script.cwd, *script.pythonpath, base, first, ".")))
    return Beside(test=test, cwd=script.cwd, base=base if dotted(test, base) else ".", roots=roots)


def read_parts(folder: Path, row: Row, canonical_at: str, beside: Beside) -> Parts:
    """What one annotation's episode uses. What lies at the target's path on disk is seen by nobody. Raises `UserError`."""
    canonical, tests, names = _solution(folder, row, canonical_at, beside)
    instruction = text_of(folder / INSTRUCTION, most=LARGEST_TEXT)
    if not instruction.strip():
        raise UserError(f"{folder / INSTRUCTION}: is empty; fetch it again")
    return Parts(
        instruction=instruction,
        paper=text_of(folder / PAPER, most=LARGEST_TEXT),
        repo=_repository(folder / row.repository, row, {canonical_at: canonical, beside.test: tests}),
        reference={row.target: _reference(row, canonical, tests, names)},
        tests={canonical_at: canonical, beside.test: tests},
        cases=interfaces(row.cases, tests, canonical, dotted(row.target), names),
    )


def read_reference(folder: Path, row: Row, canonical_at: str, beside: Beside) -> Files:
    """That of `read_parts`; the repository, which may be large, is not read. Raises `UserError`."""
    return {row.target: _reference(row, *_solution(folder, row, canonical_at, beside))}


def _solution(folder: Path, row: Row, canonical_at: str, beside: Beside) -> tuple[bytes, bytes, Names]:
    """canonical.py, the tests, and the names that go with them."""
    canonical, tests = (text_of(folder / name, most=LARGEST_TEXT).encode() for name in (CANONICAL, TESTS))
    package = dotted(beside.test, beside.base).rpartition(".")[0]
    names = Names(modules=frozenset(_names((row.target, canonical_at), beside)), package=package)
    return canonical, tests, names


def _names(paths: tuple[str, ...], beside: Beside) -> Iterator[str]:
    for path in paths:
        for root in (beside.base, *beside.roots):
            if name := dotted(path, root):
                yield name


def _repository(root: Path, row: Row, hidden: Files) -> dict[str, bytes]:
    """Without what test.sh may have left in it, and without copies of the solution."""
    found = files_of(root, _MOST_REPOSITORY)
    solutions = {data.strip() for data in (*hidden.values(), found.get(row.target, b""))} - {
        b"",
        row.begins.strip().encode(),
    }
    kept = {
        path: data
        for path, data in found.items()
        if path not in hidden and (not path.endswith(".py") or data.strip() not in solutions)
    }
    return dict(sorted({**kept, row.target: row.begins.encode(errors="surrogatepass")}.items()))


def _reference(row: Row, canonical: bytes, tests: bytes, names: Names) -> bytes:
    """canonical.py; after `init_content` where the tests need of the target what only that defines."""
    has, had = bound(canonical), bound(row.begins.encode(errors="surrogatepass"))
    if has is None or had is None or not (taken_from_target(tests, names) - has) & had:
        return canonical
    return row.begins.encode(errors="surrogatepass") + b"\n\n" + canonical


def owns(manifest: Path, directory: Path) -> bool:
    """Whether a directory lies among the annotations beside the manifest."""
    return directory.relative_to(manifest.parent).parts[:1] == (FOLDERS,)


FORMAT = Format(name="recode-h", manifest=MANIFEST, load=load, owns=owns)
