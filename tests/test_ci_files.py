"""The CI files of docs/how-to/ci: valid for their systems, and their commands run, are stopped and go on as the guide says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import junitparser
import pytest
import yaml

from pytest_recode.models.catalog import lacking
from pytest_recode.models.table import resolve
from pytest_recode.settings import OPTIONS
from tests import nursery
from tests.chat_server import Answer, ChatServer, Request
from tests.plugin.conftest import FILES as TASK
from tests.plugin.conftest import MANIFEST

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "docs/how-to/ci"
SCHEMAS = {
    "github-actions.yml": ("vendor.github-workflows",),
    "gitlab-ci.yml": ("vendor.gitlab-ci", "--data-transform=gitlab-ci"),
}
KEYS = ("OPENAI_API_KEY", "DEEPSEEK_API_KEY")
both = pytest.mark.parametrize("name", SCHEMAS)


def script(name: str) -> str:
    """The shell script of the step that plays."""
    content = yaml.safe_load((FILES / name).read_text("utf-8"))
    if name == "gitlab-ci.yml":
        [block] = content["recode"]["script"]
        return str(block)
    [block] = [step["run"] for step in content["jobs"]["compare"]["steps"] if "--recode-model" in step.get("run", "")]
    return str(block)


def played_by(text: str, *models: str) -> str:
    """The script with other models than those that cost money."""
    rest = iter(models)
    changed, count = re.subn(r"--recode-model=\S+", lambda _: f"--recode-model={next(rest)}", text)
    assert count == len(models)
    return changed


def start(text: str, place: Path, python: tuple[str, ...]) -> subprocess.Popen[str]:
    """As a runner does it: bash, from a file, in a session of its own."""
    programs = place / "bin"
    programs.mkdir(exist_ok=True)
    quick = () if python == (sys.executable,) else ("-p", nursery.PLUGIN)
    command = shlex.join((*python, "-m", "pytest", *quick, "-p", "no:cacheprovider"))
    (programs / "pytest").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    (programs / "pytest").chmod(0o755)
    (place / "script.sh").write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen(
        ["bash", "-e", "script.sh"],
        cwd=place,
        env={**environment, "PATH": f"{programs}:{os.environ['PATH']}", **dict.fromkeys(KEYS, "-")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def checkout(place: Path, *tasks: str, ini: str = "") -> Path:
    for task in tasks:
        for path, text in {**TASK, "task.yaml": MANIFEST.format(id=task, domain="ml")}.items():
            (place / "tasks" / task / path).parent.mkdir(parents=True, exist_ok=True)
            (place / "tasks" / task / path).write_text(text)
    (place / "pytest.ini").write_text(f"[pytest]\nrecode_turns = 2\n{ini}")
    return place


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def in_jenkins_words(path: Path) -> None:
    """Elements and attributes are those of Jenkins' junit-10.xsd, but for the properties of a test case."""
    root = ElementTree.parse(path).getroot()
    allowed = {
        "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}),
        "testsuite": (
            {"testcase"},
            {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        ),
        "testcase": ({"properties", "skipped", "failure", "error", "system-out"}, {"name", "classname", "time"}),
        "properties": ({"property"}, set()),
        "property": (set(), {"name", "value"}),
        **dict.fromkeys(("skipped", "failure", "error"), (set(), {"type", "message"})),
    }
    for element in root.iter():
        children, attributes = allowed[element.tag]
        assert {child.tag for child in element} <= children
        assert set(element.attrib) <= attributes


@pytest.mark.slow
@both
def test_it_is_valid_for_its_system(name: str) -> None:
    schema, *more = SCHEMAS[name]
    subprocess.run(
        [sys.executable, "-m", "check_jsonschema", f"--builtin-schema={schema}", *more, FILES / name], check=True
    )


OWN = {
    ".github/workflows/ci.yml": "github-workflows",
    ".github/ISSUE_TEMPLATE/bug.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/wrong-verdict.yml": "github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "github-issue-config",
    "CITATION.cff": "citation-file-format",
}


@pytest.mark.parametrize("name", OWN)
def test_the_repository_s_own_files_are_valid(name: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "check_jsonschema", f"--builtin-schema=vendor.{OWN[name]}", ROOT / name], check=True
    )


def test_both_play_the_same() -> None:
    commands = [script(name)[script(name).index("pytest ") :].split() for name in SCHEMAS]
    assert commands[0] == commands[1]
    known = {option.flag for option in OPTIONS.values()}
    assert {part.partition("=")[0] for part in commands[0] if part.startswith("--recode-")} <= known


