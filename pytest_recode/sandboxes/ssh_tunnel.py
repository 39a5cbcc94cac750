"""Connections to Docker daemons of other machines over ssh: one process of the system's `ssh` per host forwards a local socket.

Runs on the host, in every process that uses such a daemon. All streams to the daemon share one ssh connection, because a server accepts
only a few at a time (`MaxStartups` and `MaxSessions` of sshd). The `ssh` process ends with this one, however that happens: it runs
`cat` on the other machine, whose input is then closed.
"""

from __future__ import annotations

import atexit
import os
import select
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

from pytest_recode.owned_directory import make_directory
from pytest_recode.sandboxes import waiting

OPEN_SECONDS = 60.0
_OPTIONS = (
    *("-o", "BatchMode=yes"),  # no questions: nobody may be there to answer, and several processes connect
    *("-o", "ConnectTimeout=30"),
    *("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"),  # otherwise a lost machine is noticed after hours
    # A shared connection of the user would keep the forwarding after this process has ended, and limits the number of sessions
    *("-o", "ControlMaster=no", "-o", "ControlPath=none"),
)
_READY = b"pytest-recode: forwarded\n"
_INSPECT = "docker context inspect --format '{{.Endpoints.docker.Host}}'"
_ROOT = "unix://"

_lock = threading.Lock()
_tunnels: dict[str, Tunnel] = {}  # the open one of each address
_sockets: dict[str, str] = {}  # path of the daemon's socket on the other machine, by address


class SshError(Exception):
    """No connection. The message is one line: the cause, as ssh reports it."""


def forwarded(address: str) -> str:
    """The address of a local socket that is forwarded to the daemon at `address` (ssh://[user@]host[:port][/socket]).

    The first call opens the connection, and a later call opens it again if it has ended. Raises `SshError`.
    """
    with _lock:
        tunnel = _tunnels.get(address)
        if tunnel is not None and tunnel.ended():
            _tunnels.pop(address).close()
            tunnel = None
        if tunnel is None:
            tunnel = _tunnels[address] = Tunnel(address, _socket_of(address))
        return f"{_ROOT}{tunnel.path}"


def close(address: str) -> None:
    """Close the connection to `address`, if there is one."""
    with _lock:
        tunnel = _tunnels.pop(address, None)
    if tunnel is not None:
        tunnel.close()


@atexit.register
def _close_all() -> None:
    for address in list(_tunnels):
        close(address)


def last_error(address: str) -> str:
    """The last line that the open connection to `address` wrote, such as a refused forwarding; "" if there is none."""
    with _lock:
        tunnel = _tunnels.get(address)
    return tunnel.last_error() if tunnel is not None else ""


def by_hand(address: str) -> str:
    """A command for the user that shows whether ssh and docker work."""
    return shlex.join(["ssh", *_target(address), "docker", "version"])


def _target(address: str) -> list[str]:
    parts = urlsplit(address)
    user = ["-l", parts.username] if parts.username else []
    port = ["-p", str(parts.port)] if parts.port else []
    return [*user, *port, "--", parts.hostname or ""]


def _socket_of(address: str) -> str:
    """The path of the socket that `address` names, or else the one that the `docker` program of the other machine uses."""
    if (path := urlsplit(address).path) not in ("", "/"):
        return path
    if address not in _sockets:
        try:
            result = subprocess.run(
                ["ssh", *_OPTIONS, *_target(address), _INSPECT],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=OPEN_SECONDS,
                start_new_session=True,
            )
        except OSError as exc:
            raise SshError(f"cannot start ssh: {exc.strerror}") from exc
        except subprocess.TimeoutExpired:
            raise SshError(f"ssh did not connect within {OPEN_SECONDS:g} s") from None
        endpoint = (result.stdout.split() or [""])[-1]
        if result.returncode != 0:
            raise SshError(_last_line(result.stderr) or _no_message(result.returncode))
        if not endpoint.startswith(_ROOT):
            raise SshError(
                f"the docker program there uses {endpoint or 'nothing'}; write ssh://HOST/PATH/TO/docker.sock"
            )
        _sockets[address] = endpoint.removeprefix(_ROOT)
    return _sockets[address]


class Tunnel:
    """A process of `ssh`, and the local socket that it forwards."""

    def __init__(self, address: str, socket: str) -> None:
        """Connect, and forward `path` to `socket` on the other machine. Raises `SshError`."""
        self._directory = make_directory(short=True)
        self.path = self._directory / "docker.sock"
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                ["ssh", *_OPTIONS, "-L", f"{self.path}:{socket}", *_target(address), "cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                start_new_session=True,  # so that Ctrl-C in a terminal reaches only this process, which then ends containers
            )
            self._wait_open(self._process)
        except OSError as exc:
            self.close()
            raise SshError(f"cannot start ssh: {exc.strerror}") from exc
        except BaseException:
            self.close()
            raise

    def _wait_open(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the other machine sends back what it was sent. Its login scripts may write other lines before."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # then the output ends, too
            process.stdin.write(_READY)
        deadline = time.monotonic() + OPEN_SECONDS
        received = b""
        while not received.endswith(_READY):
            if not waiting.ready(process.stdout, select.POLLIN, deadline - time.monotonic()):
                raise SshError(f"ssh did not connect within {OPEN_SECONDS:g} s")
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                raise SshError(self._failure())
            received = (received + data)[-(1 << 16) :]
        if not self.path.exists():
            raise SshError(self._failure())

    def ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def close(self) -> None:
        process = self._process
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.terminate()
            process.wait()
        self._stderr.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def last_error(self) -> str:
        if self._stderr.closed:
            return ""
        size = os.fstat(self._stderr.fileno()).st_size
        text = os.pread(self._stderr.fileno(), 2000, max(size - 2000, 0))  # not `seek`, because ssh shares the offset
        return _last_line(text.decode("utf-8", "replace"))

    def _failure(self) -> str:
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        return self.last_error() or _no_message(self._process.returncode)


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _no_message(status: int | None) -> str:
    return f"ssh ended with status {status} and no message"
