"""Checks of every sandbox, whatever its isolation."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from pytest_recode.faults import UserError
from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.sandboxes import Connection
from pytest_recode.sandboxes.conformance.probe import Bench, Probe, answer_or_end, marked, running, until
from pytest_recode.schema.declared_types import described, problem

_DAEMON = """
import os, sys, subprocess
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", {mark!r}])
    os._exit(0)
os.wait()
"""


def check_bytes_arrive_as_sent(bench: Bench) -> None:
    size = 3_000_001
    with bench.probe() as probe:
        probe.send(f"data = read(reader, {size}); write(writer, data[::-1])")
        sent = os.urandom(size)
        part = probe.connection.write(memoryview(sent), time.monotonic() + 60)
        probe.connection.send(memoryview(sent)[part:], time.monotonic() + 60)
        assert probe.read(size, time.monotonic() + 60) == sent[::-1], "the bytes came back changed"


def check_deadlines_hold(bench: Bench) -> None:
    began = time.monotonic()
    with bench.probe() as probe:
        probe.send("import time; time.sleep(600)")
        for what, call in (
            ("receive", lambda: probe.connection.receive(1, time.monotonic() + 0.05)),
            ("send", lambda: probe.connection.send(bytes(1 << 26), time.monotonic() + 0.3)),
        ):
            try:
                call()
            except TimeoutError:
                continue
            raise AssertionError(f"{what} did not raise TimeoutError")
        samples, most = probe.connection.waited(), time.monotonic() - began
        waited = samples[-1].waited if samples else 0.0
        assert 0 <= waited <= most, f"the program had to wait {waited:.1f} s for others, in {most:.1f} s"


def check_a_connection_is_of_its_type(bench: Bench) -> None:
    with bench.probe() as probe:
        probe.ask("result = 1")
        for what, value, declared in (
            ("launch()", probe.connection, Connection),
            ("waited()", probe.connection.waited(), Sequence[Sample]),
            ("kill()", probe.connection.kill(), str),
        ):
            wrong = problem(value, declared)
            assert not wrong, f"{what} returned {described(value, wrong)}"


def check_the_end_is_reported(bench: Bench) -> None:
    for source, expected in (
        ("raise SystemExit(3)", "exited with status 3"),
        ("import os; os._exit(0)", "exited with status 0"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11"),
    ):
        with bench.probe() as probe:
            how = probe.ended(source)
            assert how == expected, f"{source}: kill() returned {how!r}, not {expected!r}"
            assert probe.connection.kill() == how, "kill() returned something else the second time"
            _refuses(probe)


def check_kill_ends_what_runs(bench: Bench) -> None:
    with bench.probe() as probe:
        probe.send("while True: pass")
        how = probe.connection.kill()
        assert how == "", f"the program was still running, but kill() returned {how!r}"
        assert probe.connection.kill() == "", "kill() returned something else the second time"
        _refuses(probe)


def _refuses(probe: Probe) -> None:
    try:
        assert probe.connection.receive(1, time.monotonic() + 5) == b"", "receive() returned data after the end"
        probe.connection.send(b"x", time.monotonic() + 5)
    except ConnectionError:
        return
    except TimeoutError as exc:
        raise AssertionError("receive() or send() waits although the program has ended") from exc
    raise AssertionError("send() after the end did not raise ConnectionError")


def check_kill_ends_daemons(bench: Bench) -> None:
    mark = marked()
    with bench.probe() as probe:
        probe.ask(_DAEMON.format(mark=mark))
        until(lambda: running(mark), "the daemon came up")
        probe.connection.kill()
        assert not running(mark), "a daemon of the program is alive after kill()"


def check_the_programs_end_ends_daemons(bench: Bench) -> None:
    mark = marked()
    with bench.probe() as probe:
        probe.ask(_DAEMON.format(mark=mark))
        until(lambda: running(mark), "the daemon came up")
        probe.ended("import os; os._exit(0)")
        assert not running(mark), "a daemon of the program is alive after the program's end"


_LOCKS = """
import fcntl, glob, os, struct
def record(kind):
    return struct.pack("hhqqi4x", kind, 0, {offset}, 1, 0)
def locks(operation, kind):
    for path in [*sorted(glob.glob("/proc/self/ns/*")), "/usr", "/usr/bin", os.__file__]:
        try:
            yield struct.unpack("hhqqi4x", fcntl.fcntl(opened.setdefault(path, os.open(path, os.O_RDONLY)), operation, record(kind)))[0]
        except OSError:
            continue
