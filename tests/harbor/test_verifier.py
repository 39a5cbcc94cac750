"""Judging by a task's own script, in real containers: what it decides, what becomes an error, and what a candidate can try."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.faults import GraderError, UserError
from pytest_recode.formats.harbor import FORMAT
from pytest_recode.oracle.judge import judge
from pytest_recode.oracle.verifier import solved_files, with_image_files
from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap, docker_
from pytest_recode.task import REMOVED, Files, Parts, Task
from pytest_recode.verdict import Outcome, Verdict
from tests.harbor.scene import IMAGE, lay_out

pytestmark = pytest.mark.slow

Judged = Callable[..., Verdict]
RIGHT = b"def double(x):\n    return x + x\n"
WRONG = b"def double(x):\n    return 2 * int(x)\n"
PLAIN = "#!/bin/bash\npython3 -c 'import double; assert double.double(3) == 6' && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    context = SandboxContext(run=f"harbor-{os.getpid()}", python=sys.executable, image=IMAGE)
    reason = docker_.KIND.check(context) or ("" if IMAGE else "RECODE_TEST_IMAGE names no docker image with Python")
    if reason and os.environ.get("CI"):
        pytest.fail(f"not available in CI: {reason}")
    if reason:
        pytest.skip(reason)
    made = docker_.KIND.make(context)
    yield made
    made.close()


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> tuple[Task, Parts]:
    [task] = FORMAT.load(lay_out(tmp_path_factory.mktemp("tasks") / "double"))
    return task, with_image_files(task, task.load(), sandbox)


@pytest.fixture
def judged(sandbox: Sandbox, double: tuple[Task, Parts]) -> Judged:
    """Judge an answer with another script, of the same image."""

    def run(targets: Files, script: str | None = None, seconds: float | None = None) -> Verdict:
        task, parts = double
        if script is not None:
            parts = replace(parts, tests={**parts.tests, "test.sh": script.encode()})
        if seconds is not None:
            task = replace(task, limits=replace(task.limits, test_seconds=seconds))
        return judge(task, parts, targets, sandbox)

    return run


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {case.id: case.outcome.value for case in verdict.cases}


def test_the_image_s_files_are_the_repository(double: tuple[Task, Parts]) -> None:
    _, parts = double
    assert parts.repo == {"data/numbers.txt": b"1 2 3\n", "old.txt": b"old\n", "run.sh": b"#!/bin/sh\necho runs\n"}


def test_the_solution_is_solved_and_nothing_is_not(
    sandbox: Sandbox, double: tuple[Task, Parts], judged: Judged
) -> None:
    task, parts = double
    answer = solved_files(task, parts, sandbox)
    assert answer == {"double.py": parts.reference["double.py"], "said.txt": b"runs\n", REMOVED: b"old.txt"}
    verdict = judged(answer)
    assert verdict.solved
    assert verdict.isolation == "verifier"
    assert verdict.scores == {"reward": 1.0}
    assert set(outcomes(verdict)) == {
        "check::test_doubles",
        "check::test_keeps_types",
        "check::test_data_is_untouched",
    }
    assert not judged({}).solved


def test_named_cases_say_what_fails(judged: Judged) -> None:
    verdict = judged({"double.py": WRONG})
    assert outcomes(verdict) == {
        "check::test_doubles": "passed",
        "check::test_keeps_types": "failed",
        "check::test_data_is_untouched": "passed",
    }
    [failed] = [case for case in verdict.cases if case.outcome is Outcome.FAILED]
    assert "ValueError" in failed.message
    assert verdict.scores == {"reward": 0.0}


def test_changed_and_removed_files_cross_over_and_links_do_not(judged: Judged) -> None:
    looks = "#!/bin/bash\nls -A > /logs/verifier/seen; cat seen.txt data/numbers.txt > /tmp/all; [ ! -e old.txt ] && [ -x new.sh ] && grep -q 9 /tmp/all; echo $((1 - $?)) > /logs/verifier/reward.txt\n"
    answer = {"data/numbers.txt": b"9\n", "seen.txt": b"x\n", "new.sh": b"#!/bin/sh\n", REMOVED: b"old.txt"}
    assert judged(answer, looks).solved
    assert not judged({**answer, REMOVED: b""}, looks).solved


def test_without_named_cases_the_reward_is_the_case(judged: Judged) -> None:
    verdict = judged({"double.py": b"def double(x):\n    return 0\n"}, PLAIN)
    assert outcomes(verdict) == {"reward": "failed"}
    assert "reward 0; 1 solves the task" in verdict.cases[0].message
    assert judged({"double.py": RIGHT}, PLAIN).solved


def test_a_reward_below_one_is_not_solved(judged: Judged) -> None:
    verdict = judged({}, '#!/bin/bash\necho \'{"reward": 0.75, "style": 1}\' > /logs/verifier/reward.json\n')
    assert not verdict.solved
    assert verdict.scores == {"reward": 0.75, "style": 1.0}


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo broken; exit 3", "neither reward.txt nor reward.json"),
        ("echo NaN > /logs/verifier/reward.txt", "not finite"),
        ("ln -s /etc/hostname /logs/verifier/reward.txt", "neither"),
    ],
)
def test_a_verifier_without_a_reward_is_an_error(judged: Judged, script: str, why: str) -> None:
    with pytest.raises(GraderError, match=why):
        judged({"double.py": RIGHT}, f"#!/bin/bash\n{script}\n")


def test_a_candidate_that_hangs_or_kills_its_judge_fails(judged: Judged) -> None:
    hangs = judged({"double.py": b"import time\ntime.sleep(60)\n"}, PLAIN, seconds=2.0)
    assert [(case.kind, case.outcome.value) for case in hangs.cases] == [("timeout", "failed")]
    kills = b"import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    assert [case.kind for case in judged({"double.py": kills}, PLAIN).cases] == ["died"]


def test_a_second_reward_file_of_the_candidate_is_noticed(judged: Judged) -> None:
    """Harbor reads `reward.json` first, so that a candidate can overrule a script that writes `reward.txt`."""
    forges = b"open('/logs/verifier/reward.json', 'w').write('{\"reward\": 1}')\n\n\ndef double(x):\n    return 0\n"
    verdict = judged({"double.py": forges}, PLAIN)
    assert verdict.cases[0].outcome is Outcome.PASSED
    assert "reward.json says 1 and reward.txt 0" in verdict.tampering[0]
    assert not verdict.solved


def test_nothing_of_one_judging_reaches_the_next(judged: Judged) -> None:
    plants = b"for path in ('/tests/x', '/logs/verifier/x', '/app/x', '/tmp/x'):\n    open(path, 'w').close()\n\n\ndef double(x):\n    return 6\n"
    assert judged({"double.py": plants}, PLAIN).solved
    looks = (
        "#!/bin/bash\nls /tests/x /logs/verifier/x /app/x /tmp/x && r=0 || r=1\necho $r > /logs/verifier/reward.txt\n"
    )
    assert judged({"double.py": RIGHT}, looks).solved


def test_what_left_its_terminal_cannot_write_a_later_reward(judged: Judged) -> None:
    """A process that the candidate leaves behind ends with the script, before the reward is read."""
    leaves = b"import os, subprocess\nsubprocess.Popen(['bash', '-c', 'sleep 2; echo 1 > /logs/verifier/reward.txt'], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\n\ndef double(x):\n    return 0\n"
    assert not judged({"double.py": leaves}, PLAIN).solved


def test_a_separate_verifier_has_an_image_of_its_own(tmp_path: Path, sandbox: Sandbox) -> None:
    manifest = lay_out(
        tmp_path / "own",
        {
            "task.toml": 'artifacts = ["/app/double.py"]\n[verifier]\ntimeout_sec = 20\nenvironment_mode = "separate"\n[environment]\nnetwork_mode = "no-network"\nmemory_mb = 512\n',
            "tests/Dockerfile": f"FROM {IMAGE}\nENV JUDGE=own\nWORKDIR /judge\nCOPY . /tests/\nRUN mkdir -p /app && chmod 755 /tests/test.sh\n",
            "tests/test.sh": "#!/bin/bash\n[ $JUDGE = own ] && [ $PWD = /judge ] && [ ! -e /app/old.txt ] && cd /app && python3 -c 'import double; assert double.double(3) == 6'; echo $((1 - $?)) > /logs/verifier/reward.txt\n",
        },
    )
    [task] = FORMAT.load(manifest)
    parts = with_image_files(task, task.load(), sandbox)
    assert list(solved_files(task, parts, sandbox)) == ["double.py"]
    assert judge(task, parts, {"double.py": RIGHT, "other.py": b"import nothing\n"}, sandbox).solved
    assert not judge(task, parts, {"double.py": b"def double(x):\n    return 5\n"}, sandbox).solved


def test_a_local_sandbox_cannot_run_such_a_task(double: tuple[Task, Parts]) -> None:
    context = SandboxContext(run="harbor-local", python=sys.executable)
    local = bubblewrap.KIND.make(context)
    with pytest.raises(UserError, match="use --recode-sandbox=docker"):
        local.ready(double[0].environment)
    local.close()
