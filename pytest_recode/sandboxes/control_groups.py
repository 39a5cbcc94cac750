"""A control group for each launch, where this user may make one: the kernel's own limit of memory, and a share of the CPUs. Runs on the host.

The host makes the group and opens its files; the program's process moves itself into it before any code that is not trusted runs
(`inside/runtime/launch.py`). Version 1 has a hierarchy for each controller, version 2 has one for all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from pytest_recode.owned_directory import alive, owner
from pytest_recode.task import Limits

PREFIX = "pytest-recode."
MEASURED = "measured"
_OWN_MB = 64  # page tables, pipes, and pages of the warm parent that are copied
_REMOVAL_SECONDS = 2.0  # in which the kernel lets go of processes that have ended
_SHARES, _WEIGHT, _MOST_SHARES, _MOST_WEIGHT = 1024, 100, 1 << 18, 10_000  # of a process, and the kernel's limits

_numbers = count(1)
_removing = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """A directory in which this process makes groups. `version`: 1 or 2; `controllers`: of "memory" and "cpu", those that it has."""

    version: int
    directory: Path
    controllers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchGroup:
    """The group of one launch: a directory in each hierarchy, and the open files that the launch receives."""

    directories: tuple[Path, ...]
    counters: Mapping[
        str, int
    ]  # "kills": counts the processes that the kernel has killed for memory; "cpu": their CPU time
    joins: tuple[int, ...]  # a process that writes "0" joins

    def descriptors(self) -> list[int]:
        return [*self.counters.values(), *self.joins]

    def close(self) -> None:
        """Close the files, which the launch has."""
        for fd in self.descriptors():
            os.close(fd)

    def remove(self) -> None:
        """Remove the group, whose processes have ended."""
        limit = time.monotonic() + _REMOVAL_SECONDS
        for directory in self.directories:
            while not _removed(directory) and time.monotonic() < limit:
                time.sleep(0.001)


def make(limits: Limits) -> LaunchGroup | None:
    """Make the group of one launch. None if no group can be made."""
    name = str(next(_numbers))
    directories: list[Path] = []
    opened: list[int] = []
    counters: dict[str, int] = {}
    try:
        for hierarchy in hierarchies():
            directory = _run_directory(hierarchy) / name
            directory.mkdir()
            directories.append(directory)
            if "memory" in hierarchy.controllers:
                _limit_memory(hierarchy.version, directory, (limits.memory_mb + limits.disk_mb + _OWN_MB) << 20)
                file = "memory.oom_control" if hierarchy.version == 1 else "memory.events"
                counters["kills"] = os.open(directory / file, os.O_RDONLY)
            if "cpu" in hierarchy.controllers:
                with suppress(FileNotFoundError):  # version 1 may count in another hierarchy
                    file = "cpuacct.usage" if hierarchy.version == 1 else "cpu.stat"
                    counters["cpu"] = os.open(directory / file, os.O_RDONLY)
            opened.append(os.open(directory / "cgroup.procs", os.O_WRONLY))
    except OSError:
        group = LaunchGroup(directories=tuple(directories), counters=counters, joins=tuple(opened))
        group.close()
        group.remove()
        return None
    return LaunchGroup(directories=tuple(directories), counters=counters, joins=tuple(opened)) if directories else None


def memory_limit() -> str:
    """What limits the memory of a launch as a whole: a control group, or, where none can be made, only measurements."""
    versions = [each.version for each in hierarchies() if "memory" in each.controllers]
    return f"control group (version {versions[0]})" if versions else MEASURED


def limits_memory() -> bool:
    """Whether each launch has a control group that limits its memory."""
    return memory_limit() != MEASURED


@cache
def hierarchies() -> tuple[Hierarchy, ...]:
    """Where this process can make groups and move its children into them, by trying it."""
    if not sys.platform.startswith("linux"):
        return ()
    mounts, own = Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text()
    by_controller: dict[str, Hierarchy] = {}
    for hierarchy in candidates(mounts, own):
        if not set(hierarchy.controllers) & set(by_controller) and _usable(hierarchy):
            by_controller |= dict.fromkeys(hierarchy.controllers, hierarchy)
    return tuple(dict.fromkeys(by_controller.values()))


def candidates(mounts: str, own: str) -> Iterator[Hierarchy]:
    """Directories in which groups might be made, by the contents of /proc/self/mountinfo and /proc/self/cgroup.

    Version 1: below this process's own group, whose limits then hold too. Version 2: the nearest directory that passes controllers
    on to its groups; one that has processes cannot.
    """
    paths = {names: path for _, names, path in (line.split(":", 2) for line in own.splitlines())}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind == "cgroup":
            controllers = tuple(name for name in ("memory", "cpu") if name in options.split(","))
            path = next(
                (path for names, path in paths.items() if controllers and controllers[0] in names.split(",")), None
            )
            if path is not None:
                yield Hierarchy(version=1, directory=_at(point, root, path), controllers=controllers)
        elif kind == "cgroup2" and "" in paths:
            directory = _at(point, root, paths[""])
            for above in [directory, *directory.parents]:
                if above.is_relative_to(point) and "memory" in (passed := _words(above / "cgroup.subtree_control")):
                    controllers = tuple(name for name in ("memory", "cpu") if name in passed)
                    yield Hierarchy(version=2, directory=above, controllers=controllers)


def reap() -> None:
    """Remove the groups of killed runs, whose processes have been ended."""
    for each in hierarchies():
        for directory in each.directory.glob(f"{PREFIX}*"):
            if not alive(directory.name.removeprefix(PREFIX)):
                for group in [*directory.glob("*/"), directory]:
                    _removed(group)


def close() -> None:
    """Remove this process's directories of groups, unless launches still run."""
    for each in hierarchies():
        _removed(each.directory / f"{PREFIX}{owner()}")


