"""Promises of a sandbox with walls: nothing a program does reaches this machine, another launch or what comes after."""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest_recode
from pytest_recode.sandboxes.conformance import Bench, Probe, marked, running, until

_TRY = """
import os
def attempt(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except (OSError, ValueError) as exc:
        return type(exc).__name__
    return "done"
"""


def check_signals_stay_inside(bench: Bench) -> None:
    with bench.probe() as bystander, bench.probe() as probe:
        probe.tell(
            "import os, signal\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP, signal.SIGKILL):\n"
            "    for target in [*range(1, 100), os.getppid(), 0, -1]:\n"
            "        if target != os.getpid():\n"
            "            try:\n"
            "                if target != 0 or number == signal.SIGKILL: os.kill(target, number)\n"
            "            except OSError: pass\n"
            "result = 1"
        )
        assert bystander.ask("result = 'alive'") == "alive", "another launch did not survive"
        with bench.probe() as after:
            assert after.ask("result = 1") == 1, "there is no launching after it"


def check_nothing_else_can_be_traced(bench: Bench) -> None:
    with bench.probe() as bystander, bench.probe() as probe:
        bystander.ask("secret = 'a secret of another launch'")
        found = probe.ask(
            _TRY + "import ctypes, struct\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "result = {}\n"
            "for name in os.listdir('/proc'):\n"
            "    if not name.isdigit() or int(name) == os.getpid(): continue\n"
            "    pid = int(name)\n"
            "    done = [what for what in ('mem', 'environ', 'maps') if attempt(lambda: open(f'/proc/{pid}/{what}', 'rb').read(1)) == 'done']\n"
            "    done += ['cwd'] if attempt(os.readlink, f'/proc/{pid}/cwd') == 'done' else []\n"
            "    done += ['fd'] if attempt(os.listdir, f'/proc/{pid}/fd') == 'done' else []\n"
            "    done += ['attach'] if libc.ptrace(16, pid, 0, 0) == 0 else []\n"
            "    if done: result[name] = done\n"
        )
        assert found == {}, f"it can look into or trace {found}"
        assert bystander.ask("result = secret"), "another launch did not survive"


def check_no_process_outside_is_seen(bench: Bench) -> None:
    with bench.probe() as bystander, bench.probe() as probe:
        mark = marked()
        bystander.ask(
            "import subprocess, sys\n"
            f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])"
        )
        until(lambda: running(mark), "a process of another launch came up")
        seen = probe.ask(
            "import os\nresult = []\n"
            "for name in os.listdir('/proc'):\n"
            "    if name.isdigit():\n"
            "        result.append([int(name), open(f'/proc/{name}/cmdline', 'rb').read().decode('latin-1')])"
        )
        assert not [line for _, line in seen if mark in line], "it sees processes of another launch"
        assert len(seen) <= 3, f"it sees {len(seen)} processes"


def check_the_system_cannot_be_written(bench: Bench) -> None:
    with bench.probe() as probe:
        done = probe.ask(
            _TRY + "import sys, sysconfig\n"
            "places = ['/', '/usr', '/etc', '/usr/lib', '/var', '/home', '/root', '/dev', '/proc', '/proc/sys/kernel', '/sys',\n"
            "          sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), sysconfig.get_paths()['purelib']]\n"
            "result = []\n"
            # below /tmp, where an interpreter may lie, the launch's own tmpfs shows between the parts that are bound
            "own = os.stat('.').st_dev\n"
            "places = [place for place in places if os.path.isdir(place) and os.stat(place).st_dev != own]\n"
            "for place in places:\n"
            "    for name in ('recode_planted', 'sitecustomize.py', 'planted.pth'):\n"
            "        path = os.path.join(place, name)\n"
            "        if attempt(open, path, 'x') == 'done': result.append(path)\n"
            "for path in (os.__file__, sys.executable, '/etc/passwd', '/proc/sys/kernel/hostname', '/proc/1/oom_score_adj'):\n"
            "    if attempt(open, path, 'r+') == 'done': result.append(path)\n"
        )
        assert done == [], f"written: {done}"


