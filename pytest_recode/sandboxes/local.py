"""What the sandboxes of this machine share: warm parents, and the connection to a program forked from one."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.sandboxes import Program
from pytest_recode.task import Environment, Limits

WARM_SECONDS = 300.0  # imports of a warm parent
START_SECONDS = 30.0
KILL_SECONDS = 15.0
OLDEST = (3, 9)  # what the sources in inside/ are written for

_INSIDE = Path(__file__).parent.parent / "inside"
_FACTS = (
    "import json, sys; print(json.dumps([sys.executable, sys.prefix, sys.base_prefix, list(sys.version_info[:2])]))"
)


@cache
def source(name: str) -> str:
    """The text of a module of `inside/`."""
    return (_INSIDE / f"{name}.py").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python on this machine, as it describes itself."""

    executable: Path
    prefix: Path
    base_prefix: Path


@cache
def interpreter(python: str) -> Interpreter:
    """Ask `python` where it lives. Raises `UserError` where it is missing, too old or no Python."""
    advice = "give another with --recode-python=PATH"
    try:
        done = subprocess.run(
            [python, "-I", "-c", _FACTS],
            env={"PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        executable, prefix, base_prefix, version = json.loads(done.stdout)
    except FileNotFoundError as exc:
        raise UserError(f"interpreter {python}: no such file; {advice}") from exc
    except (OSError, subprocess.SubprocessError, ValueError) as exc:
        raise UserError(f"interpreter {python}: not a working Python ({exc}); {advice}") from exc
    if tuple(version) < OLDEST:
        found, least = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise UserError(f"interpreter {python}: is Python {found}, needs {least} or newer; {advice}")
    return Interpreter(executable=Path(executable), prefix=Path(prefix), base_prefix=Path(base_prefix))


def environment_variables(interpreter: Interpreter, home: str) -> dict[str, str]:
    """The whole environment of a program: built from nothing, the same on every machine."""
    paths = dict.fromkeys(
        [str(interpreter.executable.parent), str(interpreter.prefix / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]
    )
    return {"PATH": ":".join(paths), "HOME": home, **FIXED}


FIXED = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class ParentGone(Exception):
    """The warm parent has ended; the text is the last it had to say."""


class WarmParent:
    """A process of `inside/zygote.py`, from the host. Thread-safe."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        program: Program,
        preload: Sequence[str],
        namespaces: bool,
        uid: int | None = None,
        pass_fds: Sequence[int] = (),
        kept: Sequence[str] = (),
    ) -> None:
        """Start it: `argv` is to end in an interpreter. Does not wait for its imports.

        `kept` are paths below /tmp that each launch is to see, as it sees everything outside /tmp.
        """
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stderr: IO[bytes] = tempfile.TemporaryFile()
        self._lock = threading.Lock()
        self._kept = list(kept)
        self._numbers = 0
        self._ready = False
        self._fault: dict[str, Any] | None = None
        self._up: set[int] = set()
        self._ended: dict[int, dict[str, Any]] = {}
        setup = {
            "control": theirs.fileno(),
            "uid": uid,
            "namespaces": namespaces,
            "preload": list(preload),
            "program": program_message(program),
        }
        try:
            with tempfile.TemporaryFile() as script:
                script.write(boot_message("recode_zygote", setup, persistent=program.persistent))
                script.flush()
                script.seek(0)
                self._process = subprocess.Popen(
                    [*argv, "-s", "-B", "-c", source("boot")],
                    cwd="/",
                    env=dict(env),
                    stdin=script,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                    pass_fds=[theirs.fileno(), *pass_fds],
                    start_new_session=True,  # a terminal's Ctrl-C is for the host
                )
        except OSError as exc:
            self._control.close()
            self._stderr.close()
            raise SandboxError(f"cannot start {argv[0]}: {exc}") from exc
        finally:
            theirs.close()

    def wait_ready(self) -> None:
        """Raises `ParentGone`, `TimeoutError`, and `ImportError` (with `name`) for a module that cannot be imported."""
        with self._lock:
            self._hear_until(lambda: self._ready or self._fault is not None, WARM_SECONDS)
        if self._fault is not None:
            raise ImportError(self._fault["fault"], name=self._fault["module"])

    def launch(self, limits: Limits, *, persistent: bool, directory: str = "") -> LocalConnection:
        """Raises `ParentGone`, and `SandboxError` where the walls cannot be raised."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with self._lock:
                self._numbers += 1
                number = self._numbers
                wanted = {
                    "memory_mb": limits.memory_mb,
                    "disk_mb": limits.disk_mb,
                    "pids": limits.pids,
                    "persistent": persistent,
                    "directory": directory,
                    "kept": self._kept,
                }
                message = json.dumps({"launch": number, "limits": wanted}).encode()
                with theirs:
                    try:
                        socket.send_fds(self._control, [message], [theirs.fileno()])
                    except OSError as exc:
                        raise ParentGone(self.last_words()) from exc
                self._hear_until(lambda: number in self._up or number in self._ended, START_SECONDS)
                self._up.discard(number)
                fault = self._ended.get(number, {}).get("fault")
            if fault is not None:
                raise SandboxError(f"a sandbox could not be set up: {fault}")
        except BaseException:
            ours.close()
            raise
        return LocalConnection(ours, self, number)

    def end(self, number: int) -> str:
        """End a launch and all it started; how it had ended before that, or ""."""
        with self._lock:
            try:
                self._hear_waiting()
                if number not in self._ended:
                    self._control.send(json.dumps({"kill": number}).encode())
                    self._hear_until(lambda: number in self._ended, KILL_SECONDS)
            except (ParentGone, OSError):
                return "ended together with its warm parent"
            except TimeoutError:
                self._process.kill()
                return ""
            return str(self._ended.pop(number)["how"])

    def close(self) -> None:
        """End it and everything below it; idempotent."""
        with self._lock:
            self._control.close()
            try:
                self._process.wait(KILL_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._stderr.close()

    def last_words(self) -> str:
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            pass
        if self._stderr.closed:
            return "it was closed"
        end = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(end - 2000, 0))
        text = self._stderr.read().decode("utf-8", "replace").strip()
        return text or f"exit status {self._process.returncode}, nothing on its stderr"

    def _hear_waiting(self) -> None:
        while _readable(self._control, 0):
            self._hear()

    def _hear_until(self, done: Any, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if not _readable(self._control, deadline - time.monotonic()):
                raise TimeoutError(f"no answer from a warm parent in {seconds:.0f} s")
            self._hear()

    def _hear(self) -> None:
        try:
            data = self._control.recv(1 << 16)
        except ConnectionError as exc:
            raise ParentGone(self.last_words()) from exc
        if not data:
            raise ParentGone(self.last_words())
        message = json.loads(data)
        if "ready" in message:
            self._ready = True
        elif "up" in message:
            self._up.add(message["up"])
        elif "ended" in message:
            self._ended[message["ended"]] = message
        else:
            self._fault = message


class LocalConnection:
    """A `Connection` over a socket pair."""

    def __init__(self, wire: socket.socket, parent: WarmParent, number: int) -> None:
        wire.setblocking(False)
        self._wire = wire
        self._parent = parent
        self._number = number
        self._how: str | None = None

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        view = memoryview(data).cast("B")
        while view:
            try:
                view = view[self._wire.send(view) :]
            except BlockingIOError:
                _await(self._wire, select.POLLOUT, deadline)
            except OSError as exc:
                if isinstance(exc, ConnectionError):
                    raise
                raise ConnectionError(f"the program is gone: {exc}") from exc

    def receive(self, size: int, deadline: float) -> bytes:
        while True:
            try:
                return self._wire.recv(size)
            except BlockingIOError:
                _await(self._wire, select.POLLIN, deadline)
            except OSError:  # reset: it ended with bytes of ours unread; or closed by `kill`
                return b""

    def kill(self) -> str:
        if self._how is None:
            self._how = self._parent.end(self._number)
            self._wire.close()
        return self._how


def _await(wire: socket.socket, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(wire, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError("the program did not answer in time")


def _readable(control: socket.socket, seconds: float) -> bool:
    poll = select.poll()
    poll.register(control, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))


def program_message(program: Program) -> dict[str, Any]:
    return {
        "modules": list(program.modules.items()),
        "entry": program.entry,
        "preload": list(program.preload),
    }


def boot_message(main: str, setup: Mapping[str, Any], *, persistent: bool) -> bytes:
    """What `inside/boot.py` reads: the sandbox's own modules, and what to do."""
    names = ["walls", "cell", *(["jail"] if persistent else []), "zygote"]
    if main == "recode_container":
        names.append("container")
    modules = [(f"recode_{name}", source(name)) for name in names]
    text = json.dumps({"modules": modules, "main": main, "setup": setup}).encode()
    return len(text).to_bytes(8, "big") + text


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmKey:
    """What a warm parent is good for."""

    program: str
    modules: tuple[tuple[str, str], ...]
    entry: str
    preload: tuple[str, ...]
    persistent: bool
    python: str


def warm_key(program: Program, environment: Environment, python: str) -> WarmKey:
    return WarmKey(
        program=program.name,
        modules=tuple(program.modules.items()),
        entry=program.entry,
        preload=(*environment.preload, *program.preload),
        persistent=program.persistent,
        python=environment.python or python,
    )


def not_importable(exc: ImportError, python: str) -> UserError:
    return UserError(
        f"{python} cannot import {exc.name!r}, which the task wants preloaded ({exc.msg}); install it there "
        f"({python} -m pip install …) or name an interpreter that has it with --recode-python=PATH"
    )
