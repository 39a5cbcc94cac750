"""Connects grader and candidate: forwards requests and answers unread, in pieces and within limits.

Runs on the host. Where the candidate is silent, sends garbage or ends, the grader gets a message that says so in place
of the answer.
"""

from __future__ import annotations

import errno
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pytest_recode.faults import MACHINE_STEPS, MachineError, SandboxError
from pytest_recode.inside.runtime.linux_isolation import FROM_OUTSIDE
from pytest_recode.inside.runtime.monitor import ON_FULL_DISK
from pytest_recode.inside.wire import frames, messages
from pytest_recode.oracle.patience import Patience
from pytest_recode.oracle.programs import CANDIDATE, import_roots
from pytest_recode.sandboxes import Connection, Program, Sandbox, waiting
from pytest_recode.sandboxes.local_connection import WITH_PARENT
from pytest_recode.task import Environment, Files, Limits

START_SECONDS = 60.0  # for a sandbox to read its files, before candidate code runs
_READY_LIMIT = 1 << 16  # bytes
_GRACE_SECONDS = 5.0  # for the grader to read what it waits for
_SMALL = 1 << 16  # bytes below which a piece is sent together with its prefix


class NoAnswerError(Exception):
    """The candidate gave no answer: `kind` as in `Case`, and the reason for people."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


@dataclass(slots=True, kw_only=True)
class OpenCase:
    """The case that is running. `candidate_seconds`: how long the candidate has held the turn in it."""

    id: str
    since: float
    candidate_seconds: float = 0.0
    answered: bool = (
        False  # whether an answer of the candidate's, or the message that there is none, reached the grader
    )
    no_answer: NoAnswerError | None = None


class Switchboard:
    """Launches candidate processes as they are needed, one at a time.

    A candidate gets no request until every earlier one of this grading has ended with all that it started: a live one
    could pass on what it has seen, by locks on files that both can open. The next sandbox may start before that,
    because no candidate code runs in it until the first request.
    """

    def __init__(
        self, sandbox: Sandbox, environment: Environment, limits: Limits, files: Files, entropy: int, deadline: float
    ) -> None:
        self.sandbox = sandbox
        self.environment = environment
        self.limits = limits
        self.files = files
        self.entropy = entropy
        self.deadline = deadline  # of the whole grading
        self.began = time.monotonic()
        # Comparing an answer copies it: a quarter leaves room for the copy and for the expected value.
        self.answer_limit = (limits.memory_mb << 20) // 4
        self.candidate: Patience | None = None
        self.another = False  # whether one more candidate will be needed: it is started in advance
        self.case: OpenCase | None = None  # whose request is answered
        self._next: Future[Connection] | None = None
        self._executor = ThreadPoolExecutor(thread_name_prefix="recode-candidates")
        self._endings: list[Future[str]] = []

    def exchange(self, grader: Connection, request: frames.Frame, case: OpenCase) -> None:
        """Forward one request, whose prefix has been read, and then the answer, or the reason why there is none.

        Raises `EOFError`, `ConnectionError` or `TimeoutError` where the grader fails.
        """
        left = request.header + request.body
        try:
            if case.no_answer is not None:
                raise case.no_answer
            if self.candidate is None:
                launching = time.monotonic()
                self._wait_ended()
                self.candidate = Patience(
                    self._next_candidate(), "candidate", self.limits, self._credit, self._credit_grading
                )
                launching = time.monotonic() - launching
                case.since += launching  # the time of a launch is not counted
                self.deadline += launching
            self.case = case
            self.candidate.begin(case.id)
            began = time.monotonic()
            deadline = min(self.deadline, began + self.limits.test_seconds - case.candidate_seconds)
            try:
                data = frames.PREFIX.pack(frames.MAGIC, *request)
                while left or data:
                    more = self._from_grader(grader, left)
                    left -= len(more)
                    self._to_candidate(self.candidate, data + more, deadline)
                    data = b""
                answer = self._answer_prefix(self.candidate, request.sequence, deadline)
                case.answered = True
                self._forward_answer(grader, self.candidate, answer, deadline)
            finally:
                case.candidate_seconds += time.monotonic() - began
        except NoAnswerError as reason:
            case.no_answer, case.answered = reason, True
            while left:  # the rest of a request that no candidate reads any more
                left -= len(self._from_grader(grader, left))
            message: messages.NoAnswer = {"kind": reason.kind, "text": reason.text}
            frames.send_message(grader, message, time.monotonic() + _GRACE_SECONDS, kind=frames.LOST)

    def _credit(self, seconds: float) -> None:
        """The candidate had to wait for other programs: no limit counts that."""
        self.put_off(self.case, seconds)
        if self.case is not None:
            self.case.candidate_seconds -= seconds

    def _credit_grading(self, seconds: float) -> None:
        self.put_off(None, seconds)

    def put_off(self, case: OpenCase | None, seconds: float) -> None:
        self.deadline += seconds
        if case is not None:
            case.since += seconds

    def end(self) -> None:
        """End the candidate, if there is one, in the background. The next request waits for that and launches another."""
        if self.candidate is not None:
            self.candidate.settle()
            self._endings.append(self._executor.submit(_kill, self.candidate))
            self.candidate = None

    def _wait_ended(self) -> None:
        """Wait until no earlier candidate runs. Raises `SandboxError` where one could not be ended."""
        while self._endings:
            self._endings[-1].result()
            self._endings.pop()

    def close(self) -> None:
        """End all candidates and wait for it. Raises what ending one raised."""
        self.end()
        self._executor.shutdown()
        if self._next is not None and self._next.exception() is None:  # an unused one may have failed to start
            self._next.result().kill()
        self._next = None
        self._wait_ended()

    def _next_candidate(self) -> Connection:
        # If this is interrupted, `close` still finds the one that was started in advance.
        candidate = self._launch() if self._next is None else self._next.result()
        if self._next is not None and _has_ended(
            candidate
        ):  # it ended while it waited; no candidate code has run in it
            candidate.kill()
            candidate = self._launch()
        self._next = self._executor.submit(self._launch) if self.another else None
        return candidate

    def _launch(self) -> Connection:
        candidate = launch(self.sandbox, CANDIDATE, self.environment, self.limits)
        start: messages.CandidateStart = {
            "files": dict(self.files),
            "roots": import_roots(self.files),
            "entropy": self.entropy,
            "limit": 1 << 40,
        }
        try:
            deadline = time.monotonic() + START_SECONDS
            frames.send_message(candidate, start, deadline)
            # No candidate code has run yet: a failure here is the sandbox's fault.
            frames.receive_message(candidate, _READY_LIMIT, deadline)
        except (ConnectionError, EOFError, TimeoutError, frames.WireError) as error:
            how = candidate.kill()
            not_if_disk_was_full("candidate's process", how)
            raise SandboxError(f"the candidate's process did not read its files: {how or error}") from None
        except BaseException:
            candidate.kill()
            raise
        return candidate

    def _from_grader(self, grader: Connection, left: int) -> bytes:
        if not left:
            return b""
        data = grader.receive(min(left, frames.CHUNK), self.deadline)
        if not data:
            raise EOFError("the grader has ended")
        return data

    def _to_candidate(self, candidate: Patience, data: bytes, deadline: float) -> None:
        try:
            candidate.send(data, deadline)
        except TimeoutError:
            raise self._too_slow() from None
        except ConnectionError:
            raise self._ended(candidate) from None

    def _answer_prefix(self, candidate: Patience, sequence: bytes, deadline: float) -> frames.Frame:
        try:
            frame = frames.fill_prefix(frames.connection_filler(candidate, deadline), self.answer_limit)
        except TimeoutError:
            raise self._too_slow() from None
        except EOFError:
            raise self._ended(candidate) from None
        except frames.WireError as error:
            raise NoAnswerError("protocol", f"the candidate sent garbage instead of an answer: {error}") from None
        if frame.kind != frames.FROM_CANDIDATE or frame.sequence != sequence:
            raise NoAnswerError("protocol", "the candidate sent garbage instead of an answer: a frame out of order")
        return frame

    def _forward_answer(self, grader: Connection, candidate: Patience, answer: frames.Frame, deadline: float) -> None:
        """Forward an answer in pieces, so that the grader can learn in between that the rest will not come."""
        left = answer.header + answer.body
        data = frames.PREFIX.pack(frames.MAGIC, *answer)
        while True:
            if left:
                try:
                    more = candidate.receive(min(left, frames.CHUNK), deadline)
                except TimeoutError:
                    raise self._too_slow() from None
                if not more:
                    raise self._ended(candidate)
                left -= len(more)
                data += more
            kind = frames.PART if left else frames.LAST
            head = frames.PREFIX.pack(frames.MAGIC, kind, frames.NO_SEQUENCE, 0, len(data))
            limit = time.monotonic() + self.limits.test_seconds + _GRACE_SECONDS
            if len(data) < _SMALL:
                grader.send(head + data, limit)
            else:
                grader.send(head, limit)
                grader.send(data, limit)
            if not left:
                return
            data = b""

    def _too_slow(self) -> NoAnswerError:
        """The exception to raise. Raises `SandboxError` where this process was stopped during the grading."""
        not_if_stopped_since(self.began)
        late = time.monotonic() >= self.deadline
        seconds = f"the grading's {self.limits.grading_seconds:g}" if late else f"{self.limits.test_seconds:g}"
        return NoAnswerError("timeout", f"the candidate did not answer within {seconds} s")

    def _ended(self, candidate: Connection) -> NoAnswerError:
        how = how_it_ended(candidate)
        if not how:
            return NoAnswerError("died", "the candidate closed its pipe in the middle of a call")
        if how.startswith(("out of memory", "too m")):  # too many processes or files, too much disk
            return NoAnswerError("died", f"the candidate was killed: {how}")
        was = "was " if how.startswith("killed") else ""
        return NoAnswerError("died", f"the candidate {was}{how} in the middle of a call")


def launch(sandbox: Sandbox, program: Program, environment: Environment, limits: Limits) -> Connection:
    """Launch a program. An `OSError` becomes a `SandboxError`: a `TimeoutError` would pass for a slow program's."""
    try:
        return sandbox.launch(program, environment, limits)
    except OSError as error:
        raise SandboxError(f"a sandbox for the {program.name} could not be started: {error}") from error


