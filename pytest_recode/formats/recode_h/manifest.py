"""Turn RECODE-H's `annotation_meta.jsonl` and its folders `annotations/annotation_<id>/` into Tasks.

A Task is a row with `if_test` true: the agent writes one file of a paper's repository. The data set is read in place; nothing in
it is executed or modified, and a repository is not read before its item runs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.document import text_of
from pytest_recode.formats.json_lines import WrongLine
from pytest_recode.formats.links import refuse_links_out
from pytest_recode.formats.recode_h.annotation_rows import AnnotationRow, rows
from pytest_recode.formats.recode_h.cases import NamesOfTestFiles, bound, dotted, imported_from_target, interfaces
from pytest_recode.formats.recode_h.repository import files_of
from pytest_recode.formats.recode_h.script import SCRIPT, Script, read_script
from pytest_recode.task import Beside, Environment, Files, Limits, Oracle, Parts, Task

MANIFEST = "annotation_meta.jsonl"
FOLDERS = "annotations"
INSTRUCTION, PAPER, CANONICAL, TESTS = "instruction.txt", "latex.txt", "canonical.py", "test.py"
LARGEST_TEXT = 8 * 1024 * 1024
LIMITS = Limits(
    test_seconds=600.0,
    grading_seconds=600.0,
    command_seconds=120.0,
    episode_seconds=4 * 3600.0,
    memory_mb=8192,
    disk_mb=4096,
    pids=512,
)
"""The benchmark limits a whole run of the tests to 600 s. The other limits leave room for torch and for large repositories."""
_MOST_REPOSITORY = 2048  # MiB; the sandbox's disk must hold it and the files that the tests write


def load(path: Path) -> tuple[Task, ...]:
    """One Task for each row with `if_test`, in the order of the rows.

    An error in one row becomes a Task with that error as its `fault`, so that the other rows can run. Raises
    `UserError` if no line can be read.
    """
    root = path.parent if path.is_absolute() else path.parent.absolute()
    tasks: list[Task] = []
    for row in rows(path):
        if isinstance(row, WrongLine):
            task = unreadable(FORMAT.name, path, row.name, row.fault)
        else:
            try:
                task = _task(path, root, row)
            except UserError as error:
                task = unreadable(FORMAT.name, path, f"annotation_{row.index}", str(error))
        tasks.append(task)
    return tuple(tasks)


def _task(manifest: Path, root: Path, row: AnnotationRow) -> Task:
    folder = root / FOLDERS / f"annotation_{row.index}"
    where = f"{manifest}:{row.line}"
    if not folder.is_dir():
        raise UserError(f"{where}: {folder}: no such folder; download it, or select other tasks with -k")
    if not (folder / row.repository).is_dir():
        raise UserError(f"{where}: {folder / row.repository}: no such folder; download it, or correct repo_dir_name")
    for name in (INSTRUCTION, PAPER, CANONICAL, TESTS, SCRIPT):
        if not (folder / name).is_file():
            raise UserError(f"{where}: {folder / name}: no such file; download it, or select other tasks with -k")
        refuse_links_out(root, folder / name)
    refuse_links_out(root, folder / row.repository)
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
        interfaces=(),  # those of its cases, which are read with the tests
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
    """Where the tests run, with the import roots that the two ways of running them use.

    The original runner resolves module names from the first entry of PYTHONPATH, else from the repository; pytest resolves them
    from the closest directory above the tests that is not a package. Both work here.
    """
    test = script.copies.get(TESTS, TESTS)
    base = script.pythonpath[0] if script.pythonpath else "."
    first = posixpath.dirname(test) or "."
    while first != "." and (repository / first / "__init__.py").is_file():
        first = posixpath.dirname(first) or "."
    roots = tuple(dict.fromkeys((script.cwd, *script.pythonpath, base, first, ".")))
    return Beside(test=test, cwd=script.cwd, base=base if dotted(test, base) else ".", roots=roots)


def read_parts(folder: Path, row: AnnotationRow, canonical_at: str, beside: Beside) -> Parts:
    """Read the files that the episode of one annotation uses. The file at the target's path on disk is never used.

    Raises `UserError`.
    """
    canonical, tests, names = _solution(folder, row, canonical_at, beside)
    instruction = text_of(folder / INSTRUCTION, most=LARGEST_TEXT)
    if not instruction.strip():
        raise UserError(f"{folder / INSTRUCTION}: is empty; download it again")
    return Parts(
        instruction=instruction,
        paper=text_of(folder / PAPER, most=LARGEST_TEXT),
        repo=_repository(folder / row.repository, row, {canonical_at: canonical, beside.test: tests}),
        reference={row.target: _reference(row, canonical, tests, names)},
        tests={canonical_at: canonical, beside.test: tests},
        cases=interfaces(row.cases, tests, canonical, dotted(row.target), names),
    )


def read_reference(folder: Path, row: AnnotationRow, canonical_at: str, beside: Beside) -> Files:
    """The reference of `read_parts`, without reading the repository, which may be large. Raises `UserError`."""
    return {row.target: _reference(row, *_solution(folder, row, canonical_at, beside))}


def _solution(
    folder: Path, row: AnnotationRow, canonical_at: str, beside: Beside
) -> tuple[bytes, bytes, NamesOfTestFiles]:
    """canonical.py, the tests, and the names by which the tests import the target."""
    canonical, tests = (text_of(folder / name, most=LARGEST_TEXT).encode() for name in (CANONICAL, TESTS))
    package = dotted(beside.test, beside.base).rpartition(".")[0]
    names = NamesOfTestFiles(modules=frozenset(_names((row.target, canonical_at), beside)), package=package)
    return canonical, tests, names


def _names(paths: tuple[str, ...], beside: Beside) -> Iterator[str]:
    """The dotted names of `paths`, also relative to the folder of the tests, which the tests may add to `sys.path`."""
    for path in paths:
        for root in (beside.base, *beside.roots, posixpath.dirname(beside.test) or "."):
            if name := dotted(path, root):
                yield name


def _repository(root: Path, row: AnnotationRow, hidden: Files) -> dict[str, bytes]:
    """The files of the repository, without files that test.sh may have copied into it and without copies of the solution."""
    files = files_of(root, _MOST_REPOSITORY)
    solutions = {data.strip() for data in (*hidden.values(), files.get(row.target, b""))} - {
        b"",
        row.begins.strip().encode(),
    }
    visible = {
        path: data
        for path, data in files.items()
        if path not in hidden and (not path.endswith(".py") or data.strip() not in solutions)
    }
    return dict(sorted({**visible, row.target: row.begins.encode(errors="surrogatepass")}.items()))


def _reference(row: AnnotationRow, canonical: bytes, tests: bytes, names: NamesOfTestFiles) -> bytes:
    """canonical.py, preceded by `init_content` if the tests import names from the target that only `init_content` defines."""
    defined, defined_before = bound(canonical), bound(row.begins.encode(errors="surrogatepass"))
    if defined is None or defined_before is None or not (imported_from_target(tests, names) - defined) & defined_before:
        return canonical
    return row.begins.encode(errors="surrogatepass") + b"\n\n" + canonical


def owns(manifest: Path, directory: Path) -> bool:
    """Whether a directory is in the `annotations/` next to the manifest."""
    return directory.relative_to(manifest.parent).parts[:1] == (FOLDERS,)


FORMAT = Format(name="recode-h", manifest=MANIFEST, load=load, owns=owns, defaults={"temperature": 0.0}, data_set=True)
"""The default temperature is that of the paper."""
