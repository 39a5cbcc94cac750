"""`pytest-recode export-tasks --to harbor`: what the directories contain, and what they must not; messages; the commands of its page."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.task import SECRET, Task, brief, brief_files, digest
from pytest_recode.task_export import harbor_export
from tests.messages import assert_line, assert_message
from tests.projects import Command, make_task

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/export-tasks-to-harbor.md"
IMAGE = harbor_export.BaseImage(name="an-image", complete=True)
BUNDLED = [task for path in sorted((ROOT / "tasks").glob("*/task.yaml")) for task in FORMAT.load(path)]


def files_below(place: Path) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def below(files: Mapping[str, bytes], place: str) -> dict[str, bytes]:
    return {path.removeprefix(f"{place}/"): data for path, data in files.items() if path.startswith(f"{place}/")}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("task", BUNDLED, ids=lambda task: task.id)
def test_the_agents_image_has_a_brief_and_nothing_else(task: Task) -> None:
    parts = task.load()
    files = harbor_export.files(task, parts, IMAGE)
    shown = below(files, "environment")
    dockerfile = shown.pop("Dockerfile").decode()
    agents = brief(task, parts)
    assert below(shown, "app") == {**agents.repo, **brief_files(agents)}
    assert set(shown) == {f"app/{path}" for path in below(shown, "app")}
    root = task.manifest.parent
    secret = {data for part in SECRET for data in files_below(root / part).values()} | {
        (root / part).read_bytes() for part in SECRET if (root / part).is_file()
    }
    assert secret
    assert not secret & (set(shown.values()) - set(agents.repo.values()))
    assert re.findall(r"^(?:COPY|ADD) .*", dockerfile, re.MULTILINE) == ["COPY app /app"]


@pytest.mark.parametrize("task", BUNDLED[:1], ids=lambda task: task.id)
def test_the_manifest_names_targets_verifier_and_fingerprint(task: Task) -> None:
    parts = task.load()
    files = harbor_export.files(task, parts, IMAGE)
    config = tomllib.loads(files["task.toml"].decode())
    assert config["schema_version"] == "1.4"
    assert config["artifacts"] == [f"/app/{path}" for path in task.targets]
    assert config["task"]["name"] == f"pytest-recode/{task.id}"
    assert config["verifier"]["environment_mode"] == "separate"
    assert config["verifier"]["environment"]["network_mode"] == config["agent"]["network_mode"] == "no-network"
    assert config["metadata"]["fingerprint"] == digest(parts)
    assert config["metadata"]["canary"] == task.canary
    assert all(task.canary in files[path].decode() for path in files if not path.startswith("tests/judge/"))
    assert below(files, "solution/targets") == dict(parts.reference)
    assert below(files, "tests/task/tests") == dict(parts.tests)
    instruction = files["instruction.md"].decode()
    assert instruction.startswith(parts.instruction.rstrip())
    assert all(f"`/app/{path}`" in instruction for path in task.targets)


def test_exporting_again_gives_the_same_bytes_and_modes(command: Command, tmp_path: Path) -> None:
    make_task(tmp_path, "one")
    for place in ("first", "second"):
        done = command(tmp_path, "export-tasks", "tasks", "--to", "harbor", "-o", place)
        assert (done.returncode, done.stdout) == (0, f"{place} (1 task)\n"), done.stderr
    first, second = tmp_path / "first/one", tmp_path / "second/one"
    assert files_below(first) == files_below(second)
    modes = [[(path.name, path.stat().st_mode) for path in sorted(place.rglob("*"))] for place in (first, second)]
    assert modes[0] == modes[1]
    assert re.search(r"install .*\bpytest==\d", (first / "tests/Dockerfile").read_text())


def test_nothing_is_overwritten(command: Command, tmp_path: Path) -> None:
    make_task(tmp_path, "one")
    make_task(tmp_path, "two")
    (tmp_path / "out/two").mkdir(parents=True)
    done = command(tmp_path, "export-tasks", "tasks", "--to", "harbor", "-o", "out")
    assert done.returncode == 2
    assert_message(done.stderr, "out/two", "exists already", "another directory with -o")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["two"]


def test_tasks_that_share_a_process_with_their_tests_are_refused_by_name(command: Command, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests/papers", tmp_path / "papers")
    make_task(tmp_path, "one")
    done = command(tmp_path, "export-tasks", "papers", "tasks", "--to", "harbor", "-o", "out")
    assert done.returncode == 1
    assert_line(done.stdout, "not exported", "running-moments/mean of both", "judging: shared")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one"]
    done = command(tmp_path, "export-tasks", "papers", "--to", "harbor", "-o", "none")
    assert done.returncode == 2
    assert_message(done.stderr, "not exported", "running-moments/mean of both", "judging: shared")
    assert not (tmp_path / "none").exists()


def test_a_requirement_that_cannot_be_pinned_is_named(command: Command, tmp_path: Path) -> None:
    make_task(tmp_path, "one")
    with (tmp_path / "tasks/one/task.yaml").open("a") as manifest:
        manifest.write("environment: {requirements: requirements.txt}\n")
    for line, what in (("no-such-package-here", "is not installed"), ("pytest<1", "is not met")):
        (tmp_path / "tasks/one/requirements.txt").write_text(line)
        done = command(tmp_path, "export-tasks", "tasks", "--to", "harbor", "-o", "out")
        assert done.returncode == 2
        assert_message(done.stderr, "requirements.txt", line, what, "--image")
    done = command(tmp_path, "export-tasks", "tasks", "--to", "harbor", "-o", "out", "--image", "complete")
    assert done.returncode == 0
    assert "install" not in (tmp_path / "out/one/environment/Dockerfile").read_text()


def test_an_environment_that_only_its_author_can_build_needs_an_image(command: Command, tmp_path: Path) -> None:
    make_task(tmp_path, "one")
    with (tmp_path / "tasks/one/task.yaml").open("a") as manifest:
        manifest.write("environment: {dockerfile: environment/Dockerfile}\n")
    (tmp_path / "tasks/one/environment").mkdir()
    (tmp_path / "tasks/one/environment/Dockerfile").write_text("FROM scratch\n")
    done = command(tmp_path, "export-tasks", "tasks", "--to", "harbor", "-o", "out")
    assert done.returncode == 2
    assert_message(done.stderr, "task one", "Dockerfile of its own", "--image")


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(command: Command, tmp_path: Path) -> None:
    (tmp_path / "tasks").symlink_to(ROOT / "tasks")
    commands = re.findall(r"^\$ pytest-recode (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(commands) == 2
    for line in commands:
        done = command(tmp_path, *shlex.split(line))
        assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "harbor-tasks").iterdir())) == len(BUNDLED)
    assert sorted(path.name for path in (tmp_path / "harbor-offline").iterdir()) == ["bpe", "sinkhorn"]
    named = re.findall(r"^\| `([\w./-]+)` \|", PAGE.read_text("utf-8").partition("## Images")[0], re.MULTILINE)
    assert {path.name for path in (tmp_path / "harbor-tasks/bpe").iterdir()} == {name.rstrip("/") for name in named}
