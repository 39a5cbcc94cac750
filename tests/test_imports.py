"""The rooms: imports go one way, and only the plugin speaks pytest (docs/explanation/architecture.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_recode.sandboxes.shipping import imports

PACKAGE = Path(__file__).resolve().parents[1] / "pytest_recode"
VALUES = {"clock", "faults", "run_directory", "stopping", "task", "verdict", "episode", "settings", "slots", "proofs"}
MAY = {
    # a room's own package, and the rooms below it
    "values": {
        "models",
        "agents",
    },  # names of types alone: episode names Agent and Workspace, models name faults and tasks
    "formats": {"feedback", "inside"},  # the rule by which the grader tells a test's interface
    "inside": set(),
    "sandboxes": {"inside"},
    "oracle": {"sandboxes", "inside"},
    "feedback": {"models", "agents"},
    "models": {"feedback", "agents"},  # the simulated model reads what feedback and protocol write
    "agents": {"checkpoint", "models", "sandboxes", "inside"},
    "checkpoint": {"models", "render"},
    "metrics": {"feedback"},  # its reading of syntax trees
    "render": {"metrics", "models"},
    "cli": {"formats", "judged_adoption", "metrics", "models", "render"},
    "judged_adoption": {"feedback", "metrics", "models", "render"},
    "replay": {"checkpoint", "feedback", "render"},
    "stage": {"replay", "agents", "feedback", "models", "oracle", "render", "sandboxes"},
    "play": {"agents", "checkpoint", "feedback", "models", "render", "sandboxes", "stage"},
    "validation": {"feedback", "models", "oracle", "sandboxes"},
    "testing": {"agents", "formats", "inside", "sandboxes", "oracle", "feedback"},
    "plugin": {
        "formats",
        "sandboxes",
        "oracle",
        "feedback",
        "agents",
        "models",
        "metrics",
        "render",
        "checkpoint",
        "replay",
        "stage",
        "play",
        "validation",
    },
}
FILES = sorted(PACKAGE.rglob("*.py"))
SPEAK_PYTEST = {
    "inside/grading/case_outcome.py",
    "inside/grading/pytest_session.py",
    "inside/separate_grader/main.py",
    "inside/shared_grader/in_repo_runner.py",
    "inside/shared_grader/pytest_reporter.py",
    "inside/shared_grader/pytest_runner.py",
}
"""In a sandbox, beside the plugin."""
SPEAK_OF_ITS_INSIDES = {"inside/shared_grader/traceback_arguments.py", "inside/shared_grader/assertion_messages.py"}
"""What a failing assertion was about has no public way; another pytest costs the words, and nothing else."""


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    name = parts[0].removesuffix(".py")
    return "values" if name in VALUES or name == "__init__" else name


def imported(path: Path) -> set[str]:
    """Every module a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = [PACKAGE.name, *path.relative_to(PACKAGE).parts][: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    own = room(path)
    rooms = {
        name.split(".")[1]
        for name in imported(path)
        if name.startswith("pytest_recode.")
        and (PACKAGE / name.split(".")[1]).exists() | (PACKAGE / f"{name.split('.')[1]}.py").exists()
    }
    assert rooms - VALUES - {own} <= MAY[own]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_plugin_and_the_grader_speak_pytest(path: Path) -> None:
    tops = {name.split(".")[0] for name in imported(path)}
    private = any(name.startswith("_pytest") or "._pytest" in name for name in imported(path))
    assert private == (path.relative_to(PACKAGE).as_posix() in SPEAK_OF_ITS_INSIDES)
    if room(path) != "plugin" and path.relative_to(PACKAGE).as_posix() not in SPEAK_PYTEST:
        assert "pytest" not in tops


INSIDE = sorted((PACKAGE / "inside").rglob("*.py"))
MAY_INSIDE = {
    "runtime": set(),
    "wire": set(),
    "probes": set(),
    "candidate": {"wire"},
    "workspace": {"runtime", "wire"},
    "grading": set(),
    "separate_grader": {"grading", "wire"},
    "shared_grader": {"grading", "shared_grader.concealment", "shared_grader.tampering", "wire"},
    "shared_grader.concealment": set(),
    "shared_grader.tampering": set(),
}
"""Who runs in a sandbox may import whom: what serves two programs knows neither."""


def package(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE / "inside").parts[:-1])


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_runs_inside_needs_nothing_of_the_package(path: Path) -> None:
    """But its own siblings, which are shipped with it, and by relative imports, since they have another name in a sandbox."""
    text = path.read_text("utf-8")
    assert "pytest_recode.inside" not in text
    assert all(name.startswith("pytest_recode.inside") for name in imported(path) if name.startswith("pytest_recode"))


@pytest.mark.parametrize("name", MAY_INSIDE)
def test_imports_inside_go_one_way(name: str) -> None:
    own = [path for path in INSIDE if package(path) == name]
    known = sorted(MAY_INSIDE, key=len, reverse=True)
    needed = {
        next(each for each in known if f"{module}.".startswith(f"{each}."))
        for path in own
        for full in imported(path)
        if (module := full.removeprefix("pytest_recode.inside.")) != full
    }
    assert needed - {name} == MAY_INSIDE[name]


def test_every_package_inside_is_in_the_table() -> None:
    assert {package(path) for path in INSIDE if path.stem != "__init__"} == set(MAY_INSIDE)


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_inside_imports_itself_by_way_of_others(path: Path) -> None:
    """A sandbox gets each module after those that it imports, so a circle could not be shipped."""
    if path.stem == "__init__":
        return
    name = path.relative_to(PACKAGE / "inside").with_suffix("").as_posix().replace("/", ".")
    seen: set[str] = set()
    ahead = set(imports(name))
    while ahead:
        module = ahead.pop()
        assert module != name
        seen.add(module)
        ahead |= set(imports(module)) - seen


def test_a_session_without_tasks_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n\n\ndef pytest_unconfigure():\n    print('MODULES', *sorted(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    [line] = [line for line in done.stdout.splitlines() if line.startswith("MODULES")]
    modules = set(line.split())
    ours = {name for name in modules if name.startswith("pytest_recode")}
    assert ours == {
        "pytest_recode",
        "pytest_recode.plugin",
        "pytest_recode.plugin.defaults",
        "pytest_recode.plugin.distributed",
        "pytest_recode.plugin.hookspecs",
        "pytest_recode.plugin.options",
        "pytest_recode.plugin.task_code",
    }
    assert not modules & {"docker", "litellm", "yaml", "numpy"}
