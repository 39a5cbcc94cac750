"""The programs of command-line agents on this machine: a path that the user gives, or a pinned version, installed once for this user.

In the controlling process, before anything is spent; workers find what it installed. npm and pip are asked as the user configured them,
and verify what they get by the hashes here. Nothing is installed in a sandbox.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_recode.agents import InstalledProgram, installation_files
from pytest_recode.faults import UserError

START = "start"
"""The file of an installation that runs a program which needs an interpreter."""
_LONGEST = 1800.0
"""Seconds of an installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmProgram:
    """Packages of npm that need no others. `packages`: by the machine (as `platform.machine()`), the name, version and integrity of each,
    as in npm's lock file; `executables`: by the machine, relative to the installation; `interpreters`: the same, of what runs an executable
    that is a script, and comes as one of the packages."""

    version: str
    packages: Mapping[str, Mapping[str, tuple[str, str]]]
    executables: Mapping[str, str]
    interpreters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipProgram:
    """A package of pip and all that it needs, in a copy of this Python: a sandbox may have another Python, or none. `requirements`: pinned,
    with the hashes of their wheels. `pythons`: the versions of Python that they are for. `module`: what is run."""

    version: str
    requirements: str
    pythons: tuple[tuple[int, int], ...]
    module: str


Source = NpmProgram | PipProgram


