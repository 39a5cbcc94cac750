"""The process of a first warm parent, from which all others of its program are forked. Runs on the host."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from pytest_recode.faults import SandboxError, machine_error
from pytest_recode.sandboxes.shipping import source

KILL_SECONDS = 60.0  # the kernel of a busy machine takes seconds to free what a killed process had


class Root:
    """The process of a first warm parent, and of all parents that were forked from it."""

    def __init__(self, argv: Sequence[str], boot: bytes, env: Mapping[str, str], pass_fds: Sequence[int]) -> None:
        """Start `argv`, which ends with an interpreter, and send `boot` to `inside/runtime/bootstrap.py`. Does not wait for imports."""
        self._inner: int | None = None  # pidfd of the process inside bwrap
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        try:
            with tempfile.TemporaryFile() as script:
                script.write(boot)
                script.flush()
                script.seek(0)
                self._process = subprocess.Popen(
                    [*argv, "-s", "-B", "-c", source("runtime.bootstrap")],
                    cwd="/",
                    env=dict(env),
                    stdin=script,
                    stdout=subprocess.DEVNULL,
                    stderr=self.stderr,
                    pass_fds=pass_fds,
                    start_new_session=True,  # so that Ctrl-C in a terminal reaches only the host
                )
        except OSError as exc:
            self.stderr.close()
            raise machine_error(exc, f"cannot start {argv[0]}") or SandboxError(
                f"cannot start {argv[0]}: {exc}"
            ) from exc

    def find_inner(self) -> None:
        """Open the process that bwrap waits for."""
        with suppress(OSError, ValueError):
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
            self._inner = os.pidfd_open(int(children))

    def kill(self) -> None:
        """Kill the process. bwrap has dropped its privileges and cannot kill its child, so the child is killed too."""
        self._process.kill()
        self.signal_inner(signal.SIGKILL)

    def signal_inner(self, number: signal.Signals) -> None:
        """Send a signal to the process inside bwrap, if there is one."""
        if self._inner is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._inner, number)

    def wait_gone(self) -> None:
        """Wait until all processes inside bwrap have ended. Raises `SandboxError` if that takes too long.

        The kernel reports the end of the first process of a pid namespace after all its other processes have been reaped.
        """
        if self._inner is not None:
            poll = select.poll()
            poll.register(self._inner, select.POLLIN)
            if not poll.poll(KILL_SECONDS * 1000):
                raise SandboxError(f"a warm parent and its launches did not end within {KILL_SECONDS:g} s")

    def close(self) -> None:
        """Wait for the end of the process, whose control socket must be closed; idempotent."""
        if self.stderr.closed:
            return
        try:
            self._process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        if self._inner is not None:
            inner, self._inner = self._inner, None
            os.close(inner)
        self.stderr.close()

    def stderr_size(self) -> int:
        """The number of bytes that the process has written to stderr."""
        return 0 if self.stderr.closed else os.fstat(self.stderr.fileno()).st_size

    def last_words(self, since: int = 0) -> str:
        """The last output on stderr after the first `since` bytes, for messages."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        if self.stderr.closed:
            return "it was closed"
        # not `seek`, because the process shares the offset
        text = (
            os.pread(self.stderr.fileno(), 2000, max(self.stderr_size() - 2000, since))
            .decode("utf-8", "replace")
            .strip()
        )
        status = self._process.returncode
        return text or f"{'it ended' if status is None else f'exit status {status}'}, nothing on its stderr"
