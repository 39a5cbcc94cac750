"""Sandboxes, where untrusted code runs: one Protocol, and a module for each kind.

A sandbox only runs a `Program` (source code of `pytest_recode/inside/`) in isolation, with one two-way byte stream to it. It does
not interpret the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.schema.rules import one_of
from pytest_recode.task import Environment, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run: self-contained modules, sent as source and imported from memory in the sandbox.

    `modules`: source by module name.
    `entry`: the module whose `main(reader, writer)` is called with two binary file objects (unbuffered, like `FileIO`).
    Its optional `warm()` is called once in the warm parent, after the modules in `preload` were imported. Its optional
    `hold(serve)` is called after that and calls `serve` at the point where each `main` starts, in a parent whose working
    directory has the path of each launch's working directory.
    `preload`: modules to import in the warm parent, in addition to the environment's.
    `persistent`: the program is trusted and runs untrusted commands as child processes (an agent's workspace), and it is
    protected from them. In other programs, untrusted code runs in the program's own process.
    `preparation`: bytes for the entry's `prepare(preparation)`, which is called once after `warm()` in a temporary writable
    directory; launches fork from the result. Local sandboxes keep a second warm parent for each preparation, forked from the
    first, so that modules that all preparations need are imported once.
    `shown`: absolute real paths of directories and files of this machine that the program sees, and cannot change: under the same
    paths, or under those of `inside/workspace/shown_paths.py`.
    `places`: absolute paths of directories that are empty for each launch, and that the program may write to; only for environments
    with a `workdir`.
    """

    name: str
    modules: Mapping[str, str]
    entry: str
    preload: tuple[str, ...] = ()
    persistent: bool = False
    preparation: bytes = b""
    shown: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


class Connection(Protocol):
    """One running program. Every call raises `TimeoutError` at its `deadline`, a value of `time.monotonic()`."""

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        """Write all of `data`. Raises `ConnectionError` if the program has ended."""

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        """Write a part of `data`, as `send` does, and return the number of bytes."""

    def receive(self, size: int, deadline: float) -> bytes:
        """Read 1 to `size` bytes; b"" if the program has ended."""

    def waited(self) -> Sequence[Sample]:
        """How long the program was ready to run and other programs used the CPUs, at times since its start; empty where that is unknown.

        A time limit does not count that. A program must not be able to lengthen it, so what its own processes use is not in it.
        """

    def kill(self) -> str:
        """End the program and every process it started, and release its resources; idempotent.

        Returns how the program ended before the call, for messages: "exited with status 3", "killed by signal 9",
        "out of memory (2048 MiB)", or "" if it was still running.
        """


def send_all(connection: Connection, data: bytes | memoryview, deadline: float) -> None:
    """Write all of `data`, part by part: how a connection with `write` sends."""
    view = memoryview(data).cast("B")
    while view:
        view = view[connection.write(view, deadline) :]


class Sandbox(Protocol):
    """Runs programs in isolation. One worker keeps it open while it runs items."""

    name: str  # "docker"
    isolation: Annotated[str, one_of("separate", "process")]  # isolated, or limits only
    host: str  # where its programs run, for records; "": on this machine
    memory_limit: (
        str  # what limits the memory of a launch as a whole, for records: "control group (version 1)", "measured"
    )

    def ready(self, environment: Environment) -> None:
        """Find, pull or build what `environment` names (an interpreter or an image), without starting a program.

        Called before the first model call, so that a missing environment is reported before money is spent. Raises `UserError`.
        """

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        """Start `program` in a fresh sandbox: its own files (an empty writable working directory), processes and limits.

        Raises `SandboxError` if it cannot start, and `UserError` if the environment is the cause (a missing interpreter or
        image, or a `preload` that cannot be imported).
        """

    def close(self) -> None:
        """End every process this sandbox started, including warm parents; idempotent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxContext:
    """Arguments for creating a sandbox.

    `run`: labels everything the sandbox starts, so that processes and containers of killed runs can be found.
    "": nothing is labelled, because it ends with the container that this process is in.
    `hide`: absolute real paths of directories that no program in the sandbox may see.
    """

    run: str
    python: str  # interpreter of local sandboxes for tasks that name none
    image: str = ""  # docker: base image for tasks that name none
    host: str = ""  # docker: address of its daemon; "": the one that the environment names
    hide: tuple[str, ...] = ()
    workers: int = 1  # how many launch at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxKind:
    """A registered kind of sandbox.

    `make`: creates one.
    `check`: returns None, or one line that says why it cannot be used on this machine and what to do. Starts no program.
    `missing_image`: for a kind that needs an image: gets the one of tasks that name none, and returns None, or one line that says why it
    cannot be had and what to do. `notify` is called with a line before a download; if it is None, there is none.
    `reap`: removes processes, containers and files of killed runs. Called once for each run, in the controlling process.
    `local`: its programs run on this machine, and its connections are each a `local_connection.LocalConnection`, so that one process can launch
    for all workers of the machine (`launch_server.py`).
    `needs`: what an environment must name to be used: an interpreter of this machine, or an image. "": it decides itself.
    `isolated`: code of a model cannot leave it. One that is not is chosen by its name, or for runs of the project's own code.
    `automatic`: its place, from 1, in the order in which `auto` tries the kinds; 0: it is used only by its name.
    `hosts`: its programs can run on the hosts of --recode-docker-host.
    `concurrent`: several episodes in threads of one process may launch in one sandbox at the same time (--recode-in-flight).
    """

    make: Callable[[SandboxContext], Sandbox]
    check: Callable[[SandboxContext], str | None]
    missing_image: Callable[[SandboxContext, Callable[[str], None] | None], str | None] | None = None
    reap: Callable[[SandboxContext], None]
    local: bool = False
    needs: Literal["interpreter", "image", ""] = ""
    isolated: bool = False
    automatic: int = 0
    hosts: bool = False
    concurrent: bool = False
