"""Tasks whose answer is more than files of the working directory: judging in the agent's own sandbox, and artifacts outside of it."""

from __future__ import annotations

from pathlib import Path

import docker.errors  # noqa: F401  now: pytester forgets at its end what a test was the first to import, and the clients that are there would be of another copy
import pytest

from pytest_recode.formats.harbor import FORMAT
from pytest_recode.oracle.verifier import can_share
from tests.harbor.scene import CONFIG, IMAGE, lay_out
from tests.harbor.test_session import PLAIN, need_docker, records
from tests.messages import assert_line
from tests.projects import Command

SEPARATE = CONFIG.replace("timeout_sec = 20", 'timeout_sec = 20\nenvironment_mode = "separate"')
STATE = {
    "solution/solve.sh": "#!/bin/bash\nmkdir ~/state && echo 1 > ~/state/x && ln -s run.sh link\n",
    "tests/check.py": "import os\nassert os.path.exists(os.path.expanduser('~/state/x'))\nassert os.path.islink('/app/link')\n",
}
"""A task whose answer is a file of the home directory, and a link."""
AGENT = """
from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move


class Curious:
    def __init__(self, context):
        self.turn = 0

    def act(self, brief, feedback, workspace):
        self.turn += 1
        found = workspace.run("find /tests /solution /logs -type f").output
        assert not found, found
        if self.turn == 2:
            workspace.run("mkdir ~/state; echo 1 > ~/state/x; ln -s run.sh link; touch /logs/verifier/reward.json")
        return Move(steps=1)


CURIOUS = AgentKind(make=Curious, needs_model=False)
"""


@pytest.mark.slow
def test_what_only_its_own_sandbox_shows_is_named_and_judged_there_if_asked_for(pytester: pytest.Pytester) -> None:
    need_docker()
    lay_out(pytester.path / "state", STATE)
    refused = pytester.runpytest_subprocess("state", *PLAIN, "--recode-validate")
    refused.assert_outcomes(passed=1, failed=1)
    assert "--recode-shared-verifier judges there" in refused.stdout.str()
    shared = pytester.runpytest_subprocess("state", *PLAIN, "--recode-validate", "--recode-shared-verifier")
    shared.assert_outcomes(passed=2)


@pytest.mark.slow
def test_verdicts_of_the_agent_s_sandbox_are_flagged_and_leave_it_no_tests(
    pytester: pytest.Pytester, command: Command
) -> None:
    need_docker()
    pytester.makepyfile(curious=AGENT)
    pytester.syspathinsert()
    lay_out(pytester.path / "state", STATE)
    agents = ("--recode-agent=curious:CURIOUS", "--recode-agent=reference")
    options = ("--recode-turns=2", "--recode-out=out", "--recode-shared-verifier")
    done = pytester.runpytest_subprocess("state", *PLAIN, *agents, *options)
    done.assert_outcomes(passed=2)
    found = records(pytester)
    assert {record["isolation"] for record in found.values()} == {"verifier-shared"}
    assert {record["settings"]["shared_verifier"] for record in found.values()} == {True}
    assert len(found["curious:CURIOUS"]["turns"]) == 2
    assert_line(done.stdout.str(), "isolation: 2 episodes", "in the agent's own sandbox", "weaker evidence")
    report = command(pytester.path, "report", "out")
    assert "verifier-shared" in report.stdout
    page = command(pytester.path, "html", "out", "-o", "page.html")
    assert page.returncode == 0, page.stderr
    assert "Judged in the agent&#39;s own sandbox" in (pytester.path / "page.html").read_text("utf-8")


def test_a_verifier_that_asks_for_its_own_sandbox_never_shares(tmp_path: Path) -> None:
    [shared] = FORMAT.load(lay_out(tmp_path / "shared"))
    [separate] = FORMAT.load(lay_out(tmp_path / "separate", {"task.toml": SEPARATE}))
    assert can_share(shared)
    assert not can_share(separate)


def test_artifacts_outside_the_working_directory_are_targets(tmp_path: Path) -> None:
    text = 'artifacts = ["double.py", "/srv/results", "/app/data", "/opt/report.txt"]\n' + SEPARATE
    [task] = FORMAT.load(lay_out(tmp_path, {"task.toml": text}))
    assert task.targets == ("double.py", "data", ".recode-outside/srv/results", ".recode-outside/opt/report.txt")
    assert task.environment.outside == ("/srv/results", "/opt/report.txt")
    [conventional] = FORMAT.load(lay_out(tmp_path, {"task.toml": SEPARATE}))
    assert conventional.targets == (".recode-outside/logs/artifacts",)


@pytest.mark.parametrize("path", ["/", "/usr", "/proc/self", "/tests/x", "/logs"])
def test_directories_of_the_system_leave_no_workspace(tmp_path: Path, path: str) -> None:
    [task] = FORMAT.load(lay_out(tmp_path, {"task.toml": f'artifacts = ["{path}"]\n' + SEPARATE}))
    for word in (str(tmp_path / "task.toml"), path, "choose other tasks"):
        assert word in task.fault


@pytest.mark.slow
def test_artifacts_outside_reach_a_verifier_of_its_own(pytester: pytest.Pytester) -> None:
    need_docker()
    files = {
        "task.toml": 'artifacts = ["/srv/results", "double.py", "/opt/report.txt"]\n' + SEPARATE,
        "environment/Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nRUN mkdir /srv/results && echo old > /srv/results/old.txt\n",
        "solution/solve.sh": "#!/bin/bash\nset -e\ncp /solution/double.py .\necho 1 > other.txt\nmkdir /srv/results/deep\n"
        "cp /srv/results/old.txt /srv/results/deep/new.txt\necho done > /opt/report.txt\n",
        "tests/check.py": "import os\nassert open('/srv/results/deep/new.txt').read() == 'old\\n'\n"
        "assert open('/opt/report.txt').read() == 'done\\n'\nassert sorted(os.listdir('/app')) == ['.recode-outside', 'double.py']\n",
    }
    lay_out(pytester.path / "tasks/outside", files)
    files = {
        "task.toml": SEPARATE,
        "solution/solve.sh": "#!/bin/bash\necho 1 > /logs/artifacts/x.txt\n",
        "tests/check.py": "assert open('/logs/artifacts/x.txt').read() == '1\\n'\n",
    }
    lay_out(pytester.path / "tasks/convention", files)
    pytester.runpytest_subprocess("tasks", *PLAIN, "--recode-validate").assert_outcomes(passed=4)
    played = pytester.runpytest_subprocess("tasks", *PLAIN, "--recode-agent=reference", "--recode-turns=1")
    played.assert_outcomes(passed=2)
