"""What of this machine bubblewrap shows: never what is to be hidden, always what the interpreter needs."""

from __future__ import annotations

import venv
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.plugin.run.session import Run
from pytest_recode.sandboxes import SandboxContext
from pytest_recode.sandboxes.conformance import Bench, Probe
from pytest_recode.task import Environment, Limits
from tests.messages import assert_message
from tests.sandboxes.conftest import KINDS, usable

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)
FIND = (
    "import os\nresult = sorted(name for top, _, names in os.walk({!r}) for name in names if name.startswith('hidden'))"
)
Open = Callable[..., Probe]


@pytest.fixture(params=["bubblewrap", "bubblewrap-cold"])
def inside(request: pytest.FixtureRequest, context: SandboxContext) -> Iterator[Open]:
    usable(request.param, context)
    with ExitStack() as stack:

        def open_probe(python: Path | None, *hide: Path) -> Probe:
            sandbox = KINDS[request.param][1](replace(context, hide=tuple(map(str, hide))))
            stack.callback(sandbox.close)
            environment = Environment(python=str(python or ""))
            return stack.enter_context(Bench(sandbox=sandbox, environment=environment, limits=LIMITS).probe())

        yield open_probe


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A virtual environment in which a package brings tasks along, and a second one is installed beside it."""
    venv.create(tmp_path / ".venv", symlinks=True)
    packages = packages_of(tmp_path)
    (packages / "beside.py").write_text("here = True\n")
    tests = packages / "bench" / "tasks" / "one" / "tests"
    tests.mkdir(parents=True)
    (tests / "hidden_one.py").write_text("answer = 42\n")
    (packages / "bench" / "shown.py").write_text("here = True\n")
    return tmp_path


def packages_of(project: Path) -> Path:
    return next((project / ".venv" / "lib").glob("python*/site-packages"))


def test_a_task_among_installed_packages_is_covered(project: Path, inside: Open) -> None:
    packages = packages_of(project)
    task = packages / "bench" / "tasks" / "one"
    python = project / ".venv" / "bin" / "python"
    assert inside(python).ask(FIND.format(str(packages))) == ["hidden_one.py"]
    probe = inside(python, task)
    assert probe.ask(FIND.format(str(packages))) == []
    assert probe.ask(f"import os, bench.shown, beside; result = os.listdir({str(task)!r})") == []
    with pytest.raises(Exception, match=r"Read-only file system|Permission denied"):
        probe.ask(f"open({str(task / 'new')!r}, 'w')")


def test_a_link_to_a_directory_hides_what_it_points_to(project: Path, inside: Open) -> None:
    packages = packages_of(project)
    (project / "tasks").symlink_to(packages / "bench" / "tasks")
    probe = inside(project / ".venv" / "bin" / "python", project / "tasks" / "one")
    assert probe.ask(FIND.format(str(packages))) == []


def test_what_is_hidden_below_a_prefix_that_lies_in_something_hidden(project: Path, inside: Open) -> None:
    """The virtual environment of a hidden project is shown again, and the tasks in it covered again."""
    packages = packages_of(project)
    prefix = project / ".venv"
    probe = inside(
        prefix / "bin" / "python", prefix / "lib" / packages.parent.name / "none", prefix, project, packages / "bench"
    )
    assert probe.ask(FIND.format(str(packages))) == []
    assert probe.ask("import beside; result = beside.here") is True


def test_a_directory_of_the_system_is_covered_and_the_sources_are_always(inside: Open) -> None:
    listing = "import os\nresult = [os.path.isdir(path) and os.listdir(path) for path in {!r}]"
    covered = ["/usr/sbin", "/usr/share"]  # a system's own Python looks into /usr/include
    probe = inside(None, *map(Path, covered))
    assert [found for found in probe.ask(listing.format(covered)) if found] == []
    always = [path for path in ("/usr/src", "/usr/local/src") if Path(path).is_dir()]
    assert [found for found in probe.ask(listing.format(always)) if found] == []


@pytest.mark.parametrize("what", ["site-packages", "lib", "/usr"])
def test_what_cannot_be_hidden_is_said(what: str, project: Path, inside: Open) -> None:
    packages = packages_of(project)
    path = {"site-packages": packages, "lib": project / ".venv" / "lib", "/usr": Path("/usr")}[what]
    python = project / ".venv" / "bin" / "python"
    with pytest.raises(UserError) as caught:
        inside(python, path)
    assert_message(
        str(caught.value), str(path), "tasks or records", str(python), "--recode-out", "--recode-sandbox=docker"
    )


def test_a_run_hides_its_tasks_and_records(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Of a task also what its parts point to, and the place where its manifest really lies."""
    task, elsewhere = tmp_path / "task", tmp_path / "elsewhere"
    for directory in (task, elsewhere / "tests", elsewhere / "manifest"):
        directory.mkdir(parents=True)
    (task / "tests").symlink_to(elsewhere / "tests")
    (elsewhere / "manifest" / "task.yaml").touch()
    (task / "task.yaml").symlink_to(elsewhere / "manifest" / "task.yaml")
    run = Run(pytestconfig)
    run.collected.tasks["one"] = task / "task.yaml"
    wanted = {task, elsewhere / "tests", elsewhere / "manifest", run.out}
    assert {str(path.resolve()) for path in wanted} <= set(run.sandbox.context.hide)
