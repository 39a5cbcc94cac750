"""A suite of ordinary tests with tasks beside them, as docs/how-to/add-tasks-to-a-test-suite.md sets it up, with the plugin and without."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/how-to/add-tasks-to-a-test-suite.md").read_text("utf-8")
STRICT = (
    "strict_markers = true\nstrict_config = true\n"
    if pytest.version_tuple >= (9,)
    else 'addopts = "--strict-markers --strict-config"\n'
)
ABSENT = ("-p", "no:recode")

Run = Callable[..., subprocess.CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^   ```{language}\n(.*?)^   ```$", PAGE, re.MULTILINE | re.DOTALL)
    return [re.sub("^   ", "", block, flags=re.MULTILINE) for block in found]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "tasks/sinkhorn", tmp_path / "benchmarks/sinkhorn")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_one.py").write_text("def test_one():\n    pass\n")
    [ini] = blocks("toml")
    (tmp_path / "pyproject.toml").write_text(ini + STRICT)
    (tmp_path / "benchmarks/conftest.py").write_text(blocks("python")[0])
    return tmp_path


@pytest.fixture
def run(suite: Path, quick_python: tuple[str, ...]) -> Run:
    def played(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*quick_python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        return subprocess.run(command, cwd=suite, capture_output=True, text=True, check=False)

    return played


def outcomes(done: subprocess.CompletedProcess[str]) -> str:
    return re.sub(r" in [\d.]+s.*", "", done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "with_it", "without"),
    [
        ((), "1 passed, 1 skipped", "1 passed"),
        (("-m", "not recode"), "1 passed, 1 deselected", "1 passed"),
        (("-m", "recode"), "1 skipped, 1 deselected", "1 deselected"),
        (("-m", "recode(domain='ml')"), "1 skipped, 1 deselected", "1 deselected"),
    ],
)
def test_ordinary_tests_run_as_ever(run: Run, arguments: tuple[str, ...], with_it: str, without: str) -> None:
    assert outcomes(run(*arguments)) == with_it
    assert outcomes(run(*ABSENT, *arguments)) == without


def test_without_the_recipe_hidden_tests_would_be_collected(run: Run, suite: Path) -> None:
    (suite / "benchmarks/conftest.py").unlink()
    assert run(*ABSENT).returncode == pytest.ExitCode.INTERRUPTED


@pytest.mark.slow
def test_the_line_for_colleagues_without_the_package(run: Run, suite: Path) -> None:
    (suite / "benchmarks/conftest.py").write_text(blocks("python")[1])
    assert outcomes(run()) == "1 passed, 1 skipped"
    (suite / "benchmarks/conftest.py").write_text(blocks("python")[1].replace("pytest_recode", "no_such_package"))
    assert outcomes(run(*ABSENT)) == "1 passed"


@pytest.mark.slow
def test_defaults_in_a_file_of_their_own(run: Run, suite: Path) -> None:
    [ini] = blocks("ini")
    (suite / "recode.ini").write_text(ini)
    assert outcomes(run(*ABSENT)) == "1 passed"
    listed = run("-c", "recode.ini", "benchmarks", "--collect-only", "--recode-model=sim/novice").stdout
    assert "::episode[sim/novice-L2]" in listed