def test_each_key_stands_in_the_step_that_needs_it_alone() -> None:
    workflow = yaml.safe_load((FILES / "github-actions.yml").read_text("utf-8"))
    [job] = workflow["jobs"].values()
    assert workflow["permissions"] == {"contents": "read"}
    assert "env" not in workflow | job
    assert [set(step["env"]) for step in job["steps"] if "env" in step] == [set(KEYS)]


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.name)
def test_the_keys_of_a_file_are_those_of_its_models(path: Path) -> None:
    text = path.read_text("utf-8")
    keys = set(re.findall(r"\b[A-Z_]+_API_KEY\b", text))
    models = set(re.findall(r"--recode-\w*-?model=(\S+)", text))
    accepted = [lacking().keys[resolve(model, {}).model.partition("/")[0]] for model in models]
    if path.suffix == ".yml":  # the other files take all keys from a secret, or from the environment
        assert bool(keys) == bool(models)
        assert all(keys & set(variables) for variables in accepted)
    assert keys <= {variable for variables in accepted for variable in variables}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_a_run_and_the_next_attempt(name: str, tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    """The second attempt is on a fresh machine, which has the records as the system stored them, and of what was played it plays nothing."""
    text = played_by(script(name), "sim/novice", "sim/graduate").replace("-n 4", "-n 2")
    first = start(text, checkout(tmp_path / "first", "tiny"), quick_python)
    printed, _ = first.communicate()
    assert first.returncode in {0, 1}, printed
    records = lines(tmp_path / "first/records/results.jsonl")
    assert len(records) == 2

    fresh = checkout(tmp_path / "second", "tiny", "small")
    shutil.make_archive(str(tmp_path / "stored"), "zip", tmp_path / "first/records")
    shutil.unpack_archive(tmp_path / "stored.zip", fresh / "records")
    second = start(text, fresh, quick_python)
    printed, _ = second.communicate()
    assert second.returncode in {0, 1}, printed
    assert lines(fresh / "records/results.jsonl")[:2] == records
    assert len(lines(fresh / "records/results.jsonl")) == 4

    in_jenkins_words(fresh / "junit.xml")
    # a reader of JUnit files that others wrote
    suites = junitparser.JUnitXml.fromfile(str(fresh / "junit.xml"))
    cases = [case for suite in suites for case in suite]
    outcomes = Counter("skipped" if case.is_skipped else "passed" if case.is_passed else "failed" for case in cases)
    solved = sum('"outcome": "solved"' in line for line in lines(fresh / "records/results.jsonl"))
    assert outcomes["skipped"] == 4 - solved
    assert outcomes["passed"] + outcomes["failed"] == solved + 1
    assert (suites.tests, suites.failures + suites.errors) == (5, second.returncode)
    assert len({(case.classname, case.name) for case in cases}) == 5


@pytest.mark.slow
@both
def test_a_cancelled_job_stops_in_order_and_the_next_attempt_goes_on(name: str, tmp_path: Path) -> None:
    """GitHub sends Ctrl-C to the step's process alone, GitLab SIGTERM to every process of the script."""
    asked, answer = threading.Event(), threading.Event()

    def hangs(_: Request) -> Answer:
        asked.set()
        return Answer(text="I do not know.", wait=answer)

    with ChatServer(hangs) as server:
        ini = f"recode_api_base = {server.url}\nrecode_sandbox = bubblewrap\n"
        place = checkout(tmp_path, "tiny", ini=ini)
        text = script(name).replace("-n 4", "-n 2")
        job = start(text, place, (sys.executable,))
        assert asked.wait(120)
        if name == "github-actions.yml":
            os.kill(job.pid, signal.SIGINT)
        else:
            os.killpg(job.pid, signal.SIGTERM)
        assert job.stdout is not None
        output = "".join(iter(lambda: line if "waiting up to" not in (line := job.stdout.readline()) else "", ""))
        answer.set()
        printed = output + job.communicate()[0]
        assert "to resume: the same command with" in printed
        if name == "github-actions.yml":
            assert job.returncode == pytest.ExitCode.INTERRUPTED
        assert lines(place / "records/results.jsonl") == []

        again = start(text, place, (sys.executable,))
        printed, _ = again.communicate()
        assert again.returncode == pytest.ExitCode.TESTS_FAILED, printed
        assert len(lines(place / "records/results.jsonl")) == 2
