"""A second Docker daemon on this machine, as the daemon of another host: it shares no image with the first, and it can be killed."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_recode.sandboxes.conformance import until

IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")
_OWN_IMAGE = """\
cd /
exec tar -c --exclude='*/numpy*' --exclude='*/scipy*' --exclude='*/test' --exclude='__pycache__' --exclude='*blas*' \
    --exclude='*lapack*' bin lib lib64 etc/passwd etc/group $(ls -d etc/ld.so*) tmp usr/bin/python3* usr/bin/env usr/bin/sh \
    usr/bin/dash usr/bin/cat $(ls -d usr/lib/python3* usr/lib/*-linux-gnu/*.so* usr/lib64)
"""
"""Writes the part of the test image that a grading without numpy needs: a tenth of it."""


_LONG = 120
"""Seconds after which a daemon, or its client, hangs."""


class SecondDaemon:
    """Its containers have no network. `image`: with Python and pytest, under the name that it has on the first daemon."""

    image = IMAGE

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="dockerd-"))  # a name that a socket can have is short
        self.url = f"unix://{self.place}/docker.sock"
        self.other_url = f"unix://{self.place}/other.sock"  # the same daemon, for what must not depend on its name
        self.pidfile = self.place / "pid"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the daemon, if it is not running, and give it the image, if it does not have it."""
        if self._process is not None and self._process.poll() is None:
            return
        (self.place / "daemon.json").write_text("{}")
        for left in (
            self.pidfile,
            self.place / "exec/containerd/containerd.pid",
        ):  # by a killed daemon, which would wait for it
            left.unlink(missing_ok=True)
        options = {"data-root": "data", "exec-root": "exec", "pidfile": "pid", "config-file": "daemon.json"}
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    # In its own network namespace: with this option, a daemon removes docker0, which is the first one's
                    *("unshare", "--net", "dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false"),
                    *(f"--{name}={self.place / path}" for name, path in options.items()),
                    *(f"--host={url}" for url in (self.url, self.other_url)),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: self._ended() or self.docker("version", check=False).returncode == 0, "the daemon answers")
        assert not self._ended(), (self.place / "log").read_text()[-2000:]
        if self.docker("image", "inspect", IMAGE, check=False).returncode != 0:
            with subprocess.Popen(
                ["docker", "run", "--rm", "--network=none", IMAGE, "sh", "-c", _OWN_IMAGE], stdout=subprocess.PIPE
            ) as files:
                self.docker("import", "-", IMAGE, stdin=files.stdout)

    def docker(self, *args: str, check: bool = True, stdin: object = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", f"--host={self.url}", *args],
            check=check,
            capture_output=True,
            text=True,
            stdin=stdin,  # type: ignore[call-overload]
            timeout=_LONG,
        )

    def containers(self) -> list[str]:
        return self.docker("ps", "--all", "--quiet").stdout.split()

    def kill(self) -> None:
        """Kill the daemon, as the loss of its machine would; returns when it has ended."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The daemon keeps its connections and answers nothing, like a machine that is cut off."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        if self._process is not None:
            try:
                self._remove_containers()
            finally:
                self._kill_all()
        mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for mount in reversed([each for each in mounts if Path(each).is_relative_to(self.place)]):
            subprocess.run(["umount", mount], check=True)
        shutil.rmtree(self.place)

    def _remove_containers(self) -> None:
        """Remove the containers that tests left, and end the daemon in order."""
        assert self._process is not None
        self.start()  # one that was killed left containers and mounts behind
        if left := self.containers():
            self.docker("rm", "--force", *left, check=False)
        self._process.terminate()
        self._process.wait(_LONG)

    def _kill_all(self) -> None:
        """Kill the daemon and its containerd, if they are still there."""
        self.kill()
        with suppress(FileNotFoundError, ProcessLookupError, ValueError):
            kill(self.place / "exec/containerd/containerd.pid")

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None


def kill(pidfile: Path) -> None:
    """Kill the daemon with this pid file from a process that did not start it; returns when it has ended."""
    process = os.pidfd_open(int(pidfile.read_text()))
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        poll = select.poll()
        poll.register(process, select.POLLIN)
        poll.poll()
    finally:
        os.close(process)
