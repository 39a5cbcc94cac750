"""Agents: they turn a Brief and Feedback into a Move, in a Workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pytest_recode.episode import Episode, Feedback, Move
from pytest_recode.models import Embedder, Model
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.task import Brief, Files, Limits

Log = Callable[[str, Mapping[str, Any]], None]
"""Writes one line of the episode's transcript: kind of event, and its fields (plain JSON types)."""

Waiting = Callable[[str], AbstractContextManager[None]]
"""Entered with the name of what is waited for; the time inside does not count against the episode's limit."""


def counted(what: str) -> AbstractContextManager[None]:
    """`Waiting` where there is no limit."""
    return nullcontext()


class Refused(Exception):
    """A workspace action that cannot be done as asked (no such file, outside the workspace, disk full).

    The text is told to the agent.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """`output` is stdout and stderr together, cut past the limit; `status` is negative for a signal. `killed`: the limit of the sandbox that
    it exceeded, whereupon it was killed or failed; "" if there is none. `stays`: whether it is there for its next turn."""

    status: int
    output: str
    timed_out: bool = False
    seconds: float = 0.0
    killed: str = ""
    stays: bool = False


class Workspace(Protocol):
    """The files an agent works on, inside its sandbox. Paths are relative POSIX.

    Raises `Refused`, `SandboxError`.
    """

    def check(self, path: str = ".", pattern: str | None = None) -> str:
        """`path` relative to the root. Refuses a path outside of the workspace and a pattern that is no regular expression; looks at no
        file."""

    def list(self, path: str = ".") -> tuple[str, ...]:
        """Every file below `path`, sorted."""

    def read(self, path: str) -> str: ...

    def grep(self, pattern: str, path: str = ".") -> tuple[str, ...]:
        """`file:line:text` of the lines that a regular expression matches."""

    def write(self, path: str, text: str) -> None: ...

    def remove(self, path: str) -> None: ...

    def run(self, command: str, seconds: float | None = None) -> CommandResult:
        """A shell command, in the sandbox, in the workspace's root. `seconds`: a limit, if it is lower than that of every command."""

    def targets(self) -> Files:
        """The target files that exist, as they are now: the only files that leave a workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The terminal of the run. `opened` is entered while the other two are used. `write` takes text without control characters; `read`
    shows a prompt and returns a line, or raises `EOFError` at the end of the input."""

    opened: Callable[[], AbstractContextManager[None]]
    write: Callable[[str], None]
    read: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """What an agent is made with, once per episode.

    `solution` is None but for an agent registered with `needs_reference` (the built-in `reference`), and `terminal` but for one with
    `needs_person` (the built-in `person`).
    """

    model: Model | None
    steps: int  # model calls per turn
    turns: int
    log: Log
    solution: Callable[[], Files] | None = None
    reindent: bool = False  # move an answer for a slot to the slot's indentation
    memory_threshold: int | None = None  # messages, past which an agent with a memory sums up the older ones
    memory_keep: int | None = None  # at most so many of them stay as they are
    embedder: Embedder | None = None  # finds what a search is for; without one, words do
    shared: Path | None = None  # a directory of the run: what one worker made there, the others find
    files: RunFiles = LOCAL  # reads and writes files in `shared`, which may be on another host
    waiting: Waiting = counted  # for waits for other workers
    command_seconds: float = Limits().command_seconds  # what one command in the workspace may take
    terminal: Terminal | None = None
    program: InstalledProgram | None = None  # for a kind that has one
    agent_seconds: float = 1800.0  # of one turn of that program
    episode: str = ""  # its name, which is a valid file name
    keeps_files: bool = (
        False  # the user named the directory of records: files outside of it remain after the episode, too
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledProgram:
    """A program of this machine. `shown`: the directory or file that the sandbox shows read-only, with all that it needs beside the system."""

    shown: Path
    executable: Path
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramNeeds:
    """The program of an agent, and what it takes in its sandbox beside the commands that it runs; threads count as processes.

    `find`: finds the pinned version on this machine, and installs it if it gets a function, which it calls with a line before. Raises
    `UserError`. `continues`: whether it takes feedback in the session of its first turn; one that does not plays single turns only.
    """

    name: str
    continues: bool = True
    find: Callable[[Callable[[str], None] | None], InstalledProgram]
    memory_mb: int
    disk_mb: int
    processes: int

    def beside(self, limits: Limits) -> Limits:
        """The limits of a workspace in which the program plays, beside commands with these."""
        return replace(
            limits,
            memory_mb=limits.memory_mb + self.memory_mb,
            disk_mb=limits.disk_mb + self.disk_mb,
            pids=limits.pids + self.processes,
        )


class Agent(Protocol):
    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        """One turn. `feedback` is None in the first. Keeps its own memory between turns.

        Raises `ModelError`, `BudgetSpent`, `SandboxError`; anything else is a fault of the agent: ERROR.
        """


@runtime_checkable
class Finishing(Protocol):
    """An agent with a method that is called at the end of its episode; not after an error or an interruption, because the episode can be resumed."""

    def finish(self, episode: Episode) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKind:
    """How an agent is registered. `offline` ones are the project's own and run nothing that a model made.

    `needs_person`: a person at the terminal plays. Such an agent needs no model, its turns are stored like those of a model, and the
    episode's time limit does not apply.

    `defaults`: settings that are others with this agent, by the names of the fields of Settings; what the user gave wins.
    `concurrent`: several episodes in threads of one process may use it at the same time (--recode-in-flight).
    `program`: the program that plays, inside the workspace's sandbox, for an agent of others. Its model calls go through the run's gateway.
    `needs_targets`: it writes the files that a task names, so a task whose answer is whatever changes in its directory is refused.
    `fixes`: settings that it has whatever the user gave, such as `ONE_STEP`; an option of one on the command line is an error.
    `check`: called once for each run in the controlling process, before money is spent; raises `UserError` if the agent cannot play, such as
    for a package that is not installed.
    """

    make: Callable[[AgentContext], Agent]
    check: Callable[[], None] | None = None
    needs_model: bool = True
    needs_reference: bool = False
    needs_person: bool = False
    needs_targets: bool = False
    offline: bool = False
    concurrent: bool = False
    program: ProgramNeeds | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)
    fixes: Mapping[str, Any] = field(default_factory=dict, hash=False)


ONE_STEP: Mapping[str, Any] = {"steps": 1, "memory_threshold": None, "memory_keep": None, "search_model": None}
"""What an agent fixes that makes one step in each turn: no memory, no search."""