def _at(point: str, root: str, path: str) -> Path:
    """The directory of a group, where the mount shows the hierarchy from `root` on."""
    inside = path.removeprefix(root) if root != "/" and path.startswith(root) else path
    return Path(point) / inside.strip("/")


def _words(path: Path) -> Sequence[str]:
    try:
        return path.read_text().split()
    except OSError:
        return ()


def _usable(hierarchy: Hierarchy) -> bool:
    """Whether a child process can be moved into a group here."""
    directory = None
    try:
        directory = _run_directory(hierarchy) / "try"
        directory.mkdir()
        if "memory" in hierarchy.controllers:
            _limit_memory(hierarchy.version, directory, 64 << 20)
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as moved:
            try:
                (directory / "cgroup.procs").write_text(str(moved.pid))
            finally:
                moved.kill()
    except OSError:
        return False
    finally:
        if directory is not None:
            LaunchGroup(directories=(directory, directory.parent), counters={}, joins=()).remove()
    return True


def _run_directory(hierarchy: Hierarchy) -> Path:
    """The directory of this process's groups, which share the CPUs equally."""
    directory = hierarchy.directory / f"{PREFIX}{owner()}"
    with _removing:
        if not directory.exists():
            directory.mkdir()
            if hierarchy.version == 2:
                (directory / "cgroup.subtree_control").write_text(
                    " ".join(f"+{each}" for each in hierarchy.controllers)
                )
            if "cpu" in hierarchy.controllers:  # together they count as many processes as there are CPUs
                _write_cpu(hierarchy.version, directory, os.cpu_count() or 1)
    return directory


def _write_cpu(version: int, directory: Path, cpus: int) -> None:
    if version == 1:
        (directory / "cpu.shares").write_text(str(min(_SHARES * cpus, _MOST_SHARES)))
    else:
        (directory / "cpu.weight").write_text(str(min(_WEIGHT * cpus, _MOST_WEIGHT)))


_MEMORY: Mapping[int, tuple[str, str]] = {
    1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    2: ("memory.max", "memory.swap.max"),
}


def _limit_memory(version: int, directory: Path, size: int) -> None:
    """Limit memory, and allow no swap, where the kernel counts it."""
    memory, swap = _MEMORY[version]
    (directory / memory).write_text(str(size))
    with suppress(OSError):
        (directory / swap).write_text(str(size) if version == 1 else "0")


def _removed(directory: Path) -> bool:
    """Remove a group. Returns False if it has processes or groups."""
    with _removing:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
    return True
