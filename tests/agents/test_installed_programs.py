"""Programs of command-line agents are installed once, by the real npm and pip, and every way in which that fails is one line."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.agents import installation_files, installed_programs
from pytest_recode.agents.installed_programs import NpmProgram, PipProgram, given_program, program
from pytest_recode.faults import UserError
from tests.messages import assert_message

INTEGRITY = "sha512-RF0Fw+rO5AMf9MAyaRXI4AV0Ulj5lMHqVxxdSgiVbixSCXoEmmX/jk0CuJw4+3SqroYO9VoUh+HcuJivvtJemA=="
OTHER = f"sha512-{'A' * 86}=="
MACHINE = platform.machine()
EXECUTABLE = "node_modules/semver/bin/semver.js"


def of_npm(integrity: str = INTEGRITY, executable: str = EXECUTABLE) -> NpmProgram:
    """A small package that needs no other one."""
    packages = {MACHINE: {"semver": ("7.7.2", integrity)}}
    return NpmProgram(version="7.7.2", packages=packages, executables={MACHINE: executable})


HASH = "4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274"
SIX = PipProgram(
    version="1.17.0",
    requirements=f"six==1.17.0 --hash=sha256:{HASH}\n",
    pythons=(sys.version_info[:2],),
    module="six",
)

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on PATH")
Install = Callable[..., Path]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return installed_programs.cache()


@pytest.fixture
def as_installed(cache: Path) -> Path:
    """The executable of an installation, as it would be after one."""
    place = cache / "semver-7.7.2"
    executable = place / EXECUTABLE
    executable.parent.mkdir(parents=True)
    executable.write_text("#!/bin/sh\n")
    executable.chmod(0o755)
    (place / "beside.js").write_text("module.exports = 1\n")
    (place / "link.js").symlink_to("beside.js")
    installation_files.record(place)
    return executable


def fault(source: installed_programs.Source) -> str:
    with pytest.raises(UserError) as raised:
        program("semver", source, lambda _: None)
    return str(raised.value)


@needs_npm
@pytest.mark.slow
def test_it_is_installed_once_and_workers_find_it(cache: Path) -> None:
    lines: list[str] = []
    with pytest.raises(UserError, match="start the run again"):
        program("semver", of_npm(), None)
    (cache / "semver-7.7.2").mkdir(parents=True)  # of an installation that was killed
    (cache / "semver-7.7.2/part").touch()
    first = program("semver", of_npm(), lines.append)
    assert lines == [f"installing semver 7.7.2 in {cache / 'semver-7.7.2'}, once for this user"]
    assert (first.shown, first.executable) == (cache / "semver-7.7.2", cache / "semver-7.7.2" / EXECUTABLE)
    assert first.version == "7.7.2"
    assert not (cache / "semver-7.7.2/part").exists()
    assert program("semver", of_npm(), lines.append) == program("semver", of_npm(), None) == first
    assert len(lines) == 1


AT_ONCE = """\
import sys
from tests.agents.test_installed_programs import of_npm
from pytest_recode.agents.installed_programs import program

