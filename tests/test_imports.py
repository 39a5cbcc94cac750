"""Imports between packages go one way, and only the plugin imports pytest (docs/explanation/architecture.md)."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_recode.sandboxes.shipping import imports

PACKAGE = Path(__file__).resolve().parents[1] / "pytest_recode"
VALUES = {
    "clock",
    "faults",
    "harbor_layout",
    "installed",
    "owned_directory",
    "registered",
    "schema",
    "settings",
    "shard",
    "slots",
    "stopping",
    "task",
    "usage",
    "verdict",
    "wording",
}
"""Modules that every package may import, as it may the values of an episode."""
LOOP = {
    "assembly",
    "episode_queue",
    "error_record",
    "first_prompt",
    "loop",
    "meter",
    "player",
    "recorder",
    "setup",
    "stepwise",
    "stored_turns",
    "workspace_scripts",
}
"""Modules of `episode` that are no values."""
MAY = {
    "values": set(),
    "inside": set(),
    "program": set(),
    "records": set(),
    "shards": {"records"},
    "sandboxes": {"inside", "records"},
    "oracle": {"sandboxes", "inside"},
    "verifier": {"oracle", "sandboxes"},
    "models": {"records"},
    "gateway": {"models", "records"},
    "feedback": {"program"},
    "researchers": {"feedback", "models", "program", "records"},
    "agents": {"gateway", "inside", "models", "records", "sandboxes"},
    "simulated": {"agents", "feedback", "models", "program"},
    "formats": {"inside", "program"},
    "drafting": {"formats", "inside", "program", "sandboxes"},
    "task_export": {"inside", "sandboxes", "verifier"},
    "metrics": {"feedback", "models", "program", "records", "researchers"},
    "render": {"metrics", "records", "shards"},
    "export": {"records", "render"},
    "validation": {"feedback", "oracle", "program", "researchers", "sandboxes", "simulated"},
    "episode": {"agents", "feedback", "gateway", "models", "oracle", "records", "researchers", "sandboxes"},
    "cli": {
        "drafting",
        "episode",
        "export",
        "formats",
        "metrics",
        "models",
        "records",
        "render",
        "sandboxes",
        "shards",
        "task_export",
        "validation",
    },
    "testing": {"agents", "formats", "inside", "sandboxes"},
    "plugin": {
        "agents",
        "episode",
        "export",
        "feedback",
        "formats",
        "gateway",
        "metrics",
        "models",
        "records",
        "render",
        "researchers",
        "sandboxes",
        "shards",
        "validation",
    },
}
"""What a package may import, beside itself and the values. Each entry is used, and each package stands below those that it imports."""
FILES = sorted(PACKAGE.rglob("*.py"))
SPEAK_PYTEST = {
    "inside/grading/case_outcome.py",
    "inside/grading/lost_tests.py",
    "inside/grading/pytest_session.py",
    "inside/separate_grader/grader_plugin.py",
    "inside/separate_grader/main.py",
    "inside/shared_grader/in_repo_runner.py",
    "inside/shared_grader/pytest_reporter.py",
    "inside/shared_grader/pytest_runner.py",
}
"""In a sandbox, beside the plugin."""
SPEAK_OF_ITS_INSIDES = {"inside/shared_grader/traceback_arguments.py", "inside/shared_grader/assertion_messages.py"}
"""What a failing assertion was about has no public way; another pytest costs the words, and nothing else."""


def package_of(module: str) -> str:
    """The package of a module of this project, by its dotted name; "values" of what every package may import."""
    parts = module.split(".")[1:]
    if not parts or parts[0] in VALUES or (parts[0] == "episode" and not set(parts[1:2]) & LOOP):
        return "values"
    return parts[0] if parts[0] in MAY else "values"


def room(path: Path) -> str:
    return package_of(".".join([PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts]))


@functools.cache
def imports_of(path: Path, package: Path = PACKAGE) -> frozenset[tuple[str, str]]:
    """What a file imports, also inside functions: each module, and the name that is imported from it, or ""."""
    imports = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imports |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = [package.name, *path.relative_to(package).parts][: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            imports |= {(base, alias.name) for alias in node.names}
    return frozenset(imports)


def imported(path: Path) -> set[str]:
    """Every module a file may import: a name that is imported may be a module, too."""
    return {module for module, _ in imports_of(path)} | {
        f"{module}.{name}" for module, name in imports_of(path) if name
    }


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def speaks_pytest(path: Path) -> bool:
    return "pytest" in {name.split(".")[0] for name in imported(path)}


@pytest.mark.parametrize("name", MAY)
def test_a_package_imports_what_the_table_says(name: str) -> None:
    importers: dict[str, set[str]] = {}
    for path in FILES:
        if room(path) == name:
            for module in imported(path):
                if module.startswith("pytest_recode.") and module != "pytest_recode.episode":
                    importers.setdefault(package_of(module), set()).add(str(path.relative_to(PACKAGE)))
    needed = {package: files for package, files in importers.items() if package not in {name, "values"}}
    assert set(needed) == MAY[name], needed


def test_no_package_imports_itself_by_way_of_others() -> None:
    """In the order of the table: a package names only those above it."""
    above: set[str] = set()
    for name, may in MAY.items():
        assert may <= above, name
        above.add(name)


def dotted(path: Path, package: Path = PACKAGE) -> str:
    """The dotted name of a module; a package's `__init__` has the name of the package."""
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(package: Path) -> dict[str, frozenset[str]]:
    """The modules of the package that each of its modules imports, also inside functions and for type checkers only.

    `from package import module` imports that module, and not also the package's `__init__`.
    """
    paths = {dotted(path, package): path for path in sorted(package.rglob("*.py"))}
    graph = {}
    for name, path in paths.items():
        edges = set()
        for module, member in imports_of(path, package):
            inner = f"{module}.{member}"
            edges.add(inner if inner in paths else module)
        graph[name] = frozenset(edges & paths.keys())
    return graph


def circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """One circle for each group of modules that import one another: the shortest one that returns to its first module."""
    left = {name: set(edges) for name, edges in graph.items()}
    while ends := {name for name, edges in left.items() if not edges}:
        left = {name: edges - ends for name, edges in left.items() if name not in ends}
    shortest: dict[frozenset[str], list[str]] = {}
    for start in sorted(left):
        ways = [[start]]
        seen: set[str] = set()
        while ways:
            way = ways.pop(0)
            if start in left[way[-1]]:
                shortest.setdefault(frozenset(way), [*way, start])
                break
            for name in sorted(left[way[-1]] - seen):
                seen.add(name)
                ways.append([*way, name])
    return list(shortest.values())


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert not (found := circles(import_graph(PACKAGE))), "\n".join(" -> ".join(circle) for circle in found)


@pytest.mark.parametrize(
    ("sources", "circle"),
    [
        ({"a": "from p.b import x", "b": "import p.a"}, "p.a -> p.b -> p.a"),
        ({"a": "def f():\n    from p import b", "b": "if TYPE_CHECKING:\n    from p.a import A"}, "p.a -> p.b -> p.a"),
        ({"a": "from . import b", "b": "from .c import x", "c": "from p import a"}, "p.a -> p.b -> p.c -> p.a"),
        ({"__init__": "from p import a", "a": "from p import VALUE"}, "p -> p.a -> p"),
        ({"a": "import p.a"}, "p.a -> p.a"),
        ({"__init__": "from p import a", "a": "from p import b", "b": "import p.c", "c": ""}, ""),
    ],
)
def test_a_circle_is_named(tmp_path: Path, sources: dict[str, str], circle: str) -> None:
    package = tmp_path / "p"
    package.mkdir()
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source)
    assert [" -> ".join(each) for each in circles(import_graph(package))] == ([circle] if circle else [])


def test_the_architecture_page_has_the_table_and_every_package() -> None:
    text = (PACKAGE.parent / "docs/explanation/architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text[: text.index("## The loop")], re.MULTILINE)
    shown = {name: set(re.findall(r"`(\w+)`", may)) for name, may in rows}
    assert list(shown) == [name for name in MAY if name != "values"]
    assert shown == {name: may for name, may in MAY.items() if name != "values"}
    layout = text[text.index("    pytest_recode/") : text.index("In addition to the values")]
    values, *lines = layout.splitlines()[1:]
    assert set(values.split("values;")[0].split()) | {"episode"} >= VALUES
    assert {line.split()[0].rstrip("/").removesuffix(".py") for line in lines if line.strip()} == set(shown)


def test_only_the_plugin_and_the_grader_speak_pytest() -> None:
    speak = {name_of(path) for path in FILES if room(path) != "plugin" and speaks_pytest(path)}
    assert speak == SPEAK_PYTEST
    private = {
        name_of(path)
        for path in FILES
        if any(name.startswith("_pytest") or "._pytest" in name for name in imported(path))
    }
    assert private == SPEAK_OF_ITS_INSIDES


PRIVATE_ATTRIBUTES = {
    # the fixtures that a collected test finds, to see before a model is asked that one does not exist
    "inside/grading/case_outcome.py": {"_fixtureinfo"},
    # a candidate must not reach the session's configuration by way of pytest.mark, for which there is no public part
    "inside/shared_grader/pytest_reporter.py": {"_config", "_iter_registered_markers"},
    # pytest-xdist ends the session if it cannot start a lost worker again, and has no hook for that step
    "plugin/workers/other_hosts.py": {"_active_nodes", "_clone_node"},
    # how pytest-flakefinder marks a function that it has multiplied
    "plugin/collection/reruns.py": {"_pytest_duplicated"},
}
"""Each with its reason, in modules that speak pytest."""


def private_attributes(source: str) -> set[str]:
    """Names with one underscore in front that are read or set on another object, also by `getattr` and its like."""
    attributes = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
        ):
            attributes.add(node.attr)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
            "getattr",
            "setattr",
            "hasattr",
            "delattr",
        }:
            attributes |= {
                arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            }
    return {name for name in attributes if name.startswith("_") and not name.startswith("__")} - {
        "_exit"
    }  # of os, and public


