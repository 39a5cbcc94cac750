"""What a program leaves in its directory is removed, whatever it is, and harms no other program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recode.inside.runtime import removal
from pytest_recode.sandboxes import SandboxContext
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.sandboxes.process import Process
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import usable

DEPTH = 3000  # more than Python's stack, than the descriptors of a process, and than the bytes of a path
DEEP = f"import os\nfor _ in range({DEPTH}):\n    os.mkdir('dd')\n    os.chdir('dd')\nresult = 0\n"
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def bench(context: SandboxContext) -> Iterator[Bench]:
    usable("process", context)
    sandbox = Process(context)
    yield Bench(sandbox=sandbox, environment=Environment(), limits=Limits(memory_mb=256, pids=32))
    sandbox.close()


@pytest.mark.slow
def test_a_program_whose_directories_are_deep_harms_no_other(bench: Bench) -> None:
    with bench.probe() as other:
        with bench.probe() as probe:
            place = Path(probe.ask("import os; result = os.getcwd()")).parent
            probe.ask(DEEP)
        assert other.ask("result = 1") == 1
        # On a busy machine, another process ends the removal. If none did, the limit of a test would end this.
        while place.exists():
            assert other.ask("result = 1") == 1


@pytest.mark.slow
def test_directories_of_any_depth_are_removed_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    filled = tmp_path / "filled"
    for name in ("one", "two"):
        (filled / name / "deep").mkdir(parents=True)
        (filled / name / "file").touch()
        (filled / name / "link").symlink_to(tmp_path / "kept")
    (filled / "link").symlink_to(tmp_path / "kept")
    subprocess.run([sys.executable, "-c", DEEP], cwd=filled / "one" / "deep", check=True)
    removal.remove(str(filled))
    assert not filled.exists()
    assert (tmp_path / "kept" / "file").exists()
    removal.remove(str(filled))  # there is none


def test_a_link_is_not_a_directory_to_remove(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    removal.remove(str(tmp_path / "link"))
    assert (tmp_path / "kept" / "file").exists()


def test_an_ordinary_user_removes_what_it_owns_whatever_the_permissions() -> None:
    script = (
        "import os, sys, tempfile\n"
        "sys.dont_write_bytecode = True\n"
        "from pytest_recode.inside.runtime import removal\n"
        "place = tempfile.mkdtemp()\n"
        "made = f'{place}/made'\n"
        "if os.geteuid() == 0:\n"
        "    os.chown(place, 65534, 65534)\n"
        "    os.setgroups([])\n"
        "    os.setresgid(65534, 65534, 65534)\n"
        "    os.setresuid(65534, 65534, 65534)\n"
        "os.makedirs(f'{made}/a/b/c')\n"
        "open(f'{made}/a/b/c/file', 'w').close()\n"
        "for path in ('a/b/c', 'a/b', 'a', ''):\n"
        "    os.chmod(f'{made}/{path}', 0)\n"
        "removal.remove(made)\n"
        "print(os.listdir(place))\n"
        "os.rmdir(place)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives away a directory")
def test_root_removes_what_an_ordinary_user_owns(tmp_path: Path) -> None:
    (tmp_path / "its" / "own").mkdir(parents=True)
    for path in ("its/own", "its"):
        os.chown(tmp_path / path, 65534, 65534)
        (tmp_path / path).chmod(0)
    removal.remove(str(tmp_path / "its"))
    assert not (tmp_path / "its").exists()
