"""The judge: two sandboxes, and the switchboard between them.

The grader holds the hidden tests, the candidate the code under test. Frames from one to the other pass through here
unread, in pieces and within limits. Exactly one of the two holds the turn: whoever holds it when a limit passes is at
fault. `docs/oracle.md` tells how a verdict comes about.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.inside import wire
from pytest_recode.oracle.programs import CANDIDATE, GRADER
from pytest_recode.sandboxes import Connection, Sandbox
from pytest_recode.task import Files, Limits, Parts, Task, candidate_files
from pytest_recode.verdict import Case, Exc, Outcome, Verdict

START_SECONDS = 60.0  # for a sandbox to take its files, before any code of a candidate's runs
STEP_LIMIT = 64 << 20  # bytes of a message from the grader to the judge
GRACE_SECONDS = 5.0  # for the grader to say what it has to say


class Fresh(StrEnum):
    """How long one candidate lives at most; one that gave no answer is replaced after its case in any event."""

    CASE = "case"
    INTERFACE = "interface"
    GRADING = "grading"


def judge(
    task: Task,
    parts: Parts,
    targets: Files,
    sandbox: Sandbox,
    *,
    seed: int | None = None,
    fresh: Fresh = Fresh.INTERFACE,
) -> Verdict:
    """Run the hidden tests against `targets` laid over the pristine repository.

    `seed` repeats a verdict; by default it is a new secret. `fresh`: what the tests of one interface tell a candidate
    (the expected loss, say, as an argument) it cannot answer the tests of another with, as it starts anew between them.

    Raises `GraderError` where the tests give no verdict, `SandboxError` where a sandbox fails. Whatever the candidate
    does is a failed case.
    """
    return _Grading(task, parts, targets, sandbox, secrets.randbits(48) if seed is None else seed, fresh).run()


class _LostError(Exception):
    """The candidate gave no answer: `kind` as in `Case`, and the words for people."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


@dataclass(slots=True, kw_only=True)
class _Open:
    """The case that is running. Seconds are those each side has held the turn for."""

    id: str
    since: float
    candidate_seconds: float = 0.0
    heard: bool = False  # whether an answer of the candidate's reached the grader
    failure: tuple[str, str] | None = None

    def seconds(self) -> float:
        return time.monotonic() - self.since


@dataclass(slots=True, kw_only=True)
class _Progress:
    """What is known so far, over one or more graders."""

    interfaces: dict[str, str] = field(default_factory=dict)  # by case, in the order of collection
    cases: dict[str, Case] = field(default_factory=dict)
    open: _Open | None = None


