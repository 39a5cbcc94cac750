"""Checks of a sandbox with isolation "separate": its programs read and write no file of the host or of another launch."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest_recode
from pytest_recode.sandboxes.conformance.isolation_processes import TRY
from pytest_recode.sandboxes.conformance.probe import Bench


def check_the_system_cannot_be_written(bench: Bench) -> None:
    with bench.probe() as probe:
        done = probe.ask(
            TRY + "import sys, sysconfig\n"
            "places = ['/', '/usr', '/etc', '/usr/lib', '/var', '/home', '/root', '/dev', '/proc', '/proc/sys/kernel', '/sys',\n"
            "          sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), sysconfig.get_paths()['purelib']]\n"
            "result = []\n"
            # An interpreter may be below /tmp: there, the launch's own tmpfs is visible between the mounts
            "own = os.stat('.').st_dev\n"
            "places = [place for place in places if os.path.isdir(place) and os.stat(place).st_dev != own]\n"
            "for place in places:\n"
            "    for name in ('recode_planted', 'sitecustomize.py', 'planted.pth'):\n"
            "        path = os.path.join(place, name)\n"
            "        if attempt(open, path, 'x') == 'done': result.append(path)\n"
            "for path in (os.__file__, sys.executable, '/etc/passwd', '/proc/sys/kernel/hostname', '/proc/1/oom_score_adj'):\n"
            "    if attempt(open, path, 'r+') == 'done': result.append(path)\n"
        )
        assert done == [], f"the program could write {done}"


def check_nothing_written_stays(bench: Bench) -> None:
    name = f"recode-{uuid4().hex}"
    with bench.probe() as probe:
        written = probe.ask(
            TRY + "mounts = [line.split() for line in open('/proc/self/mounts')]\n"
            "roots = {m[1] for m in mounts if m[3].split(',')[0] == 'rw' and m[2] != 'proc' and os.path.isdir(m[1])}\n"
            "places = {place for root in roots for place, _, _ in os.walk(root)}\n"
            f"result = [place for place in places if attempt(open, os.path.join(place, {name!r}), 'x') == 'done']"
        )
        assert written, "the program has no writable directory"
    with bench.probe() as probe:
        found = probe.ask(f"import os; result = [p for p in {written!r} if os.path.exists(os.path.join(p, {name!r}))]")
    assert found == [], f"a later launch finds what an earlier one wrote in {found}"
    assert not [place for place in written if (Path(place) / name).exists()], (
        "a file of the sandbox is visible on the host"
    )


def check_no_message_is_left_in_the_times_of_a_file(bench: Bench) -> None:
    """Uses inodes that several launches see, such as those of devices, which every user can write to."""
    places = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/usr", "/etc", "/"]
    leave = (
        "import os, contextlib\n"
        f"for path in {places}:\n    with contextlib.suppress(OSError):\n        os.utime(path)\n"
        "result = open('/dev/null', 'w').write('x')"
    )
    look = f"import os\nresult = [os.stat(path).st_mtime_ns for path in {places}]"
    with bench.probe() as probe:
        before = probe.ask(look)
        assert probe.ask(leave) == 1, "/dev/null cannot be written"
        there = probe.ask(look)
    with bench.probe() as probe:
        after = probe.ask(look)
    looks = zip(places, before, there, after, strict=True)
    read = [path for path, first, changed, later in looks if first != changed == later]
    assert not read, f"a later launch can read the modification times that a program set on {read}"


def check_files_of_this_machine_are_absent(bench: Bench) -> None:
    checkout = Path(pytest_recode.__file__).parent.parent
    with tempfile.TemporaryDirectory() as directory:
        canary = Path(directory) / "canary"
        canary.write_text("of this machine")
        paths = [str(canary), str(checkout / "pyproject.toml"), str(checkout / "tasks"), str(Path.cwd() / "tests")]
        if os.access(Path.home(), os.R_OK):
            paths += [str(path) for path in sorted(Path.home().iterdir()) if path.is_file()]
        paths += ["/etc/shadow", "/etc/ssh", "/var/run/docker.sock", "/run/docker.sock", "/home"]
        with bench.probe() as probe:
            readable = probe.ask(
                TRY
                + f"result = [path for path in {paths!r} if attempt(os.listdir, path) == 'done' and os.listdir(path)"
                " or attempt(open, path) == 'done']"
            )
    assert readable == [], f"the program can read {readable}"
