"""Turn ResearchCodeBench's `papers.yaml` into Tasks. Reads the benchmark in place and executes nothing in it.

A Task is one block of an annotated file: the agent rewrites the code between the block's tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.document import At, Document, decoded, fault, kind_of, read, text_of
from pytest_recode.formats.fields import Check, text, wrong
from pytest_recode.formats.files import RELATIVE, files_below
from pytest_recode.formats.links import refuse_links
from pytest_recode.formats.researchcodebench.tagged_blocks import Block, blocks, plain, within, without
from pytest_recode.formats.researchcodebench.visibility import PAPERS, SCRIPT, Visibility, visibility
from pytest_recode.task import Limits, Oracle, Paper, Parts, Task

MANIFEST = "papers.yaml"
LARGEST = 1024 * 1024
LARGEST_TEXT = 8 * 1024 * 1024
LIMITS = Limits(test_seconds=60.0, memory_mb=4096)
"""The benchmark limits a whole script to 60 s. Importing torch alone exceeds the default memory limit."""

_DATES = ("arxiv_date", "arxiv_v1_date", "first_commit_date", "last_commit_date")
_LINES = ("title", "arxiv_abs", "github_url", "venue", *_DATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperEntry:
    """One paper of `papers.yaml`. `facts` has its bibliographic data by the manifest's own keys; "" if a key is missing."""

    id: str
    annotated: tuple[str, ...]
    context: tuple[str, ...]
    facts: Mapping[str, str]


def load(path: Path) -> tuple[Task, ...]:
    """One Task for each block, including nested blocks, in the order of the papers, their files and the blocks in them.

    An error in one paper becomes a Task with that error as its `fault`, so that the other papers can run. Raises
    `UserError` if there is no list of papers.
    """
    document = read(path, most=LARGEST)
    if not isinstance(document.data, list) or not document.data:
        raise wrong(document, (), document.data, "a list of papers, each a mapping with id and annotated_file_paths")
    root = path.parent if path.is_absolute() else path.parent.absolute()
    tasks: list[Task] = []
    taken: set[str] = set()
    for index in range(len(document.data)):
        try:
            entry = _entry(document, index, taken)
            of_paper = list(_tasks(document, index, path, root, entry))
        except UserError as error:
            name = _name(document, index, tasks)
            of_paper = [unreadable(FORMAT.name, path, name, str(error), {"paper": name})]
        tasks += of_paper
    return tuple(tasks)


def _entry(document: Document, index: int, taken: set[str]) -> PaperEntry:
    fields = document.data[index]
    if not isinstance(fields, dict):
        raise wrong(document, (index,), fields, "a mapping with id and annotated_file_paths")
    for key in ("id", "annotated_file_paths"):
        if key not in fields:
            raise fault(document, (index,), f"missing key '{key}'; the required keys are id, annotated_file_paths")
    name: str = _folder()(document, (index, "id"), fields["id"])
    if name in taken:
        raise fault(document, (index, "id"), f"the paper '{name}' is listed twice; keep one")
    taken.add(name)
    annotated = _paths(document, (index, "annotated_file_paths"), fields["annotated_file_paths"])
    if not annotated:
        raise fault(document, (index, "annotated_file_paths"), "annotated_file_paths: name at least one file")
    return PaperEntry(
        id=name,
        annotated=annotated,
        context=_paths(document, (index, "context_file_paths"), fields.get("context_file_paths")),
        facts={key: _line(document, (index, key), fields.get(key)) for key in _LINES},
    )


@cache
def _folder() -> Check:
    return text(r"(?!\.{1,2}$)[^/\\:\x00-\x1f\x7f-\x9f]+", "the name of a folder beside papers.yaml")


@cache
def _path() -> Check:
    return text(RELATIVE, "a path within the paper's folder, with / and without ..")


def _paths(document: Document, at: At, value: Any) -> tuple[str, ...]:
    """Check a path, a list of paths, or nothing; some entries have the text "null" for nothing."""
    if value is None or value == "null":
        return ()
    if isinstance(value, str):
        return (_path()(document, at, value.strip()),)
    if not isinstance(value, list):
        raise wrong(document, at, value, "a path, a list of paths, or null")
    return tuple(dict.fromkeys(_path()(document, (*at, place), each) for place, each in enumerate(value)))