class _Grading:
    def __init__(self, task: Task, parts: Parts, targets: Files, sandbox: Sandbox, seed: int, fresh: Fresh) -> None:
        self.task = task
        self.limits: Limits = task.limits
        self.sandbox = sandbox
        self.seed = seed
        self.fresh = fresh
        self.files = candidate_files(parts, targets, task.targets)
        self.tests = parts.tests
        self.reference = {**parts.repo, **parts.reference}
        # An answer is copied where it is compared: a quarter leaves room for that and for what is expected.
        self.answer_limit = (task.limits.memory_mb << 20) // 4
        self.progress = _Progress()
        self.start = time.monotonic()
        self.deadline = self.start + task.limits.grading_seconds
        self.candidate_seconds = 0.0
        self.interface = ""  # that the candidate is being asked about
        self.grader: Connection | None = None
        self.candidate: Connection | None = None

    def run(self) -> Verdict:
        """One grader as a rule; another for the cases that are left where one ended by what a candidate returned."""
        self._check_tests()
        try:
            while not self._grade():
                pass
        finally:
            self._end_candidate()
        progress = self.progress
        return Verdict(
            cases=tuple(progress.cases[case] for case in progress.interfaces),
            seed=self.seed,
            seconds=time.monotonic() - self.start,
            isolation=self.sandbox.isolation,
        )

    def _check_tests(self) -> None:
        if not self.tests:
            raise GraderError(f"{self._where()}: there are no hidden tests; write them as tests/test_*.py")

    def _where(self) -> str:
        return str(self.task.manifest.parent / "tests")

    # the grader

    def _grade(self) -> bool:
        """Run a grader to its end; whether every case has been judged then."""
        done = self.progress.cases
        only = [case for case in self.progress.interfaces if case not in done] if self.progress.interfaces else None
        grader = self.sandbox.launch(GRADER, self.task.environment, self.limits)
        self.grader = grader
        try:
            start = {
                "tests": dict(self.tests),
                "reference": self.reference,
                "roots": _roots(self.reference),
                "interfaces": list(self.task.interfaces),
                "seed": self.seed,
                "limit": self.answer_limit,
                "only": only,
                "place": "",
            }
            try:
                wire.send_message(grader, start, time.monotonic() + START_SECONDS)
            except (ConnectionError, TimeoutError):
                how = grader.kill()
                raise SandboxError(f"the grader's sandbox took no files{f': it {how}' if how else ''}") from None
            self._follow(grader)
            self._check_complete()
            return True
        except _GraderGoneError:
            return not (self.progress.interfaces.keys() - done.keys())
        finally:
            grader.kill()
            self.grader = None
            self._end_candidate()

    def _follow(self, grader: Connection) -> None:
        """Until it is done. Raises `_GraderGoneError` where it ended by the candidate's fault, its case closed."""
        while True:
            deadline = self._grader_deadline()
            fill = wire.connection_filler(grader, deadline)
            try:
                frame = wire.fill_prefix(fill, 1 << 40)
                if frame.kind == wire.TO_CANDIDATE:
                    self._exchange(grader, frame)
                    continue
                if frame.header + frame.body > STEP_LIMIT:
                    raise GraderError(f"{self._where()}: the grader reports more than {STEP_LIMIT >> 20} MiB")
                step = wire.fill_message(fill, frame)
            except TimeoutError:
                self._grader_gone(f"the test did not end within {self.limits.test_seconds:g} s", "timeout")
            except (EOFError, ConnectionError):
                how = grader.kill() or "closed its pipe"
                self._grader_gone(f"the grader {how}", "died")
            except wire.WireError as error:
                self._grader_gone(f"the grader sent no message ({error})", "died")
            else:
                if self._step(step):
                    return

    def _grader_deadline(self) -> float:
        case = self.progress.open
        if case is None:
            return self.deadline
        return min(self.deadline, case.since + case.candidate_seconds + self.limits.test_seconds)

    def _grader_gone(self, text: str, kind: str) -> NoReturn:
        """The grader is stuck or dead.

        After an answer of the candidate's came in, that answer is held to be the cause: the reference has passed this
        very test, and otherwise a candidate could turn its failures into errors by what it returns.
        """
        case = self.progress.open
        late = time.monotonic() >= self.deadline
        if late:
            text = f"the grading did not end within {self.limits.grading_seconds:g} s"
        if case is None or not case.heard:
            if late and self.candidate_seconds * 2 >= self.limits.grading_seconds:
                self._out_of_time()
            where = f"{self._where()}: {case.id}" if case else self._where()
            raise GraderError(f"{where}: {text}, and no answer of the candidate's was the cause")
        why = case.failure or (kind, f"{text}, after the candidate's answers came in")
        self._close(case, Outcome.FAILED, *why)
        if late:
            self._out_of_time()
        raise _GraderGoneError

    def _out_of_time(self) -> NoReturn:
        """The candidate used the grading's time up: what is left is not run."""
        for case in self.progress.interfaces:
            if case not in self.progress.cases:
                text = f"not run: the grading's {self.limits.grading_seconds:g} s were used up"
                self._close(_Open(id=case, since=time.monotonic()), Outcome.FAILED, "timeout", text)
        raise _GraderGoneError

    # what it reports

    def _step(self, step: Any) -> bool:
        op = step.get("op") if isinstance(step, dict) else None
        if op == "collected":
            self._collected(step["cases"])
        elif op == "started":
            self._started(step["id"])
        elif op == "finished":
            self._finished(step)
        elif op == "broken":
            raise GraderError(f"{self._where()}: {step['text']}")
        elif op == "done":
            return True
        else:
            raise GraderError(f"{self._where()}: the grader reports {op!r}, which is no step")
        return False

    def _collected(self, cases: list[dict[str, str]]) -> None:
        found = {case["id"]: case["interface"] for case in cases}
        if len(found) < len(cases):
            twice = next(case["id"] for n, case in enumerate(cases) if case in cases[:n])
            raise GraderError(f"{self._where()}: two cases have the id {twice}")
        if not found:
            raise GraderError(f"{self._where()}: no hidden test was found there; write them as test_*.py::test_*")
        if self.progress.interfaces and self.progress.interfaces != found:
            raise GraderError(f"{self._where()}: collected twice, the hidden tests are not the same cases")
        self.progress.interfaces = found

    def _started(self, case: str) -> None:
        if case not in self.progress.interfaces or case in self.progress.cases or self.progress.open:
            raise GraderError(f"{self._where()}: {case} was started out of turn")
        self.progress.open = _Open(id=case, since=time.monotonic())
        interface = self.progress.interfaces[case]
        if self.fresh is Fresh.CASE or (self.fresh is Fresh.INTERFACE and interface != self.interface):
            self._end_candidate()
        self.interface = interface

    def _finished(self, step: Mapping[str, Any]) -> None:
        case = self.progress.open
        if case is None or case.id != step["id"]:
            raise GraderError(f"{self._where()}: {step['id']} was finished out of turn")
        outcome = Outcome(step["outcome"])
        if outcome is Outcome.ERROR:
            raise GraderError(f"{self._where()}: {case.id} gives no verdict: {step['message']}")
        told = step["exception"]
        exception = Exc(type=told["type"], message=told["message"], frames=tuple(told["frames"])) if told else None
        if outcome is Outcome.PASSED and case.failure:  # what happened here outranks what the test made of it
            outcome, step = Outcome.FAILED, {"kind": case.failure[0], "message": case.failure[1]}
        self._close(case, outcome, step["kind"], step["message"], exception)
        if case.failure or step["kind"] == "protocol":
            self._end_candidate()

    def _close(self, case: _Open, outcome: Outcome, kind: str, text: str, exception: Exc | None = None) -> None:
        self.progress.open = None
        self.progress.cases[case.id] = Case(
            id=case.id,
            interface=self.progress.interfaces[case.id],
            outcome=outcome,
            kind=kind,
            message=text,
            exception=exception,
            seconds=case.seconds(),
        )

    def _check_complete(self) -> None:
        missing = [case for case in self.progress.interfaces if case not in self.progress.cases]
        if not self.progress.interfaces or missing:
            left = f": {', '.join(missing[:5])} never ran" if missing else ": nothing was collected"
            raise GraderError(f"{self._where()}: the grader ended before its time{left}")

    # the candidate

    def _exchange(self, grader: Connection, frame: wire.Frame) -> None:
        """Pass one request on, and the answer back."""
        case = self.progress.open
        if case is None:
            raise GraderError(
                f"{self._where()}: the candidate is asked outside of a test; use it in tests and fixtures"
            )
        left = frame.header + frame.body
        candidate = self.candidate
        try:
            if case.failure:
                raise _LostError(*case.failure)
            if candidate is None:
                launching = time.monotonic()
                candidate = self.candidate = self._launch_candidate()
                case.since += time.monotonic() - launching  # nobody's time
            began = time.monotonic()
            deadline = min(self.deadline, began + self.limits.test_seconds - case.candidate_seconds)
            try:
                prefix = wire.PREFIX.pack(wire.MAGIC, *frame)
                while left or prefix:
                    data = self._from_grader(grader, left)
                    left -= len(data)
                    self._to_candidate(candidate, prefix + data, deadline)
                    prefix = b""
                answer = self._answer(candidate, frame.sequence, deadline)
                case.heard = True
                self._pass_on(grader, candidate, answer, deadline)
            finally:
                spent = time.monotonic() - began
                case.candidate_seconds += spent
                self.candidate_seconds += spent
        except _LostError as lost:
            case.failure = (lost.kind, lost.text)
            self._drain(grader, left)
            case.heard = True
            wire.send_message(
                grader, {"kind": lost.kind, "text": lost.text}, time.monotonic() + GRACE_SECONDS, kind=wire.LOST
            )

    def _launch_candidate(self) -> Connection:
        candidate = self.sandbox.launch(CANDIDATE, self.task.environment, self.limits)
        try:
            deadline = time.monotonic() + START_SECONDS
            start = {
                "files": self.files,
                "roots": _roots(self.files),
                "entropy": _candidate_entropy(self.seed),
                "limit": 1 << 40,
                "place": "",
            }
            wire.send_message(candidate, start, deadline)
            # No code of the candidate's has run: what goes wrong here is the sandbox's fault.
            wire.receive_message(candidate, STEP_LIMIT, deadline)
        except (ConnectionError, EOFError, TimeoutError, wire.WireError) as error:
            how = candidate.kill()
            raise SandboxError(f"the candidate's sandbox took no files: {how or error}") from None
        return candidate

    def _to_candidate(self, candidate: Connection, data: bytes, deadline: float) -> None:
        try:
            candidate.send(data, deadline)
        except TimeoutError:
            raise self._too_slow() from None
        except ConnectionError:
            raise self._ended(candidate) from None

    def _answer(self, candidate: Connection, sequence: bytes, deadline: float) -> wire.Frame:
        try:
            frame = wire.fill_prefix(wire.connection_filler(candidate, deadline), self.answer_limit)
        except TimeoutError:
            raise self._too_slow() from None
        except EOFError:
            raise self._ended(candidate) from None
        except wire.WireError as error:
            raise _LostError("protocol", f"the candidate sent garbage instead of an answer: {error}") from None
        if frame.kind != wire.FROM_CANDIDATE or frame.sequence != sequence:
            raise _LostError("protocol", "the candidate sent garbage instead of an answer: a frame out of turn")
        return frame

    def _pass_on(self, grader: Connection, candidate: Connection, frame: wire.Frame, deadline: float) -> None:
        """The answer, in pieces, so that the grader can be told in between that no more comes."""
        left = frame.header + frame.body
        data = wire.PREFIX.pack(wire.MAGIC, *frame)
        while True:
            while left and len(data) < wire.CHUNK:
                try:
                    more = candidate.receive(min(left, wire.CHUNK), deadline)
                except TimeoutError:
                    raise self._too_slow() from None
                if not more:
                    raise self._ended(candidate)
                left -= len(more)
                data = data + more if data else more
                if left:
                    break
            kind = wire.PART if left else wire.LAST
            head = wire.PREFIX.pack(wire.MAGIC, kind, wire.NO_SEQUENCE, 0, len(data))
            limit = time.monotonic() + self.limits.test_seconds + GRACE_SECONDS
            if len(data) < 1 << 16:
                grader.send(head + data, limit)
            else:
                grader.send(head, limit)
                grader.send(data, limit)
            if not left:
                return
            data = b""

    def _from_grader(self, grader: Connection, left: int) -> bytes:
        if not left:
            return b""
        data = grader.receive(min(left, wire.CHUNK), self.deadline)
        if not data:
            raise EOFError("the grader is gone")
        return data

    def _drain(self, grader: Connection, left: int) -> None:
        """The rest of a request that nobody takes any more."""
        while left:
            left -= len(self._from_grader(grader, left))

    def _too_slow(self) -> _LostError:
        if time.monotonic() >= self.deadline:
            seconds = f"the grading's {self.limits.grading_seconds:g} s"
        else:
            seconds = f"{self.limits.test_seconds:g} s"
        return _LostError("timeout", f"the candidate did not answer within {seconds}")

    def _ended(self, candidate: Connection) -> _LostError:
        how = candidate.kill()
        if not how:
            return _LostError("died", "the candidate closed its pipe in the middle of a call")
        if how.startswith("out of memory"):
            return _LostError("died", f"the candidate was killed: {how}")
        return _LostError(
            "died", f"the candidate {'was ' if how.startswith('killed') else ''}{how} in the middle of a call"
        )

    def _end_candidate(self) -> None:
        if self.candidate is not None:
            self.candidate.kill()
            self.candidate = None


class _GraderGoneError(Exception):
    """This grader is done for; the cases it leaves are another's."""


def _roots(files: Files) -> list[str]:
    """Where a repository's modules are imported from: its root, or also `src` where that is no package itself."""
    has_src = any(path.startswith("src/") for path in files) and "src/__init__.py" not in files
    return [".", "src"] if has_src else ["."]


def _candidate_entropy(seed: int) -> int:
    """For the candidate's global random generators: repeats with the seed and tells nothing of it."""
    return int.from_bytes(hashlib.sha256(f"candidate\n{seed}".encode()).digest()[:16], "big")