def check_nothing_written_stays(bench: Bench) -> None:
    name = f"recode-{uuid4().hex}"
    with bench.probe() as probe:
        written = probe.ask(
            _TRY + "mounts = [line.split() for line in open('/proc/self/mounts')]\n"
            "roots = {m[1] for m in mounts if m[3].split(',')[0] == 'rw' and m[2] != 'proc' and os.path.isdir(m[1])}\n"
            "places = {place for root in roots for place, _, _ in os.walk(root)}\n"
            f"result = [place for place in places if attempt(open, os.path.join(place, {name!r}), 'x') == 'done']"
        )
        assert written, "there is no place to write in"
    with bench.probe() as probe:
        found = probe.ask(f"import os; result = [p for p in {written!r} if os.path.exists(os.path.join(p, {name!r}))]")
    assert found == [], f"a later launch finds what an earlier one wrote in {found}"
    assert not [place for place in written if (Path(place) / name).exists()], "it is to be seen on this machine"


def check_no_message_is_left_in_the_times_of_a_file(bench: Bench) -> None:
    """An inode that several launches see outlives each of them. Everybody can write to a device."""
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
    assert not read, f"a later launch can read the times that a program has set of {read}"


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
            found = probe.ask(
                _TRY
                + f"result = [path for path in {paths!r} if attempt(os.listdir, path) == 'done' and os.listdir(path)"
                " or attempt(open, path) == 'done']"
            )
    assert found == [], f"it can read {found}"


def check_there_is_no_network(bench: Bench) -> None:
    name = f"recode-{uuid4().hex}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        bench.probe() as bystander,
        bench.probe() as probe,
    ):
        abstract.bind(f"\0{name}")
        abstract.listen()
        bystander.ask(
            "import socket\n"
            f"held = socket.socket(socket.AF_UNIX); held.bind('\\0{name}-inside'); held.listen()\n"
            "tcp = socket.create_server(('127.0.0.1', 0)); result = tcp.getsockname()[1]"
        )
        port = tcp.getsockname()[1]
        done = probe.ask(
            _TRY + "import socket\n"
            "def unix(name):\n    socket.socket(socket.AF_UNIX).connect(name)\n"
            f"targets = [('127.0.0.1', {port}), ('192.0.2.1', 80), ('8.8.8.8', 53), ('169.254.169.254', 80)]\n"
            "result = [str(t) for t in targets if attempt(lambda: socket.create_connection(t, 2)) == 'done']\n"
            f"result += [n for n in ('\\0{name}', '\\0{name}-inside') if attempt(unix, n) == 'done']\n"
            "result += ['a name was resolved'] if attempt(socket.gethostbyname, 'example.org') == 'done' else []\n"
            "names = [line.split(':')[0].strip() for line in open('/proc/net/dev').read().splitlines()[2:]]\n"
            "result += ['interface ' + n for n in names if n not in ('lo', 'tunl0', 'sit0', 'ip6tnl0', 'gre0')\n"
            "           and not n.startswith(('gre', 'erspan', 'ip_vti', 'ip6', 'teql'))]"
        )
    assert done == [], f"it reached {done}"


def check_localhost_has_a_name(bench: Bench) -> None:
    """Servers and pools within a program listen there by that name."""
    with bench.probe() as probe:
        assert probe.ask(
            "import socket\n"
            "with socket.create_server(('localhost', 0)) as server:\n"
            "    result = server.getsockname()[0]"
        ) in ("127.0.0.1", "::1")


