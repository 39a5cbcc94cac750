"""If root runs pytest, a program without namespaces runs as an ordinary user of its own: root could end all processes of the machine.

Signal 0 checks whether a process may be signalled, and signals nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recode.sandboxes import Program, SandboxContext, unprivileged_users
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.sandboxes.interpreters import interpreter
from pytest_recode.sandboxes.process import Process
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import usable

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user cannot change to another")

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)
MAY_SIGNAL = """
import os
result = []
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            os.kill(int(name), 0)
        except (PermissionError, ProcessLookupError):
            continue
        result.append(name)
"""


ABOVE = """
above = [os.getppid()]
while above[-1] > 1:
    with open(f"/proc/{above[-1]}/stat") as file:
        above.append(int(file.read().rpartition(")")[2].split()[1]))
"""


def python_for_everybody() -> str:
    for name in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if shutil.which(name) and unprivileged_users.users(interpreter(name))[2] is None:
            return name
    return ""


@pytest.fixture(params=["of the tests", "for everybody"])
def bench(request: pytest.FixtureRequest, context: SandboxContext) -> Iterator[Bench]:
    """A sandbox with the interpreter that runs the tests, which may be in root's home, and with one that everybody can read."""
    usable("process", context)
    python = sys.executable if request.param == "of the tests" else python_for_everybody()
    if not python:
        pytest.skip("this machine has no Python that every user can read")
    sandbox = Process(SandboxContext(run=context.run, python=python))
    yield Bench(sandbox=sandbox, environment=Environment(), limits=LIMITS)
    sandbox.close()


@pytest.mark.parametrize("persistent", [False, True])
def test_a_program_can_signal_no_process_outside_of_it(bench: Bench, persistent: bool) -> None:
    with bench.probe(), bench.probe(persistent=persistent) as probe:
        assert 0 not in probe.ask("import os; result = [*os.getresuid(), *os.getresgid(), *os.getgroups()]")
        for pid in ("os.getppid()", str(os.getpid()), "1"):
            with pytest.raises(AssertionError, match="PermissionError"):
                probe.ask(f"os.kill({pid}, 0)")
        assert probe.ask(MAY_SIGNAL) == []


def test_a_command_of_an_agent_can_signal_no_process_outside_of_its_program(bench: Bench) -> None:
    with bench.probe(), bench.probe(persistent=True) as probe:
        code = f"{MAY_SIGNAL}\n{ABOVE}\nprint(*result, '/', *above)"
        program, printed = probe.ask(
            "import os, sys; from _recode.runtime import command_runner\n"
            f"done = command_runner.run([sys.executable, '-c', {code!r}], cwd='.', seconds=60, output_limit=9999)\n"
            "result = [os.getpid(), done.output.decode()]"
        )
        may_signal, above = (list(map(int, part.split())) for part in printed.split("/"))
        assert program in above
        assert set(may_signal) <= set(above[: above.index(program) + 1]), "those between the command and its program"


def test_each_launch_has_a_user_and_files_of_its_own(bench: Bench) -> None:
    with bench.probe() as one, bench.probe() as other:
        mine = one.ask("import os; open('secret', 'w').write('x'); result = [os.getuid(), os.path.abspath('secret')]")
        assert other.ask("import os; result = os.getuid()") != mine[0]
        if unprivileged_users.users(interpreter(bench.sandbox._context.python))[2] is None:  # type: ignore[attr-defined]
            with pytest.raises(AssertionError, match="PermissionError"):
                other.ask(f"open({mine[1]!r})")


def test_late_imports_programs_and_names_work(bench: Bench) -> None:
    with bench.probe() as probe:
        assert probe.ask(
            "import getpass, subprocess, sys, tempfile, xmlrpc.server\n"
            "tempfile.NamedTemporaryFile().write(b'x')\n"
            "code = 'import wsgiref.util; print(7)'\n"
            "result = [getpass.getuser(), subprocess.run([sys.executable, '-c', code], capture_output=True).stdout.decode()]"
        ) == ["recode", "7\n"]
        python = bench.sandbox._context.python  # type: ignore[attr-defined]
        assert probe.ask(f"import shutil; result = shutil.which({python!r})") == python


