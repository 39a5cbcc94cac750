"""Judging by a task's own verifier: a script that looks at the candidate's files in a fresh sandbox and writes a reward.

Runs on the host; `inside/workspace/script_runner.py` is the other end. The script may import the candidate, or start it as the same user, so
it can be fooled by it: verdicts say `isolation: verifier`. What a candidate cannot do is prepare the sandbox beyond its files, reach
another grading, or read the hidden tests before it is judged.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.harbor_layout import REWARD
from pytest_recode.inside.wire import frames
from pytest_recode.inside.workspace.image_files import UNPACK_SECONDS
from pytest_recode.oracle import reward_files
from pytest_recode.oracle.switchboard import launch, not_if_stopped_since
from pytest_recode.sandboxes import Sandbox
from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import (
    REMOVED,
    Environment,
    Files,
    Limits,
    Parts,
    Task,
    TaskStep,
    Verifier,
    covers,
    removed_files,
)
from pytest_recode.verdict import Case, Outcome, Verdict, legible

ISOLATION, SHARED = "verifier", "verifier-shared"
"""What verdicts say: judged in a sandbox of the script's own, or in the agent's."""
_TASK_SCRIPT = program("task-script", "workspace.script_runner", persistent=True)
_LOGS = "/logs"
_SHELL = ("/bin/sh", "-c", 'exec "$0"')
_ANSWER_LIMIT = 64 << 20
_MARGIN = 60.0  # for the files on their way
_MOST_SHOWN = 2000

Script = Mapping[str, Any]
"""A script of a task, as `inside/workspace/task_scripts.py` runs it."""


class _ScriptRefused(Exception):
    """The script could not be started, or an answer not be put there."""


def judge_verifier(task: Task, parts: Parts, targets: Files, sandbox: Sandbox, *, seed: int) -> Verdict:
    """Run the task's verifier over `targets`, in a sandbox with the image's own files and nothing else of the agent's.

    Raises `GraderError` if the verifier ends by itself without a reward that counts, `SandboxError` where the sandbox fails. A verifier that
    exceeds its time limit, or that is ended by a signal, is a failed case: its own code does neither over the files that the reference left.
    """
    verifier = verifier_of(task)
    done = _run(
        sandbox,
        verifier.environment or task.environment,
        replace(task.limits, memory_mb=verifier.memory_mb or task.limits.memory_mb),
        [verifying(task, parts)],
        files={path: data for path, data in targets.items() if path != REMOVED and covers(task.targets, path)},
        removed=[path for path in removed_files(targets) if covers(task.targets, path)],
        targets=[],
    )
    return verdict_of(task, done["done"][-1], seed)


def solved_files(task: Task, parts: Parts, sandbox: Sandbox, over: Files = MappingProxyType({})) -> Files:
    """The targets that the task's solution leaves, which is run in a sandbox as an agent has it, `over` an earlier answer.

    Raises `GraderError` if it cannot be run or exceeds the time limit of an episode.
    """
    return files_after(task, [solving(task, parts)], sandbox, over)


def files_after(task: Task, scripts: Sequence[Script], sandbox: Sandbox, over: Files) -> Files:
    """The targets after these scripts, which must be ready in time, where an agent has the answer `over`. Raises `GraderError`."""
    files = {path: data for path, data in over.items() if path != REMOVED}
    done = _run(
        sandbox,
        task.environment,
        task.limits,
        scripts,
        files=files,
        removed=list(removed_files(over)),
        targets=list(task.targets),
    )
    for script, ran in zip(scripts, done["done"], strict=True):
        check_ended(task, script, ran)
    files = dict(done["answer"]["files"])
    if removed := done["answer"]["removed"]:
        files[REMOVED] = "\n".join(removed).encode("utf-8", "surrogateescape")
    return files


def check_ended(task: Task, script: Script, ran: Mapping[str, Any]) -> None:
    """Raise `GraderError` for a script that prepares an answer and was not ready in time, or failed to prepare a step."""
    ended, what = ran["ended"], f"{script['argv'][-1]} of {task.id}"
    if ended["timed_out"]:
        raise GraderError(f"{what} did not end within {script['seconds']:g} s{output_of(ended)}")
    if "." in script["put"] and ended["status"]:
        raise GraderError(f"{what} ended with status {ended['status']}, so the step cannot begin{output_of(ended)}")


def judged_in_one(task: Task, scripts: Sequence[Script], sandbox: Sandbox) -> Sequence[Mapping[str, Any]]:
    """How scripts ended that run one after the other in one sandbox, as in an agent's own. Raises `GraderError`."""
    done: Sequence[Mapping[str, Any]] = _run(
        sandbox, task.environment, task.limits, scripts, files={}, removed=[], targets=[]
    )["done"]
    for script, ran in zip(scripts, done, strict=True):
        if not script["logs"]:
            check_ended(task, script, ran)
    return done