def cache() -> Path:
    """Where programs are installed: `pytest-recode/agents` in the user's cache directory."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-recode" / "agents"


def given_program(name: str, path: str) -> InstalledProgram:
    """The program at a path of the user. The sandbox shows this file alone, or all of `DIRECTORY` for `DIRECTORY/./FILE`. Raises `UserError`."""
    directory, whole, file = path.partition("/./")
    on_path = path if "/" in path else shutil.which(path) or path
    executable = Path(f"{directory}/{file}" if whole else on_path).expanduser().resolve()
    if not executable.is_file() or not os.access(executable, os.X_OK):
        raise UserError(
            f"agent {name}: {path} is no executable file: give the path of its program, and make it executable (chmod +x)"
        )
    shown = Path(directory).expanduser().resolve() if whole else executable
    return InstalledProgram(shown=shown, executable=executable)


def program(name: str, source: Source, notify: Callable[[str], None] | None) -> InstalledProgram:
    """The pinned version of a program. `notify` is called with a line before it is installed; None: it is not installed here, nor checked
    again, because this process is a worker of one that did.

    Raises `UserError` with one line if it cannot be had.
    """
    place = cache() / f"{name}-{source.version}"
    executable = place / _executable(name, source)
    if not installation_files.is_recorded(place):
        if notify is None:
            raise UserError(f"agent {name}: {place} is gone: start the run again to install it")
        try:
            with _locked(place, notify):
                if not installation_files.is_recorded(place):
                    notify(f"installing {name} {source.version} in {place}, once for this user")
                    _install(name, source, place)
        except OSError as error:
            raise UserError(
                f"agent {name}: cannot be installed in {place} ({error.strerror or error}): set XDG_CACHE_HOME to a directory that can be"
                f" written, {_by_path(name)}"
            ) from None
    if notify is not None and (wrong := _change(place)):
        raise UserError(f"agent {name}: in {place}, {wrong}: remove this directory, and it is installed again")
    return InstalledProgram(shown=place, executable=executable, version=source.version)


def _change(place: Path) -> str:
    """What is not as it was installed; "" if nothing is."""
    try:
        return installation_files.change(place)
    except OSError as error:
        return f"{error.filename} cannot be read ({error.strerror})"


def _by_path(name: str) -> str:
    return f"or give the path of its program with --recode-agent-path={name}=PATH"


def _executable(name: str, source: Source) -> str:
    if isinstance(source, PipProgram):
        here = sys.version_info[:2]
        if here not in source.pythons:
            known = ", ".join(f"{major}.{minor}" for major, minor in source.pythons)
            raise UserError(
                f"agent {name}: its pinned packages are for Python {known}, and this is Python {here[0]}.{here[1]}: run pytest with one of"
                f" these, {_by_path(name)}"
            )
        return START
    machine = platform.machine()
    if sys.platform != "linux" or machine not in source.executables:
        known = ", ".join(f"linux {name_of_machine}" for name_of_machine in source.executables)
        raise UserError(
            f"agent {name}: there is a pinned version for {known}, and this is {sys.platform} {machine}: give the path of its program with"
            f" --recode-agent-path={name}=PATH"
        )
    return START if source.interpreters else source.executables[machine]


def _install(name: str, source: Source, place: Path) -> None:
    """Install where it stays. What an interrupted installation left is removed first."""
    if place.exists():
        shutil.rmtree(place)
    place.mkdir()
    if isinstance(source, NpmProgram):
        machine = platform.machine()
        _by_npm(name, source.packages[machine], place)
        if source.interpreters:
            _write_start(place, f'"$here/{source.interpreters[machine]}" "$here/{source.executables[machine]}"')
    else:
        _by_pip(name, source, place)
    executable = place / _executable(name, source)
    if not executable.is_file():
        raise UserError(f"agent {name}: {executable} is not in the packages that were installed, {_by_path(name)}")
    if not os.access(executable, os.X_OK):
        raise UserError(f"agent {name}: {executable} cannot be executed, {_by_path(name)}")
    installation_files.record(place)


def _by_npm(name: str, packages: Mapping[str, tuple[str, str]], where: Path) -> None:
    """By a lock file of ours: npm refuses a package with another hash."""
    dependencies = {package: version for package, (version, _) in packages.items()}
    own = {"name": name, "version": "0.0.0", "dependencies": dependencies}
    locked = {
        f"node_modules/{package}": {"version": version, "integrity": integrity}
        for package, (version, integrity) in packages.items()
    }
    lock = {**own, "lockfileVersion": 3, "requires": True, "packages": {"": own, **locked}}
    (where / "package.json").write_text(json.dumps({**own, "private": True}))
    (where / "package-lock.json").write_text(json.dumps(lock))
    _run(name, ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"], where)


def _by_pip(name: str, source: PipProgram, where: Path) -> None:
    """Wheels alone, each by its hash: no program of a package runs while it is installed."""
    _copy_python(where / "python")
    python = "python/bin/python3"
    _run(name, [python, "-m", "ensurepip"], where)
    pinned = where / "pinned.txt"
    pinned.write_text(source.requirements)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(name, [*pip, "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", "pinned.txt"], where)
    # an image may have a library of this Python's name that is another
    _write_start(where, f'env LD_LIBRARY_PATH="$here/python/lib" "$here/{python}" -m {source.module}')


def _copy_python(home: Path) -> None:
    """This Python without its packages. It finds its library beside itself, wherever a sandbox shows it."""
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    shutil.copy(base.resolve(), home / "bin" / "python3")
    own = home / "lib" / f"python3.{sys.version_info.minor}"
    left_out = shutil.ignore_patterns("site-packages", "dist-packages", "test", "config-*", "EXTERNALLY-MANAGED")
    for library in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))):
        shutil.copytree(library, own, ignore=left_out, dirs_exist_ok=True)
    (own / "site-packages").mkdir(exist_ok=True)
    for shared in Path(sysconfig.get_config_var("LIBDIR") or "/").glob(f"libpython3.{sys.version_info.minor}.so*"):
        shutil.copy(shared, home / "lib" / shared.name)


def _write_start(where: Path, command: str) -> None:
    """A program that runs the command from wherever a sandbox shows the installation."""
    start = where / START
    start.write_text(f'#!/bin/sh\nhere=$(dirname "$0")\nexec {command} "$@"\n')
    start.chmod(0o755)


def _run(name: str, command: list[str], where: Path) -> None:
    by_path = _by_path(name)
    try:
        done = subprocess.run(
            command, cwd=where, capture_output=True, text=True, timeout=_LONGEST, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise UserError(
            f"agent {name}: it is installed by {command[0]}, which is not on PATH: install it, {by_path}"
        ) from None
    except subprocess.TimeoutExpired:
        raise UserError(
            f"agent {name}: {command[0]} did not install it within {_LONGEST:.0f} s: try again, {by_path}"
        ) from None
    if done.returncode:
        text = done.stderr or done.stdout
        installer = "npm" if command[0] == "npm" else "pip"
        if wrong := _WRONG_HASH.search(text):
            raise UserError(
                f"agent {name}: {installer} got another package than the pinned one of {where.name}:"
                f" {' '.join(wrong[0].split())}: check the index that {installer} is configured with, {by_path}"
            )
        raise UserError(f"agent {name}: {installer} failed in {where}: {_reason(text)[:400]}: try again, {by_path}")


_WRONG_HASH = re.compile(r"wanted sha\d+-\S+ but got sha\d+-[^\s.]+|Expected sha256 \S+\s+Got\s+\S+")
"""What npm and pip say of a package with another hash."""
_DETAIL = re.compile(r"(npm error )?(code|errno|syscall|path|at|A complete log)\b|WARNING")
"""Lines of an error of npm or pip that do not say what is wrong."""


def _reason(text: str) -> str:
    """The line that says why npm or pip failed. npm tells it first, pip last."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _DETAIL.match(line.strip())]
    of_npm = [line for line in lines if line.startswith("npm ")]
    return (of_npm or lines[-1:] or ["it does not say why"])[0].removeprefix("npm error ")


@contextmanager
def _locked(place: Path, notify: Callable[[str], None]) -> Iterator[None]:
    """One process installs, the others wait for it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            notify(f"waiting for another process that installs {place.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
