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

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind
from pytest_recode.sandboxes.leftovers import MARK, mark, reap_processes
from pytest_recode.sandboxes.local import (
    Interpreter,
    ParentGone,
    WarmKey,
    WarmParent,
    environment_variables,
    interpreter,
    not_importable,
    warm_key,
)
from pytest_recode.task import Environment, Limits

_NOBODY = 65534  # outside; what a root's sandbox runs as, since the kernel limits root's processes in nothing
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "nsswitch.conf", "mime.types", "magic")
_PARTS = ("bin", "lib", "lib32", "lib64", "libexec", "include", "share", "pyvenv.cfg", "conda-meta")
_ACCOUNTS = {
    "/etc/passwd": "root:x:0:0::/nowhere:/bin/false\nrecode:x:1000:1000::/tmp/home:/bin/sh\n",
    "/etc/group": "root:x:0:\nrecode:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
}


class Bubblewrap:
    """A `Sandbox`. Warm parents are started when first needed, one for each program, interpreter and preload."""

    name = "bubblewrap"
    isolation = "separate"

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._parents: dict[WarmKey, WarmParent] = {}

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        key = warm_key(program, environment, self._context.python)
        try:
            return self._parent(key, program).launch(limits, persistent=program.persistent)
        except ParentGone:
            self._parents.pop(key).close()  # killed from outside, between two launches: once more
        try:
            return self._parent(key, program).launch(limits, persistent=program.persistent)
        except ParentGone as exc:
            self._parents.pop(key).close()
            raise SandboxError(f"the warm parent of {program.name} ended: {exc}") from exc

    def close(self) -> None:
        while self._parents:
            self._parents.popitem()[1].close()

    def _parent(self, key: WarmKey, program: Program) -> WarmParent:
        if key not in self._parents:
            parent = _start(key, program, interpreter(key.python), self._context)
            try:
                parent.wait_ready()
            except ImportError as exc:
                parent.close()
                raise not_importable(exc, key.python) from exc
            except (ParentGone, TimeoutError) as exc:
                parent.close()
                raise SandboxError(f"bwrap could not start {key.python}: {exc}") from exc
            self._parents[key] = parent
        return self._parents[key]


def _start(key: WarmKey, program: Program, python: Interpreter, context: SandboxContext) -> WarmParent:
    accounts = {path: os.memfd_create("account") for path in _ACCOUNTS}
    try:
        for path, fd in accounts.items():
            os.write(fd, _ACCOUNTS[path].encode())
            os.lseek(fd, 0, os.SEEK_SET)
        options = [*_walls(), *_view(python)]
        for path, fd in accounts.items():
            options += ["--ro-bind-data", str(fd), path]
        for name, value in environment_variables(python, "/tmp/home").items():
            options += ["--setenv", name, value]
        options += ["--remount-ro", "/dev", "--remount-ro", "/"]
        return WarmParent(
            ["bwrap", *options, "--", str(python.executable)],
            env={"PATH": os.environ.get("PATH", os.defpath), MARK: mark(context.run)},
            program=program,
            preload=key.preload[: len(key.preload) - len(program.preload)],
            namespaces=True,
            kept=[str(part) for part in _interpreter_parts(python) if part.is_relative_to("/tmp")],
            uid=_NOBODY if os.geteuid() == 0 else None,
            pass_fds=list(accounts.values()),
        )
    finally:
        for fd in accounts.values():
            os.close(fd)


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


def _view(python: Interpreter) -> list[str]:
    """Read-only, and no more than the interpreter and its packages need: no home, no project, no checkout."""
    options: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            options += ["--ro-bind", str(path), str(path)]
    for name in _ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    options += ["--dev", "/dev", "--dir", "/tmp"]
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
