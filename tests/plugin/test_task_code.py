"""No file of a task's runs in pytest's own process, however pytest is started and whatever the task's author put where."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

TASKS = Path(__file__).parent.parent.parent / "tasks"
RAN = "ran"
EVIL = "open({ran!r}, 'a').write(__file__ + '\\n')\n"
RUN = ("--recode-model=sim/novice", "--recode-sandbox=process", "--collect-only", "-q")
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def bench(pytester: pytest.Pytester) -> Path:
    """Two tasks, one of which pytest takes for a directory of tests by its name."""
    bench = pytester.path / "bench"
    for name in ("sinkhorn", "test_one"):
        shutil.copytree(TASKS / "sinkhorn", bench / name)
    manifest = bench / "test_one" / "task.yaml"
    manifest.write_text(manifest.read_text().replace("id: sinkhorn", "id: one"))
    return bench


def spoil(bench: Path, *places: str) -> None:
    for task in ("sinkhorn", "test_one"):
        for place in places:
            path = bench / task / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(EVIL.format(ran=str(bench.parent / RAN)))


def ran(bench: Path) -> list[str]:
    file = bench.parent / RAN
    return file.read_text().splitlines() if file.exists() else []


GIVEN = ["bench", "bench/sinkhorn", "bench/test_one", "bench/sinkhorn/task.yaml", "bench/sinkhorn/tests", "."]
OF_TESTS = ("tests/conftest.py", "tests/__init__.py", "tests/yaml.py", "repo/conftest.py", "reference/conftest.py")


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.mostly_slow
def test_what_belongs_to_the_hidden_tests_stays_with_them(bench: Path, run_pytest: Run, given: str, mode: str) -> None:
    spoil(bench, *OF_TESTS[:-1])
    result = run_pytest(*RUN, f"--import-mode={mode}", given)
    assert ran(bench) == []
    if not given.endswith("tests"):
        assert result.ret == 0, result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_in_the_tasks_own_directory(
    bench: Path, run_pytest: Run, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    spoil(bench, *OF_TESTS[:-1], "yaml.py", "docker.py", "litellm.py")
    monkeypatch.chdir(bench / "sinkhorn")
    result = run_pytest(*RUN, "-n", workers, fresh=True)
    assert ran(bench) == []
    assert result.ret == 0, result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given"), [("conftest.py", "bench"), ("conftest.py", "bench/sinkhorn"), ("__init__.py", "bench/sinkhorn")]
)
def test_what_pytest_would_run_of_a_tasks_own_directory_is_refused(
    bench: Path, run_pytest: Run, name: str, given: str
) -> None:
    spoil(bench, "conftest.py", "__init__.py", "tests/conftest.py")
    (bench / "sinkhorn" / ({"conftest.py", "__init__.py"} - {name}).pop()).unlink()
    result = run_pytest(*RUN, given)
    assert ran(bench) == []
    assert result.ret != 0
    if "sinkhorn" in given:
        words = (
            f"sinkhorn/{name}: pytest would run this outside any sandbox; a task may have a conftest.py only in tests/"
        )
        result.stdout.fnmatch_lines([f"*{words}*"])


@pytest.mark.slow
def test_a_conftest_above_the_tasks_is_the_users(bench: Path, run_pytest: Run) -> None:
    spoil(bench, "tests/conftest.py")
    for directory in (bench.parent, bench):
        (directory / "conftest.py").write_text(
            "import json\ndef pytest_report_header():\n    return f'{__file__} ran'\n"
        )
    (bench / "tests").mkdir()
    (bench / "tests" / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--mine')\n")
    result = run_pytest(*RUN, "bench", "--mine=1")
    assert result.ret == 0, result.stderr.str()
    assert ran(bench) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pytest.ini", "tox.ini", "setup.cfg"])
def test_a_task_does_not_configure_pytest(bench: Path, run_pytest: Run, name: str) -> None:
    section = "[tool:pytest]" if name == "setup.cfg" else "[pytest]"
    (bench / "sinkhorn" / name).write_text(f"{section}\naddopts = -v\n")
    result = run_pytest(*RUN, "bench/sinkhorn")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*sinkhorn/{name}: is in a task's directory*must not configure pytest*-c FILE"])
    assert run_pytest(*RUN, "-c", f"bench/sinkhorn/{name}", "bench/sinkhorn").ret == 0
    assert run_pytest(*RUN, "bench").ret == 0


@pytest.mark.slow
def test_an_interpreter_that_a_task_names_is_not_started(bench: Path, run_pytest: Run) -> None:
    program = bench / "sinkhorn" / "python"
    program.write_text(f"#!/bin/sh\ntouch {bench.parent / RAN}\n")
    program.chmod(0o755)
    manifest = bench / "sinkhorn" / "task.yaml"
    text = manifest.read_text()
    assert "environment:\n" in text
    manifest.write_text(text.replace("environment:\n", f"environment:\n  python: {program}\n"))
    result = run_pytest("--recode-agent=reference", "--recode-sandbox=process", "bench/sinkhorn")
    assert result.ret != 0
    assert ran(bench) == []
    result.stdout.fnmatch_lines(
        ["*environment.python: a task cannot choose a program to run on this machine*--recode-env=NAME=PATH*"]
    )


@pytest.mark.slow
def test_an_environment_is_named_by_the_task_and_placed_by_the_user(bench: Path, run_pytest: Run) -> None:
    import sys

    manifest = bench / "sinkhorn" / "task.yaml"
    manifest.write_text(manifest.read_text().replace("environment:\n", "environment:\n  name: mine\n"))
    run = ("--recode-agent=reference", "--recode-sandbox=process", "bench/sinkhorn")
    result = run_pytest(*run)
    assert result.ret != 0
    result.stderr.fnmatch_lines(
        ["*no interpreter is given for an environment: mine is needed by sinkhorn. Give --recode-env=mine=PATH*"]
    )
    result = run_pytest(*run, f"--recode-env=mine={sys.executable}")
    assert result.ret == 0, result.stdout.str()
