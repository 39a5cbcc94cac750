"""Task: one directory that poses one piece of research code, and the Brief an agent may see of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_recode.proofs import Proofs

Files = Mapping[str, bytes]
"""File contents by POSIX path, relative and without `..`."""


PAPER_FILE, INSTRUCTION_FILE = "paper.md", "instruction.md"
"""Paths in a workspace of the texts that a Brief has beside the repository; instructions refer to them by these names."""

SECRET = ("tests", "reference", "feedback.yaml", "proofs")
"""Parts of a task directory, beside each other, that neither an agent nor its code may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """Where the method was published."""

    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    arxiv: str = ""
    url: str = ""
    venue: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the code needs to run. Paths are absolute; `preload` names modules imported once per worker.

    `name` is what its benchmark calls it; --recode-env says which interpreter or image that is on this machine.
    """

    name: str = ""
    python: str = ""  # interpreter for local sandboxes; "" is the run's (--recode-python)
    image: str = ""  # docker image; "" is built from `dockerfile` or `requirements`, else the run's base image
    dockerfile: Path | None = None
    requirements: Path | None = None
    preload: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds of wall time, MiB of memory and disk, and number of processes."""

    test_seconds: float = 60.0  # the candidate's own time within one hidden test, and the test's own
    grading_seconds: float = 600.0
    command_seconds: float = 60.0  # one command an agent runs
    episode_seconds: float = 3600.0
    memory_mb: int = 2048
    disk_mb: int = 512
    pids: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One file of pytest tests that is run from among the files of a repository, where others of the hidden files lie too.

    POSIX paths relative to the repository, "." is its root: `test` is the file, `cwd` where it is run, `roots` are what its
    imports are looked for in, in this order, and `base` is what its own dotted name, and with it a relative import, counts
    from. Of its tests only those count that `Parts.cases` names.
    """

    test: str
    cwd: str = "."
    base: str = "."
    roots: tuple[str, ...] = (".",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """How a Task's hidden tests meet the candidate.

    `isolation` is "separate" (in a sandbox of its own, tests on the other side of a pipe) or "shared" (in one process with
    the tests, for benchmarks whose tests import the target). With "shared", `script` names the unittest script among
    the hidden tests that is run as a program from the repository's root; "" runs the hidden tests with pytest. `beside`:
    these lie among the repository's files.
    """

    isolation: str = "separate"
    script: str = ""
    beside: Beside | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The part of one target that an answer replaces, where a Task asks for less than a file.

    Lines `start` to `stop` (from 0, end excluded) of `path` as it lies in the repository are the placeholder; `indent` is the
    white space that stands before the code there. `context` names the files of the repository that are shown beside it.
    """

    path: str
    start: int
    stop: int
    indent: str
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The contents of a Task, read from disk when an item runs and not before.

    `reference` holds the target files as the authors wrote them, to be laid over `repo`; `tests` the hidden
    tests, and with a shared oracle all that only they may see (a reference module they import); `feedback` the parsed
    `feedback.yaml`: interface -> field -> words, or None. `cases`: the interface of each case that is expected, where the
    benchmark says which cases there are.
    """

    instruction: str
    paper: str | None
    repo: Files
    reference: Files
    tests: Files
    feedback: Mapping[str, Mapping[str, str]] | None = None
    slot: Slot | None = None
    cases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of research code. Cheap to make: `load` reads the files."""

    id: str
    title: str
    format: str
    manifest: Path
    targets: tuple[str, ...]  # POSIX paths relative to the repository
    interfaces: tuple[str, ...]  # dotted, as a hidden test reaches them through `candidate`
    load: Callable[[], Parts] = field(repr=False, compare=False)
    reference: Callable[[], Files] | None = field(default=None, repr=False, compare=False)
    """That of `load` alone, where a format has it without reading the repository."""
    proofs: Callable[[], Proofs] | None = field(default=None, repr=False, compare=False)
    paper: Paper = Paper()
    domain: str = ""
    tags: tuple[str, ...] = ()
    difficulty: str = ""
    environment: Environment = Environment()
    limits: Limits = Limits()
    license: str = ""
    oracle: Oracle = Oracle()
    facts: Mapping[str, Any] = field(
        default_factory=dict
    )  # what a format knows beyond, for the record: plain JSON types
    fault: str = ""  # why it cannot be played, where its format saw that at collection: one line of a UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The part of a Task that an agent may see. `paper` is None where the run leaves it out."""

    task: str
    title: str
    instruction: str
    paper: str | None
    repo: Files
    targets: tuple[str, ...]
    interfaces: tuple[str, ...]
    slot: Slot | None = None


def digest(parts: Parts) -> str:
    """Of all that an episode of a Task depends on: 32 hexadecimal digits."""
    found = hashlib.sha256()
    for files in (parts.repo, parts.reference, parts.tests):
        for path in sorted(files):
            found.update(f"{len(path)} {path} {len(files[path])} ".encode())
            found.update(files[path])
    for text in (parts.instruction, parts.paper or "", repr(parts.feedback), repr(parts.slot), repr(parts.cases)):
        found.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
    return found.hexdigest()[:32]


def brief(task: Task, parts: Parts, *, paper: bool = True) -> Brief:
    """The one place where a Brief is made, so that a prompt cannot hold what a Brief lacks."""
    return Brief(
        task=task.id,
        title=task.title,
        instruction=parts.instruction,
        paper=parts.paper if paper else None,
        repo=parts.repo,
        targets=task.targets,
        interfaces=interfaces_of(task, parts),
        slot=parts.slot,
    )


def brief_files(brief: Brief) -> dict[str, bytes]:
    """The paper and the instruction as files of a workspace, beside those of the repository.

    A file or directory of the repository, or a target, keeps its path: then that text is not a file.
    """
    taken = {prefix for path in (*brief.repo, *brief.targets) for prefix in (path, path.partition("/")[0])}
    texts = {PAPER_FILE: brief.paper, INSTRUCTION_FILE: brief.instruction}
    return {
        path: text.encode("utf-8", "replace") for path, text in texts.items() if text is not None and path not in taken
    }


def interfaces_of(task: Task, parts: Parts) -> tuple[str, ...]:
    """Those that the Task names, else those of its cases."""
    return task.interfaces or tuple(dict.fromkeys(parts.cases.values()))


def candidate_files(parts: Parts, targets: Files, names: tuple[str, ...]) -> dict[str, bytes]:
    """The pristine repository with the agent's targets laid over it: nothing else crosses over.

    A target the agent deleted is absent from the candidate too.
    """
    kept = {path: data for path, data in parts.repo.items() if path not in names}
    kept.update({path: targets[path] for path in names if path in targets})
    return kept
