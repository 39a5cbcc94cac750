"""One process launches for all workers of a machine, so that they share warm parents: sixteen workers import a program's modules once.

Runs in the controlling process. A worker (`launch_client.py`) opens a connection for each launch, sends what to launch, and gets the
descriptor of the wire to the program. It asks how long the program had to wait for others, sends when to end it, and then that it has
closed the wire; each is answered. If it
is gone, the program ends too. The bytes of programs never pass through this process.
"""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from multiprocessing.reduction import send_handle
from secrets import token_bytes

from pytest_recode.faults import MachineError, SandboxError, UserError
from pytest_recode.owned_directory import make_directory
from pytest_recode.sandboxes import Program, Sandbox, SandboxContext, SandboxKind
from pytest_recode.sandboxes.local_connection import LocalConnection
from pytest_recode.task import Environment, Limits

WAITED = "waited"  # the question how long a program had to wait
_WAITING = 128  # connections that are not accepted yet


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchAddress:
    """Where a `LaunchServer` listens: a Unix socket that only this user can reach, and a secret, in hexadecimal."""

    socket: str
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What a worker asks for. `kind` is the name of a registered sandbox."""

    kind: str
    context: SandboxContext
    program: Program
    environment: Environment
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedLaunch:
    """Why a launch or an end failed, and whose fault it is."""

    message: str
    fault: type[UserError | SandboxError]


class LaunchServer:
    """Launches from its own sandboxes, one for each kind and context.

    `kind` returns a registered kind of sandbox by its name. `workers`: how many workers there are.
    """

    def __init__(self, kind: Callable[[str], SandboxKind], workers: int) -> None:
        self._kind = kind
        self._workers = workers
        self._sandboxes: dict[tuple[str, SandboxContext], Sandbox] = {}
        self._lock = threading.Lock()
        self._directory = make_directory(short=True)
        self._secret = token_bytes(32)
        path = str(self._directory / "socket")
        self._listener = Listener(path, "AF_UNIX", backlog=_WAITING)
        self.address = LaunchAddress(socket=path, secret=self._secret.hex())
        self._closed = threading.Event()
        threading.Thread(target=self._accept, name="recode-launches", daemon=True).start()

    def close(self) -> None:
        """End all programs and warm parents, and listen no more; idempotent. Raises `SandboxError`."""
        if self._closed.is_set():
            return
        self._closed.set()
        # Closing a socket wakes no thread that waits in `accept`
        with suppress(OSError), socket.socket(socket.AF_UNIX) as wake:
            wake.connect(self.address.socket)
        self._listener.close()
        shutil.rmtree(self._directory, ignore_errors=True)
        with self._lock, ExitStack() as closing:  # closes every sandbox, also if one raises
            for sandbox in self._sandboxes.values():
                closing.callback(sandbox.close)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection = self._listener.accept()
            except OSError:  # too many open files, until some launches have ended
                self._closed.wait(0.1)
                continue
            try:
                threading.Thread(target=self._serve, args=[connection], name="recode-launch", daemon=True).start()
            except RuntimeError:  # too many threads; the worker reports the error
                connection.close()

    def _serve(self, connection: Connection) -> None:
        """One launch, from the request to its end. A worker that is gone ends it, and one that is stopped delays no other."""
        with connection, suppress(OSError, EOFError, AuthenticationError):
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
            launched = self._launch(connection.recv())
            if isinstance(launched, RefusedLaunch):
                connection.send(launched)
                return
            grace = 0.0
            try:
                connection.send(None)
                launched.hand_over(lambda fd: send_handle(connection, fd, None))
                while (asked := connection.recv()) == WAITED:
                    connection.send(launched.waited())
                grace = asked
            finally:
                ended = _ended(launched, grace)
                with suppress(OSError, EOFError):
                    connection.send(ended)
                    connection.recv()  # the worker has closed the wire, or is gone
                launched.release()
            connection.send(None)

    def _launch(self, asked: Launch) -> LocalConnection | RefusedLaunch:
        try:
            launched = self._sandbox(asked).launch(asked.program, asked.environment, asked.limits)
        except (UserError, SandboxError, OSError) as error:
            return _refused(error)
        assert isinstance(launched, LocalConnection)  # of a kind that is `local`
        return launched

    def _sandbox(self, asked: Launch) -> Sandbox:
        key = asked.kind, asked.context
        with self._lock:
            if self._closed.is_set():
                raise SandboxError("the run is over: nothing is launched any more")
            if key not in self._sandboxes:
                self._sandboxes[key] = self._kind(asked.kind).make(replace(asked.context, workers=self._workers))
            return self._sandboxes[key]


def _ended(launched: LocalConnection, grace: float) -> str | RefusedLaunch:
    try:
        return launched.end(grace)
    except SandboxError as error:
        return _refused(error)


def _refused(error: Exception) -> RefusedLaunch:
    faults: tuple[type[UserError | SandboxError], ...] = (UserError, MachineError)
    return RefusedLaunch(
        message=str(error), fault=next((each for each in faults if isinstance(error, each)), SandboxError)
    )
