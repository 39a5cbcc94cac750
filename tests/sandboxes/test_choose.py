"""Invariant: nothing runs unprotected by accident."""

from __future__ import annotations

import pytest

from pytest_recode.faults import UserError
from pytest_recode.sandboxes import Sandbox, SandboxContext, SandboxKind
from pytest_recode.sandboxes.choose import choose
from tests.messages import assert_message

CONTEXT = SandboxContext(run="choose", python="python3")
PROBLEMS = {
    "docker": "docker: the daemon does not answer; start Docker",
    "bubblewrap": "bubblewrap: no `bwrap` on PATH; install the bubblewrap package",
    "process": "process: needs Linux",
}


def kind(problem: str | None) -> SandboxKind:
    def never(context: SandboxContext) -> Sandbox:
        raise AssertionError("choosing starts nothing")

    def reap(context: SandboxContext) -> None:
        raise AssertionError("choosing reaps nothing")

    return SandboxKind(make=never, check=lambda _: problem, reap=reap)


def kinds(*working: str) -> dict[str, SandboxKind]:
    return {name: kind(None if name in working else problem) for name, problem in PROBLEMS.items()}


@pytest.mark.invariant("nothing-unprotected-by-accident")
@pytest.mark.parametrize(
    ("working", "all_offline", "chosen"),
    [
        (("docker", "bubblewrap", "process"), False, "docker"),
        (("bubblewrap", "process"), False, "bubblewrap"),
        (("docker", "process"), False, "docker"),
        (("docker", "bubblewrap", "process"), True, "bubblewrap"),
        (("docker", "process"), True, "process"),
        (("process",), True, "process"),
    ],
)
def test_auto(working: tuple[str, ...], all_offline: bool, chosen: str) -> None:
    assert choose("auto", CONTEXT, kinds(*working), all_offline=all_offline) == chosen


def test_an_interpreter_that_was_named_is_no_use_to_docker() -> None:
    assert choose("auto", CONTEXT, kinds("docker", "bubblewrap"), all_offline=False, local=True) == "bubblewrap"
    with pytest.raises(UserError) as caught:
        choose("auto", CONTEXT, kinds("docker", "process"), all_offline=False, local=True)
    choices = ("install bubblewrap", "name an image for docker", "--recode-sandbox=process")
    assert_message(str(caught.value), "interpreter that you named", PROBLEMS["bubblewrap"], *choices)


@pytest.mark.invariant("nothing-unprotected-by-accident")
def test_auto_stops_rather_than_run_without_walls() -> None:
    with pytest.raises(UserError) as caught:
        choose("auto", CONTEXT, kinds("process"), all_offline=False)
    choices = ("start Docker, or", "install bubblewrap, or", "--recode-sandbox=process")
    assert_message(str(caught.value), "no sandbox", PROBLEMS["docker"], PROBLEMS["bubblewrap"], *choices)


@pytest.mark.parametrize("name", ["docker", "bubblewrap", "process"])
@pytest.mark.parametrize("all_offline", [False, True])
def test_a_name_is_taken_at_its_word(name: str, all_offline: bool) -> None:
    assert choose(name, CONTEXT, kinds(*PROBLEMS), all_offline=all_offline) == name


def test_a_name_that_does_not_work_here() -> None:
    with pytest.raises(UserError) as caught:
        choose("docker", CONTEXT, kinds("bubblewrap"), all_offline=True)
    assert str(caught.value) == "--recode-sandbox=docker: the daemon does not answer; start Docker"


def test_an_unknown_name() -> None:
    with pytest.raises(UserError) as caught:
        choose("dokcer", CONTEXT, kinds(*PROBLEMS), all_offline=False)
    assert str(caught.value) == "unknown sandbox 'dokcer'; choose docker, bubblewrap, process or auto"
