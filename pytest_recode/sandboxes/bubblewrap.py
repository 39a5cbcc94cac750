"""bubblewrap: full walls on one Linux machine, without a daemon and without images.

`bwrap` raises the outer walls once, round a warm parent; each launch forks from it into namespaces of its own
(`inside/cell.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind
from pytest_recode.sandboxes.interpreters import Interpreter, environment_variables, interpreter
from pytest_recode.sandboxes.leftovers import MARK, mark, reap_processes
from pytest_recode.sandboxes.parents import Parents, ready
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.sandboxes.warm import LocalConnection, WallsError, WarmParent
from pytest_recode.task import Environment, Limits

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "nsswitch.conf", "mime.types", "magic")
_PARTS = ("bin", "lib", "lib32", "lib64", "libexec", "include", "share", "pyvenv.cfg", "conda-meta")
_ACCOUNTS = {
    "/etc/passwd": "root:x:0:0::/nowhere:/bin/false\nrecode:x:1000:1000::/tmp/home:/bin/sh\n",
    "/etc/group": "root:x:0:\nrecode:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
}


class Bubblewrap:
    """A `Sandbox`.

    `cold` is for machines that permit bwrap's namespaces but none inside them: a bwrap for each launch then, with all
    its imports, and walls as high. None: found out by the first launch.
    """

    name = "bubblewrap"
    isolation = "separate"

    def __init__(self, context: SandboxContext, cold: bool | None = None) -> None:
        self._context = context
        self._cold = cold
        self._parents = Parents(lambda key: self._start(key, None))

    def ready(self, environment: Environment) -> None:
        interpreter(environment.python or self._context.python)

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        key = WarmKey.of(program, environment, environment.python or self._context.python)
        if self._cold:
            return self._launch_cold(key, limits)
        try:
            connection = self._parents.launch(key, lambda parent: parent.launch(limits))
        except WallsError:
            if self._cold is not None:
                raise
            connection = self._launch_cold(key, limits)
            self._cold = True
            self._parents.close()
        else:
            self._cold = False
        return connection

    def close(self) -> None:
        self._parents.close()

    def _launch_cold(self, key: WarmKey, limits: Limits) -> LocalConnection:
        parent = ready(self._start(key, limits), key)
        try:
            return parent.launch(limits)
        except BaseException:
            parent.close()
            raise

    def _start(self, key: WarmKey, alone: Limits | None) -> WarmParent:
        """With the limits of its only launch, or as the parent of many."""
        python = interpreter(key.python)
        accounts = {path: os.memfd_create("account") for path in _ACCOUNTS}
        try:
            for path, fd in accounts.items():
                os.write(fd, _ACCOUNTS[path].encode())
                os.lseek(fd, 0, os.SEEK_SET)
            options = [*_walls(), *_view(python, alone)]
            for path, fd in accounts.items():
                options += ["--ro-bind-data", str(fd), path]
            for name, value in environment_variables(python, "/tmp/home").items():
                options += ["--setenv", name, value]
            options += ["--remount-ro", "/dev", "--remount-ro", "/"]
            return WarmParent(
                ["bwrap", *options, "--", str(python.executable)],
                key,
                mode="alone" if alone else "nested",
                env={"PATH": os.environ.get("PATH", os.defpath), MARK: mark(self._context.run)},
                uid=_stand_in(),
                pass_fds=list(accounts.values()),
                kept=[str(part) for part in _interpreter_parts(python) if part.is_relative_to("/tmp")],
            )
        finally:
            for fd in accounts.values():
                os.close(fd)


def _stand_in() -> int | None:
    """Outside, what a root's sandboxes run as: the kernel does not limit root's processes. One that nobody else is."""
    return 1_900_000_000 + os.getpid() if os.geteuid() == 0 else None


def _walls() -> list[str]:
    """The outer walls.

    Not `--die-with-parent`: that is the death of the *thread* that started it. The host's hang-up on the control
    socket ends the warm parent, which is the first process of its pid namespace: everything ends with it.
    """
    names = ["ipc", "pid", "net", "uts", "cgroup-try"]
    options = [f"--unshare-{name}" for name in names]
    if os.geteuid() == 0:
        # to mount a /proc that nested ones may copy, and to step down to an ordinary user, then gone
        options += ["--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        options += ["--dir", "/proc"]
    else:
        options += ["--unshare-user", "--proc", "/proc"]
    return [*options, "--hostname", "sandbox", "--new-session", "--as-pid-1", "--clearenv", "--chdir", "/"]


def _view(python: Interpreter, alone: Limits | None) -> list[str]:
    """Read-only, and no more than the interpreter and its packages need: no home, no project, no checkout."""
    options: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            options += ["--ro-bind", str(path), str(path)]
    for name in _ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    options += ["--dev", "/dev"]
    if alone is None:
        options += ["--dir", "/tmp"]  # each launch mounts its own
    else:
        for target in ("/tmp", "/dev/shm"):
            options += ["--perms", "1777", "--size", str(alone.disk_mb << 20), "--tmpfs", target]
    parts = _interpreter_parts(python)
    links: dict[Path, str] = {}
    for path in (python.executable, python.prefix, python.base_prefix):
        links.update({link: target for link, target in _links(path) if not _below(link, [Path("/usr"), *parts])})
    links = {link: target for link, target in links.items() if str(link) not in _SYSTEM}
    for path in _parents([*parts, *links]):
        options += ["--dir", str(path)]  # by itself bwrap makes them for root's eyes only
    for part in parts:
        options += ["--ro-bind", str(part), str(part)]
    for link, target in links.items():
        options += ["--symlink", target, str(link)]
    return options


def _interpreter_parts(python: Interpreter) -> list[Path]:
    """What of its prefixes is needed: a prefix may hold much else, a project for one."""
    found: list[Path] = []
    for prefix in dict.fromkeys([python.base_prefix.resolve(), python.prefix.resolve()]):
        if not _below(prefix, [Path("/usr")]):
            parts = [prefix / name for name in _PARTS]
            found += [part for part in parts if part.exists() and not part.is_symlink()]
            found += [part.resolve() for part in parts if part.is_symlink() and part.exists()]
    return list(dict.fromkeys(found))


def _parents(paths: list[Path]) -> list[Path]:
    """The directories above, outermost first."""
    return sorted({parent for path in paths for parent in path.parents if parent != Path("/")})


def _below(path: Path, directories: list[Path]) -> bool:
    return any(path.is_relative_to(directory) for directory in directories)


def _links(path: Path) -> Iterator[tuple[Path, str]]:
    """Every symbolic link that the kernel follows on the way to `path`, with its target as written."""
    here = Path("/")
    parts = list(path.absolute().parts[1:])
    for _ in range(400):
        if not parts:
            return
        part = parts.pop(0)
        if part == "..":
            here = here.parent
            continue
        here = here / part
        if here.is_symlink():
            target = here.readlink()
            yield here, str(target)
            here = Path("/") if target.is_absolute() else here.parent
            parts = [*(part for part in target.parts if part != "/"), *parts]


def check(context: SandboxContext) -> str | None:
    del context
    if shutil.which("bwrap") is None:
        return "bubblewrap: no `bwrap` on PATH; install the bubblewrap package"
    try:
        done = subprocess.run(
            ["bwrap", *_walls(), "--ro-bind", "/", "/", "--", "/bin/true"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return f"bubblewrap: bwrap does not work here: {exc}"
    if done.returncode:
        why = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        return f"bubblewrap: bwrap is not permitted to make namespaces here ({why}); allow unprivileged user namespaces"
    return None


def reap(context: SandboxContext) -> None:
    del context
    reap_processes()


def make(context: SandboxContext) -> Bubblewrap:
    problem = check(context)
    if problem:
        raise UserError(problem)
    return Bubblewrap(context)


KIND = SandboxKind(make=make, check=check, reap=reap)