def own_names(source: str) -> set[str]:
    """What a module defines by itself: functions, fields of its classes and its objects."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
            names.add(node.attr)
    return names


def test_no_private_part_of_pytest_is_used() -> None:
    """An attribute of pytest's (or of a plugin's) objects that begins with an underscore may be gone in the next version."""
    by_module = {}
    for path in filter(speaks_pytest, FILES):
        source = path.read_text("utf-8")
        allowed = PRIVATE_ATTRIBUTES.get(name_of(path), set())
        by_module[name_of(path)] = private_attributes(source) - (own_names(source) - allowed)
    assert {name: attributes for name, attributes in by_module.items() if attributes} == PRIVATE_ATTRIBUTES


@pytest.mark.parametrize("source", ["item._request", "getattr(config, '_store', None)", "a.b._c", "mark._config = 1"])
def test_a_private_part_is_seen(source: str) -> None:
    assert private_attributes(source)
    assert not private_attributes(source.replace("_", ""))


INSIDE = sorted((PACKAGE / "inside").rglob("*.py"))
MAY_INSIDE = {
    "runtime": set(),
    "wire": set(),
    "probes": set(),
    "setup": set(),
    "candidate": {"setup", "wire"},
    "workspace": {"runtime", "wire"},
    "grading": {"wire"},
    "separate_grader": {"grading", "setup", "wire"},
    "recording": {"grading", "setup", "wire"},
    "shared_grader": {"grading", "setup", "shared_grader.concealment", "shared_grader.tampering", "wire"},
    "shared_grader.concealment": set(),
    "shared_grader.tampering": set(),
}
"""Who runs in a sandbox may import whom: what serves two programs knows neither."""


def package(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE / "inside").parts[:-1])


def test_what_runs_inside_needs_nothing_of_the_package() -> None:
    """But its own siblings, which are shipped with it, and by relative imports, since they have another name in a sandbox."""
    for path in INSIDE:
        assert "pytest_recode.inside" not in path.read_text("utf-8"), path
        ours = [name for name in imported(path) if name.startswith("pytest_recode")]
        assert all(name.startswith("pytest_recode.inside") for name in ours), path


def test_every_module_inside_says_in_which_process_it_runs() -> None:
    for path in INSIDE:
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert text, path
        if path.stem != "__init__":
            assert len(re.findall(r"[.:](?=\s|$)", text)) >= 2, path
            assert re.search(r"\bRuns in .*(process|parent|sandbox|judge|grader|host)", text), path


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


def test_no_module_inside_imports_itself_by_way_of_others() -> None:
    """A sandbox gets each module after those that it imports, so a circle could not be shipped."""
    for path in INSIDE:
        name = path.relative_to(PACKAGE / "inside").with_suffix("").as_posix().replace("/", ".")
        seen: set[str] = set()
        ahead = set(imports(name)) if path.stem != "__init__" else set()
        while ahead:
            module = ahead.pop()
            assert module != name
            seen.add(module)
            ahead |= set(imports(module)) - seen


MOST_LINES = 350


def reason_for_length(source: str) -> str:
    """The sentence of a module's docstring that says why it is longer than `MOST_LINES`; "" if it has none."""
    text = " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    found = re.search(rf"Longer than {MOST_LINES} lines because [^.]+\.", text)
    return found[0] if found else ""


def test_a_long_module_says_why() -> None:
    for path in FILES:
        source = path.read_text("utf-8")
        assert len(source.splitlines()) <= MOST_LINES or reason_for_length(source), path


def test_a_reason_for_length_stands_in_the_docstring() -> None:
    assert not reason_for_length('"""A module."""\n# Longer than 350 lines because of nothing.\n')
    assert reason_for_length('"""A module.\n\nLonger than 350\nlines because its parts share a state.\n"""\n')


@pytest.mark.invariant("installed-costs-nothing")
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
        "pytest_recode.faults",
        "pytest_recode.plugin",
        "pytest_recode.plugin.collection",
        "pytest_recode.plugin.collection.defaults",
        "pytest_recode.plugin.collection.offers",
        "pytest_recode.plugin.collection.task_code",
        "pytest_recode.plugin.hookspecs",
        "pytest_recode.plugin.options",
        "pytest_recode.plugin.workers",
        "pytest_recode.plugin.workers.distributed",
        "pytest_recode.registered",
        "pytest_recode.settings",
    }
    assert not modules & {"docker", "litellm", "yaml", "numpy"}
