"""The messages that graders and the host exchange about cases: one definition for both ends.

Used in the graders' processes, which write steps, and on the host, which reads them. Runs in the host and in the
graders. Must not trust a step that it reads: in a shared judge the candidate can write to the same pipe, so
`grader_step` and `judge_step` check every field and raise `MessageError` for anything else.

A message is a plain dict on the wire (`codec.py`); the classes here are its types. `op` says which message it is.
Requests and answers between grader and candidate are not defined here (`separate_grader/candidate_link.py`).

Stdlib and the codec, Python 3.9+.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, Optional, TypedDict, Union, cast

from . import codec

# What a case results in


class ExceptionReport(TypedDict):
    """An exception of the candidate's. `frames`: the candidate's own, outermost first, "file.py:12 in name: line"."""

    type: str
    message: str
    frames: Union[list[str], tuple[str, ...]]


class FailureReport(TypedDict):
    """Why a case failed: `kind` as in `verdict.Case`, the text for people, and the exception, if there was one."""

    kind: str
    message: str
    exception: Optional[ExceptionReport]


class CaseOutcome(FailureReport):
    """The result of one case. `outcome`: "passed", "failed" or "error"; `junit` as in `verdict.Case`."""

    outcome: str
    junit: str


PASSED: CaseOutcome = {"outcome": "passed", "kind": "", "message": "", "exception": None, "junit": "passed"}


# Steps: from a grader to the host


class CollectedCase(TypedDict):
    id: str
    interface: str


class Collected(TypedDict):
    """Separate judging: the cases, in the order in which they will run. `versions`: of Python and loaded libraries."""

    op: Literal["collected"]
    cases: list[CollectedCase]
    versions: dict[str, str]


Party = Literal["reference", "candidate"]
PARTIES: tuple[Party, ...] = ("reference", "candidate")
"""In the order in which passes are tried with shifted values of theirs."""


class Learned(TypedDict):
    """Shared judging: the interface of each case that the reference passes; `problem` says why it does not pass, or "".

    `sensitive`: the cases that right code fails if what this party returns to the tests is shifted
    (`shared_grader/perturbed.py`).
    """

    op: Literal["collected"]
    cases: dict[str, str]
    sensitive: dict[Party, list[str]]
    problem: str
    versions: dict[str, str]


class Started(TypedDict):
    op: Literal["started"]
    id: str


class Finished(CaseOutcome):
    op: Literal["finished"]
    id: str


class FinishedUsing(Finished):
    """As the separate grader sends it. `uses`: the interfaces that the test asked the candidate for; `scores`: what it measured, by name."""

    uses: list[str]
    scores: dict[str, float]


class FinishedOfInterface(Finished, total=False):
    """As the pytest runners of shared judging send it."""

    interface: str


class Broken(TypedDict):
    """The tests cannot give a verdict. `lacking`: the module that an import did not find, or ""; `python`: the interpreter."""

    op: Literal["broken"]
    text: str
    lacking: str
    python: str


class Ended(FailureReport):
    """Shared judging: why the cases that were not reported never ran."""

    op: Literal["ended"]


class Flag(TypedDict):
    """Shared judging: one finding of tampering."""

    op: Literal["flag"]
    text: str


class Done(TypedDict):
    op: Literal["done"]


class Ready(TypedDict):
    """Separate judging: a rehearsal found nothing wrong."""

    op: Literal["ready"]


GraderStep = Union[Collected, Started, FinishedUsing, Broken, Done, Ready]
"""What the separate grader sends."""
JudgeStep = Union[Started, FinishedOfInterface, Ended, Flag, Done]
"""What the shared judge sends after `Learned`, each with the token of its grading."""

DONE: Done = {"op": "done"}
READY: Ready = {"op": "ready"}


def started(case: str) -> Started:
    return {"op": "started", "id": case}


def finished(case: str, outcome: CaseOutcome) -> Finished:
    return cast(Finished, {"op": "finished", "id": case, **outcome})


def finished_using(case: str, outcome: CaseOutcome, uses: list[str], scores: Mapping[str, float]) -> FinishedUsing:
    return cast(FinishedUsing, {"op": "finished", "id": case, **outcome, "uses": uses, "scores": dict(scores)})


def finished_of(case: str, interface: str, outcome: CaseOutcome) -> FinishedOfInterface:
    return cast(FinishedOfInterface, {"op": "finished", "id": case, "interface": interface, **outcome})


def ended(failure: FailureReport) -> Ended:
    return cast(Ended, {"op": "ended", **failure})


def with_token(step: Mapping[str, Any], token: str) -> dict[str, Any]:
    return {**step, "token": token}


# Orders: from the host to a program


class GraderRun(TypedDict):
    """One run of cases for one answer. `only`: their ids, in the order to run them, or None for all.

    `stop_at_failure`: after the first failed case, only those of `still_run` run. `shifted`: the cases of which one expected value is
    shifted (`separate_grader/shifted_expectation.py`).
    """

    only: Optional[list[str]]
    stop_at_failure: bool
    still_run: list[str]
    shifted: list[str]


class GraderStart(TypedDict):
    """To the separate grader, which collects the tests. A `GraderRun` follows; with `several`, further ones may.

    `block`: the number of the cases that it may run, whose modules draw other random numbers than those of any other
    block. `limit`: bytes of one answer.
    """

    tests: Mapping[str, bytes]
    reference: Mapping[str, bytes]
    roots: list[str]
    interfaces: list[str]
    seed: int
    block: int
    limit: int
    rehearsal: bool
    several: bool


class CandidateStart(TypedDict):
    """To the candidate's process. `entropy` seeds the global random generators; `limit`: bytes of one request."""

    files: Mapping[str, bytes]
    roots: list[str]
    entropy: int
    limit: int


