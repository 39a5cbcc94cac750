"""Nothing is left behind, whatever ends the host; and what is killed from outside is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from pytest_recode.faults import SandboxError
from pytest_recode.inside.runtime import linux_isolation
from pytest_recode.owned_directory import PREFIX
from pytest_recode.sandboxes import Connection, Program, Sandbox, SandboxContext, bubblewrap, docker_, process
from pytest_recode.sandboxes.conformance import Bench, marked, running, until
from pytest_recode.sandboxes.container_config import HOST, LABEL, OWNER, RUN
from pytest_recode.sandboxes.daemon import client, host
from pytest_recode.sandboxes.fork_server_pool import IDLE_SECONDS
from pytest_recode.sandboxes.leftovers import MARK, reap_directories, reap_processes
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import IMAGE, KINDS, opened, usable

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)


def a_host(kind: str, run: str, mark: str) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.sandboxes.host", kind, run, mark, IMAGE],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        start_new_session=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "up\n"
    until(lambda: len(inside(started, mark)) >= 2, "both processes came up")
    return started


def inside(started: subprocess.Popen[str], mark: str) -> list[int]:
    return [pid for pid in running(mark) if pid != started.pid]


def containers(run: str) -> list[str]:
    daemon = client()
    try:
        return [found["Id"] for found in daemon.containers(all=True, filters={"label": f"{RUN}={run}"})]
    finally:
        daemon.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("kind", KINDS)
def test_a_host_that_ends_leaves_nothing(kind: str, number: signal.Signals, context: SandboxContext) -> None:
    usable(kind, context)
    mark, run = marked(), f"killed-{uuid4().hex}"
    started = a_host(kind, run, mark)
    directories = list(Path(tempfile.gettempdir()).glob(f"{PREFIX}{started.pid}.*"))
    assert len(directories) == kind.startswith("process") + kind.endswith("-served")
    os.killpg(started.pid, number)
    started.wait()
    until(lambda: not running(mark), "everything it had started ended")
    if kind == "docker":
        until(lambda: not containers(run), "its containers went")
    reap_directories()
    assert not [directory for directory in directories if directory.exists()]


@pytest.mark.parametrize("kind", ["process", "bubblewrap", "bubblewrap-served"])
def test_a_killed_warm_parent_is_started_again(kind: str, context: SandboxContext) -> None:
    usable(kind, context)
    run = f"warm-{uuid4().hex}"
    sandbox = KINDS[kind][1](SandboxContext(run=run, python=context.python))
    bench = Bench(sandbox=sandbox, environment=Environment(), limits=LIMITS)
    try:
        with bench.probe() as probe:
            assert probe.ask("result = 1") == 1
            for marked_one in of_run(run):
                for pid in [marked_one, *linux_isolation.descendants(marked_one)]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            assert probe.connection.receive(1, time.monotonic() + 60) == b""
            assert probe.connection.kill() == "ended together with its warm parent"
        with bench.probe() as probe:
            assert probe.ask("result = 2") == 2
    finally:
        sandbox.close()
    assert not of_run(run)


GROWN = """
import os, signal, time
def prepare(seed):
    exec(seed.decode(), {"os": os, "signal": signal, "time": time})
def main(reader, writer):
    writer.write(reader.read(1))
"""
DEAF = """
signal.signal(signal.SIGIO, signal.SIG_IGN)
while True:
    time.sleep(60)
"""


def grown(sandbox: Sandbox, seed: str) -> str:
    """What a launch for a seed says to x."""
    program = Program(name="grown", modules={"_grown": GROWN}, entry="_grown", preparation=seed.encode())
    connection = sandbox.launch(program, Environment(), LIMITS)
    try:
        connection.send(b"x", time.monotonic() + 60)
        return connection.receive(1, time.monotonic() + 60).decode()
    finally:
        connection.kill()


@pytest.mark.parametrize("kind", ["process", "bubblewrap", "bubblewrap-served"])
def test_warm_parents_killed_with_all_that_were_forked_from_them_are_started_again(
    kind: str, context: SandboxContext
) -> None:
    usable(kind, context)
    run = f"grown-{uuid4().hex}"
    sandbox = KINDS[kind][1](SandboxContext(run=run, python=context.python))
    try:
        assert [grown(sandbox, "1"), grown(sandbox, "2")] == ["x", "x"]
        for pid in [below for first in of_run(run) for below in [*linux_isolation.descendants(first), first]]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert [grown(sandbox, "1"), grown(sandbox, "2"), grown(sandbox, "1")] == ["x", "x", "x"]
    finally:
        sandbox.close()
    assert not of_run(run)


STAYS = """
def prepare(seed):
    pass