def _line(document: Document, at: At, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise fault(document, at, f"{at[-1]}: must be text, not {kind_of(value)}")
    return " ".join(str(value).split())


def _name(document: Document, index: int, tasks: Sequence[Task]) -> str:
    """The name of an entry that cannot be read: its id, if no other entry has it, else its position."""
    fields = document.data[index]
    name = fields.get("id") if isinstance(fields, dict) else None
    held = {task.id.partition("/")[0] for task in tasks}
    if isinstance(name, str) and name.strip() and name not in held and "/" not in name and ":" not in name:
        return " ".join(name.split())
    return f"paper {index + 1} of {document.path.name}"


def _tasks(document: Document, index: int, manifest: Path, root: Path, entry: PaperEntry) -> Iterator[Task]:
    folder = root / entry.id
    refuse_links(root, *(f"{entry.id}/{path}" for path in (SCRIPT, *entry.annotated, *entry.context)))
    if not folder.is_dir():
        raise fault(
            document, (index, "id"), f"{folder}: no such folder; restore it, or remove '{entry.id}' from the list"
        )
    if not (folder / SCRIPT).is_file():
        raise UserError(f"{folder / SCRIPT}: no such file, and answers cannot be judged without it; restore it")
    for key, paths in (("annotated_file_paths", entry.annotated), ("context_file_paths", entry.context)):
        for path in paths:
            if not (folder / path).is_file():
                raise fault(
                    document, (index, key), f"{key}: {folder / path}: no such file; restore it, or correct the path"
                )
    held: dict[str, str] = {}
    for path in entry.annotated:
        annotated = blocks(folder / path, _text(folder / path))
        if not annotated:
            raise UserError(
                f'{folder / path}: contains no block; put the tags # <paper2code name="X"> and # </paper2code name="X"> around one'
            )
        for block in annotated:
            if block.name in held:
                raise UserError(
                    f'{folder / path}:{block.start + 1}: the name "{block.name}" is already used at {held[block.name]};'
                    " choose another name"
                )
            held[block.name] = f"{path}:{block.start + 1}"
            yield _task(manifest, folder, entry, path, block)


def _task(manifest: Path, folder: Path, entry: PaperEntry, path: str, block: Block) -> Task:
    facts = entry.facts
    return Task(
        id=f"{entry.id}/{block.name.replace('::', ':').strip()}",
        title=f"{facts['title'] or entry.id}: {block.name}",
        format=FORMAT.name,
        manifest=manifest,
        targets=(path,),
        interfaces=(),  # the cases of a unittest script are unknown until it has run
        load=partial(read_parts, folder, entry.annotated, entry.context, path, block.name),
        paper=Paper(
            title=facts["title"],
            arxiv=facts["arxiv_abs"],
            url=facts["github_url"],
            venue=facts["venue"],
            date=facts["arxiv_v1_date"] or facts["arxiv_date"],
        ),
        tags=("nested" if block.outer else "outermost",),
        limits=LIMITS,
        oracle=Oracle(isolation="shared", script=SCRIPT),
        facts={
            "paper": entry.id,
            "snippet": block.name,
            "lines": block.lines,
            "nested": bool(block.outer),
            "outer": block.outer or None,
            "venue": facts["venue"],
            **{key: facts[key] for key in _DATES},
            "path": path,
        },
    )


INSTRUCTION = """\
`{path}` lacks one block of the authors' code, named "{name}". In its place stand two lines of comment:

{placeholder}

Write the block, about {lines} of code, in the place of these two lines and at their indentation. The rest of the file is as \
the authors wrote it and stays as it is. A unit test runs the file as a whole and compares it with the authors' code.
"""


def read_parts(folder: Path, annotated: tuple[str, ...], context: tuple[str, ...], path: str, name: str) -> Parts:
    """Read the files that the episode of one block uses. Raises `UserError`."""
    files, visible = _sorted_files(folder, annotated, context)
    texts = {file: decoded(folder / file, files[file]) for file in {*annotated, *context}}
    block = next((file for file in blocks(folder / path, texts[path]) if file.name == name), None)
    if block is None:
        raise UserError(f'{folder / path}: the block "{name}" has been removed since collection; start the run again')
    shown, slot = without(texts[path], block, path)
    repo = {file: files[file] for file in visible.to_candidate}
    repo |= {file: plain(text).encode() for file, text in texts.items()}
    repo[path] = shown.encode()
    rows = shown.split("\n")[slot.start : slot.stop]
    return Parts(
        instruction=INSTRUCTION.format(
            path=path,
            name=name,
            placeholder="\n".join(f"    {row.strip()}" for row in rows),
            lines="one line" if block.lines == 1 else f"{block.lines} lines",
        ),
        paper=next((text_of(folder / file, most=LARGEST_TEXT) for file in PAPERS if file in files), None),
        repo=repo,
        reference={path: plain(texts[path]).encode()},
        tests={file: files[file] for file in visible.only_to_tests},
        slot=replace(slot, context=context),
    )


@lru_cache(maxsize=2)  # the up to forty blocks of a paper run one after another
def _sorted_files(
    folder: Path, annotated: tuple[str, ...], context: tuple[str, ...]
) -> tuple[Mapping[str, bytes], Visibility]:
    found = files_below(folder, LIMITS.disk_mb)
    files = {path: data for path, data in found.items() if not path.endswith((".pyc", ".pyo"))}
    texts = {path: decoded(folder / path, files[path]) for path in annotated}
    solutions = [within(text, block) for path, text in texts.items() for block in blocks(folder / path, text)]
    return files, visibility(files, annotated, context, solutions)


def _text(path: Path) -> str:
    return text_of(path, most=LARGEST_TEXT)


def owns(manifest: Path, directory: Path) -> bool:
    """Whether a directory is in a paper's folder: a folder next to the manifest that contains the benchmark's script."""
    beside = directory.relative_to(manifest.parent).parts
    return bool(beside) and (manifest.parent / beside[0] / SCRIPT).is_file()


FORMAT = Format(
    name="researchcodebench",
    manifest=MANIFEST,
    load=load,
    defaults={"agents": ("one-shot",), "feedbacks": ("none",), "temperature": 0.0},
    owns=owns,
    data_set=True,
)
"""The defaults are the setting of the paper: one greedy answer and no feedback."""
