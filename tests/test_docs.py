"""What is printed in the documentation is what there is: every pytest command in it is run, links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from docs import generate
from pytest_recode.faults import ModelFault, ProgramFault
from pytest_recode.render import words
from pytest_recode.render.summary_tables import COLUMNS, EFFORT_COLUMNS
from tests.projects import Command

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

DIATAXIS = ("tutorials", "how-to", "reference", "explanation")


def commands() -> list[tuple[str, str]]:
    """Every shell command that runs pytest, as (page, command), continuation lines joined."""
    lines = []
    for page in PAGES:
        if page.parent.name == "tutorials":
            continue  # test_tutorials.py runs them to their end
        if page.name == "cut-a-task-from-a-repository.md":
            continue  # test_cut.py runs them, with a repository
        text = re.sub(r"\\\n\s*", " ", page.read_text("utf-8"))
        for line in re.findall(r"^(?:    |\$ )((?:\S+ && )*pytest .*)$", text, re.MULTILINE):
            lines.append((page.name, line))
        for block in re.findall(r"^ *```(?:sh|bash|console)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
            lines += [
                (page.name, line.strip().removeprefix("$ "))
                for line in block.splitlines()
                if "pytest " in line and "models.yaml" not in line
            ]
    return lines


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return generate.pages()


@pytest.mark.parametrize(
    "name",
    [
        *("options.md", "hook-signatures.md", "record-fields.md", "task-keys.md", "validation-json.md", "errors.md"),
        "table-columns.md",
        "commands.md",
        "bundled-papers.md",
        "bundled-difficulty.md",
        "modules.md",
    ],
)
def test_a_generated_page_is_current(name: str, generated: dict[str, str]) -> None:
    """If not: `python -m docs.generate`."""
    assert (ROOT / "docs/reference" / name).read_text("utf-8") == generated[name]


def test_every_generated_page_is_compared(generated: dict[str, str]) -> None:
    [mark] = test_a_generated_page_is_current.pytestmark  # type: ignore[attr-defined]
    assert sorted(mark.args[1]) == sorted(generated)


@pytest.mark.parametrize(
    "name",
    ["hook-signatures.md", "record-fields.md", "task-keys.md", "validation-json.md", "errors.md", "commands.md"],
)
def test_every_row_of_a_generated_table_says_what_it_is(name: str, generated: dict[str, str]) -> None:
    rows = re.findall(r"^\| `.*", generated[name], re.MULTILINE)
    assert len(rows) > 6
    assert [row for row in rows if row.endswith("|  |")] == []


def test_the_page_that_explains_a_command_names_it(generated: dict[str, str]) -> None:
    rows = re.findall(r"^\| `(pytest-recode [\w-]+)` \|.*\]\(([^)#]+)", generated["commands.md"], re.MULTILINE)
    assert len(rows) == generated["commands.md"].count("| `pytest-recode")
    for command, page in rows:
        assert command in (ROOT / "docs/reference" / page).read_text("utf-8"), f"{page} does not explain {command}"


def test_every_kind_of_error_is_told() -> None:
    """A record's kind is one of a model's faults or of an agent's program's, or one of those that its schema names."""
    schema = json.loads((ROOT / "pytest_recode/records/records.schema.json").read_text("utf-8"))
    pattern = schema["properties"]["error"]["properties"]["kind"]["pattern"]
    others = re.findall(r"[a-z]+", pattern.partition("+|")[2])
    of_programs = [f"agent:{fault}" for fault in ProgramFault]
    assert list(words.KINDS) == [*(f"model:{fault}" for fault in ModelFault), *of_programs, *others]


def test_every_column_of_the_summary_is_explained() -> None:
    text = (ROOT / "docs" / "explanation" / "concepts.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \|", text[text.index("## What the summary's columns say") :], re.MULTILINE)
    explained = {head for row in rows for head in row.split(", ")}
    shown = {*COLUMNS, *EFFORT_COLUMNS}
    assert shown - explained == {"model", "feedback"}  # the sentence above the table names them
    assert explained - shown == {"column", "solved within turn"}


PLACES = [
    ROOT,
    ROOT / "pytest_recode",
    ROOT / "tests",
    ROOT / "pytest_recode/inside",
    ROOT / "pytest_recode/inside/shared_grader",
    ROOT / "pytest_recode/inside/shared_grader/tampering",
]
DIRECTORIES = {each.name for place in PLACES[:4] for each in place.iterdir() if each.is_dir()}


CONTRIBUTE = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/how-to/contribute").glob("*.md"))]


def test_the_guides_for_contributors_name_what_exists() -> None:
    text = "".join(page.read_text("utf-8") for page in CONTRIBUTE)
    paths = [path for path in re.findall(r"`([^` ]+)`", text) if re.fullmatch(r"[\w./*-]*(/|\.py)", path)]
    assert len(paths) > 60
    for path in paths:
        assert any(list(place.glob(path)) for place in PLACES), path


def test_names_that_the_guides_for_contributors_give_a_module_for_are_in_it() -> None:
    text = " ".join("".join(page.read_text("utf-8") for page in CONTRIBUTE).split())
    found = re.findall(r"`(\w+)` (?:in|of) `([\w/]+\.py)`", text)
    assert len(found) > 10
    for name, path in found:
        [source] = {place / path for place in PLACES if (place / path).exists()}
        assert re.search(rf"^ *(?:(?:def|class) )?{name}\b", source.read_text("utf-8"), re.MULTILINE), (
            f"{name} of {path}"
        )


def test_the_first_page_for_contributors_is_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text("utf-8")) <= 5000


def test_what_the_next_release_says_can_be_written(tmp_path: Path) -> None:
    """RELEASING.md: a file of docs/changes becomes a line of the changelog."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "docs/changes", tmp_path / "docs/changes")
    (tmp_path / "docs/changes/limits.fixed.md").write_text("A limit holds.\n")
    command = [sys.executable, "-m", "towncrier", "build", "--version", "9.9.9", "--date", "2030-01-01", "--keep"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert text.startswith("# Changelog\n\n<!-- releases -->")
    assert text.index("## 9.9.9 (2030-01-01)") < text.index("- A limit holds.") < text.index("## 0.1.0")


IN_EXAMPLES = {"benchmarks/conftest.py", "models/ar.py", "tests/canonical.py", "tests/checks/norms.py"}
"""Files of the repositories and tasks that pages show."""


def test_modules_that_pages_and_docstrings_name_exist() -> None:
    files = [*PAGES, *(ROOT / "pytest_recode").rglob("*.py")]
    named = {
        (file.name, path)
        for file in files
        for path in re.findall(r"`((?:\w+/)+\w+\.py)`", file.read_text("utf-8"))
        if path.partition("/")[0] in DIRECTORIES and path not in IN_EXAMPLES
    }
    assert len(named) > 100
    assert not sorted(each for each in named if not any((place / each[1]).exists() for place in PLACES))


def test_every_table_of_a_report_has_its_columns(generated: dict[str, str]) -> None:
    text = (ROOT / "docs/reference/report.md").read_text("utf-8")
    listed = text[text.index("| table | what |") : text.index("## A row")]
    names = [
        name for first in re.findall(r"^\| (`.*?) \|", listed, re.MULTILINE) for name in re.findall(r"`([^`]+)`", first)
    ]
    assert sorted(names) == sorted(re.findall(r"^## (.*)$", generated["table-columns.md"], re.MULTILINE))


def test_pages_that_the_code_names_exist() -> None:
    named = {
        (path.name, page)
        for path in sorted((ROOT / "pytest_recode").rglob("*"))
        if path.suffix in {".py", ".json"}
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text("utf-8"))
    }
    assert len(named) > 20
    assert [each for each in named if not (ROOT / each[1]).exists()] == []