def can_share(task: Task) -> bool:
    """Whether the task's verifier may run in the agent's sandbox: it does not ask for one of its own."""
    return not verifier_of(task).separate


def places(task: Task) -> tuple[str, ...]:
    """The directories that scripts of the task need beside the workspace, where they run in the agent's sandbox."""
    verifier = verifier_of(task)
    return (verifier.tests, verifier.solution, _LOGS)


def verifying(task: Task, parts: Parts) -> Script:
    """The script that judges."""
    verifier = verifier_of(task)
    return {
        "put": {verifier.tests: dict(parts.tests)} if verifier.uploads else {},
        "directories": [verifier.logs],
        "argv": [*_SHELL, f"{verifier.tests}/{verifier.script}"],
        "cwd": verifier.cwd,
        "env": dict(verifier.variables),
        "seconds": task.limits.test_seconds,
        "logs": verifier.logs,
    }


def preparing(task: Task, step: TaskStep) -> Script:
    """The script that prepares the workspace for a step, with the step's files."""
    shell, name = ('exec bash "$0"', step.setup) if step.setup else (":", step.name)
    return {
        "put": {".": dict(step.files())},
        "directories": [],
        "argv": ["/bin/sh", "-c", shell, name],
        "cwd": "",
        "env": {},
        "seconds": task.limits.command_seconds,
        "logs": "",
    }


def solving(task: Task, parts: Parts) -> Script:
    """The script that makes the authors' answer. Raises `GraderError` if there is none."""
    verifier = verifier_of(task)
    if verifier.solve not in parts.reference:
        raise GraderError(f"{task.id} has no {verifier.solve}, so nothing shows that it can be solved")
    return {
        "put": {verifier.solution: dict(parts.reference)},
        "directories": [verifier.logs],
        "argv": [*_SHELL, f"{verifier.solution}/{verifier.solve}"],
        "cwd": "",
        "env": dict(verifier.solve_variables),
        "seconds": task.limits.episode_seconds,
        "logs": "",
    }


def check_verifier(task: Task, sandbox: Sandbox) -> None:
    """Check that a sandbox for the verifier can be started, before an agent works on the task. Raises as `judge_verifier` does."""
    for verifier in [step.verifier for step in task.oracle.steps] or [verifier_of(task)]:
        if verifier.environment is not None:
            sandbox.ready(verifier.environment)
            image_files(verifier.environment, task.limits, sandbox)


def with_image_files(task: Task, parts: Parts, sandbox: Sandbox) -> Parts:
    """`parts` with the texts that the image has in its working directory as the repository; unchanged for other tasks.

    Files that are large are not among them: an agent finds them in its workspace. Builds or pulls the image if necessary.
    """
    if not task.environment.workdir:
        return parts
    return replace(parts, repo=image_files(task.environment, task.limits, sandbox))


_known: dict[tuple[str, str, Environment], Files] = {}
"""The files of each image that this process has asked for, by host, sandbox and environment."""


def image_files(environment: Environment, limits: Limits, sandbox: Sandbox) -> Files:
    key = (sandbox.host, sandbox.name, environment)
    if key not in _known:
        sandbox.ready(environment)
        answer = _exchange(sandbox, environment, limits, (), {"op": "files"}, 0.0)
        _known[key] = {path: data for path, data in answer["files"].items() if type(data) is bytes}
    return _known[key]


def verifier_of(task: Task) -> Verifier:
    if task.oracle.verifier is None:
        raise GraderError(
            f"task {task.id} of the format {task.format!r} is judged by a verifier, and has none: its format must give it one"
        )
    return task.oracle.verifier


