"""The files of docs/how-to/ci for runs in shards: valid for their systems, and run from the first shard to the merged run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from pytest_recode.settings import OPTIONS
from tests import nursery
from tests.test_ci_files import FILES, KEYS, checkout, lines, played_by

GITHUB, SLURM, KUBERNETES = "github-shards.yml", "slurm-shards.sh", "kubernetes-shards.yaml"
MANIFESTS = (KUBERNETES, "kubernetes-merge.yaml")
SCRIPTS = (SLURM, "slurm-merge.sh")


def workflow() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FILES / GITHUB).read_text("utf-8"))
    return found


def steps(job: str, text: str) -> list[str]:
    return [step["run"] for step in workflow()["jobs"][job]["steps"] if text in step.get("run", "")]


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FILES / name).read_text("utf-8")))


def container(name: str) -> dict[str, Any]:
    [job] = [each for each in manifests(name) if each["kind"] == "Job"]
    [found] = job["spec"]["template"]["spec"]["containers"]
    return dict(found)


@pytest.mark.slow
def test_the_workflow_is_valid() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema=vendor.github-workflows", FILES / GITHUB]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_valid(name: str) -> None:
    for manifest in manifests(name):
        kubernetes_validate.validate(manifest, "1.33", strict=True)


def test_a_mistyped_key_of_a_manifest_is_found() -> None:
    job = manifests(KUBERNETES)[-1]
    job["spec"]["completionsMode"] = job["spec"].pop("completionMode")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, "1.33", strict=True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_valid(name: str) -> None:
    subprocess.run(["bash", "-n", FILES / name], check=True)
    text = (FILES / name).read_text("utf-8")
    options = re.findall(r"^#SBATCH --([a-z-]+)=\S+$", text, re.MULTILINE)
    assert len(options) == text.count("#SBATCH"), "SLURM takes what follows a blank for another option"
    assert set(options) <= {*("job-name", "array", "ntasks", "cpus-per-task", "mem", "time", "signal", "output")}
    assert text.index("#SBATCH") < text.index("\nset -eu"), "SLURM reads options only before the first command"


def test_the_numbers_of_shards_of_a_file_agree() -> None:
    job = workflow()["jobs"]["shard"]
    count = len(job["strategy"]["matrix"]["shard"])
    assert job["strategy"]["matrix"]["shard"] == list(range(1, count + 1))
    [played] = [step for step in job["steps"] if "SHARD" in step.get("env", {})]
    assert played["env"]["SHARD"] == "${{ matrix.shard }}/${{ strategy.job-total }}"

    text = (FILES / SLURM).read_text("utf-8")
    assert re.findall(r"--array=1-(\d+)$", text, re.MULTILINE) == re.findall(r"^shards=(\d+)", text, re.MULTILINE)

    [indexed] = [each for each in manifests(KUBERNETES) if each["kind"] == "Job"]
    values = {each["name"]: each["value"] for each in container(KUBERNETES)["env"]}
    assert int(values["SHARDS"]) == indexed["spec"]["completions"] == indexed["spec"]["maxFailedIndexes"]


def test_the_manifests_are_about_one_run() -> None:
    first, second = ({each["name"]: each["value"] for each in container(name)["env"]}["RECORDS"] for name in MANIFESTS)
    assert first == second
    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for name in MANIFESTS
        for volume in manifests(name)[-1]["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    ]
    assert claims == [manifests(KUBERNETES)[0]["metadata"]["name"]] * 2
    assert container(MANIFESTS[0])["image"] == container(MANIFESTS[1])["image"]
    assert container(MANIFESTS[0])["image"] in (FILES / "kubernetes.Dockerfile").read_text("utf-8")


def test_each_key_stands_in_the_steps_that_need_it_alone() -> None:
    content = workflow()
    assert content["permissions"] == {"contents": "read"}
    assert "env" not in content
    for job in content["jobs"].values():
        assert "env" not in job
        assert [set(step["env"]) - {"SHARD"} for step in job["steps"] if "env" in step] == [set(KEYS)]


def commands() -> dict[str, list[str]]:
    """The words of each command that plays a shard, without its number and its directory."""
    [github] = steps("shard", "--recode-shard")
    texts = {
        GITHUB: github,
        SLURM: (FILES / SLURM).read_text("utf-8"),
        KUBERNETES: container(KUBERNETES)["args"][0],
    }
    return {
        name: [word for word in text[text.index("pytest tasks") :].split() if word != "\\"]
        for name, text in texts.items()
    }


def test_every_system_plays_the_same() -> None:
    known = {option.flag for option in OPTIONS.values()}
    own = ("--recode-shard=", "--recode-out=", "--recode-sandbox=", "--junitxml=")
    same = {
        name: [word for word in words if not word.startswith(own) and word != "$resume"]
        for name, words in commands().items()
    }
    assert same[GITHUB] == same[SLURM] == same[KUBERNETES]
    for words in commands().values():
        assert {word.partition("=")[0] for word in words if word.startswith("--recode-")} <= known


def test_the_last_step_asks_for_what_the_shards_played() -> None:
    """Otherwise it would refuse the records, or play."""
    [text] = steps("merge", "--recode-fail-under")
    last = {word for word in text.split() if word.startswith("--recode-") and "fail-under" not in word}
    free = ("--recode-shard=", "--recode-max-cost=", "--recode-fail-under=")
    played = {word for word in commands()[GITHUB] if word.startswith("--recode-") and not word.startswith(free)}
    assert last == played | {"--recode-resume"}


# Runs: two shards instead of eight, offline models instead of paid ones


@dataclass(frozen=True, kw_only=True)
class System:
    """How a system runs shard `number` of two, and the merge of both, at `place`: script, arguments, environment."""

    shard: Callable[[int, Path], tuple[str, dict[str, str]]]
    merge: Callable[[Path], tuple[str, dict[str, str]]]
    parts: str
    merged: str


def github_shard(number: int, place: Path) -> tuple[str, dict[str, str]]:
    """Each job has a checkout of its own; here, the records go where the last job downloads them to."""
    [text] = steps("shard", "--recode-shard")
    text = re.sub(r"(?<!-)\brecords\b", f"shards/recode-shard-{number}/records", text)
    return text, {"SHARD": f"{number}/2"}


def github_merge(place: Path) -> tuple[str, dict[str, str]]:
    [merge], [report] = steps("merge", "pytest-recode merge"), steps("merge", "pytest-recode report")
    return f"{merge}\n{report}", {"GITHUB_STEP_SUMMARY": str(place / "page.md")}


def slurm_shard(number: int, place: Path) -> tuple[str, dict[str, str]]:
    text = (FILES / SLURM).read_text("utf-8")
    changed, count = re.subn(r"^shards=\d+", "shards=2", text, flags=re.MULTILINE)
    assert count == 1
    return changed, {"SLURM_ARRAY_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_COUNT": "1"}


def slurm_merge(place: Path) -> tuple[str, dict[str, str]]:
    return "set -- 4711\n" + (FILES / "slurm-merge.sh").read_text("utf-8"), {}


def kubernetes_environment(name: str, place: Path) -> dict[str, str]:
    given = {each["name"]: each["value"] for each in container(name)["env"]}
    given["RECORDS"] = str(place) + given["RECORDS"]
    del_docker = {key: value for key, value in given.items() if key != "DOCKER_HOST"}
    return {**del_docker, "SHARDS": "2"}


def kubernetes_shard(number: int, place: Path) -> tuple[str, dict[str, str]]:
    """As the container does it: `bash -euc` with the script. Its daemon is not here."""
    found = container(KUBERNETES)
    assert found["command"] == ["bash", "-euc"]
    [text] = found["args"]
    assert "--recode-sandbox=docker" in text
    environment = {**kubernetes_environment(KUBERNETES, place), "JOB_COMPLETION_INDEX": str(number - 1)}
    return "set -eu\n" + text.replace("--recode-sandbox=docker", "--recode-sandbox=bubblewrap"), environment


def kubernetes_merge(place: Path) -> tuple[str, dict[str, str]]:
    [text] = container("kubernetes-merge.yaml")["args"]
    return "set -eu\n" + text, kubernetes_environment("kubernetes-merge.yaml", place)


SYSTEMS = {
    "github": System(shard=github_shard, merge=github_merge, parts="shards/*/records", merged="records"),
    "slurm": System(
        shard=slurm_shard,
        merge=slurm_merge,
        parts="records/4711/shard-*",
        merged="records/4711/all",
    ),
    "kubernetes": System(
        shard=kubernetes_shard, merge=kubernetes_merge, parts="records/*/shard-*", merged="records/2026-12/all"
    ),
}


def run(text: str, place: Path, python: tuple[str, ...], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As a system does it: bash, from a file, with `pytest` and `pytest-recode` on the path."""
    programs = place / "bin"
    programs.mkdir(exist_ok=True)
    quick = f"pytest -p {nursery.PLUGIN} -p no:cacheprovider"
    for name, module in {"pytest": quick, "pytest-recode": "pytest_recode.cli"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(python)} -m {module} "$@"\n')
        (programs / name).chmod(0o755)
    (place / "script.sh").write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SLURM_"))}
    environment |= {"PATH": f"{programs}:{os.environ['PATH']}", **dict.fromkeys(KEYS, "-"), **variables}
    return subprocess.run(
        ["bash", "-e", "script.sh"], cwd=place, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["slurm", "github", "kubernetes"])
