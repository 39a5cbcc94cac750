"""Task: one unit of research code to write, its contents (Parts), and the Brief that an agent may see of it.

Longer than 350 lines because the types of these values refer to one another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_recode.schema.rules import PlainValues

Files = Mapping[str, bytes]
"""File contents by POSIX path, relative and without `..`."""


WHOLE = "./"
"""The target of a task that declares none: every file of the workspace."""

REMOVED = ".recode-removed"
"""The path, among the targets of an answer, of its list of removed files: one path a line. Only targets that are directories need it."""


PAPER_FILE, INSTRUCTION_FILE = "paper.md", "instruction.md"
"""Names of the paper and the instruction in an agent's workspace. Instructions refer to the files by these names."""

SECRET = ("tests", "reference", "feedback.yaml", "proofs")
"""Parts of a task directory that neither an agent nor its code may see."""

ProofPart = Literal["right", "wrong", "equivalent"]
"""Proofs are answers with a known verdict, with which a task's author tests the hidden tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The publication of the method."""

    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    arxiv: str = ""
    url: str = ""
    venue: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment that the code needs. Paths are absolute; `preload` names modules that each worker imports once.

    `name`: the benchmark's name for it, which --recode-env maps to an interpreter or an image of this machine. `workdir`: an absolute
    path in the image; the workspace of an agent has this path, and begins with the files that the image has there. `outside`: other absolute
    paths of files or directories that are kept as those of the workspace are. `variables`: names and values of environment
    variables. `root`: whether programs run as root, who can become other users. Only sandboxes that use images know the four. `network`: the network that the task asks for, "" for none: no sandbox has one.
    """

    name: str = ""
    python: str = ""  # interpreter for local sandboxes; "" is the run's (--recode-python)
    image: str = ""  # docker image; "" is built from `dockerfile` or `requirements`, else the run's base image
    dockerfile: Path | None = None
    requirements: Path | None = None
    preload: tuple[str, ...] = ()
    workdir: str = ""
    outside: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    root: bool = False
    network: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds of wall time, MiB of memory and disk, and number of processes."""

    test_seconds: float = 60.0  # one hidden test; the candidate's time and the test's own time are limited separately
    grading_seconds: float = 600.0
    command_seconds: float = 60.0  # one command an agent runs
    episode_seconds: float = 3600.0
    memory_mb: int = 2048
    disk_mb: int = 512
    pids: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A file of hidden pytest tests that runs inside a repository, next to other hidden files.

    Paths are POSIX and relative to the repository; "." is its root. `test`: the file. `cwd`: the working directory. `roots`: the
    directories for its imports, in this order. `base`: the root of its own dotted name, for relative imports. Only the tests in
    `Parts.cases` count.
    """

    test: str
    cwd: str = "."
    base: str = "."
    roots: tuple[str, ...] = (".",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """A script of a task that looks at the candidate's files and writes a reward.

    `tests` and `solution`: where the hidden tests and the solution are put, absolute paths; `script` and `solve`: the program to run,
    relative to them. `logs`: the directory in which the script writes its reward.
    `threshold`: the least reward that solves the task. `variables`: the script's own environment variables, `solve_variables` the solution's.
    `environment`: that of the script if it is not the task's. `cwd`: the script's working directory. `uploads`: whether the hidden tests are
    put there, or are in the image of `environment` already. `separate`: whether the task asks for a sandbox that gets the targets alone, so
    that the script never runs in the agent's. `memory_mb`: the memory of the script's sandbox, if it is not the task's.
    """

    tests: str
    script: str
    logs: str
    solution: str
    solve: str
    cwd: str
    threshold: float = 1.0
    variables: tuple[tuple[str, str], ...] = ()
    solve_variables: tuple[tuple[str, str], ...] = ()
    environment: Environment | None = None
    uploads: bool = True
    separate: bool = False
    memory_mb: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStep:
    """One of several steps of a task, which follow one another in the same workspace. `load`: reads its instruction, hidden tests and
    solution. `files`: reads what is put into the workspace when it begins; of these, `setup` is run then, if it is not "". `least`: the
    rewards by name without which no further step begins. The others: as those of a task."""

    name: str
    load: Callable[[], Parts] = field(repr=False, compare=False)
    files: Callable[[], Files] = field(repr=False, compare=False)
    setup: str = ""
    targets: tuple[str, ...]
    verifier: Verifier
    test_seconds: float
    least: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """How a Task's hidden tests access the candidate.

    `isolation`: "separate" (the candidate runs in a sandbox of its own, connected by a pipe), "shared" (tests and candidate share
    a process, for benchmarks whose tests import the target) or "verifier" (a script of the task judges the candidate's files, in a sandbox
    that has nothing else of the agent's). For "shared", `script` is the unittest script among the hidden tests
    that runs as a program from the repository's root; "" runs the hidden tests with pytest. `beside`: the tests run inside the
    repository. `steps`: those of a task that a verifier judges, each by its own; `last_decides`: whether the reward of the last one is
    the task's, and not the mean.
    """

    isolation: Literal["separate", "shared", "verifier"] = "separate"
    script: str = ""
    beside: Beside | None = None
    verifier: Verifier | None = None
    steps: tuple[TaskStep, ...] = ()
    last_decides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The part of one target that an answer replaces, for a Task that asks for less than a file.

    Lines `start` to `stop` (from 0, end excluded) of `path` in the repository are the placeholder; `indent` is the white space before
    its code. `context`: files of the repository that the prompt also shows.
    """

    path: str
    start: int
    stop: int
    indent: str
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The contents of a Task, read from disk when an item runs.

    `reference`: the authors' version of the targets, which replaces those in `repo`. `tests`: the hidden tests, and for a shared
    oracle also files that only they may see (a reference module that they import). `feedback`: the parsed `feedback.yaml`
    (interface -> field -> text), or None. `cases`: the interface of each expected case, if the benchmark lists its cases.
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
class WrongAnswer:
    """A proof: an answer that violates one stated requirement, with which a task's author tests the hidden tests.

    `requirement`: a quotation from the instruction or the paper. `interface`: the interface that violates it. `cases`: test functions,
    at least one of which must fail; () accepts any case of the interface.
    """

    name: str
    targets: Files
    requirement: str
    interface: str
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """One part of a task's `proofs/`, read only when a task is validated. The fields of the other parts are empty.

    A check reads only the part that it needs, so that a mistake in another one does not stop it.

    `right`: complete answers by name. `equivalent`: mutants that compute the same as the reference, with the line of
    `equivalent.txt` that lists each.
    """

    right: Mapping[str, Files] = field(default_factory=dict)
    wrong: tuple[WrongAnswer, ...] = ()
    equivalent: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """What the brief promises of every object of a class, so that tests may hand in no other: `--recode-validate` checks it.

    `of`: the class, a dotted name. `holds`: a Python expression about the object `self`, in the names of the module of the class and `numpy`.
    """

    of: str
    holds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindAttempt:
    """What one attempt at a task did, of a solver who saw only what an agent sees: the measured difficulty.

    Solved in turn `turns`, counted from 1, or unsolved after so many turns. `level`: the highest of the feedback before them, "L0" … "L4";
    "" without feedback, which only a single turn has.
    """

    solver: str
    date: str
    solved: bool
    turns: int
    level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One unit of research code to write. Creating a Task is cheap; `load` reads its files."""

    id: str
    title: str
    format: str
    manifest: Path
    targets: tuple[
        str, ...
    ]  # POSIX paths relative to the repository; a directory, which ends in "/", is every file below it
    interfaces: tuple[str, ...]  # dotted names, as hidden tests access them through `candidate`
    load: Callable[[], Parts] = field(repr=False, compare=False)
    reference: Callable[[], Files] | None = field(default=None, repr=False, compare=False)
    """Returns only the reference, if the format can read it without the repository."""
    proofs: Mapping[ProofPart, Callable[[], Proofs]] = field(default_factory=dict, repr=False, compare=False)
    """Reads a part of the proofs, for each that the task has."""
    paper: Paper = Paper()
    domain: str = ""
    tags: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()  # parts of the set that the task belongs to, such as quick
    difficulty: str = ""  # in its author's word
    measured: tuple[BlindAttempt, ...] = ()
    environment: Environment = Environment()
    limits: Limits = Limits()
    license: str = ""
    canary: str = ""  # a text that every file of the directory contains
    oracle: Oracle = Oracle()
    invariants: tuple[Invariant, ...] = ()
    facts: PlainValues = field(default_factory=dict)  # other facts of the format, for records: plain JSON types
    fault: str = ""  # why the task cannot run, if its format found an error at collection: the line of a UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The part of a Task that an agent may see. `paper` is None if the run omits it."""

    task: str
    title: str
    instruction: str
    paper: str | None
    repo: Files
    targets: tuple[str, ...]
    interfaces: tuple[str, ...]
    slot: Slot | None = None


def digest(parts: Parts) -> str:
    """A hash of everything in `parts` that an episode depends on: 32 hexadecimal digits."""
    hasher = hashlib.sha256()
    for files in (parts.repo, parts.reference, parts.tests):
        hasher.update(_bytes_of(files))
    for text in (parts.instruction, parts.paper or "", repr(parts.feedback), repr(parts.slot), repr(parts.cases)):
        hasher.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
    return hasher.hexdigest()[:32]


def files_digest(files: Files) -> str:
    """A hash of paths and contents: 32 hexadecimal digits."""
    return hashlib.sha256(_bytes_of(files)).hexdigest()[:32]


def _bytes_of(files: Files) -> bytes:
    """Paths and contents in one sequence of bytes, which no other files have."""
    return b"".join(f"{len(path)} {path} {len(files[path])} ".encode() + files[path] for path in sorted(files))


def brief(task: Task, parts: Parts, *, paper: bool = True) -> Brief:
    """Create a Brief. Prompts are built only from it, so they cannot contain anything hidden."""
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
    """The paper and the instruction as files of a workspace, in addition to those of the repository.

    A text whose path is taken by the repository or by a target is omitted.
    """
    taken = {prefix for path in (*brief.repo, *brief.targets) for prefix in (path, path.partition("/")[0])}
    texts = {PAPER_FILE: brief.paper, INSTRUCTION_FILE: brief.instruction}
    return {
        path: text.encode("utf-8", "replace") for path, text in texts.items() if text is not None and path not in taken
    }


def interfaces_of(task: Task, parts: Parts) -> tuple[str, ...]:
    """The interfaces that the Task names, else those of its cases."""
    return task.interfaces or tuple(dict.fromkeys(parts.cases.values()))


def covers(targets: tuple[str, ...], path: str) -> bool:
    """Whether a path is a target, or in a directory that is one."""
    return any(path == each or each == WHOLE or path.startswith(f"{each.rstrip('/')}/") for each in targets)


def removed_files(targets: Files) -> tuple[str, ...]:
    """The files that an answer removed from directories that are targets."""
    return tuple(targets.get(REMOVED, b"").decode("utf-8", "surrogateescape").splitlines())


def candidate_files(parts: Parts, targets: Files, names: tuple[str, ...]) -> dict[str, bytes]:
    """The candidate's files: the original repository with the agent's targets, and nothing else of the agent's workspace.

    A target that the agent deleted is missing from the candidate.
    """
    files = {path: data for path, data in parts.repo.items() if path not in names}
    files.update({path: targets[path] for path in names if path in targets})
    return files