def _run(
    sandbox: Sandbox, environment: Environment, limits: Limits, scripts: Sequence[Script], **answer: Any
) -> Mapping[str, Any]:
    """Run scripts over an answer in a sandbox that has, beside its workspace, the directories of the scripts."""
    start = time.monotonic()
    seconds = sum(script["seconds"] for script in scripts)
    beside = {_LOGS: None, **{place: None for script in scripts for place in script["put"] if place.startswith("/")}}
    try:
        done = _exchange(
            sandbox, environment, limits, tuple(beside), {"op": "run", "scripts": list(scripts), **answer}, seconds
        )
    except _ScriptRefused as refused:
        raise refusal(scripts[-1], refused) from None
    if any(ran["ended"]["timed_out"] for ran in done["done"]):
        not_if_stopped_since(start)
    return done


def refusal(script: Script, why: object) -> GraderError:
    return GraderError(f"{script['argv'][-1]} cannot be run: {why}")


def _exchange(
    sandbox: Sandbox,
    environment: Environment,
    limits: Limits,
    places: tuple[str, ...],
    request: Mapping[str, Any],
    seconds: float,
) -> Mapping[str, Any]:
    """One request to a program of its own. Raises `_ScriptRefused` and `SandboxError`."""
    connection = launch(sandbox, replace(_TASK_SCRIPT, places=places), replace(environment, preload=()), limits)
    deadline = time.monotonic() + seconds + UNPACK_SECONDS + _MARGIN
    try:
        frames.send_message(connection, {**request, "outside": list(environment.outside)}, deadline)
        answer = frames.receive_message(connection, _ANSWER_LIMIT, deadline)
    except (ConnectionError, EOFError, TimeoutError, frames.WireError) as error:
        raise SandboxError(f"the sandbox of a task's script did not answer: {connection.kill() or error}") from None
    finally:
        connection.kill()
    if isinstance(refused := answer.get("refused"), str):
        raise _ScriptRefused(legible(refused))
    value = answer.get("ok")
    if not isinstance(value, dict):
        raise SandboxError("the sandbox of a task's script gave an answer of an unknown kind")
    return value


def verdict_of(task: Task, ran: Mapping[str, Any], seed: int) -> Verdict:
    """The verdict of the task's verifier, from how it ended and what it left. Raises `GraderError`."""
    verifier, ended, logs = verifier_of(task), ran["ended"], ran["logs"]
    output = output_of(ended)
    seconds = float(ended["seconds"])
    if ended["timed_out"]:
        text = f"{verifier.script} did not end within {task.limits.test_seconds:g} s{output}"
        return _of_cases([_case(False, "timeout", text, seconds)], seed, seconds)
    try:
        values = reward_files.rewards_of(logs)
    except reward_files.NoRewardError as error:
        if ended["killed"] or ended["status"] < 0:
            how = ended["killed"] or f"a signal ({-ended['status']})"
            return _of_cases(
                [_case(False, "died", f"{verifier.script} was ended by {how}{output}", seconds)], seed, seconds
            )
        raise GraderError(
            f"{verifier.script} of {task.id} {error}, and ended with status {ended['status']}: no verdict{output}"
        ) from None
    solved = reward_files.reaches(values, verifier.threshold)
    named = reward_files.cases_of(logs)
    cases = [_of_named(case) for case in named if case.passed or not solved]
    if all(case.passed for case in named) != solved or not named:
        cases.append(_case(solved, "", f"{_listed(values)}; {verifier.threshold:g} solves the task{output}", seconds))
    return replace(
        _of_cases(cases, seed, seconds),
        scores=values,
        tampering=tuple(filter(None, [reward_files.contradiction(logs)])),
    )


def _of_cases(cases: Sequence[Case], seed: int, seconds: float) -> Verdict:
    return Verdict(cases=tuple(cases), seed=seed, seconds=seconds, isolation=ISOLATION)


def _of_named(case: reward_files.NamedCase) -> Case:
    outcome = Outcome.PASSED if case.passed else Outcome.FAILED
    return Case(id=case.name, interface=case.name, outcome=outcome, message=case.message)


def _case(passed: bool, kind: str, message: str, seconds: float) -> Case:
    outcome = Outcome.PASSED if passed else Outcome.FAILED
    return Case(
        id=REWARD,
        interface=REWARD,
        outcome=outcome,
        kind=kind,
        message=message,
        seconds=seconds,
    )


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in values.items())


def output_of(ended: Mapping[str, Any]) -> str:
    """The last lines of a script's output, for the end of a message about it."""
    text = legible(ended["output"].decode("utf-8", "replace")).strip()
    return f"\n{text[-_MOST_SHOWN:]}" if text else ""
