"""Sessions over Harbor tasks: what is refused before anything is spent, what is recorded, and tasks that this project exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import docker.errors  # noqa: F401  now: pytester forgets at its end what a test was the first to import, and the clients that are there would be of another copy
import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.sandboxes import SandboxContext, bubblewrap, docker_
from pytest_recode.task_export import harbor_export, writing
from tests.harbor.scene import CONFIG, lay_out
from tests.messages import assert_line, assert_message
from tests.projects import Command, make_task
from tests.sandboxes.conftest import IMAGE, unavailable

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/export-tasks-to-harbor.md"
PLAIN = ("-p", "no:cacheprovider", "--recode-sandbox=docker")


def need_docker() -> None:
    if not IMAGE or docker_.KIND.check(SandboxContext(run="harbor-session", python="")):
        unavailable("RECODE_TEST_IMAGE names no docker image with Python and pytest")


def records(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    """The records of a run with --recode-out=out, by agent."""
    lines = (pytester.path / "out/results.jsonl").read_text("utf-8").splitlines()
    return {record["agent"]: record for record in map(json.loads, lines)}


def test_a_sandbox_that_runs_no_images_is_refused(pytester: pytest.Pytester) -> None:
    if bubblewrap.KIND.check(SandboxContext(run="harbor-session", python="")):
        pytest.skip("bubblewrap is not available")
    options = ("--recode-validate", "--recode-sandbox=bubblewrap", "-p", "no:cacheprovider")
    lay_out(pytester.path / "offline")
    refused = pytester.runpytest_subprocess("offline", *options)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert_line(refused.stderr.str() + refused.stdout.str(), "offline", "--recode-sandbox=docker")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "subject"),
    [
        (("--recode-model=sim/expert",), "sim/expert"),
        (("--recode-model=sim/expert", "--recode-agent=recode-h"), "--recode-agent=recode-h"),
        (("--recode-agent=person",), "--recode-agent=person"),
        (("--recode-model=sim/expert", "-n1"), "sim/expert"),
    ],
)
def test_who_writes_targets_is_refused_where_none_are_named(
    pytester: pytest.Pytester, options: tuple[str, ...], subject: str
) -> None:
    lay_out(pytester.path / "double")
    out = ("--recode-sandbox=process", "--recode-out=out", "-p", "no:cacheprovider")
    refused = pytester.runpytest_subprocess("double", *out, *options)
    assert refused.ret != pytest.ExitCode.OK
    errors = [line for line in refused.stderr.lines if line.startswith("ERROR: ")] or refused.outlines
    assert_line("\n".join(errors), subject, "double", "--recode-agent=", "-k")
    assert not (pytester.path / "out").exists()


@pytest.mark.slow
def test_a_preview_says_where_the_files_are_and_what_it_cannot_grade(command: Command, tmp_path: Path) -> None:
    lay_out(tmp_path / "double")
    prompt = command(tmp_path, "preview", "double", "--no-pager")
    assert prompt.returncode == 0, prompt.stderr
    assert_line(prompt.stdout, "The repository is what the image of", "environment/Dockerfile", "/app", "in a run")
    for option in ("--mutants", "--answer=double/solution", "--mutant=1"):
        refused = command(tmp_path, "preview", "double", option, "--no-pager")
        assert refused.returncode == 2
        assert_message(refused.stderr, "double", "--recode-validate", "--recode-agent=reference")
    none = command(tmp_path, "preview", "double", "--agent=recode-h", "--no-pager")
    assert_message(none.stderr, "recode-h", "double", "choose another agent")


def test_a_directory_beside_another_tool_s_task_toml_has_its_ordinary_tests(pytester: pytest.Pytester) -> None:
    lay_out(pytester.path / "other", {"task.toml": "[tool.other]\nname = 1\n"})
    (pytester.path / "other/tests/test_ordinary.py").write_text("def test_one():\n    pass\n")
    result = pytester.runpytest_subprocess("other", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_task_that_asks_for_a_network_runs_without_it_only_if_told_to(pytester: pytest.Pytester) -> None:
    need_docker()
    lay_out(pytester.path / "online", {"task.toml": CONFIG.replace("no-network", "public")})
    options = (*PLAIN, "--recode-agent=reference", "--recode-out=out")
    refused = pytester.runpytest_subprocess("online", *options)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert_line(refused.stderr.str() + refused.stdout.str(), "public", "online", "--recode-without-network")
    assert not (pytester.path / "out").exists()
    played = pytester.runpytest_subprocess("online", *options, "--recode-without-network")
    played.assert_outcomes(passed=1)
    record = records(pytester)["reference"]
    assert record["settings"]["without_network"] is True
    assert (record["outcome"], record["facts"]["agent_network"]) == ("solved", "public")


@pytest.mark.slow
def test_an_exported_task_runs_in_place_and_its_own_verifier_names_the_cases(pytester: pytest.Pytester) -> None:
    need_docker()
    make_task(pytester.path, "one")
    [task] = FORMAT.load(pytester.path / "tasks/one/task.yaml")
    files = harbor_export.files(task, task.load(), harbor_export.base_image(task, IMAGE))
    writing.write(pytester.path / "exported/one", files)
    [checked] = re.findall(r"^pytest harbor-tasks/sinkhorn (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    pytester.runpytest_subprocess("exported", *PLAIN, *checked.split()).assert_outcomes(passed=2)
    played = pytester.runpytest_subprocess(
        "exported", *PLAIN, "--recode-agent=noop", "--recode-turns=1", "--recode-out=out"
    )
    played.assert_outcomes(failed=1)
    record = records(pytester)["noop"]
    cases = {case["id"]: case["outcome"] for case in record["turns"][0]["cases"]}
    assert len(cases) > 1
    assert all(case.startswith("test_") and ".py::" in case for case in cases)
    assert set(cases.values()) == {"failed"}
    assert (record["outcome"], record["isolation"]) == ("unsolved", "verifier")
