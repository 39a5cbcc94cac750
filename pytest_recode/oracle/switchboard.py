"""The line between grader and candidate: questions and answers pass through unread, in pieces and within limits.

What a candidate does to the line (silence, garbage, its own end) is told to the grader in place of the answer.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pytest_recode.faults import SandboxError
from pytest_recode.inside.runtime.linux_isolation import FROM_OUTSIDE
from pytest_recode.inside.wire import frames
from pytest_recode.oracle.programs import CANDIDATE, roots
from pytest_recode.sandboxes import Connection, Program, Sandbox
from pytest_recode.sandboxes.warm import WITH_PARENT
from pytest_recode.task import Environment, Files, Limits

START_SECONDS = 60.0  # for a sandbox to take its files, before any code of a candidate's runs
_READY_LIMIT = 1 << 16  # bytes
_GRACE_SECONDS = 5.0  # for the grader to take what it is sent, which it waits for
_SMALL = 1 << 16  # bytes that are copied rather than sent apart


class Lost(Exception):
    """The candidate gave no answer: `kind` as in `Case`, and the words for people."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


@dataclass(slots=True, kw_only=True)
class OpenCase:
    """The case that is running. `candidate_seconds` are those the candidate held the turn for."""

    id: str
    since: float
    candidate_seconds: float = 0.0
    heard: bool = False  # whether an answer of the candidate's, or the lack of one, reached the grader
    lost: Lost | None = None


