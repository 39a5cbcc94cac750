"""Runs with the agent `mini-swe-agent`, behind a real server: feedback, policies, workers, interruptions, reports, and a package that is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import mini_swe_library
from pytest_recode.faults import UserError
from tests.chat_server import Answer, ChatServer, Request, call, fault
from tests.messages import assert_message

from .conftest import words
from .test_bad_input import one_line
from .test_entry_points import distribution

# not imported here: the import on its own writes into the user's home
pytestmark = pytest.mark.skipif(find_spec("minisweagent") is None, reason="mini-swe-agent is not installed")

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]
MakeTask = Callable[..., Path]
RIGHT = "cat <<'EOF' > answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\nEOF"
HAND_IN = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
RUN = (
    *("--recode-model=cheap", "--recode-models-file=models.yaml", "--recode-agent=mini-swe-agent"),
    *("--recode-out=out", "--recode-seed=1"),
)
TABLE = "cheap:\n  model: openai/cheap\n  price: {prompt: 1000, completion: 1000}\n  tools: true\n"


@pytest.fixture(autouse=True)
def _tasks(make_task: MakeTask, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        make_task(name)
    (pytester.path / "models.yaml").write_text(TABLE)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing")


def bash(command: str) -> Answer:
    return call("bash", {"command": command})


def answers(request: Request) -> Answer:
    """Looks and hands in what there is; after feedback, writes what is right and hands in."""
    said = [message["role"] for message in request.body["messages"]]
    if "Feedback on turn" not in request.prompt:
        return bash("cat answer.py" if said[-1] == "user" else HAND_IN)
    return bash(RIGHT if said[-1] == "user" else HAND_IN)


def command(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_recode.cli", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [("-n0",), ("-n2",), ("-n0", "--recode-in-flight=4")], ids=["alone", "workers", "flight"]
)
def test_episodes_are_solved_with_feedback(
    recode: Run, results: Results, pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    with ChatServer(answers) as server:
        result = recode(*RUN, *how, "--recode-feedback=L0", "--recode-feedback=L2", f"--recode-api-base={server.url}")
        asked = list(server.requests)
    result.assert_outcomes(passed=4)
    assert len(asked) == 2 * (2 + 2 * 2)  # policies share the first turn
    assert "one episode at a time" not in words(result)
    for record in results():
        assert (record["agent"], record["outcome"]) == ("mini-swe-agent", "solved")
        assert [turn["steps"] for turn in record["turns"]] == [2, 2]
        assert record["settings"]["steps"] == 100
    for request in asked:
        assert [tool["function"]["name"] for tool in request.body["tools"]] == ["bash"]
    before = command("show", "out", "-k", "one and L2", cwd=pytester.path)
    assert "bash cat <<'EOF' > answer.py" in before
    assert f"bash {HAND_IN}" in before


@pytest.mark.slow
def test_an_interrupted_episode_continues_its_conversation(recode: Run, results: Results) -> None:
    script = [
        bash("touch seen"),
        bash(HAND_IN),
        bash("ls"),
        fault(401, "wrong key"),
        bash(f"ls; {RIGHT}"),
        bash(HAND_IN),
    ]
    with ChatServer(script) as server:
        given = (*RUN, "-k", "one", "-n0", "--recode-feedback=L0", f"--recode-api-base={server.url}")
        recode(*given, sandbox="bubblewrap").assert_outcomes(errors=1, deselected=1)
        [record] = results()
        recode(*given, "--recode-resume", sandbox="bubblewrap").assert_outcomes(passed=1, deselected=1)
        asked = list(server.requests)
    assert record["error"]["kind"] == "model:auth"
    failed, resumed, last = (request.body["messages"] for request in asked[-3:])
    assert [message["role"] for message in resumed] == [
        "system",
        "user",
        *["assistant", "tool"] * 2,
        "user",
        "assistant",
        "tool",
    ]
    assert resumed == failed  # the answer before it was paid for, and is not asked for again
    assert "seen" in last[-1]["content"]  # in the workspace of before
    [record] = [each for each in results() if each["outcome"] == "solved"]
    assert [turn["steps"] for turn in record["turns"]] == [2, 3]


@pytest.mark.slow
def test_a_turn_without_steps_left_says_so_everywhere(recode: Run, results: Results, pytester: pytest.Pytester) -> None:
    with ChatServer(lambda _: bash("true")) as server:
        recode(
            *(*RUN, "-k", "one", "-n0", "--recode-feedback=L0", "--recode-steps=3", "--recode-turns=2"),
            f"--recode-api-base={server.url}",
        ).assert_outcomes(failed=1, deselected=1)
        assert len(server.requests) == 6
    [record] = results()
    assert [(turn["steps"], turn["stopped"]) for turn in record["turns"]] == [(3, "steps")] * 2
    command("html", "out", "-o", "page.html", cwd=pytester.path)
    assert "bash true" in (pytester.path / "page.html").read_text()
    command("export", "out", "--to", "atif", "-o", "atif", cwd=pytester.path)
    [path] = [each for each in (pytester.path / "atif").rglob("*.json") if "steps" in json.loads(each.read_text())]
    steps = [step for step in json.loads(path.read_text())["steps"] if step["source"] == "agent"]
    assert [[each["function_name"] for each in step["tool_calls"]] for step in steps] == [["bash"]] * 6
    assert all(step["metrics"]["prompt_tokens"] == 11 for step in steps)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--recode-memory-keep=3", "--recode-memory-threshold=9"])
def test_options_of_a_memory_are_refused(recode: Run, option: str) -> None:
    assert_message(
        one_line(recode(*RUN, option)), "--recode-agent=mini-swe-agent", option.partition("=")[0], "leave out"
    )


BROKEN = "import no_such_package_of_anybody\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "module", "said"),
    [
        ("1.17.0", "", "needs mini-swe-agent>=2.4.6,<3, and 1.17.0 is installed"),
        ("3.0.0", "", "needs mini-swe-agent>=2.4.6,<3, and 3.0.0 is installed"),
        ("2.4.6", BROKEN, "cannot be imported (ModuleNotFoundError: No module named 'no_such_package_of_anybody'"),
    ],
    ids=["older", "newer", "broken"],
)
def test_a_package_that_cannot_be_used_is_one_line_before_anything_is_spent(
    recode: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, version: str, module: str, said: str
) -> None:
    site = pytester.path / "site"
    distribution(site, "mini_swe_agent", "")
    information = site / "mini_swe_agent-1.0.dist-info" / "METADATA"
    information.write_text(f"Metadata-Version: 2.1\nName: mini-swe-agent\nVersion: {version}\n")
    (site / "minisweagent").mkdir()
    (site / "minisweagent/__init__.py").write_text(module)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")])))
    with ChatServer(answers) as server:
        result = recode(*RUN, "--recode-feedback=L0", f"--recode-api-base={server.url}", "-n0")
        assert not server.requests
    line = one_line(result)
    assert_message(line, "--recode-agent=mini-swe-agent", said, "pip install 'pytest-recode[mini-swe-agent]'")
    assert not (pytester.path / "out").exists()


def test_a_package_that_is_missing_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(UserError) as caught:
        mini_swe_library._imported.__wrapped__()
    assert_message(str(caught.value), "mini-swe-agent", "an extra", "pip install 'pytest-recode[mini-swe-agent]'")
