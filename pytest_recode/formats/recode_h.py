"""RECODE-H (arXiv 2510.06186) as its data set lies: `annotation_meta.jsonl` and a folder `annotations/annotation_<id>/` for each row.

A Task is a row with `if_test` true: one file of a paper's repository is to be written. Nothing is converted, nothing in the
folders is run or written to here, and a repository is read when its item runs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.document import text_of
from pytest_recode.formats.links import refuse_links_out
from pytest_recode.formats.recode_h_cases import Names, bound, dotted, interfaces, taken_from_target
from pytest_recode.formats.recode_h_repository import files_of
from pytest_recode.formats.recode_h_rows import Row, Wrong, rows
from pytest_recode.formats.recode_h_script import SCRIPT, Script, read_script
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
"""600 s is the benchmark's own limit, for a whole run of the tests; the rest is room for torch and for large repositories."""
_MOST_REPOSITORY = 2048  # MiB: the sandbox's disk holds it, and what the tests write besides


def load(path: Path) -> tuple[Task, ...]:
    """A Task per row with `if_test`, in the order of the rows.

    What is wrong with one row is a Task that says so in `fault`, so that the others can be played. Raises
    `UserError` where no line can be read at all.
    """
    root = path.parent if path.is_absolute() else path.parent.absolute()
    found: list[Task] = []
    for row in rows(path):
        if isinstance(row, Wrong):
            made = unreadable(FORMAT.name, path, row.name, row.fault)
        else:
            try:
                made = _task(path, root, row)
            except UserError as error:
                made = unreadable(FORMAT.name, path, f"annotation_{row.index}", str(error))
        found.append(made)
    return tuple(found)


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
    """Also by the folder of the tests, which they may put on `sys.path`."""
    for path in paths:
        for root in (beside.base, *beside.roots, posixpath.dirname(beside.test) or "."):
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


FORMAT = Format(name="recode-h", manifest=MANIFEST, load=load, owns=owns, defaults={"temperature": 0.0}, data_set=True)
"""The default is the paper's setting."""