def how_it_ended(connection: Connection) -> str:
    """Describe how a program ended that should still run. Raises `SandboxError` where this program cannot be the cause, or need not be:
    a warm parent takes the programs of all workers along."""
    how = connection.kill()
    if how in (WITH_PARENT, FROM_OUTSIDE):
        what = f"{how}, which was {FROM_OUTSIDE}" if how == WITH_PARENT else f"was {how}"
        raise SandboxError(
            f"a sandbox {what}: the kernel does this when the machine runs out of memory; give it more, or use fewer workers"
        )
    return how


def not_if_disk_was_full(name: str, how: str) -> None:
    """Raise `MachineError` if a program without candidate code ended because its files, which are on a disk of this machine, found no room."""
    if how.endswith(ON_FULL_DISK):
        raise MachineError(f"the {name} {how}: {MACHINE_STEPS[errno.ENOSPC]}")


def not_if_stopped_since(start: float) -> None:
    """Raise `SandboxError` if this process was stopped after `start`: then nothing says who was too slow."""
    if waiting.stopped_since(start):
        raise SandboxError(
            "pytest was stopped (Ctrl-Z, SIGSTOP, or a machine that was suspended) while a program ran in a sandbox, so its time"
            " limit says nothing; play the episode again with --recode-resume"
        )


def _kill(candidate: Connection) -> str:
    """End a candidate with all it started. An `OSError` would pass for the grader's, or for a slow program's."""
    try:
        return candidate.kill()
    except OSError as error:
        raise SandboxError(f"a candidate's sandbox could not be ended: {error}") from error


def _has_ended(connection: Connection) -> bool:
    """Whether a program that sends nothing by itself has ended."""
    try:
        connection.receive(1, 0.0)
    except TimeoutError:
        return False
    return True
