"""Hides from a program what the kernel counts for the whole machine: an earlier program could have left a message there.

Runs in the process of a payload, in a mount namespace of its own, before untrusted code. Called by `launch.py`. Must keep what libraries
read when they are imported: the processors and the size of the memory.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import re

from . import linux_isolation

SHOWN = {
    "self",
    "thread-self",
    "mounts",
    "net",
    "sys",
    "cpuinfo",
    "meminfo",
    "filesystems",
    "version",
    "devices",
    "cgroups",
}
"""What stays visible of /proc, besides processes: all else is empty. `net` is that of the namespace."""
ZEROED = ("stat", "loadavg", "uptime")
"""Files that libraries parse: they keep their form, and every figure is 0."""
_COVERED = ("sys/fs",)  # how many files, inodes and names the kernel holds
_SOURCE = "/tmp/.counters"


def hide() -> None:
    """Cover the counters in /proc and make it read-only. Needs capabilities in the owner of the mount namespace."""
    linux_isolation.unshare(linux_isolation.NEWNS)
    os.mkdir(_SOURCE)
    try:
        for name in os.listdir("/proc"):
            if not name.isdigit() and name not in SHOWN:
                _cover(name)
        for name in _COVERED:
            _cover(name)
    finally:
        for name in ZEROED:
            if os.path.exists(f"{_SOURCE}/{name}"):
                os.unlink(f"{_SOURCE}/{name}")  # the mount keeps it
        os.rmdir(_SOURCE)
    quiet = linux_isolation.MS_NOSUID | linux_isolation.MS_NODEV | linux_isolation.MS_NOEXEC
    flags = linux_isolation.MS_REMOUNT | linux_isolation.MS_BIND | linux_isolation.MS_RDONLY | quiet
    linux_isolation.mount("", "/proc", "", flags)


def _cover(name: str) -> None:
    path = f"/proc/{name}"
    if os.path.islink(path):
        return
    if os.path.isdir(path):
        linux_isolation.mount("tmpfs", path, "tmpfs", linux_isolation.MS_RDONLY, "size=0,nr_inodes=1")
        return
    source = "/dev/null"
    if name in ZEROED:
        source = f"{_SOURCE}/{name}"
        with open(path) as shown, open(source, "w") as file:
            file.write(re.sub(r"(?<![a-z\d.])[\d.]+", "0", shown.read()))
    linux_isolation.mount(source, path, "", linux_isolation.MS_BIND)