opened = {{}}
"""


def check_kill_returns_when_all_is_gone(bench: Bench) -> None:
    """Uses a lock on a file that two launches share: it is held until its holder has ended, including the release of its memory."""
    source = _LOCKS.format(offset=uuid4().int >> 66)
    ballast = bench.limits.memory_mb * 3 // 4
    with bench.probe() as bystander, bench.probe() as probe:
        probe.ask(
            f"{source}\nheld = list(locks(fcntl.F_SETLK, fcntl.F_RDLCK)); ballast = b'x' * ({ballast} << 20); result = 1"
        )
        look = "result = sum(kind != fcntl.F_UNLCK for kind in locks(fcntl.F_GETLK, fcntl.F_WRLCK))"
        before = bystander.ask(f"{source}\n{look}")
        probe.connection.kill()
        after = bystander.ask(look)
    assert after == 0, f"after kill(), {after} of the {before} locks that another launch could see were still held"


def check_work_starts_empty(bench: Bench) -> None:
    look = "import os; result = [os.listdir('.'), os.listdir('/dev/shm')]; open('left', 'w').write('x')"
    with bench.probe() as probe:
        first = probe.ask(look)[0]
        elsewhere = probe.ask(
            "import tempfile; f = tempfile.NamedTemporaryFile('w', delete=False); f.write('left'); f.close(); result = f.name"
        )
        with bench.probe() as other:
            assert other.ask(look)[0] == [], "a concurrent launch sees files of the first"
    assert first == [], f"the working directory contained {first}"
    with bench.probe() as probe:
        assert probe.ask(look)[0] == [], "a later launch sees files of an earlier one"
        assert not probe.ask(f"import os; result = os.path.exists({elsewhere!r})"), (
            "a temporary file of an earlier launch still exists"
        )


def check_the_environment_is_built_from_nothing(bench: Bench) -> None:
    name, secret = "RECODE_CHECK_API_KEY", uuid4().hex
    os.environ[name] = secret
    try:
        # limits that have not been used before, so that no warm process is older than the variable
        with bench.probe(limits=replace(bench.limits, pids=bench.limits.pids + 1)) as probe:
            seen = probe.ask("import os; result = dict(os.environ)")
    finally:
        del os.environ[name]
    assert secret not in seen.values(), f"the host's {name} is visible in the sandbox"
    for known, value in {"PYTHONHASHSEED": "0", "TZ": "UTC", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}.items():
        assert seen.get(known) == value, f"{known} is {seen.get(known)!r}, not {value!r}"
    foreign = {key for key, value in os.environ.items() if seen.get(key) == value and len(value) > 20}
    assert not foreign - {"PATH"}, f"variables of the host: {sorted(foreign)}"


def check_only_the_wire_is_open(bench: Bench) -> None:
    with bench.probe() as probe:
        descriptors = probe.ask(
            "import os; result = {fd: os.readlink('/proc/self/fd/' + fd) for fd in os.listdir('/proc/self/fd')"
            " if os.path.exists('/proc/self/fd/' + fd)}"
        )
        wires = [target for fd, target in descriptors.items() if int(fd) > 2 and not target.startswith("/proc/")]
        assert {descriptors[fd] for fd in "012"} == {"/dev/null"}, f"the standard streams are {descriptors}"
        assert len(wires) <= 2, f"open besides the standard streams: {wires}"


def check_output_goes_nowhere(bench: Bench) -> None:
    with bench.probe() as probe:
        assert probe.ask(
            "import os, sys\n"
            "block = bytes(1 << 24)\n"
            "result = sum(os.write(fd, block) for fd in (1, 2) for _ in range(32)) >> 20\n"
            "print('x'); print('y', file=sys.stderr)"
        ), "a gigabyte of output disturbed the connection"


def check_tracebacks_quote_the_source(bench: Bench) -> None:
    with bench.probe() as probe:
        text = probe.ask(
            "import traceback\ntry:\n    read(None, 1)\nexcept Exception:\n    result = traceback.format_exc()"
        )
        assert "part = reader.read(min(size, 1 << 20))" in text, f"no source line in {text!r}"


def check_a_missing_preload_is_the_users_fault(bench: Bench) -> None:
    missing = "recode_no_such_module"
    message = ""
    try:
        with replace(bench, environment=replace(bench.environment, preload=(missing,))).probe():
            pass
    except UserError as exc:
        message = str(exc)
    assert message, "a preload that does not exist raised no UserError"
    assert missing in message, f"the message does not name {missing}: {message}"
    assert "\n" not in message, f"the message has several lines: {message}"


def check_a_preload_is_there_before_the_program(bench: Bench) -> None:
    with replace(bench, environment=replace(bench.environment, preload=("wave",))).probe() as probe:
        assert probe.ask("import sys; result = 'wave' in sys.modules"), "the preloaded module is not loaded"


def check_a_large_allocation_is_an_exception(bench: Bench) -> None:
    with bench.probe() as probe:
        answer = probe.ask(
            f"try:\n    b = bytearray({bench.limits.memory_mb * 4} << 20); result = ''\nexcept MemoryError:\n    result = 'refused'"
        )
        assert answer == "refused", "four times the memory limit was granted"


def check_memory_is_limited_for_all_processes_together(bench: Bench) -> None:
    share_mb = bench.limits.memory_mb // 4
    with bench.probe() as probe:
        how = probe.ended(
            "import os, time\n"
            "for _ in range(8):\n"
            "    if os.fork() == 0:\n"
            f"        b = bytearray(os.urandom(1) * ({share_mb} << 20)); time.sleep(600)\n"
            "time.sleep(600)"
        )
    assert how == f"out of memory ({bench.limits.memory_mb} MiB)", f"kill() returned {how!r}"
    with bench.probe() as probe:
        assert probe.ask("result = 1") == 1


def check_processes_are_limited(bench: Bench) -> None:
    mark = marked()
    with bench.probe() as probe:
        probe.send(
            "import os, sys\n"
            "pids = set()\n"
            f"for _ in range({bench.limits.pids * 3}):\n"
            "    try:\n"
            "        pid = os.fork()\n"
            "    except OSError:\n"
            "        continue\n"
            "    if pid == 0:\n"
            "        try:\n"
            f"            os.execv(sys.executable, [sys.executable, '-S', '-c', 'import time; time.sleep(600)', {mark!r}])\n"
            "        finally:\n"
            "            os._exit(1)\n"
            "    pids.add(pid)\n"
            "while pids:\n"  # answers when all children have their arguments, and keeps running
            "    pids = {pid for pid in pids if not os.waitpid(pid, os.WNOHANG)[0]\n"
            f"            and {mark!r} not in open(f'/proc/{{pid}}/cmdline').read()}}\n"
            "result = None"
        )
        most = 0
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            try:
                answered = probe.connection.receive(1, time.monotonic() + 0.02)
            except TimeoutError:
                answered = None
            most = max(most, len(running(mark)))
            if answered is not None:
                break  # or ended
        probe.connection.kill()
        assert not running(mark), "processes of the program are alive after kill()"
        assert most <= bench.limits.pids * 2, f"{most} processes at once, with a limit of {bench.limits.pids}"
    with bench.probe() as probe:
        assert probe.ask("result = 1") == 1


_PINNED = """
import ctypes, fcntl, mmap, os, socket, struct
HUGE = 1 << 21
libc = ctypes.CDLL(None, use_errno=True)
libc.vmsplice.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_uint]
area = mmap.mmap(-1, 2 * HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
offset = -start % HUGE
def pin(take, most):
    held = 0
    while held < most:
        area.madvise(mmap.MADV_HUGEPAGE, offset, HUGE)
        area[offset] = 1
        with open("/proc/self/smaps_rollup") as file:
            if not held and "AnonHugePages:         0 kB" in file.read(): return 0  # the kernel has none
        if not take(): return held
        held += 2
        area.madvise(mmap.MADV_DONTNEED, offset, HUGE)
    return held
def by_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 1 << 20)  # F_SETPIPE_SZ
    ends.append((reader, writer))
    piece = ctypes.create_string_buffer(struct.pack("PN", start + offset, 4096))
    return lambda: libc.vmsplice(writer, piece, 1, 2) > 0
def by_socket():
    server = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(server.getsockname())
    ends.append((server.accept()[0], sender))
    sender.setsockopt(1, 60, 1)  # SO_ZEROCOPY
    sender.setblocking(False)
    def send():
        try: return sender.send(memoryview(area)[offset : offset + 4096], 0x4000000) > 0
        except BlockingIOError: return False
    return send
ends = []
def pinned(way, most):
    try: return pin(way(), most)
    except OSError: return 0
"""


def check_huge_pages_of_which_a_piece_is_kept_count(bench: Bench) -> None:
    """A pipe or a socket that has a piece of a huge page keeps all of it, which no process has mapped any more."""
    most = bench.limits.memory_mb + bench.limits.disk_mb + 256
    for way in ("by_pipe", "by_socket"):
        with bench.probe() as probe:
            probe.send(
                f"{_PINNED}\nheld = 0\nwhile held < {most} and (more := pinned({way}, {most} - held)): held += more\nresult = held"
            )
            answer = answer_or_end(probe, "held")
        assert answer is None or answer < most, (
            f"{answer} MiB were held {way}, with a limit of {bench.limits.memory_mb}"
        )