PREPARED = """
import os, tempfile
users = []
def prepare(data):
    tempfile.mkdtemp()
    open("written", "wb").write(data)
    users.append([os.getuid(), os.geteuid()])
    try:
        os.kill(int(data), 0)
    except PermissionError:
        users.append("may not")
def main(reader, writer):
    users.append(os.getuid())
    assert tempfile.mkdtemp().startswith(os.path.dirname(os.getcwd()))
    writer.write(repr(users).encode())
"""


def test_what_prepares_a_program_is_an_ordinary_user_too(bench: Bench) -> None:
    program = Program(name="p", modules={"_p": PREPARED}, entry="_p", preparation=str(os.getpid()).encode())
    connection = bench.sandbox.launch(program, Environment(), LIMITS)
    received = connection.receive(1 << 16, time.monotonic() + 60).decode()
    connection.kill()
    (first, effective), may_not, mine = eval(received, {})
    assert (0 not in (first, mine), first == effective, first != mine, may_not) == (True, True, True, "may not")


def test_memory_of_processes_that_share_pages_is_counted_once(bench: Bench) -> None:
    """The kernel shows shared pages only to a process of the same user, or one with CAP_SYS_PTRACE."""
    with bench.probe() as probe:
        assert (
            probe.ask(
                "import os, time\n"
                "shared = b'x' * (80 << 20)\n"
                "pids = []\n"
                "for _ in range(5):\n"
                "    pids.append(os.fork())\n"
                "    if not pids[-1]: time.sleep(0.4); os._exit(0)\n"
                "result = [os.waitpid(pid, 0)[1] for pid in pids]"
            )
            == [0] * 5
        )


def test_nothing_is_left_of_a_launch(bench: Bench) -> None:
    with bench.probe() as probe:
        directory = Path(probe.ask("import os; os.mkdir('closed'); os.chmod('closed', 0); result = os.getcwd()")).parent
        assert directory.is_dir()
    assert not directory.exists()


def test_a_root_that_cannot_change_its_user_is_refused() -> None:
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    code = "from pytest_recode.sandboxes import process; print(process.check(None))"
    dropped = ["setpriv", "--bounding-set=-setuid,-kill", "--inh-caps=-setuid,-kill", sys.executable, "-c", code]
    output = subprocess.run(dropped, capture_output=True, text=True, check=True).stdout
    assert "root runs pytest without CAP_KILL, CAP_SETUID" in output
    assert "run pytest as another user than root" in output


def test_a_command_that_cannot_be_started_leaves_no_open_file(bench: Bench) -> None:
    """The first pipe is made and the second one not, for lack of file descriptors."""
    with bench.probe(persistent=True) as probe:
        before, after, message = probe.ask(
            "import os, resource; from _recode.runtime import command_runner\n"
            "free = os.open('/dev/null', os.O_RDONLY); os.close(free)\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (free + 3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
            "taken = lambda: [each for each in range(free + 3) if os.path.lexists(f'/proc/self/fd/{each}')]\n"
            "result = [taken()]\n"
            "try: command_runner.run(['true'], cwd='.', seconds=60, output_limit=99)\n"
            "except OSError as error: result += [taken(), str(error)]\n"
        )
        assert "Too many open files" in message
        assert after == before


FILLING = {
    "files": "for n in range(8): open(str(n), 'wb').write(b'x' * (8 << 20))",
    "deleted files": "files = [tempfile.TemporaryFile() for _ in range(8)]\nfor file in files: file.write(b'x' * (8 << 20)); file.flush()",
    "a file far below": "for n in range(3000): os.mkdir('d'); os.chdir('d')\nfor n in range(8): open(str(n), 'wb').write(b'x' * (8 << 20))",
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("how", FILLING)
def test_a_launch_that_fills_the_disk_ends(context: SandboxContext, how: str) -> None:
    """Only its own: files of a command of an agent are limited one by one."""
    usable("process", context)
    sandbox = Process(SandboxContext(run=context.run, python=sys.executable))
    try:
        bench = Bench(sandbox=sandbox, environment=Environment(), limits=LIMITS)
        with bench.probe() as other, bench.probe() as probe:
            code = f"import os, tempfile, time\n{FILLING[how]}\ntime.sleep(600)"
            assert probe.ended(code) == "too much disk (32 MiB)"
            assert other.ask("open('small', 'wb').write(b'x' * (8 << 20)); result = 1") == 1
    finally:
        sandbox.close()