def main(reader, writer):
    while data := reader.read(1):
        writer.write(data)
"""


def second_parents(run: str) -> list[int]:
    """The warm parents that were forked from the first one, in the order of their start."""
    [first] = [pid for pid in of_run(run) if pid in linux_isolation.children(os.getpid())]
    inner = linux_isolation.children(first) if Path(f"/proc/{first}/comm").read_text() == "bwrap\n" else [first]
    return sorted(linux_isolation.children(inner[0]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap", "bubblewrap-served"])
def test_a_second_parent_that_is_killed_takes_its_own_launches_along_and_no_others(
    kind: str, context: SandboxContext
) -> None:
    usable(kind, context)
    run = f"second-{uuid4().hex}"
    sandbox = KINDS[kind][1](SandboxContext(run=run, python=context.python))

    def launch(preparation: bytes) -> Connection:
        program = Program(name="stays", modules={"_stays": STAYS}, entry="_stays", preparation=preparation)
        launched = sandbox.launch(program, Environment(), LIMITS)
        launched.send(b"x", time.monotonic() + 60)
        assert launched.receive(1, time.monotonic() + 60) == b"x"
        return launched

    try:
        one, other = launch(b"1"), launch(b"2")
        killed, surviving = second_parents(run)
        below = linux_isolation.descendants(killed)
        os.kill(killed, signal.SIGKILL)
        assert one.kill() == "ended together with its warm parent"
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), "its launch ended")
        other.send(b"y", time.monotonic() + 60)
        assert other.receive(1, time.monotonic() + 60) == b"y"
        other.kill()
        launch(b"1").kill()
        assert second_parents(run)[0] == surviving
        assert len(second_parents(run)) == 2, "no zombie is left"
    finally:
        sandbox.close()
    assert not of_run(run)


def test_all_that_is_prepared_when_the_first_parent_is_killed_is_prepared_again(context: SandboxContext) -> None:
    run = f"prepared-{uuid4().hex}"
    sandbox = process.Process(SandboxContext(run=run, python=context.python))
    place = Path(tempfile.mkdtemp())
    place.chmod(0o711)  # for the users of programs
    wait = f"while not os.path.exists({str(place / 'go')!r}):\n    time.sleep(0.01)\n"
    try:
        with ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(grown, sandbox, f"{wait}# {number}") for number in range(3)]
            until(lambda: of_run(run) and len(second_parents(run)) == 3, "the second parents came up")
            [first] = [pid for pid in of_run(run) if pid in linux_isolation.children(os.getpid())]
            for pid in [first, *second_parents(run)]:
                os.kill(pid, signal.SIGKILL)
            (place / "go").touch()
            assert [each.result() for each in futures] == ["x", "x", "x"]
    finally:
        sandbox.close()
        (place / "go").unlink(missing_ok=True)
        place.rmdir()


@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_the_message_says_how_imports_of_a_repository_ended_the_interpreter(kind: str, context: SandboxContext) -> None:
    """As two packages that clash in native code do."""
    usable(kind, context)
    sandbox = KINDS[kind][1](SandboxContext(run=f"clash-{uuid4().hex}", python=context.python))
    clash = "import os, sys\nprint('a warning', file=sys.stderr, flush=True)\nos.kill(os.getpid(), 11)\n"
    try:
        with pytest.raises(SandboxError, match="ended in a sandbox while it imported what the tests need") as caught:
            grown(sandbox, clash)
        assert "killed by signal 11: a warning" in str(caught.value)
    finally:
        sandbox.close()


SILENT = """
import os, time
def main(reader, writer):
    for each in (reader, writer):
        each.close()
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_a_warm_parent_is_not_idle_while_a_launch_of_it_ends(kind: str, context: SandboxContext) -> None:
    """A program that has closed its wire may be about to report how it ends."""
    usable(kind, context)
    sandbox = KINDS[kind][1](SandboxContext(run=f"ending-{uuid4().hex}", python=context.python))
    assert isinstance(sandbox, process.Process | bubblewrap.Bubblewrap)
    try:
        launched = sandbox.launch(
            Program(name="silent", modules={"_silent": SILENT}, entry="_silent"), Environment(), LIMITS
        )
        assert launched.receive(1, time.monotonic() + 60) == b""
        with ThreadPoolExecutor(1) as pool:
            how = pool.submit(launched.kill)
            while not how.done():
                sandbox._parents.close_idle(time.monotonic() + 2 * IDLE_SECONDS)
        assert how.result() == ""
    finally:
        sandbox.close()