def test_shards_are_played_resumed_and_merged(name: str, tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    system, place = SYSTEMS[name], checkout(tmp_path, "one", "two")

    def play(number: int) -> None:
        text, variables = system.shard(number, place)
        played = played_by(text, "sim/novice", "sim/graduate").replace("-n 4", "-n 1")
        done = run(played, place, quick_python, variables)
        assert done.returncode == 0, done.stdout + done.stderr

    for number in (1, 2):
        play(number)
    [one, other] = sorted(place.glob(system.parts))
    before = [lines(part / "results.jsonl") for part in (one, other)]
    assert [len(part) for part in before] == [2, 2]
    # a requeued job, a replaced pod, another attempt
    play(2)
    assert [lines(part / "results.jsonl") for part in (one, other)] == before

    text, variables = system.merge(place)
    done = run(text, place, quick_python, variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "merged 2 of 2 shards: 4 episodes" in done.stdout
    records = [json.loads(line) for line in lines(place / system.merged / "results.jsonl")]
    assert Counter(record["task"] for record in records) == {"one": 2, "two": 2}
    page = (place / "page.md").read_text("utf-8") if name == "github" else done.stdout
    assert "sim/graduate" in page

    if name == "github":
        [text] = steps("merge", "--recode-fail-under")
        for limit, status in (("0", 0), ("100", 1)):
            last = played_by(text, "sim/novice", "sim/graduate").replace("fail-under=30", f"fail-under={limit}")
            done = run(last, place, quick_python, {})
            solved = sum(record["outcome"] == "solved" for record in records)
            assert done.returncode == (0 if solved == 4 else status), done.stdout + done.stderr
            assert lines(place / "records/results.jsonl") == [json.dumps(record) for record in records]
