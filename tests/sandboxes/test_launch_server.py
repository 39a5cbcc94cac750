"""One process launches for several workers: they share warm parents and nothing else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from uuid import uuid4

import pytest

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.inside.runtime import linux_isolation
from pytest_recode.owned_directory import PREFIX
from pytest_recode.sandboxes import SandboxContext
from pytest_recode.sandboxes.conformance import Bench, marked, running, until
from pytest_recode.sandboxes.launch_client import LaunchClient
from pytest_recode.sandboxes.launch_server import LaunchServer
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import LOCAL, usable
from tests.sandboxes.test_lifetime import of_run

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)
ROOT = Path(__file__).parent.parent.parent


class Site:
    """A server, and clients of it."""

    def __init__(self, kind: str, python: str) -> None:
        self.kind = kind
        self.context = SandboxContext(run=f"served-{uuid4().hex}", python=python)
        self.server = LaunchServer(LOCAL.__getitem__, workers=3)

    def client(self, **other: str) -> LaunchClient:
        address = replace(self.server.address, **other)
        return LaunchClient(self.kind, LOCAL[self.kind].make(self.context), self.context, address)

    def bench(self, environment: Environment = Environment()) -> Bench:  # noqa: B008 frozen
        return Bench(sandbox=self.client(), environment=environment, limits=LIMITS)

    def parents(self) -> list[int]:
        """The processes of first warm parents: children of this process."""
        return [pid for pid in of_run(self.context.run) if pid in linux_isolation.children(os.getpid())]


@pytest.fixture(params=["process", "bubblewrap"])
def site(request: pytest.FixtureRequest, context: SandboxContext) -> Iterator[Site]:
    usable(request.param, context)
    opened_site = Site(request.param, context.python)
    yield opened_site
    opened_site.server.close()
    assert not of_run(opened_site.context.run)
    assert not Path(opened_site.server.address.socket).parent.exists()


def test_workers_share_a_warm_parent_and_no_files(site: Site) -> None:
    with site.bench().probe() as one, site.bench().probe() as other:
        assert len(site.parents()) == 1
        one.ask("open('mine', 'w').close()")
        assert other.ask("import os; result = os.listdir()") == []
        assert one.ask("import os; result = os.listdir()") == ["mine"]


def test_launches_at_the_same_time_are_told_apart(site: Site) -> None:
    """Each gets its own answer, and each end is reported to its own worker."""

    def play(number: int) -> tuple[object, str]:
        bench = site.bench()
        with bench.probe() as probe:
            answer = probe.ask(f"result = {number}")
            if number % 3:
                probe.send(f"import os; os._exit({number})")
                assert probe.connection.receive(1, float("inf")) == b""
            return answer, probe.connection.kill()

    numbers = range(1, 25)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(play, numbers))
    assert found == [(number, f"exited with status {number}" if number % 3 else "") for number in numbers]
    assert len(site.parents()) == 1


@pytest.mark.slow
def test_a_killed_worker_takes_its_programs_along_and_no_others(site: Site) -> None:
    mark = marked()
    script = (
        "import sys, time\n"
        "from pytest_recode.sandboxes import SandboxContext\n"
        "from pytest_recode.sandboxes.conformance import Bench\n"
        "from pytest_recode.sandboxes.launch_client import LaunchClient\n"
        "from pytest_recode.sandboxes.launch_server import LaunchAddress\n"
        "from pytest_recode.task import Environment, Limits\n"
        "from tests.sandboxes.conftest import LOCAL\n"
        f"context = SandboxContext(run={site.context.run!r}, python={site.context.python!r})\n"
        f"address = LaunchAddress(**{asdict(site.server.address)!r})\n"
        f"client = LaunchClient({site.kind!r}, LOCAL[{site.kind!r}].make(context), context, address)\n"
        "program = Bench(sandbox=client, environment=Environment(), limits=Limits(pids=32)).probe()\n"
        "probe = program.__enter__()\n"
        f"probe.ask(\"import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])\")\n"
        "print('up', flush=True)\n"
        "time.sleep(600)\n"
    )
    with (
        site.bench().probe() as other,
        subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker,
    ):
        assert worker.stdout is not None
        assert worker.stdout.readline() == "up\n"
        until(lambda: [pid for pid in running(mark) if pid != worker.pid], "the program's process came up")
        worker.kill()
        worker.wait()
        until(lambda: not running(mark), "the program ended with its worker")
        assert other.ask("result = 1") == 1


def test_a_worker_that_closes_its_sandbox_ends_its_programs_and_no_others(site: Site) -> None:
    one, other = site.bench(), site.bench()
    with one.probe() as its, other.probe() as stays:
        one.sandbox.close()
        one.sandbox.close()
        with pytest.raises((ConnectionError, AssertionError)):
            its.ask("result = 1")
        assert stays.ask("result = 1") == 1


def test_a_launch_that_fails_says_whose_fault_it_is(site: Site) -> None:
    with pytest.raises(UserError, match="cannot import 'no_such_module'"):
        site.bench(Environment(preload=("no_such_module",))).probe().__enter__()
    with pytest.raises(UserError, match="no such file"):
        site.bench(Environment(python="/nowhere/python")).probe().__enter__()
    site.server.close()
    with pytest.raises(SandboxError, match="launches nothing any more"):
        site.bench().probe().__enter__()


def test_who_has_not_the_secret_launches_nothing(site: Site) -> None:
    stranger = Bench(sandbox=site.client(secret="00" * 32), environment=Environment(), limits=LIMITS)
    with pytest.raises(SandboxError):
        stranger.probe().__enter__()
    assert not site.parents()
    with site.bench().probe() as probe:
        assert probe.ask("result = 1") == 1


def test_a_worker_that_is_stopped_while_it_connects_delays_no_other(site: Site) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(site.server.address.socket)
        with site.bench().probe() as probe:
            assert probe.ask("result = 1") == 1
        site.server.close()


def test_a_thread_that_cannot_start_is_an_error_of_one_launch(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def fails_once(thread: threading.Thread) -> None:
        if thread.name == "recode-launch":
            monkeypatch.setattr(threading.Thread, "start", start)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fails_once)
    with pytest.raises(SandboxError):
        site.bench().probe().__enter__()
    with site.bench().probe() as probe:
        assert probe.ask("result = 1") == 1


@pytest.mark.parametrize("kind", LOCAL)
def test_the_next_run_removes_the_directory_of_a_server_that_was_killed(kind: str, context: SandboxContext) -> None:
    usable(kind, context)
    script = (
        "import os\n"
        "from pytest_recode.sandboxes.launch_server import LaunchServer\n"
        "print(LaunchServer({}.__getitem__, workers=1).address.socket, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    directory = Path(done.stdout.strip()).parent
    assert directory.exists()
    LOCAL[kind].reap(context)
    assert not directory.exists()


def test_the_path_of_the_directory_for_temporary_files_may_be_long(
    tmp_path: Path, context: SandboxContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    usable("process", context)
    place = tmp_path / ("long" * 25)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    Site("process", context.python).server.close()
    assert not list(place.iterdir())


def test_the_end_of_the_server_ends_all(site: Site) -> None:
    with site.bench().probe() as probe:
        site.server.close()
        assert probe.connection.receive(1, float("inf")) == b""
        assert not of_run(site.context.run)


def importing(tmp_path: Path, source: str) -> Site:
    """A site whose interpreter has a module `endless` with this source."""
    venv.create(tmp_path / "venv", symlinks=True)
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (packages / "endless.py").write_text(source)
    return Site("process", str(tmp_path / "venv/bin/python"))


ENDLESS = Environment(preload=("endless",))


def test_others_launch_while_a_warm_parent_imports(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    site = importing(tmp_path, "import time\ntime.sleep(600)\n")
    request.addfinalizer(site.server.close)
    with ThreadPoolExecutor(1) as pool:
        endless = pool.submit(site.bench(ENDLESS).probe().__enter__)
        until(site.parents, "the warm parent that imports came up")
        with site.bench().probe() as probe:
            assert probe.ask("result = 1") == 1
        for pid in site.parents():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(SandboxError):
            endless.result()


def test_a_server_that_is_closed_while_a_warm_parent_imports_launches_nothing_from_it(tmp_path: Path) -> None:
    before, go = own_directories(), tmp_path / "go"
    site = importing(tmp_path, f"import os, time\nwhile not os.path.exists({str(go)!r}):\n    time.sleep(0.01)\n")
    with ThreadPoolExecutor(1) as pool:
        endless = pool.submit(site.bench(ENDLESS).probe().__enter__)
        until(site.parents, "the warm parent that imports came up")
        site.server.close()
        go.touch()
        with pytest.raises(SandboxError):
            endless.result()
    until(lambda: not of_run(site.context.run), "the warm parent ended")
    assert own_directories() <= before


def own_directories() -> set[Path]:
    """Those of this process's sandboxes, of which other tests have some open."""
    return set(Path(tempfile.gettempdir()).glob(f"{PREFIX}{os.getpid()}.*"))
