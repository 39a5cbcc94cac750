"""check_sandbox finds each way of breaking the promise: here by sandboxes that are right but for one thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from pytest_recode.faults import UserError
from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.sandboxes import Connection, Program, Sandbox, SandboxContext, control_groups
from pytest_recode.sandboxes.process import Process
from pytest_recode.task import Environment, Limits
from pytest_recode.testing import check_sandbox


class Wrapped:
    """A connection that passes everything on."""

    def __init__(self, inner: Connection) -> None:
        self.inner = inner

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        self.inner.send(data, deadline)

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        return self.inner.write(data, deadline)

    def receive(self, size: int, deadline: float) -> bytes:
        return self.inner.receive(size, deadline)

    def waited(self) -> Sequence[Sample]:
        return self.inner.waited()

    def kill(self) -> str:
        return self.inner.kill()


class ExcusesItself(Wrapped):
    def waited(self) -> Sequence[Sample]:
        return [sample._replace(waited=sample.waited + 60) for sample in self.inner.waited()]


class WaitsAsANumber(Wrapped):
    def waited(self) -> Sequence[Sample]:
        return 0.0  # type: ignore[return-value]


class KillsNot(Wrapped):
    def kill(self) -> str:
        return ""


class TellsTheEndOnce(Wrapped):
    reported = False

    def kill(self) -> str:
        how, self.reported = ("" if self.reported else self.inner.kill()), True
        return how


class Changes(Wrapped):
    def receive(self, size: int, deadline: float) -> bytes:
        data = self.inner.receive(size, deadline)
        return data[:-1] + bytes([data[-1] ^ 1])


class ForgetsTheDeadline(Wrapped):
    def receive(self, size: int, deadline: float) -> bytes:
        try:
            return self.inner.receive(size, deadline)
        except TimeoutError:
            return b""


class Mine:
    """The process sandbox, one way of breaking it at a time."""

    name = "mine"

    def __init__(
        self,
        context: SandboxContext,
        *,
        isolation: str = "process",
        wrap: Callable[[Connection], Connection] = Wrapped,
        program: Callable[[Program], Program] = lambda program: program,
        limits: Callable[[Limits], Limits] = lambda limits: limits,
        environment: Callable[[Environment], Environment] = lambda environment: environment,
        fault: type[Exception] = UserError,
    ) -> None:
        self.isolation = isolation
        self.host, self.memory_limit = "", "none"
        self.inner = Process(context)
        self.wrap, self.program, self.limits, self.environment, self.fault = wrap, program, limits, environment, fault

    def ready(self, environment: Environment) -> None:
        self.inner.ready(environment)

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        try:
            return self.wrap(
                self.inner.launch(self.program(program), self.environment(environment), self.limits(limits))
            )
        except UserError as exc:
            raise self.fault(str(exc)) from exc

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def mine(context: SandboxContext) -> Callable[..., Sandbox]:
    return lambda **wrong: Mine(context, **wrong)


def without_limits(_: Limits) -> Limits:
    return Limits(memory_mb=4096, disk_mb=4096, pids=1000)


BREACHES: list[tuple[str, dict[str, object]]] = [
    ("bytes_arrive_as_sent", {"wrap": Changes}),
    ("a_connection_is_of_its_type", {"wrap": WaitsAsANumber}),
    ("deadlines_hold", {"wrap": ForgetsTheDeadline}),
    ("deadlines_hold", {"wrap": ExcusesItself}),
    ("the_end_is_reported", {"wrap": TellsTheEndOnce}),
    ("kill_ends_what_runs", {"wrap": KillsNot}),
    ("kill_ends_daemons", {"wrap": KillsNot}),
    ("a_missing_preload_is_the_users_fault", {"environment": lambda _: Environment()}),
    ("a_preload_is_there_before_the_program", {"environment": lambda _: Environment()}),
    ("a_large_allocation_is_an_exception", {"limits": without_limits}),
    ("processes_are_limited", {"limits": without_limits}),
    ("memory_is_limited_for_all_processes_together", {"limits": lambda _: Limits(memory_mb=300, disk_mb=32, pids=32)}),
    ("a_command_is_held_to_its_memory", {"limits": without_limits}),
    # what it does not have, claimed
    ("no_process_outside_is_seen", {"isolation": "separate"}),
    ("files_of_this_machine_are_absent", {"isolation": "separate"}),
    ("there_is_no_network", {"isolation": "separate"}),
    # a control group counts shared memory in every sandbox
    *([] if control_groups.limits_memory() else [("shared_memory_counts", {"isolation": "separate"})]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("promise", "wrong"), BREACHES, ids=[name for name, _ in BREACHES])
def test_a_breach_is_found(promise: str, wrong: dict[str, object], mine: Callable[..., Sandbox]) -> None:
    sandbox = mine(**wrong)
    try:
        with pytest.raises(AssertionError, match=f"^mine: {promise.replace('_', ' ')}: "):
            check_sandbox(sandbox, only=[promise])
    finally:
        sandbox.close()


def test_a_wrong_attribute_is_named(mine: Callable[..., Sandbox]) -> None:
    with pytest.raises(AssertionError, match=r"Mine.isolation='full': must be separate or process"):
        check_sandbox(mine(isolation="full"))
    sandbox = mine()
    del sandbox.memory_limit
    with pytest.raises(AssertionError, match="lacks the attribute 'memory_limit'"):
        check_sandbox(sandbox)


def test_a_promise_that_is_not_made_cannot_be_asked_for(mine: Callable[..., Sandbox]) -> None:
    with pytest.raises(AssertionError, match="with isolation 'process' has no requirement"):
        check_sandbox(mine(), only=["there_is_no_network"])


@pytest.mark.slow
def test_a_right_one_passes(mine: Callable[..., Sandbox]) -> None:
    sandbox = mine()
    check_sandbox(sandbox)
    sandbox.close()
