"""Exported tasks in Harbor itself, which needs Python 3.12 or later and is no requirement of these tests.

`RECODE_TEST_HARBOR` is the directory of the programs of an environment that has it (python -m pip install harbor==0.26.0), such as /opt/harbor/bin.
Its trials run in containers of `plain_docker.py`, with the image of `RECODE_TEST_IMAGE`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.task_export import harbor_export, writing
from tests.sandboxes.conftest import IMAGE

ROOT = Path(__file__).resolve().parents[2]
HARBOR = Path(os.environ.get("RECODE_TEST_HARBOR") or "/nonexistent")
LOADED = """\
import pathlib, sys
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
for place in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    task = Task(place)
    verifier = resolve_verifier_environment_definition(task.config, task.paths)
    assert verifier.bundled_tests and verifier.directory == task.paths.tests_dir, place
    print(task.config.task.name)
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (HARBOR / "harbor").exists(), reason="RECODE_TEST_HARBOR names no directory with harbor"),
]


def export(place: Path, names: list[str]) -> None:
    for name in names:
        [task] = FORMAT.load(ROOT / "tasks" / name / "task.yaml")
        image = harbor_export.base_image(task, IMAGE or "an-image")
        writing.write(place / name, harbor_export.files(task, task.load(), image))


def ran(*arguments: object) -> str:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "DO_NOT_TRACK": "1"}
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_harbor_loads_every_task_and_finds_no_fault(tmp_path: Path) -> None:
    names = sorted(path.parent.name for path in (ROOT / "tasks").glob("*/task.yaml"))
    export(tmp_path, names)
    loaded = ran(HARBOR / "python", "-c", LOADED, tmp_path)
    assert loaded.split() == [f"pytest-recode/{name}" for name in names]
    ran(HARBOR / "harbor", "lint", *sorted(tmp_path.iterdir()))


@pytest.mark.skipif(not IMAGE, reason="RECODE_TEST_IMAGE names no docker image with Python and pytest")
@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1), ("nop", 0)])
def test_the_reference_is_rewarded_and_the_untouched_repository_is_not(tmp_path: Path, agent: str, reward: int) -> None:
    export(tmp_path / "tasks", ["bpe"])
    jobs = tmp_path / "jobs"
    ran(
        *(HARBOR / "harbor", "run", "-p", tmp_path / "tasks/bpe", "-a", agent, "-o", jobs, "--job-name", "job"),
        *("-e", "plain_docker:PlainDocker", "-q", "-y"),
    )
    [path] = jobs.glob("job/*/verifier/reward.json")
    assert json.loads(path.read_text())["reward"] == reward
    [cases] = jobs.glob("job/*/verifier/ctrf.json")
    assert json.loads(cases.read_text())["results"]["extra"]["task"] == "bpe"
