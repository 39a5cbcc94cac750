"""Which Python runs inside, what of it is to be seen, and what is said where it does not do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.task import Environment, Limits
from tests.messages import assert_message
from tests.sandboxes.conftest import KINDS, opened, usable

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)
LOCAL = ["process", "bubblewrap", "bubblewrap-cold"]
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a venv in it, in which something is installed, and something is editable."""
    project = tmp_path_factory.mktemp("a project with ünusual name")
    (project / "secret.py").write_text("answer = 42\n")
    venv.create(project / ".venv", symlinks=True)
    (packages,) = (project / ".venv" / "lib").glob("python*/site-packages")
    (packages / "installed.py").write_text("where = __file__\n")
    (packages / "deadly.py").write_text("import os, sys\nprint('dying', file=sys.stderr, flush=True)\nos._exit(9)\n")
    (packages / "broken.py").write_text("raise RuntimeError('broken on purpose')\n")
    (packages / "caching.py").write_text(
        "import os, pathlib, tempfile\nmade = tempfile.mkstemp()[1]\npathlib.Path.home().joinpath('cache').touch()\n"
    )
    (packages / "editable.pth").write_text(f"{project}\n")
    return project


def bench(
    kind: str, python: Path | str, context: SandboxContext, sandboxes: dict[str, Sandbox], *preload: str
) -> Bench:
    return Bench(
        sandbox=opened(kind, context, sandboxes),
        environment=Environment(python=str(python), preload=preload),
        limits=LIMITS,
    )


@pytest.mark.parametrize("kind", LOCAL)
def test_what_is_installed_is_there(
    kind: str, project: Path, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    python = project / ".venv" / "bin" / "python"
    with bench(kind, python, context, sandboxes, "installed").probe() as probe:
        assert probe.ask("import installed, sys; result = [installed.where, sys.prefix]") == [
            str(next((project / ".venv").glob("lib/*/site-packages/installed.py"))),
            str(project / ".venv"),
        ]
        # a command that was installed with it, by its shebang or link
        assert probe.ask("import shutil, sys; result = shutil.which('python')") == str(python)
        assert probe.ask("import subprocess; result = subprocess.call(['python', '-c', 'import installed'])") == 0


@pytest.mark.parametrize("kind", ["bubblewrap", "bubblewrap-cold"])
def test_the_project_round_it_is_not(
    kind: str, project: Path, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    with bench(kind, project / ".venv" / "bin" / "python", context, sandboxes).probe() as probe:
        assert probe.ask(f"import os; result = os.listdir({str(project)!r})") == [".venv"]
        assert (
            probe.ask("try:\n    import secret; result = 'imported'\nexcept ImportError:\n    result = 'absent'")
            == "absent"
        )


@pytest.mark.parametrize("kind", LOCAL)
def test_links_to_an_interpreter_are_followed(
    kind: str, project: Path, tmp_path: Path, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    """As pyenv, uv and system administrators lay them: a link to a link through a linked directory."""
    (tmp_path / "current").symlink_to(project / ".venv")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("../current/bin/python")
    with bench(kind, tmp_path / "bin" / "python", context, sandboxes).probe() as probe:
        assert probe.ask("result = 1") == 1


@pytest.mark.parametrize("kind", LOCAL)
def test_one_that_is_not_there(kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]) -> None:
    with pytest.raises(UserError) as caught, bench(kind, "/no/such/python", context, sandboxes).probe():
        pass
    assert str(caught.value) == ("interpreter /no/such/python: no such file; give another with --recode-python=PATH")


def test_one_that_is_no_python(context: SandboxContext, sandboxes: dict[str, Sandbox]) -> None:
    with (
        pytest.raises(UserError, match=r"interpreter /bin/false: not a working Python \(.*--recode-python=PATH"),
        bench("process", "/bin/false", context, sandboxes).probe(),
    ):
        pass


@pytest.mark.parametrize("kind", LOCAL)
def test_a_preload_that_raises(
    kind: str, project: Path, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    python = project / ".venv" / "bin" / "python"
    with pytest.raises(UserError) as caught, bench(kind, python, context, sandboxes, "broken").probe():
        pass
    reason, install = "(RuntimeError: broken on purpose)", f"{python} -m pip install …"
    assert_message(str(caught.value), str(python), "cannot import 'broken'", reason, install, "--recode-python=PATH")


@pytest.mark.parametrize("kind", ["bubblewrap", "bubblewrap-cold"])
def test_a_preload_may_write_where_no_program_sees_it(
    kind: str, project: Path, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    """As torch's GPU build makes a temporary file when it is imported, and matplotlib a cache."""
    python = project / ".venv" / "bin" / "python"
    with bench(kind, python, context, sandboxes, "caching").probe() as probe:
        there = "[os.path.exists(each) for each in (caching.made, os.path.expanduser('~/cache'))]"
        alone = kind == "bubblewrap-cold"  # it has the sandbox of the program, which is its only one
        assert probe.ask(f"import caching, os; result = {there}") == [alone, alone]


@pytest.mark.parametrize("kind", LOCAL)
def test_a_preload_that_ends_the_interpreter(
    kind: str, project: Path, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    python = project / ".venv" / "bin" / "python"
    with pytest.raises(SandboxError) as caught, bench(kind, python, context, sandboxes, "deadly").probe():
        pass
    assert str(caught.value) == f"{python} could not be started in a sandbox: dying"


@pytest.mark.slow
def test_bubblewrap_as_an_ordinary_user(context: SandboxContext) -> None:
    """Everything that root's sandboxes keep, an ordinary user's do: other namespaces, other mappings."""
    usable("bubblewrap", context)
    setpriv, python = shutil.which("setpriv"), "/usr/bin/python3"
    if os.geteuid() != 0 or setpriv is None or not Path(python).exists():
        pytest.skip(
            "not root, or there is no setpriv or /usr/bin/python3: the other tests are those of an ordinary user"
        )
    script = (
        "from pytest_recode.sandboxes import SandboxContext, bubblewrap\n"
        "from pytest_recode.sandboxes.conformance import check_sandbox\n"
        f"sandbox = bubblewrap.Bubblewrap(SandboxContext(run='user', python={python!r}), cold=False)\n"
        "check_sandbox(sandbox); sandbox.close(); print('kept')"
    )
    done = subprocess.run(
        [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", script],
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    if "No module named 'pytest_recode'" in done.stderr or "Permission denied" in done.stderr:
        (pytest.fail if "CI" in os.environ else pytest.skip)("an ordinary user cannot read this checkout")
    assert done.stdout == "kept\n", done.stderr


def test_the_interpreter_of_the_tests_is_the_default(context: SandboxContext, sandboxes: dict[str, Sandbox]) -> None:
    plain = Bench(sandbox=opened("process", context, sandboxes), environment=Environment(), limits=LIMITS)
    with plain.probe() as probe:
        assert probe.ask("import sys; result = sys.prefix") == sys.prefix


def test_every_kind_is_tried() -> None:
    assert set(LOCAL) == {kind for kind in KINDS if not kind.endswith(("-served", "-in-flight"))} - {"docker"}
