"""The bubblewrap sandbox: full isolation on Linux without a daemon and without images. Runs on the host.

`bwrap` isolates a warm parent once; each launch forks from the parent into namespaces of its own (`inside/runtime/launch.py`).
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess

from pytest_recode.faults import UserError
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind, control_groups
from pytest_recode.sandboxes.bwrap_mounts import view
from pytest_recode.sandboxes.fork_server_pool import Parents, ready
from pytest_recode.sandboxes.interpreters import environment_variables, interpreter, refuse_images
from pytest_recode.sandboxes.leftovers import MARK, mark, reap_directories, reap_processes
from pytest_recode.sandboxes.local_connection import LocalConnection
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.sandboxes.warm import WallsError, WarmParent, start_parent
from pytest_recode.task import Environment, Limits

_ACCOUNTS = {
    "/etc/passwd": "root:x:0:0::/nowhere:/bin/false\nrecode:x:1000:1000::/tmp/home:/bin/sh\n",
    "/etc/group": "root:x:0:\nrecode:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",  # without it, names are looked up by DNS first, which times out
}


class Bubblewrap:
    """A `Sandbox`.

    `cold`: start bwrap for each launch, with the same isolation but with all imports, on machines that permit no namespaces inside
    those of bwrap. None: the first launch finds out.
    """

    name = "bubblewrap"
    isolation = "separate"
    host = ""
    memory_limit = property(lambda _: control_groups.memory_limit())

    def __init__(self, context: SandboxContext, cold: bool | None = None) -> None:
        self._context = context
        self._cold = cold
        self._parents = Parents(lambda key: self._start(key, None), workers=context.workers)

    def ready(self, environment: Environment) -> None:
        refuse_images(environment, self.name)
        interpreter(environment.python or self._context.python)

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        key = WarmKey.of(program, environment, environment.python or self._context.python)
        if self._cold:
            return self._launch_cold(key, limits)
        try:
            connection = self._parents.launch(key, limits)
        except WallsError:
            if self._cold is False:  # it is possible here; another launch may have found out meanwhile that it is not
                raise
            connection = self._launch_cold(key, limits)
            self._cold = True
            self._parents.close_idle(math.inf)
        else:
            self._cold = False
        return connection

    def close(self) -> None:
        self._parents.close()
        control_groups.close()

    def _launch_cold(self, key: WarmKey, limits: Limits) -> LocalConnection:
        parent = ready(self._start(key, limits), key)
        try:
            return parent.launch(limits)
        except BaseException:
            parent.close()
            raise

    def _start(self, key: WarmKey, alone: Limits | None) -> WarmParent:
        """Start a warm parent: with the limits `alone` for a single launch, or without limits for many."""
        python = interpreter(key.python)
        accounts = {path: os.memfd_create("account") for path in _ACCOUNTS}
        try:
            for path, fd in accounts.items():
                os.write(fd, _ACCOUNTS[path].encode())
                os.lseek(fd, 0, os.SEEK_SET)
            seen = view(python, self._context.hide, key.shown)
            # Create /etc first: if bwrap created it as the parent of a file, only root could enter it
            options = [*_walls(), "--dev", "/dev", *_writable(alone), "--dir", "/etc", *seen.options]
            for path, fd in accounts.items():
                options += ["--perms", "0644", "--ro-bind-data", str(fd), path]
            for name, value in environment_variables(python, "/tmp/home").items():
                options += ["--setenv", name, value]
            options += ["--remount-ro", "/dev", "--remount-ro", "/"]
            return start_parent(
                ["bwrap", *options, "--", str(python.executable)],
                key,
                mode="alone" if alone else "nested",
                env={"PATH": os.environ.get("PATH", os.defpath), MARK: mark(self._context.run)},
                uid=_stand_in(),
                pass_fds=list(accounts.values()),
                common_limits={"visible": [str(part) for part in seen.parts if part.is_relative_to("/tmp")]},
            )
        finally:
            for fd in accounts.values():
                os.close(fd)


def _stand_in() -> int | None:
    """The user id of sandboxes if root runs pytest, unused by any other user: the kernel does not limit the processes of root."""
    return 1_900_000_000 + os.getpid() if os.geteuid() == 0 else None


def _walls() -> list[str]:
    """Options of bwrap that isolate the warm parent.

    `--die-with-parent` is not used, because it refers to the *thread* that started bwrap. If the host closes the control socket,
    the warm parent ends, and because it is the first process of its pid namespace, all processes in it end.
    """
    names = ["ipc", "pid", "net", "uts", "cgroup-try"]
    options = [f"--unshare-{name}" for name in names]
    if os.geteuid() == 0:
        # needed to mount a /proc that nested namespaces may copy and to change to an ordinary user; dropped after that
        options += ["--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        options += ["--dir", "/proc"]
    else:
        options += ["--unshare-user", "--proc", "/proc"]
    return [*options, "--hostname", "sandbox", "--new-session", "--as-pid-1", "--clearenv", "--chdir", "/"]


_PARENTS_MIB = 64
"""Disk space for files that imports in a warm parent write: torch's GPU build writes a temporary file, matplotlib a cache."""


def _writable(alone: Limits | None) -> list[str]:
    if alone is None:  # each launch mounts its own file systems over these
        everybody = ["--perms", "1777"]
        size = [*everybody, "--size", str(_PARENTS_MIB << 20)]
        return [*size, "--tmpfs", "/tmp", "--dir", "/tmp/work", *everybody, "--dir", "/tmp/home"]
    size = ["--perms", "1777", "--size", str(alone.disk_mb << 20)]
    return [*size, "--tmpfs", "/tmp", *size, "--tmpfs", "/dev/shm"]


_MOST_TRIES = 20
"""Attempts of `check`: bwrap fails if a mount disappears while it starts, for example when a container ends."""


def _tried() -> subprocess.CompletedProcess[str]:
    command = ["bwrap", *_walls(), "--ro-bind", "/", "/", "--", "/bin/true"]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def check(context: SandboxContext) -> str | None:
    del context
    if shutil.which("bwrap") is None:
        return "bubblewrap: no `bwrap` on PATH; install the bubblewrap package"
    try:
        for _ in range(_MOST_TRIES):
            done = _tried()
            if "bind mount" not in done.stderr:
                break
    except (OSError, subprocess.TimeoutExpired) as exc:
        return f"bubblewrap: bwrap does not work here: {exc}"
    if done.returncode:
        why = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        return (
            f"bubblewrap: bwrap may not create namespaces on this machine ({why}); allow unprivileged user namespaces"
        )
    return None


def reap(context: SandboxContext) -> None:
    del context
    reap_processes()
    reap_directories()
    control_groups.reap()


def make(context: SandboxContext) -> Bubblewrap:
    problem = check(context)
    if problem:
        raise UserError(problem)
    return Bubblewrap(context)


KIND = SandboxKind(
    make=make, check=check, reap=reap, local=True, needs="interpreter", isolated=True, automatic=2, concurrent=True
)
