"""The worker's side of `launch_server.py`: a sandbox whose programs the controlling process launches from the warm parents of all workers."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import recv_handle

from pytest_recode import sandboxes
from pytest_recode.faults import SandboxError
from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.sandboxes import Program, Sandbox, SandboxContext
from pytest_recode.sandboxes.launch_server import WAITED, Launch, LaunchAddress, RefusedLaunch
from pytest_recode.sandboxes.local_connection import WITH_PARENT, LocalConnection
from pytest_recode.task import Environment, Limits


class LaunchClient:
    """A `Sandbox`. `own` is one of the same kind in this process, which launches nothing."""

    def __init__(self, kind: str, own: Sandbox, context: SandboxContext, address: LaunchAddress) -> None:
        self._kind = kind
        self._own = own
        self._context = context
        self._address = address
        self._launched: dict[int, LocalConnection] = {}
        self.name = own.name
        self.isolation = own.isolation
        self.host = own.host
        self.memory_limit = own.memory_limit

    def ready(self, environment: Environment) -> None:
        self._own.ready(environment)

    def launch(self, program: Program, environment: Environment, limits: Limits) -> sandboxes.Connection:
        try:
            server = Client(self._address.socket, "AF_UNIX", authkey=bytes.fromhex(self._address.secret))
        except (OSError, EOFError, AuthenticationError) as error:
            raise SandboxError(f"the controlling process launches nothing any more: {error}") from error
        try:
            server.send(
                Launch(
                    kind=self._kind,
                    context=self._context,
                    program=program,
                    environment=environment,
                    limits=limits,
                )
            )
            refused = server.recv()
            if refused is not None:
                raise refused.fault(refused.message)
            wire = socket.socket(fileno=recv_handle(server))
            wire.set_inheritable(False)
        except (OSError, EOFError, RuntimeError) as error:  # `RuntimeError`: no descriptor is left for the wire
            server.close()
            lost = "it ended, or one of both has too many open files or threads"
            raise SandboxError(
                f"the controlling process did not launch {program.name}: {str(error) or lost}"
            ) from error
        except BaseException:
            server.close()  # which ends the program
            raise
        number = server.fileno()
        launched = self._launched[number] = LocalConnection(
            wire,
            lambda grace: self._end(server, grace),
            lambda: self._release(number, server),
            lambda: _waited(server),
        )
        return launched

    def close(self) -> None:
        """End every program that this worker launched. Warm parents are the controlling process's."""
        for launched in list(self._launched.values()):
            launched.kill()
        self._own.close()

    def _end(self, server: Connection, grace: float) -> str:
        try:
            server.send(grace)
            ended = server.recv()
        except (OSError, EOFError):  # the controlling process is gone, and all programs with it
            return WITH_PARENT
        if isinstance(ended, RefusedLaunch):
            raise ended.fault(ended.message)
        return str(ended)

    def _release(self, number: int, server: Connection) -> None:
        """The wire is closed: wait until the program's parent has ended, if that was started for this program alone."""
        self._launched.pop(number, None)
        with server, suppress(OSError, EOFError):
            server.send(None)
            server.recv()


def _waited(server: Connection) -> Sequence[Sample]:
    samples: Sequence[Sample] = ()
    with suppress(OSError, EOFError):  # the controlling process is gone
        server.send(WAITED)
        samples = server.recv()
    return samples