class Switchboard:
    """Launches candidates as they are needed, one at a time.

    A candidate is asked nothing until every earlier one of this grading has ended with all it started: alive, an earlier
    one could pass on what it was told, by locks on files that both can open. The next sandbox may start before that, as
    no code of a candidate's runs in it until it is asked.
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
        # An answer is copied where it is compared: a quarter leaves room for that and for what is expected.
        self.answer_limit = (limits.memory_mb << 20) // 4
        self.candidate: Connection | None = None
        self.another = False  # whether one more will be needed after this one: it is started ahead
        self._next: Future[Connection] | None = None
        self._aside = ThreadPoolExecutor(thread_name_prefix="recode-aside")
        self._endings: list[Future[str]] = []

    def exchange(self, grader: Connection, question: frames.Frame, case: OpenCase) -> None:
        """Pass one question on, of which the prefix has been read, and the answer back, or why there is none.

        Raises `EOFError`, `ConnectionError` or `TimeoutError` where it is the grader that fails.
        """
        left = question.header + question.body
        try:
            if case.lost is not None:
                raise case.lost
            if self.candidate is None:
                launching = time.monotonic()
                self._wait_ended()
                self.candidate = self._take()
                launching = time.monotonic() - launching
                case.since += launching  # nobody's time
                self.deadline += launching
            began = time.monotonic()
            deadline = min(self.deadline, began + self.limits.test_seconds - case.candidate_seconds)
            try:
                data = frames.PREFIX.pack(frames.MAGIC, *question)
                while left or data:
                    more = self._from_grader(grader, left)
                    left -= len(more)
                    self._to_candidate(self.candidate, data + more, deadline)
                    data = b""
                answer = self._answer(self.candidate, question.sequence, deadline)
                case.heard = True
                self._pass_on(grader, self.candidate, answer, deadline)
            finally:
                case.candidate_seconds += time.monotonic() - began
        except Lost as lost:
            case.lost, case.heard = lost, True
            while left:  # the rest of a question that nobody takes any more
                left -= len(self._from_grader(grader, left))
            told = {"kind": lost.kind, "text": lost.text}
            frames.send_message(grader, told, time.monotonic() + _GRACE_SECONDS, kind=frames.LOST)

    def end(self) -> None:
        """Have the candidate ended, if there is one, while the grader goes on; the next question waits for that, and
        launches another."""
        if self.candidate is not None:
            self._endings.append(self._aside.submit(_end, self.candidate))
            self.candidate = None

    def _wait_ended(self) -> None:
        """Until no earlier candidate runs. Raises `SandboxError` where one could not be ended."""
        while self._endings:
            self._endings[-1].result()
            self._endings.pop()

    def close(self) -> None:
        """Until no candidate runs. Raises what ending one raised."""
        self.end()
        self._aside.shutdown()
        if self._next is not None and self._next.exception() is None:  # what nobody needed may have failed to start
            self._next.result().kill()
        self._next = None
        self._wait_ended()

    def _take(self) -> Connection:
        # Where this is interrupted, what was started ahead is still known to `close`.
        taken = self._launch() if self._next is None else self._next.result()
        if self._next is not None and _gone(taken):  # while it waited: no code of the candidate's has run in it
            taken.kill()
            taken = self._launch()
        self._next = self._aside.submit(self._launch) if self.another else None
        return taken

    def _launch(self) -> Connection:
        candidate = launch(self.sandbox, CANDIDATE, self.environment, self.limits)
        start = {"files": dict(self.files), "roots": roots(self.files), "entropy": self.entropy, "limit": 1 << 40}
        try:
            deadline = time.monotonic() + START_SECONDS
            frames.send_message(candidate, start, deadline)
            # No code of the candidate's has run: what goes wrong here is the sandbox's fault.
            frames.receive_message(candidate, _READY_LIMIT, deadline)
        except (ConnectionError, EOFError, TimeoutError, frames.WireError) as error:
            how = candidate.kill()
            raise SandboxError(f"the candidate's sandbox took no files: {how or error}") from None
        except BaseException:
            candidate.kill()
            raise
        return candidate

    def _from_grader(self, grader: Connection, left: int) -> bytes:
        if not left:
            return b""
        data = grader.receive(min(left, frames.CHUNK), self.deadline)
        if not data:
            raise EOFError("the grader is gone")
        return data

    def _to_candidate(self, candidate: Connection, data: bytes, deadline: float) -> None:
        try:
            candidate.send(data, deadline)
        except TimeoutError:
            raise self._too_slow() from None
        except ConnectionError:
            raise self._ended(candidate) from None

    def _answer(self, candidate: Connection, sequence: bytes, deadline: float) -> frames.Frame:
        try:
            frame = frames.fill_prefix(frames.connection_filler(candidate, deadline), self.answer_limit)
        except TimeoutError:
            raise self._too_slow() from None
        except EOFError:
            raise self._ended(candidate) from None
        except frames.WireError as error:
            raise Lost("protocol", f"the candidate sent garbage instead of an answer: {error}") from None
        if frame.kind != frames.FROM_CANDIDATE or frame.sequence != sequence:
            raise Lost("protocol", "the candidate sent garbage instead of an answer: a frame out of turn")
        return frame

    def _pass_on(self, grader: Connection, candidate: Connection, answer: frames.Frame, deadline: float) -> None:
        """In pieces, so that the grader can be told in between that no more comes."""
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

    def _too_slow(self) -> Lost:
        late = time.monotonic() >= self.deadline
        seconds = f"the grading's {self.limits.grading_seconds:g}" if late else f"{self.limits.test_seconds:g}"
        return Lost("timeout", f"the candidate did not answer within {seconds} s")

    def _ended(self, candidate: Connection) -> Lost:
        how = ending(self.sandbox, candidate)
        if not how:
            return Lost("died", "the candidate closed its pipe in the middle of a call")
        if how.startswith("out of memory"):
            return Lost("died", f"the candidate was killed: {how}")
        was = "was " if how.startswith("killed") else ""
        return Lost("died", f"the candidate {was}{how} in the middle of a call")


def launch(sandbox: Sandbox, program: Program, environment: Environment, limits: Limits) -> Connection:
    """As the sandbox does. What fails there is a `SandboxError`: a `TimeoutError`, say, would pass for a slow program's."""
    try:
        return sandbox.launch(program, environment, limits)
    except OSError as error:
        raise SandboxError(f"a sandbox for the {program.name} could not be started: {error}") from error


def ending(sandbox: Sandbox, connection: Connection) -> str:
    """How a program ended that was not to. Raises `SandboxError` where nothing inside can have been the cause."""
    how = connection.kill()
    if sandbox.isolation == "separate" and how in (WITH_PARENT, FROM_OUTSIDE):
        what = f"{how}, which was {FROM_OUTSIDE}" if how == WITH_PARENT else f"was {how}"
        raise SandboxError(
            f"a sandbox {what} (by the kernel, where the machine's memory runs out: give it more, or take fewer workers)"
        )
    return how


def _end(candidate: Connection) -> str:
    """Have it ended, with all it started. An `OSError` would pass for the grader's, or for a slow program's."""
    try:
        return candidate.kill()
    except OSError as error:
        raise SandboxError(f"a candidate's sandbox could not be ended: {error}") from error


def _gone(connection: Connection) -> bool:
    """Of one that has nothing to say."""
    try:
        connection.receive(1, 0.0)
    except TimeoutError:
        return False
    return True
