"""A real sshd on this machine, with keys of its own, and a directory with an `ssh` that is configured for it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from pytest_recode.sandboxes.conformance import until
from tests.sandboxes.conftest import unavailable

_SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {place}/host
AuthorizedKeysFile {place}/authorized
StrictModes no
UsePAM no
PidFile none
LogLevel VERBOSE
"""
_CLIENT = """\
IdentityFile {place}/id
IdentitiesOnly yes
UserKnownHostsFile {place}/known
"""


class SshServer:
    def __init__(self, place: Path) -> None:
        program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None or os.getuid() != 0:
            unavailable("a server for ssh needs root and sshd")
        assert program is not None
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd refuses to start without it
        place.chmod(0o755)
        self.place = place / "ssh"
        self.bin = self.place / "bin"
        self.bin.mkdir(parents=True)
        for name in ("host", "id"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.place / name)], check=True)
        (self.place / "id.pub").rename(self.place / "authorized")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        key = " ".join((self.place / "host.pub").read_text().split()[:2])
        (self.place / "known").write_text(f"[127.0.0.1]:{self.port} {key}\n")
        for name, text in (("server", _SERVER), ("client", _CLIENT)):
            (self.place / name).write_text(text.format(port=self.port, place=self.place))
        stand_in = self.bin / "ssh"
        stand_in.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.place}/client "$@"\n')
        stand_in.chmod(0o755)
        self.url = f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{self.port}"
        self._log = self.place / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, "-D", "-e", "-f", str(self.place / "server")], stderr=log, start_new_session=True
            )
        until(lambda: "Server listening" in self._log.read_text(), "sshd listens")

    def connections(self) -> int:
        """Number of logins so far."""
        return self._log.read_text().count("Accepted publickey")

    def sessions(self) -> list[int]:
        """The processes that serve open connections."""
        path = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def cut(self) -> None:
        """End all connections, as a network that fails would."""
        for pid in self.sessions():
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():  # the part without privileges
                _kill(int(child))
            _kill(pid)

    def forget_key(self) -> None:
        (self.place / "authorized").write_text("")

    def close(self) -> None:
        if self._process.poll() is None:
            sessions = self.sessions()
            self._process.terminate()  # first, so that nobody connects again
            self._process.wait()
            for pid in sessions:
                _kill(pid)

    def __enter__(self) -> SshServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