class JudgeStart(TypedDict):
    """To the shared judge: the candidate's files, and the paths of all targets (`names`). `only` as above.

    `perturbed`: the party that returns shifted values to the tests, if any.
    """

    token: str
    targets: Mapping[str, bytes]
    names: list[str]
    seed: int
    only: Optional[list[str]]
    perturbed: Optional[Party]


class NoAnswer(TypedDict):
    """To the separate grader, in place of an answer of the candidate's: `kind` as in `verdict.Case`."""

    kind: str
    text: str


# Reading steps


class MessageError(codec.WireError):
    """A message that is none of those that may be sent here."""


_Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return type(value) is str  # not `isinstance`: a numpy string derives from str


def _is_outcome(value: Any) -> bool:
    return _is_text(value) and value in ("passed", "failed", "error")


def _is_exception(value: Any) -> bool:
    if value is None:
        return True
    return _has(value, {"type": _is_text, "message": _is_text, "frames": _is_frames})


def _is_frames(value: Any) -> bool:
    return type(value) in (list, tuple) and all(map(_is_text, value))


def _is_text_list(value: Any) -> bool:
    return type(value) is list and all(map(_is_text, value))


def _is_case_list(value: Any) -> bool:
    return type(value) is list and all(_has(case, {"id": _is_text, "interface": _is_text}) for case in value)


def _is_text_table(value: Any) -> bool:
    return type(value) is dict and all(_is_text(key) and _is_text(text) for key, text in value.items())


def _is_score_table(value: Any) -> bool:
    return type(value) is dict and all(
        _is_text(key) and type(score) is float and math.isfinite(score) for key, score in value.items()
    )


def _is_sensitive(value: Any) -> bool:
    return type(value) is dict and all(key in PARTIES and _is_text_list(cases) for key, cases in value.items())


def _has(value: Any, fields: Mapping[str, _Check]) -> bool:
    return type(value) is dict and all(name in value and check(value[name]) for name, check in fields.items())


_FAILURE: dict[str, _Check] = {"kind": _is_text, "message": _is_text, "exception": _is_exception}
_STARTED: dict[str, _Check] = {"id": _is_text}
_FINISHED: dict[str, _Check] = {"id": _is_text, "outcome": _is_outcome, **_FAILURE, "junit": _is_text}
_GRADER_STEPS: dict[str, dict[str, _Check]] = {
    "collected": {"cases": _is_case_list, "versions": _is_text_table},
    "started": _STARTED,
    "finished": {**_FINISHED, "uses": _is_text_list, "scores": _is_score_table},
    "broken": {"text": _is_text, "lacking": _is_text, "python": _is_text},
    "done": {},
    "ready": {},
}
_LEARNED: dict[str, _Check] = {
    "cases": _is_text_table,
    "sensitive": _is_sensitive,
    "problem": _is_text,
    "versions": _is_text_table,
}
_JUDGE_STEPS: dict[str, dict[str, _Check]] = {
    "started": _STARTED,
    "finished": _FINISHED,
    "ended": _FAILURE,
    "flag": {"text": _is_text},
    "done": {},
}


def grader_step(message: Any) -> GraderStep:
    """A step of the separate grader. Raises `MessageError` where `message` is none."""
    return cast(GraderStep, _checked(message, _GRADER_STEPS))


def judge_step(message: Any) -> JudgeStep:
    """A step of the shared judge. Raises `MessageError` where `message` is none; the token is the caller's to check."""
    return cast(JudgeStep, _checked(message, _JUDGE_STEPS))


def learned(message: Any) -> Learned:
    """The first step of the shared judge, before candidate code runs. Raises `MessageError` where `message` is none."""
    return cast(Learned, _checked(message, {"collected": _LEARNED}))


def _checked(message: Any, steps: Mapping[str, Mapping[str, _Check]]) -> dict[str, Any]:
    op = message.get("op") if type(message) is dict else None
    if type(op) is not str or op not in steps:
        shown = repr(op[:100]) if type(op) is str else f"a value of type {type(op).__name__}"
        raise MessageError(f"{shown} is no step; the steps are {', '.join(steps)}")
    for name, check in steps[op].items():
        if name not in message or not check(message[name]):
            raise MessageError(f"the step {op!r} has no valid {name!r}")
    return cast("dict[str, Any]", message)