@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_warm_parents_without_a_launch_are_ended_and_started_again_when_needed(
    kind: str, context: SandboxContext
) -> None:
    usable(kind, context)
    run = f"idle-{uuid4().hex}"
    sandbox = KINDS[kind][1](SandboxContext(run=run, python=context.python))
    assert isinstance(sandbox, process.Process | bubblewrap.Bubblewrap)
    parents, later = sandbox._parents, time.monotonic() + 2 * IDLE_SECONDS
    try:
        program = Program(name="grown", modules={"_grown": GROWN}, entry="_grown", preparation=b"")
        working = sandbox.launch(program, Environment(), LIMITS)
        assert grown(sandbox, "1") == "x"
        before = of_run(run)
        parents.close_idle(time.monotonic())
        assert of_run(run) == before
        parents.close_idle(later)  # the second parent of "1"; the first one has a launch
        working.send(b"y", time.monotonic() + 60)
        assert working.receive(1, time.monotonic() + 60) == b"y"
        working.kill()
        parents.close_idle(later)
        assert not of_run(run)
        assert grown(sandbox, "1") == "x"
        parents.close_idle(later)  # the second parent
        parents.close_idle(later)  # the first one, from which nothing was launched
        assert not of_run(run)
        assert grown(sandbox, "1") == "x"
    finally:
        sandbox.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_what_a_second_parent_said_is_its_own(kind: str, context: SandboxContext) -> None:
    usable(kind, context)
    sandbox = KINDS[kind][1](SandboxContext(run=f"words-{uuid4().hex}", python=context.python))
    try:
        with pytest.raises(SandboxError, match="ValueError: of one"):
            grown(sandbox, "raise ValueError('of one')")
        with pytest.raises(SandboxError, match=r"it ended, nothing on its stderr$"):
            grown(sandbox, "os._exit(0)")
        assert grown(sandbox, "") == "x"
    finally:
        sandbox.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_a_second_parent_that_hears_nothing_ends_with_the_host(kind: str, context: SandboxContext) -> None:
    usable(kind, context)
    run = f"deaf-{uuid4().hex}"
    script = (
        "from pytest_recode.sandboxes import SandboxContext\n"
        "from tests.sandboxes.conftest import KINDS\n"
        "from tests.sandboxes.test_lifetime import DEAF, grown\n"
        f"grown(KINDS[{kind!r}][1](SandboxContext(run={run!r}, python={context.python!r})), DEAF)\n"
    )
    host = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parent.parent.parent)
    until(lambda: any(deaf(pid) for pid in linux_isolation.descendants(host.pid)), "the second parent came up")
    started = linux_isolation.descendants(host.pid)
    os.kill(host.pid, signal.SIGKILL)
    host.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), "the warm parents ended")


def deaf(pid: int) -> bool:
    """Whether a process ignores the signal by which a warm parent hears of its host's end."""
    with suppress(OSError):
        [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn")]
        return bool(int(line.split()[1], 16) >> (signal.SIGIO - 1) & 1)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_a_host_that_ends_during_an_import_leaves_nothing(kind: str, tmp_path: Path, context: SandboxContext) -> None:
    usable(kind, context)
    venv.create(tmp_path / "venv", symlinks=True)
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (packages / "endless.py").write_text("import time\ntime.sleep(600)\n")
    run = f"import-{uuid4().hex}"
    script = (
        "from pytest_recode.sandboxes import SandboxContext\n"
        "from pytest_recode.sandboxes.conformance import Bench\n"
        "from pytest_recode.task import Environment, Limits\n"
        "from tests.sandboxes.conftest import KINDS\n"
        f"sandbox = KINDS[{kind!r}][1](SandboxContext(run={run!r}, python={str(tmp_path / 'venv/bin/python')!r}))\n"
        "Bench(sandbox=sandbox, environment=Environment(preload=('endless',)), limits=Limits()).probe().__enter__()\n"
    )
    host = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parent.parent.parent)
    until(lambda: of_run(run), "the warm parent came up")
    os.kill(host.pid, signal.SIGKILL)
    host.wait()
    until(lambda: not of_run(run), "the warm parent ended")


