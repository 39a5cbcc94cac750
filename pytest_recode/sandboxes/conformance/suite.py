"""The entry point of the conformance suite: `check_sandbox` runs every check that a sandbox's `isolation` requires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from pytest_recode.sandboxes import Sandbox
from pytest_recode.sandboxes.conformance.probe import Bench
from pytest_recode.schema.declared_types import described, problem
from pytest_recode.task import Environment, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One requirement with its check. `walls`: it does not apply to a sandbox whose `isolation` is "process"."""

    name: str
    walls: bool
    check: Callable[[Bench], None]


@cache
def promises() -> tuple[Promise, ...]:
    from pytest_recode.sandboxes.conformance import (
        basics,
        commands,
        isolation_files,
        isolation_kernel,
        isolation_processes,
    )

    every_promise = []
    for module, walls in (
        (basics, False),
        (commands, False),
        (isolation_processes, True),
        (isolation_files, True),
        (isolation_kernel, True),
    ):
        for name, check in vars(module).items():
            if name.startswith("check_"):
                every_promise.append(Promise(name=name.removeprefix("check_"), walls=walls, check=check))
    return tuple(every_promise)


def promised(isolation: str) -> tuple[str, ...]:
    """The names of the requirements for a sandbox of this isolation ("separate" or "process")."""
    return tuple(promise.name for promise in promises() if isolation == "separate" or not promise.walls)


def check_sandbox(
    sandbox: Sandbox,
    environment: Environment | None = None,
    limits: Limits | None = None,
    *,
    only: Sequence[str] | None = None,
) -> None:
    """Raise `AssertionError` if the sandbox does not meet a requirement of `pytest_recode.sandboxes`.

    Checks all requirements of its `isolation`, or `only` some, by their names in `promised`. The checks run attacks inside
    `sandbox`: a sandbox that claims isolation that it does not have may damage this machine.
    """
    wrong = problem(sandbox, Sandbox)
    assert not wrong, f"the sandbox: {described(sandbox, wrong)}"
    bench = Bench(
        sandbox=sandbox,
        environment=environment or Environment(),
        limits=limits or Limits(memory_mb=256, disk_mb=32, pids=32),
    )
    names = promised(sandbox.isolation) if only is None else only
    unknown = set(names) - set(promised(sandbox.isolation))
    assert not unknown, (
        f"a sandbox with isolation {sandbox.isolation!r} has no requirement {sorted(unknown)}; choose from {sorted(promised(sandbox.isolation))}"
    )
    for promise in promises():
        if promise.name in names:
            try:
                promise.check(bench)
            except AssertionError as exc:
                raise AssertionError(f"{sandbox.name}: {promise.name.replace('_', ' ')}: {exc}") from exc