def check_disk_is_limited(bench: Bench) -> None:
    fill = (
        "import os, errno\n"
        "total, result = 0, {}\n"
        "for place in ('.', '/tmp', '/dev/shm'):\n"
        "    for number in range(4):\n"
        "        try:\n"
        "            with open(f'{place}/filler{number}', 'wb', buffering=0) as file:\n"
        "                while True: total += file.write(bytes(1 << 20))\n"
        "        except OSError as exc:\n"
        "            result.setdefault(errno.errorcode[exc.errno], 0)\n"
        "result['MiB'] = total >> 20"
    )
    with bench.probe() as probe:
        told = probe.ask(fill)
    assert "ENOSPC" in told, f"filling the disk ended in {told}"
    assert told["MiB"] <= bench.limits.disk_mb * 2, f"{told['MiB']} MiB written, with a limit of {bench.limits.disk_mb}"
    with bench.probe() as probe:
        assert probe.ask("open('file', 'wb').write(bytes(1 << 20)); result = 1") == 1


_CALLS = """
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
def granted(name, *arguments):
    ctypes.set_errno(0)
    return getattr(libc, name)(*arguments) >= 0
"""


def check_files_are_limited(bench: Bench) -> None:
    """Each takes memory of the kernel's, however empty."""
    most = (bench.limits.disk_mb * 256 + 1024) * 2
    for place in (".", "/tmp", "/dev/shm"):
        with bench.probe() as probe:
            probe.tell(
                f"import os, time\nmade = 0\n"
                f"try:\n    while made <= {most}: os.close(os.open(f'{place}/empty-{{made}}', os.O_CREAT | os.O_WRONLY)); made += 1\n"
                "except OSError: pass\n"
                "time.sleep(1)\n"  # for a limit that is kept by looking now and then
                "result = made"
            )
            made = _answer_or_end(probe, "made")
        assert made is None or made <= most, f"{made} files in {place}, with a limit of {bench.limits.disk_mb} MiB"


def check_other_families_of_sockets_are_refused(bench: Bench) -> None:
    look = (
        _CALLS + "result = [[family, kind] for family in range(64) for kind in (1, 2, 3, 4, 5, 6, 10)\n"
        "          if (family not in (1, 2, 10) or kind > 2 and family != 1) and granted('socket', family, kind, 0)]\n"
        "result += [['pair', family] for family in range(64) if family != 1 and granted('socketpair', family, 1, 0, (ctypes.c_int * 2)())]\n"
        "result += [[family, kind, protocol] for family in (2, 10) for kind in (1, 2, 5) for protocol in (1, 2, 33, 58, 132, 136, 255, 262)\n"
        "           if granted('socket', family, kind, protocol)]"
    )
    with bench.probe() as probe:
        found = probe.ask(look)
        assert found == [], f"it got sockets of the families (and types, and protocols) {found}"
        probe.ask(
            "import multiprocessing, socket\n"
            "for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET): socket.socketpair(socket.AF_UNIX, kind)\n"
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "client = socket.create_connection(server.getsockname()); client.sendall(b'x')\n"
            "result = server.accept()[0].recv(1) == b'x' and bool(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))"
        )
    with bench.probe(persistent=True) as probe:
        found = probe.ask(
            "import os, sys; from _recode.runtime import command_runner\n"
            f"source = {look!r} + '\\nprint(result)'\n"
            "done = command_runner.run([sys.executable, '-c', source], cwd=os.getcwd(), seconds=30, output_limit=9999)\n"
            "result = done.output.decode()"
        )
        assert found == "[]\n", f"a command got sockets of the families {found}"


def check_messages_and_semaphores_of_system_v_are_none(bench: Bench) -> None:
    """What is held in their queues belongs to no process, and outlives all that made it."""
    look = (
        _CALLS
        + "result = [name for name, arguments in {'msgget': (0, 0o1600), 'semget': (0, 1, 0o1600), 'shmget': (0, 4096, 0o1600)}.items()\n"
        "          if granted(name, *arguments)]\n"
        "call = {'x86_64': 240, 'aarch64': 180}.get(platform.machine())\n"
        "result += ['mq_open'] if call and libc.syscall(call, b'recode', os.O_CREAT | os.O_RDWR, 0o600, None) >= 0 else []"
    )
    with bench.probe() as probe:
        found = probe.ask(look)
    assert found == [], f"it was granted {found}"