def test_the_readme_has_commands() -> None:
    assert len([page for page, _ in commands() if page == "README.md"]) >= 4


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command"), [each for each in commands() if each[0] != "records.md"])
def test_a_printed_command_is_taken(page: str, command: str, tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    """As printed, on the bundled tasks, up to the point where a model would be asked."""
    example = re.search(
        r"```python\n((?:(?!```).)*class Terse.*?)```",
        (ROOT / "docs/reference/agents.md").read_text("utf-8"),
        re.DOTALL,
    )
    assert example is not None
    (tmp_path / "my_agents.py").write_text(example[1])
    page_of_models = (ROOT / "docs/how-to/use-a-local-model.md").read_text("utf-8")
    models = re.search(r"^ *(# models\.yaml\n.*?)^ *```", page_of_models, re.DOTALL | re.MULTILINE)
    assert models is not None
    (tmp_path / "models.yaml").write_text(dedent(f"   {models[1]}"))
    command = command.replace("=models.yaml", f"={tmp_path / 'models.yaml'}")
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
            f"--html={tmp_path / 'report.html'}",  # also here, not in the repository
            f"--alluredir={tmp_path / 'allure'}",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "ANTHROPIC_API_KEY": "-", "OPENAI_API_KEY": "-"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "::" in done.stdout


def previews() -> list[tuple[str, str]]:
    """Every `pytest-recode preview` of a page, with its arguments."""
    by_page = [
        (page, re.findall(r"^ *(?:\$ )?pytest-recode preview (.*)$", page.read_text("utf-8"), re.MULTILINE))
        for page in PAGES
    ]
    return [(page.name, arguments) for page, lines in by_page for arguments in lines]


def test_there_are_previews_of_prompts_and_of_answers() -> None:
    assert {page for page, _ in previews()} >= {"write-a-task.md", "preview.md"}
    assert {"--answer", "--mutant", "--agent", "--protocol"} <= {
        word for _, line in previews() for word in line.split()
    }


@pytest.mark.parametrize(("page", "arguments"), previews())
@pytest.mark.mostly_slow
def test_a_printed_preview_works(page: str, arguments: str, command: Command) -> None:
    done = command(ROOT, "preview", *shlex.split(arguments), "--no-pager")
    assert done.returncode == 0, done.stderr
    if "--mutants" in arguments:
        assert "mutants of the reference" in done.stdout
        return
    graded = "--answer" in arguments or "--mutant" in arguments
    assert done.stdout.startswith("sinkhorn: ")
    assert ("Verdict: " in done.stdout) == graded == ("end of the prompt" not in done.stdout)


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
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", page.read_text("utf-8")):
        found = page.parent / target if target else page
        assert found.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(found), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Those of the page's headings, as GitHub and the documentation site make them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name in DIATAXIS], ids=lambda page: page.stem)
def test_a_page_says_first_for_whom_it_is(page: Path) -> None:
    title, first, *_ = page.read_text("utf-8").split("\n\n")
    assert re.fullmatch("# .+", title)
    assert re.match(r"For (people|everybody|contributors|teams)\b", first)


def test_pictures_are_small_and_shown() -> None:
    pages = "".join(path.read_text() for path in [ROOT / "README.md", *ROOT.glob("docs/*/*.md")])
    pictures = sorted(ROOT.glob("docs/pictures/*"))
    assert len(pictures) == 2
    for path in pictures:
        assert path.stat().st_size <= 100_000, f"{path}: take it again with python -m docs.page_pictures"
        assert f"pictures/{path.name})" in pages
