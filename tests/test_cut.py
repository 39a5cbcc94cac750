"""`pytest-recode cut`, on small repositories, and what becomes of its drafts."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from pytest_recode.cli.cut import CHECKS
from tests import repositories
from tests.messages import assert_line, assert_message
from tests.projects import Command

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/how-to/cut-a-task-from-a-repository.md"


def validate(quick_python: tuple[str, ...], place: Path, task: str) -> subprocess.CompletedProcess[str]:
    given = ("-p", "no:cacheprovider", "--recode-sandbox=process", "--recode-validate", "-k", CHECKS)
    return subprocess.run(
        [*quick_python, "-m", "pytest", task, *given], cwd=place, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_draft_has_what_a_task_needs_and_validates(
    command: Command, quick_python: tuple[str, ...], tmp_path: Path
) -> None:
    repositories.write(tmp_path / "clone", repositories.LEVELS)
    done = command(tmp_path, "cut", "clone", "levels.quantiles:weighted_quantile", "--sandbox=process")
    assert done.returncode == 0, done.stdout + done.stderr
    task = tmp_path / "tasks/weighted_quantile"
    assert sorted(str(path.relative_to(task)) for path in task.rglob("*") if path.is_file()) == [
        "environment/requirements.txt",
        "instruction.md",
        "reference/levels/quantiles.py",
        "repo/LICENSE",
        "repo/levels/__init__.py",
        "repo/levels/checks/__init__.py",
        "repo/levels/checks/weights.py",
        "repo/levels/quantiles.py",
        "task.yaml",
        "tests/test_quantiles.py",
    ]
    stub = (task / "repo/levels/quantiles.py").read_text()
    assert "raise NotImplementedError" in stub
    assert "The smallest value at which" in stub
    assert "argsort" not in stub
    assert "sort first" not in stub
    assert "def spread(values, weights): return weighted_quantile" in stub
    assert "argsort" in (task / "reference/levels/quantiles.py").read_text()
    assert "from .plots" not in (task / "repo/levels/__init__.py").read_text()
    manifest = yaml.safe_load((task / "task.yaml").read_text())
    assert manifest["interfaces"] == ["levels.quantiles.weighted_quantile"]
    assert manifest["license"] == "MIT"
    assert re.search(r"^numpy==\d", (task / "environment/requirements.txt").read_text(), re.MULTILINE)
    tests = (task / "tests/test_quantiles.py").read_text()
    assert "n = size(rng, " in tests
    assert "near(rng, 0.9)" in tests  # two calls that differ in this number only
    assert "near(rng, 0.1)" in tests
    assert "assert_unmodified(candidate.levels.quantiles.weighted_quantile" in tests
    for step in ("instruction.md", "paper.md", "feedback.yaml", "proofs", "edge cases", "canary"):
        assert step in done.stdout
        assert step in (task / "instruction.md").read_text()
    assert_line(done.stdout, "[ ] weighted_quantile:", "raised ValueError")
    validated = validate(quick_python, tmp_path, "tasks/weighted_quantile")
    assert validated.returncode == 0, validated.stdout
    assert "4 passed" in validated.stdout


REFUSED = {
    "counts": ("global state", "unfit.py:14"),
    "draws": ("randomness without a seed", "unfit.py:19"),
    "reseeds": ("not deterministic", "fresh processes"),
    "reads": ("files", "unfit.py:27"),
    "items": ("generators", "unfit.py:31"),
    "waits": ("async", "unfit.py:35"),
    "Model.fit": ("methods", "unfit.py:9"),
    "in_place": ("result", "copies"),
    "model": ("result", "unfit.Model"),
    "applies": ("no recorded call", "function is the function"),
    "untested": ("no recorded call", "--run"),
}


@pytest.mark.slow
def test_what_cannot_be_cut_is_reported_with_its_place(
    command: Command, quick_python: tuple[str, ...], tmp_path: Path
) -> None:
    repositories.write(tmp_path / "clone", repositories.UNFIT)
    names = [f"unfit:{name}" for name in (*REFUSED, "doubled", "fragile")]
    done = command(tmp_path, "cut", "clone", *names, "-o", "tasks/unfit", "--sandbox=process")
    assert done.returncode == 1, done.stderr
    for name, (kind, place) in REFUSED.items():
        found = [line for line in done.stdout.splitlines() if line.startswith(f"  unfit.{name}: ")]
        assert any(kind in line for line in found), (name, done.stdout)
        assert any(place in line for line in found), (name, found)
    assert yaml.safe_load((tmp_path / "tasks/unfit/task.yaml").read_text())["interfaces"] == [
        "unfit.doubled",
        "unfit.fragile",
    ]
    assert_line(
        done.stdout, "fragile_1", "the recorded arrays times a number"
    )  # it ends the process, or never returns, with others
    assert_line(done.stdout, "[ ] tests/: fragile always gets", "axis 0 of x (3)", "draw this size")
    assert_line(done.stdout, "[ ] tests/: doubled always gets", "times (its default)", "add cases with other values")
    assert "doubled always gets times" in (tmp_path / "tasks/unfit/instruction.md").read_text()
    validated = validate(quick_python, tmp_path, "tasks/unfit")
    assert validated.returncode == 0, validated.stdout


def test_nothing_is_written_if_nothing_can_be_cut(command: Command, tmp_path: Path) -> None:
    repositories.write(tmp_path / "clone", repositories.UNFIT)
    done = command(tmp_path, "cut", "clone", "unfit:items", "--sandbox=process")
    assert done.returncode == 1
    assert "unfit.items: generators: unfit.py:31" in done.stdout
    assert not (tmp_path / "tasks").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"LICENSE": None}, ("unknown", "MIT", "--license=NAME")),
        ({"LICENSE": "All rights reserved."}, ("unknown", "LICENSE", "--license=NAME")),
        ({"LICENSE": repositories.GPL}, ("GPL in LICENSE", "MIT", "--license=NAME")),
        (
            {"pyproject.toml": '[project]\nname = "levels"\nlicense = "GPL-3.0-only"\n'},
            ("not the same everywhere", "MIT in LICENSE", "GPL in pyproject.toml", "--license=NAME"),
        ),
        (
            {"LICENSE": None, "setup.cfg": "[metadata]\nlicense = LGPLv3\n"},
            ("LGPL in setup.cfg", "--license=NAME"),
        ),
    ],
)
def test_code_is_not_copied_without_a_permissive_licence(
    command: Command, tmp_path: Path, files: dict[str, str | None], words: tuple[str, ...]
) -> None:
    kept = {path: text for path, text in {**repositories.LEVELS, **files}.items() if text is not None}
    repositories.write(tmp_path / "clone", kept)
    done = command(tmp_path, "cut", "clone", "levels.quantiles:spread", "--sandbox=process")
    assert done.returncode == 2
    assert_message(done.stderr.removeprefix("pytest-recode: error: "), "clone", *words)
    assert not (tmp_path / "tasks").exists()


@pytest.mark.parametrize(
    ("arguments", "subject", "words"),
    [
        (("levels.quantile:spread",), "levels.quantile", ("levels.quantiles",)),
        (("levels.quantiles:sprea",), "levels.quantiles:sprea", ("weighted_quantile, spread",)),
        (("levels.quantiles.spread",), "levels.quantiles.spread", ("MODULE:FUNCTION",)),
        (("levels.quantiles:spread", "levels.plots:draw"), "levels.quantiles, levels.plots", ("one module",)),
        (("levels.quantiles:spread", "--license=GPL-3.0"), "--license=GPL-3.0", ("MIT",)),
        (("levels.quantiles:spread", "--run", "make all"), "--run 'make all'", ("python examples/x.py",)),
        (("levels.quantiles:spread", "--run", "python no.py"), "--run 'python no.py'", ("no.py",)),
        (("levels.quantiles:spread", "-o", "clone"), "clone", ("-o",)),
        (("levels.quantiles:spread", "--sandbox=chroot"), "unknown sandbox 'chroot'", ("bubblewrap",)),
    ],
)
@pytest.mark.mostly_slow
def test_a_mistake_is_one_line(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], subject: str, words: tuple[str, ...]
) -> None:
    repositories.write(tmp_path / "clone", repositories.LEVELS)
    sandbox = () if any("--sandbox" in each for each in arguments) else ("--sandbox=process",)
    done = command(tmp_path, "cut", "clone", *arguments, *sandbox)
    assert done.returncode == 2
    assert_message(done.stderr.removeprefix("pytest-recode: error: "), subject, *words)


@pytest.mark.parametrize(
    ("place", "what"),
    [("nowhere", "there is no such directory"), ("notes.md", "is a file"), ("https://example.org/x.git", "")],
)
def test_a_repository_that_is_none_is_named_before_anything_else(
    command: Command, tmp_path: Path, place: str, what: str
) -> None:
    (tmp_path / "notes.md").write_text("")
    done = command(tmp_path, "cut", place, "MODULE", "--sandbox=chroot")
    assert done.returncode == 2
    subject = str(Path(place))
    assert_message(done.stderr.removeprefix("pytest-recode: error: "), subject, what or "clone", "MODULE:FUNCTION")


@pytest.mark.slow
def test_the_page_s_commands_do_what_it_says(command: Command, quick_python: tuple[str, ...], tmp_path: Path) -> None:
    """In order, with a program of the repository that the user names and no licence."""
    lines = re.findall(r"^\$ (pytest(?:-recode)? .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    files = {path: text for path, text in repositories.LEVELS.items() if not path.startswith(("LICENSE", "tests/"))}
    example = "import numpy as np\nfrom levels.quantiles import spread\n\nprint(spread(np.arange(8.0), np.ones(8)))\n"
    repositories.write(tmp_path / "clone", {**files, "examples/spread.py": example})
    assert len(lines) == 2
    done = command(tmp_path, *shlex.split(lines[0])[1:], "--sandbox=process")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "spread: hidden tests from 1 of 1 distinct calls (1 in all)" in done.stdout
    assert lines[1].startswith("pytest tasks/spread --recode-validate")
    assert f'"{CHECKS}"' in lines[1]
    assert validate(quick_python, tmp_path, "tasks/spread").returncode == 0
