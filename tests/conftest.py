"""For all tests."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import nursery
from tests.projects import Command, run_of_two_levels
from tests.second_daemon import IMAGE, SecondDaemon
from tests.slow import pytest_collection_modifyitems, pytest_configure, pytest_runtest_setup  # noqa: F401  hooks of all tests

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background with Ctrl-C ignored, and every child inherits that: tests that
    # interrupt a session would wait for an end that never comes.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Papers and annotations that tests take to sessions of their own.
collect_ignore = ["papers", "recode_h/dataset"]

if importlib.util.find_spec("hypothesis"):  # pytest loads this file in any session whose paths do not exist
    from tests import examples  # noqa: F401  registers the profiles


def pytest_collection_finish() -> None:
    """What was collected lives as long as the session: no collection of garbage is to look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def quick_python() -> Iterator[tuple[str, ...]]:
    """A command that stands for `sys.executable`, and has imported litellm and pytest's core."""
    with nursery.nursery() as command:
        yield command


@pytest.fixture
def run_pytest(quick_python: tuple[str, ...], pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """`pytester.runpytest_subprocess`, but for what takes long in it; `fresh`: with that."""

    def run(*args: str, fresh: bool = False) -> pytest.RunResult:
        if fresh:
            return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args, timeout=300)
        place = pytester.path / f"runpytest-{len(list(pytester.path.glob('runpytest-*')))}"
        given = ("-p", nursery.PLUGIN, "-p", "no:cacheprovider", f"--basetemp={place}", *args)
        return pytester.run(*quick_python, "-m", "pytest", *given, timeout=300)

    return run


@pytest.fixture(scope="session")
def dockerd() -> Iterator[SecondDaemon]:
    daemon = SecondDaemon()
    yield daemon
    daemon.close()


@pytest.fixture
def second_daemon(dockerd: SecondDaemon) -> SecondDaemon:
    """It runs when the test starts, and a test may kill it."""
    lacks = [each for each in ("dockerd", "docker", "unshare") if shutil.which(each) is None]
    lacks += [] if IMAGE else ["RECODE_TEST_IMAGE"]
    lacks += [] if os.getuid() == 0 else ["root"]
    if lacks:
        reason = f"not available for a second docker daemon: {', '.join(lacks)}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    dockerd.start()
    return dockerd


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory, quick_python: tuple[str, ...]) -> Path:
    """A directory with `run`: tasks one and two, feedback L0 and L4. Episodes of L4 share the first turn of L0, or the other way around."""
    return run_of_two_levels(tmp_path_factory, quick_python)


@pytest.fixture
def project(played: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(played, tmp_path / "project")


@pytest.fixture(scope="session")
def command(quick_python: tuple[str, ...]) -> Command:
    def run(place: Path, *args: object) -> subprocess.CompletedProcess[str]:
        whole = [*quick_python, "-m", "pytest_recode.cli", *map(str, args)]
        return subprocess.run(whole, cwd=place, capture_output=True, text=True, check=False)

    return run