def check_there_are_no_rights_to_gain(bench: Bench) -> None:
    with bench.probe() as probe:
        status = dict(
            line.split(":\t", 1)
            for line in probe.ask("result = open('/proc/self/status').read()").splitlines()
            if ":\t" in line
        )
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0, f"it has rights: {status['CapEff']}"
        assert status["NoNewPrivs"] == "1", "a set-uid program would give it rights"
        assert probe.ask("import os; result = os.getuid()") != 0, "it runs as root"
        got = probe.ask(
            "import ctypes, os\n"
            "libc = ctypes.CDLL(None)\n"
            "result = [name for name, call in {\n"
            "    'a user namespace': lambda: libc.unshare(0x10000000),\n"
            "    'a mount namespace': lambda: libc.unshare(0x20000),\n"
            "    'a mount': lambda: libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None),\n"
            "    'an unmount': lambda: libc.umount2(b'/proc', 2),\n"
            "    'another root': lambda: libc.chroot(b'/tmp'),\n"
            "    'another user': lambda: libc.setuid(0),\n"
            "}.items() if call() == 0]"
        )
        assert got == [], f"it was granted {got}"


def check_shared_memory_counts(bench: Bench) -> None:
    """Memory that belongs to no process's own."""
    many, each = 64, max(bench.limits.memory_mb // 16, 1)  # fewer than the descriptors a program may have
    with bench.probe() as probe:
        probe.tell(
            "import os, time\n"
            "held = []\n"
            f"for _ in range({many}):\n"
            f"    fd = os.memfd_create('x'); os.write(fd, bytes({each} << 20)); held.append(fd)\n"
            "result = len(held)"
        )
        told = _answer_or_end(probe, "len(held)")
    assert told != many, f"{many * each} MiB of shared memory were granted, with a limit of {bench.limits.memory_mb}"


def _answer_or_end(probe: Probe, value: str) -> int | None:
    """Of a program that was told something before: it answers twice. None where it ended."""
    try:
        return int(probe.ask(f"result = {value}"))
    except (AssertionError, ConnectionError):
        return None


def check_commands_cannot_reach_their_program(bench: Bench) -> None:
    attack = (
        "import ctypes, os, resource, signal, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "reached = []\n"
        "for pid in {1, os.getppid(), *(int(n) for n in os.listdir('/proc') if n.isdigit())} - {os.getpid()}:\n"
        "    for what in ('mem', 'environ', 'fd'):\n"
        "        try:\n"
        "            os.listdir(f'/proc/{pid}/fd') if what == 'fd' else open(f'/proc/{pid}/{what}', 'rb').read(1)\n"
        "            reached.append((pid, what))\n"
        "        except OSError: pass\n"
        "    if libc.ptrace(16, pid, 0, 0) == 0: reached.append((pid, 'ptrace'))\n"
        "    try: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)); reached.append((pid, 'prlimit'))\n"
        "    except OSError: pass\n"
        "print(reached, flush=True)\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):\n"
        "    for pid in (1, os.getppid(), -1):\n"
        "        try: os.kill(pid, number)\n"
        "        except OSError: pass\n"
    )
    with bench.probe(persistent=True, limits=replace(bench.limits)) as probe:
        output = probe.ask(
            "import os, sys; from _recode.runtime import command_runner\n"
            f"result = command_runner.run([sys.executable, '-c', {attack!r}], cwd=os.getcwd(), seconds=30, output_limit=9999)[1].decode()"
        )
        assert output.startswith("[]"), f"a command reached {output}"
        assert probe.ask("result = 1 + 1") == 2, "the program did not survive its command"


def check_the_host_is_usable_throughout(bench: Bench) -> None:
    """The program of a bomb of every kind ends when told to, and this process can still start others."""
    with bench.probe() as probe:
        probe.tell("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass")
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        probe.connection.kill()
    with bench.probe() as probe:
        assert probe.ask("result = 1") == 1
