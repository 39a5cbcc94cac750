"""`pytest-recode new`, as an author calls it, and the task that it writes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.messages import assert_message

SLOW = pytest.mark.slow
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(quick_python: tuple[str, ...], tmp_path: Path) -> Run:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*quick_python, "-m", *command], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checks", "kinds"),
    [
        ("reference or untouched or empty", {"reference", "untouched repository", "empty target"}),
        pytest.param("constant or right or wrong", {"constant answers", "right answers", "wrong answers"}, marks=SLOW),
        pytest.param("mutants", {"mutants"}, marks=SLOW),
    ],
)
def test_a_new_task_validates_as_the_command_says(run: Run, tmp_path: Path, checks: str, kinds: set[str]) -> None:
    written = run("pytest_recode.cli", "new", "bench/own-task")
    assert written.returncode == 0
    assert "check it: pytest bench/own-task --recode-validate" in written.stdout
    given = ("-p", "no:cacheprovider", "--recode-sandbox=process", "-k", checks)
    done = run("pytest", "bench/own-task", "--recode-validate", *given)
    print(done.stdout)
    assert done.returncode == 0
    findings = re.findall(r"^own-task  (.*?)  +(ok|(\d+) of \3 detected) ", done.stdout, re.MULTILINE)
    assert {re.sub(" of .*", "", name) for name, *_ in findings} == kinds
    assert (tmp_path / "bench/own-task/proofs/equivalent.txt").is_file()
    assert [path.name for path in (tmp_path / "bench/own-task").rglob("*.txt")] == ["equivalent.txt"]


@pytest.mark.parametrize("name", ["inner", "tests/deep/inner", "../outer/inner"])
def test_no_task_is_written_into_another(run: Run, tmp_path: Path, name: str) -> None:
    assert run("pytest_recode.cli", "new", "outer").returncode == 0
    before = sorted(tmp_path.rglob("*"))
    refused = run("pytest_recode.cli", "new", f"outer/{name}")
    assert refused.returncode == 2
    assert_message(
        refused.stderr.removeprefix("pytest-recode: error: "), f"outer/{name}", str(tmp_path / "outer"), "outside of it"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_the_guide_that_it_names_is_a_page_of_the_documentation(run: Run) -> None:
    page = run("pytest_recode.cli", "new", "own").stdout.strip().splitlines()[-1]
    assert page.endswith(".md")
    assert (Path(__file__).resolve().parents[1] / page).is_file()


@pytest.mark.parametrize("name", ["123", "no", "1e5", "2026-11-25", "Own.task_2"])
def test_the_name_of_the_directory_is_the_id(run: Run, tmp_path: Path, name: str) -> None:
    assert run("pytest_recode.cli", "new", name).returncode == 0
    assert yaml.safe_load((tmp_path / name / "task.yaml").read_text())["id"] == name


def test_nothing_is_overwritten_and_a_bad_name_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("")
    for name, *words in (
        ("there", "exists already", "name a directory that does not"),
        ("file", "exists already"),
        ("file/below", "cannot be written"),
        ("two words", "letters a-z or A-Z"),
        ("a" * 101, "at most 100 letters"),
    ):
        refused = run("pytest_recode.cli", "new", name)
        assert refused.returncode == 2
        assert_message(refused.stderr.removeprefix("pytest-recode: error: "), name, *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


def test_every_file_has_the_canary_of_this_task_alone(run: Run, tmp_path: Path) -> None:
    canaries = []
    for name in ("one", "two"):
        assert run("pytest_recode.cli", "new", name).returncode == 0
        canary = yaml.safe_load((tmp_path / name / "task.yaml").read_text())["canary"]
        assert re.fullmatch(r"recode-canary [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", canary)
        assert all(canary in path.read_text() for path in (tmp_path / name).rglob("*") if path.is_file())
        canaries.append(canary)
    assert canaries[0] != canaries[1]
