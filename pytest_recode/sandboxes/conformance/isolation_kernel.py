"""Checks of a sandbox with isolation "separate": no network, no shared kernel objects, and limits on disk and shared memory."""

from __future__ import annotations

import socket
from uuid import uuid4

from pytest_recode.sandboxes.conformance.isolation_processes import TRY
from pytest_recode.sandboxes.conformance.probe import Bench, answer_or_end


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
            TRY + "import socket\n"
            "def unix(name):\n    socket.socket(socket.AF_UNIX).connect(name)\n"
            f"targets = [('127.0.0.1', {port}), ('192.0.2.1', 80), ('8.8.8.8', 53), ('169.254.169.254', 80)]\n"
            "result = [str(t) for t in targets if attempt(lambda: socket.create_connection(t, 2)) == 'done']\n"
            f"result += [n for n in ('\\0{name}', '\\0{name}-inside') if attempt(unix, n) == 'done']\n"
            "result += ['a name was resolved'] if attempt(socket.gethostbyname, 'example.org') == 'done' else []\n"
            "names = [line.split(':')[0].strip() for line in open('/proc/net/dev').read().splitlines()[2:]]\n"
            "result += ['interface ' + n for n in names if n not in ('lo', 'tunl0', 'sit0', 'ip6tnl0', 'gre0')\n"
            "           and not n.startswith(('gre', 'erspan', 'ip_vti', 'ip6', 'teql'))]"
        )
    assert done == [], f"the program reached {done}"


def check_localhost_has_a_name(bench: Bench) -> None:
    """Servers and process pools in a program listen on this name."""
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
        written = probe.ask(fill)
    assert "ENOSPC" in written, f"filling the disk ended in {written}"
    assert written["MiB"] <= bench.limits.disk_mb * 2, (
        f"{written['MiB']} MiB written, with a limit of {bench.limits.disk_mb}"
    )
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
    """Counts empty files: each uses kernel memory."""
    most = (bench.limits.disk_mb * 256 + 1024) * 2
    for place in (".", "/tmp", "/dev/shm"):
        with bench.probe() as probe:
            probe.send(
                f"import os, time\nmade = 0\n"
                f"try:\n    while made <= {most}: os.close(os.open(f'{place}/empty-{{made}}', os.O_CREAT | os.O_WRONLY)); made += 1\n"
                "except OSError: pass\n"
                "time.sleep(1)\n"  # for sandboxes that enforce this limit by polling
                "result = made"
            )
            made = answer_or_end(probe, "made")
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
        sockets = probe.ask(look)
        assert sockets == [], f"the program got sockets of the families (types, protocols) {sockets}"
        probe.ask(
            "import multiprocessing, socket\n"
            "for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET): socket.socketpair(socket.AF_UNIX, kind)\n"
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "client = socket.create_connection(server.getsockname()); client.sendall(b'x')\n"
            "result = server.accept()[0].recv(1) == b'x' and bool(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))"
        )
    with bench.probe(persistent=True) as probe:
        sockets = probe.ask(
            "import os, sys; from _recode.runtime import command_runner\n"
            f"source = {look!r} + '\\nprint(result)'\n"
            "done = command_runner.run([sys.executable, '-c', source], cwd=os.getcwd(), seconds=30, output_limit=9999)\n"
            "result = done.output.decode()"
        )
        assert sockets == "[]\n", f"a command got sockets of the families {sockets}"


def check_messages_and_semaphores_of_system_v_are_none(bench: Bench) -> None:
    """Data in their queues belongs to no process and outlives the processes that wrote it."""
    look = (
        _CALLS
        + "result = [name for name, arguments in {'msgget': (0, 0o1600), 'semget': (0, 1, 0o1600), 'shmget': (0, 4096, 0o1600)}.items()\n"
        "          if granted(name, *arguments)]\n"
        "call = {'x86_64': 240, 'aarch64': 180}.get(platform.machine())\n"
        "result += ['mq_open'] if call and libc.syscall(call, b'recode', os.O_CREAT | os.O_RDWR, 0o600, None) >= 0 else []"
    )
    with bench.probe() as probe:
        found = probe.ask(look)
    assert found == [], f"the program was granted {found}"


def check_shared_memory_counts(bench: Bench) -> None:
    """Uses memory that is not counted as any process's own."""
    many, size_mb = 64, max(bench.limits.memory_mb // 16, 1)  # fewer than the descriptors a program may have
    with bench.probe() as probe:
        probe.send(
            "import os, time\n"
            "held = []\n"
            f"for _ in range({many}):\n"
            f"    fd = os.memfd_create('x'); os.write(fd, bytes({size_mb} << 20)); held.append(fd)\n"
            "result = len(held)"
        )
        answer = answer_or_end(probe, "len(held)")
    assert answer != many, (
        f"{many * size_mb} MiB of shared memory were granted, with a limit of {bench.limits.memory_mb}"
    )
