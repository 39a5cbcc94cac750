"""`python -m pytest_recode.verifier TASK DELIVERED LOGS`: judges the targets below DELIVERED, and writes the rewards to LOGS.

Exit status 0: there is a verdict, whatever it is. Every fault that is not the answer's ends without rewards and with another
status, and Harbor reports an error of the verifier.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_recode.faults import GraderError, SandboxError, UserError
from pytest_recode.harbor_layout import TESTS_PLACE
from pytest_recode.oracle.separate import Fresh, judge_separate
from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.sandboxes.interpreters import interpreter
from pytest_recode.sandboxes.process import Process
from pytest_recode.sandboxes.unprivileged_users import problem, users
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Verdict
from pytest_recode.verifier import container, delivered, rewards, stored_task

FAULT = 2


def main(arguments: Sequence[str]) -> int:
    """Judge and write. Returns the exit status."""
    try:
        place, answer, logs = map(Path, arguments)
    except ValueError:
        print("usage: python -m pytest_recode.verifier TASK DELIVERED LOGS", file=sys.stderr)
        return FAULT
    try:
        rewards.remove_earlier(logs)
        _check_place()
        task, parts, fingerprint = stored_task.read(place)
        container.close([Path(TESTS_PLACE), logs.parent])
        targets, faults = delivered.targets(answer, task.targets, task.limits.disk_mb << 20)
        verdict = judged(task, parts, targets)
        rewards.write(logs, task, fingerprint, verdict, faults)
    except (GraderError, SandboxError, UserError) as error:
        print(f"no verdict: {error}", file=sys.stderr)
        return FAULT
    print("".join(f"{line}\n" for line in faults) + f"{verdict.passed} of {len(verdict.cases)} cases passed")
    return 0


def judged(task: Task, parts: Parts, targets: Files) -> Verdict:
    """Judge with two processes, each of a user of its own. Raises as `judge.judge` does."""
    sandbox: Sandbox = Process(SandboxContext(run="", python=sys.executable))
    try:
        return judge_separate(task, parts, targets, sandbox, seed=secrets.randbits(48), fresh=Fresh.INTERFACE)
    finally:
        sandbox.close()


def _check_place() -> None:
    """Raises `UserError` outside the verifier's container, whose files get other permissions, and where candidates could not be kept apart."""
    here = Path(__file__).resolve()
    if not here.is_relative_to(TESTS_PLACE):
        raise UserError(
            f"{here}: is not below {TESTS_PLACE}: only the copy in an exported task judges, in the verifier's container, because it changes"
            " the permissions of all its files; grade an answer on this machine with pytest-recode preview TASK --answer DIR"
        )
    if os.geteuid() != 0:
        raise UserError(
            "the verifier must run as root, so that the answer's code can run as another user: keep [verifier] user at root"
        )
    if fault := problem():
        raise UserError(f"the answer's code cannot be kept apart from its judge: {fault}")
    if users(interpreter(sys.executable))[-1] is not None:
        raise UserError(
            f"{sys.executable} or a package of it cannot be read by every user, so the answer's code could run only with a capability of root"
            " that reads the tests as well: build the image with a Python that every user can read"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