print(program("semver", of_npm(), print).version)
"""


@needs_npm
@pytest.mark.slow
def test_of_two_runs_at_once_one_installs_and_the_other_waits() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", AT_ONCE]
    runs = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [run.communicate(timeout=120)[0].splitlines() for run in runs]
    assert [lines[-1] for lines in outputs] == ["7.7.2", "7.7.2"]
    assert sum(line.startswith("installing") for lines in outputs for line in lines) == 1


@needs_npm
@pytest.mark.slow
def test_another_package_than_the_pinned_one_is_refused(cache: Path) -> None:
    assert_message(
        fault(of_npm(OTHER)),
        "agent semver",
        "another package than the pinned one",
        f"wanted {OTHER}",
        f"got {INTEGRITY}",
        "--recode-agent-path=semver=PATH",
    )
    assert not installation_files.is_recorded(cache / "semver-7.7.2")


@needs_npm
@pytest.mark.slow
def test_without_a_network_the_reason_is_in_the_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"registry": "http://127.0.0.1:9", "fetch_retries": "0", "cache": str(tmp_path / "npm")}.items():
        monkeypatch.setenv(f"npm_config_{name}", value)
    assert_message(fault(of_npm()), "agent semver", "npm failed", "127.0.0.1:9", "--recode-agent-path=semver=PATH")


@needs_npm
@pytest.mark.slow
def test_packages_without_the_executable_are_not_an_installation(cache: Path) -> None:
    assert_message(
        fault(of_npm(executable="node_modules/semver/bin/sem")), "agent semver", "bin/sem", "--recode-agent-path=semver"
    )
    assert not installation_files.is_recorded(cache / "semver-7.7.2")


def test_without_npm_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_message(
        fault(of_npm()), "agent semver", "npm, which is not on PATH: install it", "--recode-agent-path=semver"
    )


def test_for_another_machine_the_line_names_those_that_have_one() -> None:
    elsewhere = replace(of_npm(), executables={"vax": EXECUTABLE})
    assert_message(fault(elsewhere), "agent semver", "linux vax", MACHINE, "--recode-agent-path=semver=PATH")


def test_a_cache_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert_message(fault(of_npm()), "agent semver", str(tmp_path / "file"), "Not a directory", "set XDG_CACHE_HOME")


def _same_size(place: Path) -> None:
    file = place / "beside.js"
    before = file.stat()
    file.write_text("module.exports = 2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replaced(place: Path) -> None:
    (place / "other").write_text("module.exports = 2\n")
    (place / "other").replace(place / "beside.js")


def _list(place: Path) -> None:
    (place / installation_files.LIST).write_text("[1]")


def _link(place: Path) -> None:
    (place / "link.js").unlink()
    (place / "link.js").symlink_to("/etc/passwd")


DAMAGE: dict[str, Callable[[Path], object]] = {
    f"{EXECUTABLE} is missing": lambda place: (place / EXECUTABLE).unlink(),
    f"{EXECUTABLE} was changed": lambda place: (place / EXECUTABLE).chmod(0o644),
    "beside.js was changed": _same_size,
    "beside.js was changed ": _replaced,
    "link.js was changed": _link,
    "node_modules/added.js was added": lambda place: (place / "node_modules/added.js").touch(),
    f"{installation_files.LIST} was changed": _list,
}


@pytest.mark.parametrize("words", DAMAGE)
def test_a_changed_installation_is_refused_before_the_run(as_installed: Path, cache: Path, words: str) -> None:
    assert program("semver", of_npm(), print).executable == as_installed
    DAMAGE[words](cache / "semver-7.7.2")
    assert_message(
        fault(of_npm()), "agent semver", words.strip(), f"in {cache / 'semver-7.7.2'}", "remove this directory"
    )


def test_an_installation_that_was_only_moved_is_taken(as_installed: Path, cache: Path) -> None:
    """A cache that a CI service restores has other inodes and times. It is read again once."""
    place = cache / "semver-7.7.2"
    files = place / installation_files.LIST
    shutil.copytree(place, cache / "copy", symlinks=True)
    shutil.rmtree(place)
    (cache / "copy").rename(place)
    before = files.read_text()
    assert program("semver", of_npm(), print).executable == as_installed
    assert files.read_text() != before
    again = files.read_text()
    assert program("semver", of_npm(), print).executable == as_installed
    assert files.read_text() == again


def test_for_another_python_the_line_names_those_that_have_packages() -> None:
    assert_message(
        fault(replace(SIX, pythons=((2, 7), (3, 0)))), "agent semver", "Python 2.7, 3.0", "--recode-agent-path=semver"
    )


@pytest.mark.slow
def test_a_wheel_is_installed_by_its_hash(cache: Path) -> None:
    wrong = fault(replace(SIX, requirements=SIX.requirements.replace(HASH, "a" * 64)))
    assert_message(wrong, "agent semver", "pip got another package", f"Got {HASH}", "--recode-agent-path=semver")
    installed = program("six", SIX, lambda _: None)
    done = subprocess.run(
        [installed.shown / "python/bin/python3", "-c", "import six; print(six.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1.17.0\n"


def test_a_path_of_the_user_is_an_executable_file(tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(UserError) as raised:
        given_program("codex", str(script))
    assert_message(str(raised.value), "agent codex", str(script), "no executable file", "chmod +x")
    script.chmod(0o755)
    assert given_program("codex", str(script)).executable == script
    assert os.access(given_program("codex", "sh").executable, os.X_OK)
