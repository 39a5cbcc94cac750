"""What is printed in the documentation is what there is: every pytest command in it is run, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_recode.plugin import options

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands() -> list[tuple[str, str]]:
    """Every shell command that runs pytest, as (page, command), continuation lines joined."""
    found = []
    for page in PAGES:
        if page.parent.name == "tutorials":
            continue  # test_tutorials.py runs them to their end
        text = re.sub(r"\\\n\s*", " ", page.read_text("utf-8"))
        for line in re.findall(r"^(?:    |\$ )((?:\S+ && )*pytest .*)$", text, re.MULTILINE):
            found.append((page.name, line))
        for block in re.findall(r"^ *```(?:sh|bash|console)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
            found += [
                (page.name, line.strip().removeprefix("$ "))
                for line in block.splitlines()
                if "pytest " in line and "models.yaml" not in line
            ]
    return found


def test_options_page_is_generated_from_the_options() -> None:
    assert (ROOT / "docs/reference/options.md").read_text("utf-8") == options.markdown()


def test_the_readme_has_commands() -> None:
    assert len([page for page, _ in commands() if page == "README.md"]) >= 4


@pytest.mark.parametrize(("page", "command"), [each for each in commands() if each[0] != "records.md"])
@pytest.mark.mostly_slow(one_in=3)
def test_a_printed_command_is_taken(page: str, command: str, tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    """As printed, on the bundled tasks, up to the point where a model would be asked."""
    example = re.search(
        r"```python\n((?:(?!```).)*class Terse.*?)```",
        (ROOT / "docs/reference/agents.md").read_text("utf-8"),
        re.DOTALL,
    )
    assert example is not None
    (tmp_path / "my_agents.py").write_text(example[1])
    done = subprocess.run(
        [
            *quick_python,
            "-m",
            *shlex.split(command),
            "--collect-only",
            "-q",
            "-p",
            "no:cacheprovider",
            "--junitxml",
            str(tmp_path / "junit.xml"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "ANTHROPIC_API_KEY": "-", "OPENAI_API_KEY": "-"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "::" in done.stdout


@pytest.mark.slow
def test_the_commands_that_go_on_with_each_other(tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    """One after the other, to their end: offline models are all they ask."""
    shutil.copytree(ROOT / "tasks/sinkhorn", tmp_path / "tasks/sinkhorn")
    found = [command for page, command in commands() if page == "records.md"]
    assert len(found) == 3
    for command in found:
        done = subprocess.run(
            [*quick_python, "-m", *shlex.split(command)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}, done.stdout + done.stderr
        assert "error" not in done.stdout.splitlines()[-1]
    lines = {name: (tmp_path / name / "results.jsonl").read_text().splitlines() for name in ("levels", "replayed")}
    assert len(lines["levels"]) == 3
    assert lines["replayed"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_table_of_the_contributor_guide_names_what_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text[text.index("## Where do I change") : text.index("Paths are below")]
    paths = [path for path in re.findall(r"`([^`]+)`", table) if "/" in path or path.endswith(".py")]
    assert len(paths) > 20
    for path in paths:
        root = ROOT if path.startswith("docs/") else ROOT / "pytest_recode"
        assert list(root.glob(path)), path
