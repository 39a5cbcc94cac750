"""Command-line agents: programs of others that play inside the workspace's sandbox, in one session an episode: one process a turn, or one that
stays between its turns, stopped.

One file describes one program, as a value: the command of its first turn and of a later one, its configuration, where its session lives.
`program_player.py` plays any of them. Its model calls reach the run's gateway through the door of the workspace, in the dialect that it speaks;
it has no network, and the key that it is given opens this episode's model only, and only while it plays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_recode.agents import CommandResult
from pytest_recode.agents.installed_programs import Source
from pytest_recode.task import Files

MODEL = "model"
"""What a program is told its model is called. A name that it knew would choose its tools and its system prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What one turn of a program is started with.

    `turn`: from 1 on; `turns`: at most. `executable`: its path. `id`: of the session; a new UUID, unless the program names its own. `url`: of the door, without a path;
    `key`: what the door asks for. `home`, `work`: absolute paths in the sandbox, of a directory of its own and of the workspace's root.
    `targets`: relative to `work`. `state`: a directory in `home` for the program's configuration and session.
    """

    turn: int
    turns: int
    executable: str
    id: str
    url: str
    key: str
    home: str
    work: str
    targets: tuple[str, ...]

    @property
    def state(self) -> str:
        return f"{self.home}/{STATE}"


STATE = "agent"
"""The directory of a program's configuration and session, in its home directory."""
PROMPT_FILE = f"{STATE}/prompt.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How a program ended its turn. `problem`: "" or one line that says why it did not do its work; `lost`: whether that is because it cannot
    continue its session. `session`: the id that the program gave its session; "" if it has the one that it was given. `loads`: whether another
    process can continue the session."""

    problem: str = ""
    lost: bool = False
    session: str = ""
    loads: bool = True


def by_status(result: CommandResult) -> ProgramEnd:
    """A program that ends with a status other than 0 has failed."""
    if result.timed_out or not result.status:
        return ProgramEnd()
    return ProgramEnd(problem=f"it ended with status {result.status}: {last_line(result.output)}")


def objects_in(output: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects among the lines of an output, in order."""
    for line in output.splitlines():
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict):
            yield read


def naming_session(key: str, result: CommandResult) -> ProgramEnd:
    """As `by_status`, of a program that names its session by `key` of a line of JSON."""
    named = (line[key] for line in objects_in(result.output) if isinstance(line.get(key), str))
    return ProgramEnd(problem=by_status(result).problem, session=next(named, ""))


def last_line(output: str) -> str:
    """The last line that is not empty, shortened."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it wrote nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLineAgent:
    """How a program is run. The prompt of a turn is its standard input.

    `stays`: it is one process for several turns. Its standard input is the socket of `inside/runtime/command_runner.StayingCommand`, and
    the prompt of a turn the file PROMPT_FILE of its home directory. `later` then starts it where the process of the turns before has ended.

    `source`: its pinned version, which is installed unless the user gives a path; None: there is none. `first`: the command line of the first turn. `later`: that of a turn that continues the session; None if the program cannot continue
    one. `env`: variables beside the sandbox's own. `files`: configuration, by paths in the state directory; written before each turn, so
    that what the program changed in it lasts one turn at most. `session`: the paths in the state directory where the session lives: they
    are stored with each turn. `ended`: reads its output and status.
    `memory_mb`, `disk_mb`, `processes`: what it takes beside the commands that it runs; threads count as processes.
    """

    name: str
    source: Source | None
    first: Callable[[Session], Sequence[str]]
    later: Callable[[Session], Sequence[str]] | None
    env: Callable[[Session], Mapping[str, str]]
    files: Callable[[Session], Files] = lambda _: {}
    session: tuple[str, ...] = ()
    ended: Callable[[CommandResult], ProgramEnd] = by_status
    memory_mb: int = 2048
    disk_mb: int = 1024
    processes: int = 256
    stays: bool = False
