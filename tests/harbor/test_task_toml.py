"""What a Harbor task directory becomes, and what of it is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.harbor import FORMAT
from pytest_recode.task import WHOLE, Task
from pytest_recode.testing import check_format
from tests.harbor.scene import CONFIG, FILES, lay_out
from tests.messages import assert_message


def task_of(root: Path, files: dict[str, str | None] | None = None) -> Task:
    [task] = FORMAT.load(lay_out(root, files))
    return task


def config(old: str = "", new: str = "", more: str = "") -> dict[str, str | None]:
    assert old in CONFIG
    return {"task.toml": CONFIG.replace(old, new) + more}


def test_a_task_has_what_its_directory_says(tmp_path: Path) -> None:
    task = task_of(tmp_path / "double")
    assert not task.fault
    assert (task.id, task.title, task.domain, task.difficulty) == ("double", "Double a number", "arithmetic", "easy")
    assert task.tags == ("tiny",)
    assert task.targets == (WHOLE,)
    assert task.environment.workdir == "/app"
    assert task.environment.network == ""
    assert (task.limits.memory_mb, task.limits.disk_mb, task.limits.test_seconds) == (512, 128, 20.0)
    assert task.facts["version"] == "1.2.0"
    assert task.facts["targets"] == "none: what changes in /app"
    parts = task.load()
    assert sorted(parts.tests) == ["check.py", "test.sh"]
    assert sorted(parts.reference) == ["double.py", "solve.sh"]


def test_the_format_keeps_the_rules_of_formats(tmp_path: Path) -> None:
    check_format(FORMAT, lay_out(tmp_path / "double"))


@pytest.mark.parametrize(
    "text",
    ["[tool.other]\nname = 1\n", "[[task]]\nname = 'build'\n", "title = 'a recipe'\n", "tasks = ['a']\n", "not toml ["],
)
def test_a_task_toml_of_another_tool_is_no_task(tmp_path: Path, text: str) -> None:
    manifest = tmp_path / "task.toml"
    manifest.write_text(text)
    assert FORMAT.load(manifest) == ()
    assert FORMAT.claims is not None
    assert not FORMAT.claims(manifest)
    assert FORMAT.owns is not None
    assert not FORMAT.owns(manifest, tmp_path / "tests")


@pytest.mark.parametrize(
    ("asked", "network"),
    [
        ('network_mode = "no-network"', ""),
        ("", "public"),
        ("allow_internet = false", ""),
        ("allow_internet = true", "public"),
        ('network_mode = "allowlist"\nallowed_hosts = ["example.org"]', "allowlist"),
    ],
)
def test_the_network_that_a_task_asks_for(tmp_path: Path, asked: str, network: str) -> None:
    task = task_of(tmp_path, config('network_mode = "no-network"', asked))
    assert task.environment.network == network


def test_a_network_of_the_verifier_alone_counts(tmp_path: Path) -> None:
    task = task_of(tmp_path, config("timeout_sec = 20", 'timeout_sec = 20\nnetwork_mode = "public"'))
    assert task.environment.network == "public"
    assert task.facts["agent_network"] == "no-network"


def test_a_verifier_of_its_own_gets_the_artifacts_alone(tmp_path: Path) -> None:
    files = {
        "task.toml": 'artifacts = ["/app/double.py", {source = "results"}]\n'
        + CONFIG.replace("timeout_sec = 20", 'timeout_sec = 20\nenvironment_mode = "separate"'),
        "tests/Dockerfile": "FROM x AS first\nWORKDIR /elsewhere\nFROM x\nWORKDIR /judge\nWORKDIR room\nCOPY . /tests/\n",
    }
    task = task_of(tmp_path, files)
    assert not task.fault
    assert task.targets == ("double.py", "results")
    verifier = task.oracle.verifier
    assert verifier is not None
    assert verifier.environment is not None
    assert (verifier.uploads, verifier.cwd, verifier.environment.workdir) == (False, "/judge/room", "/app")
    assert task.facts["targets"] == "declared"
    assert (verifier.environment.root, verifier.memory_mb) == (False, None)


def test_a_verifier_is_root_only_in_an_image_of_its_own(tmp_path: Path) -> None:
    asked = config("timeout_sec = 20", 'timeout_sec = 20\nuser = "root"')
    shared = task_of(tmp_path / "shared", asked).oracle.verifier
    assert shared is not None
    assert shared.environment is None
    separate = (
        'artifacts = ["/app/double.py"]\n' + str(asked["task.toml"]) + "[verifier.environment]\nmemory_mb = 900\n"
    )
    task = task_of(tmp_path / "separate", {"task.toml": separate, "tests/Dockerfile": "FROM x\nCOPY . /tests\n"})
    verifier = task.oracle.verifier
    assert verifier is not None
    assert verifier.environment is not None
    assert (verifier.environment.root, task.environment.root) == (True, False)
    assert (verifier.memory_mb, task.limits.memory_mb) == (900, 512)


def test_earlier_schemas_are_read(tmp_path: Path) -> None:
    old = 'version = "1.0"\n[verifier]\ntimeout_sec = 5.0\n[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = false\n'
    task = task_of(tmp_path, {"task.toml": old})
    assert not task.fault
    assert (task.limits.memory_mb, task.limits.disk_mb) == (2048, 512)


REFUSED = {
    "an unknown key": (config("memory_mb", "memory_gb"), "unknown key 'memory_gb' in [environment]", "memory_mb"),
    "a GPU": (config("memory_mb = 512", "gpus = 1"), "environment.gpus", "a GPU"),
    "MCP servers": (
        config(more='[[environment.mcp_servers]]\nname = "a"\nurl = "http://a"\n'),
        "environment.mcp_servers",
        "choose other tasks",
    ),
    "collect": (
        config(more='[[verifier.collect]]\ncommand = "ls"\n'),
        "verifier.collect",
        "commands in other containers before the judging",
    ),
    "Windows": (config("memory_mb = 512", 'os = "windows"'), "environment.os", "Linux only"),
    "a secret": (config(more='[verifier.env]\nOPENAI_API_KEY = "${OPENAI_API_KEY}"\n'), "OPENAI_API_KEY", "no secret"),
    "a wrong number": (config("timeout_sec = 20", "timeout_sec = -1"), "verifier.timeout_sec", "above 0"),
    "a wrong mode": (config("no-network", "sometimes"), "network_mode", "no-network, public, allowlist"),
    "no script": ({"tests/test.sh": None}, "tests/test.sh", "no such file"),
    "no Dockerfile": ({"environment/Dockerfile": None}, "environment/Dockerfile", "docker_image"),
    "no working directory": ({"environment/Dockerfile": "FROM x\n"}, "working directory", "WORKDIR"),
    "several containers": (
        {"environment/docker-compose.yaml": "services: {}\n"},
        "docker-compose.yaml",
        "several containers",
    ),
    "an earlier conversation": ({"trajectory.json": "{}"}, "trajectory.json", "not supported"),
    "not TOML": ({"task.toml": "[environment\n"}, "not valid TOML", "correct it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_change_a_verdict_is_refused_by_name(tmp_path: Path, name: str) -> None:
    files, *words = REFUSED[name]
    task = task_of(tmp_path, files)
    assert task.fault.startswith(str(tmp_path))
    assert "\n" not in task.fault
    for each in words:
        assert each in task.fault, task.fault


def test_what_does_not_is_a_fact(tmp_path: Path) -> None:
    more = 'cpus = 4\nskills_dir = "/skills"\nhealthcheck = {}\n'
    files = config("memory_mb = 512\n", f"memory_mb = 512\n{more}")
    task = task_of(tmp_path, {**files, "extra.md": "x"})
    assert not task.fault
    assert (task.facts["asked_cpus"], task.facts["asked_skills_dir"]) == (4, "/skills")


def test_a_default_of_a_variable_is_used(tmp_path: Path) -> None:
    task = task_of(tmp_path, config(more='[environment.env]\nMODE = "${MODE:-quick}"\nPLAIN = "x"\n'))
    assert task.environment.variables == (("MODE", "quick"), ("PLAIN", "x"))


def test_an_agent_does_not_see_a_canary(tmp_path: Path) -> None:
    text = "<!-- harbor-canary GUID x -->\n# a canary, too\n\n# Title\nDo it.\n"
    assert task_of(tmp_path, {"instruction.md": text}).load().instruction == "# Title\nDo it.\n"


def test_links_in_tests_are_refused(tmp_path: Path) -> None:
    manifest = lay_out(tmp_path)
    (tmp_path / "tests/extra").symlink_to("/etc/passwd")
    [task] = FORMAT.load(manifest)
    with pytest.raises(UserError) as caught:
        task.load()
    assert_message(str(caught.value), "tests/extra", "symbolic link")


def test_the_scene_has_all_files_that_harbor_knows() -> None:
    assert {path.partition("/")[0] for path in FILES} == {
        "task.toml",
        "instruction.md",
        "environment",
        "solution",
        "tests",
    }