def of_run(run: str) -> list[int]:
    """The processes that carry the mark of a run."""
    pids = []
    for directory in Path("/proc").iterdir():
        try:
            if f".{run}\0".encode() in (directory / "environ").read_bytes() + b"\0":
                pids.append(int(directory.name))
        except (OSError, ValueError):
            continue
    return pids


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_of_the_thread_that_launched_is_not_the_end(
    kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    bench = Bench(sandbox=opened(kind, context, sandboxes), environment=Environment(), limits=LIMITS)
    probes = []

    def launch() -> None:
        manager = bench.probe()
        probes.append((manager, manager.__enter__()))

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    manager, probe = probes[0]
    assert probe.ask("result = 1") == 1
    manager.__exit__(None, None, None)


def test_close_is_idempotent_and_ends_all(context: SandboxContext) -> None:
    sandbox = process.Process(context)
    bench = Bench(sandbox=sandbox, environment=Environment(), limits=LIMITS)
    mark = marked()
    with bench.probe() as probe:
        probe.ask(
            f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])"
        )
        sandbox.close()
        sandbox.close()
        assert not running(mark)
    assert not list(Path(tempfile.gettempdir()).glob(f"{PREFIX}{os.getpid()}.*.{context.run}*"))


@pytest.mark.invariant("nothing-left-behind")
def test_processes_of_a_dead_owner_are_reaped_and_others_are_not() -> None:
    sleeper = [sys.executable, "-S", "-c", "import time; print('up', flush=True); time.sleep(600)"]
    here = Path("/proc/self/ns/pid").stat().st_ino
    dead, mine = f"{dead_pid()}.123.{here}.run", f"{os.getpid()}.{start_time()}.{here}.run"
    elsewhere = f"{dead_pid()}.123.{here + 1}.run"  # the owner's number is that of another pid namespace
    started = {
        name: subprocess.Popen(sleeper, env={MARK: value} if value else {}, stdout=subprocess.PIPE)
        for name, value in (("dead", dead), ("mine", mine), ("elsewhere", elsewhere), ("strange", ""))
    }
    try:
        for one in started.values():
            assert one.stdout is not None
            one.stdout.readline()
        reap_processes()
        assert started["dead"].wait(30) == -signal.SIGKILL
        assert started["mine"].poll() is None
        assert started["elsewhere"].poll() is None
        assert started["strange"].poll() is None
    finally:
        for one in started.values():
            one.kill()
            one.wait()


@pytest.mark.invariant("nothing-left-behind")
def test_directories_of_a_dead_owner_are_reaped_and_others_are_not() -> None:
    temporary = Path(tempfile.gettempdir())
    names = {
        "dead": f"{PREFIX}{dead_pid()}.123.x",
        "mine": f"{PREFIX}{os.getpid()}.{start_time()}.x",
        "strange": f"{PREFIX}notes",
    }
    paths = {name: temporary / path for name, path in names.items()}
    for path in paths.values():
        (path / "deep").mkdir(parents=True)
    try:
        reap_directories()
        assert {name for name, path in paths.items() if path.exists()} == {"mine", "strange"}
    finally:
        for path in paths.values():
            if path.exists():
                (path / "deep").rmdir()
                path.rmdir()


def test_containers_of_a_dead_owner_are_reaped_and_others_are_not(context: SandboxContext) -> None:
    usable("docker", context)
    daemon = client()
    run = f"reap-{uuid4().hex}"
    base = {LABEL: "1", HOST: host(), RUN: run}
    labels = {
        "dead": {**base, OWNER: f"{dead_pid()}.123.{run}"},
        "mine": {**base, OWNER: f"{os.getpid()}.{start_time()}.{run}"},
        "elsewhere": {**base, HOST: "another machine", OWNER: f"{dead_pid()}.123.{run}"},
        "strange": {RUN: run},
    }
    ids = {
        name: daemon.create_container(IMAGE, ["python3", "-c", "input()"], labels=its)["Id"]
        for name, its in labels.items()
    }
    try:
        docker_.KIND.reap(context)
        assert set(containers(run)) == {ids[name] for name in ("mine", "elsewhere", "strange")}
    finally:
        for container in containers(run):
            daemon.remove_container(container, force=True)
        daemon.close()


def dead_pid() -> int:
    """A number that no process has: past the largest."""
    return int(Path("/proc/sys/kernel/pid_max").read_text()) + 1


def start_time() -> str:
    return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
