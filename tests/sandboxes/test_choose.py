"""Invariant: nothing runs unprotected by accident."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recode import registered
from pytest_recode.faults import UserError
from pytest_recode.installed import part
from pytest_recode.sandboxes import Sandbox, SandboxContext, SandboxKind
from pytest_recode.sandboxes.choose import choose
from tests.messages import assert_message

CONTEXT = SandboxContext(run="choose", python="python3")
PROBLEMS = {
    "docker": "docker: the daemon does not answer; start Docker",
    "bubblewrap": "bubblewrap: no `bwrap` on PATH; install the bubblewrap package",
    "process": "process: needs Linux",
}


KINDS: dict[str, dict[str, Any]] = {
    "process": {"needs": "interpreter", "automatic": 3},
    "bubblewrap": {"needs": "interpreter", "automatic": 2, "isolated": True},
    "docker": {"needs": "image", "automatic": 1, "isolated": True},
}


def kind(problem: str | None, **facts: Any) -> SandboxKind:
    def never(context: SandboxContext) -> Sandbox:
        raise AssertionError("choosing starts nothing")

    def reap(context: SandboxContext) -> None:
        raise AssertionError("choosing reaps nothing")

    return SandboxKind(make=never, check=lambda _: problem, reap=reap, **facts)


def kinds(*working: str) -> dict[str, SandboxKind]:
    return {name: kind(None if name in working else PROBLEMS[name], **facts) for name, facts in KINDS.items()}


@pytest.mark.invariant("nothing-unprotected-by-accident")
def test_the_projects_own_kinds_say_this_of_themselves() -> None:
    own = {name: part("sandboxes", name, place) for name, place in registered.own("sandboxes").items()}
    assert {
        name: {field: getattr(own[name], field) for field in ("needs", "automatic", "isolated")} for name in own
    } == {name: {"isolated": False, **facts} for name, facts in KINDS.items()}


@pytest.mark.invariant("nothing-unprotected-by-accident")
@pytest.mark.parametrize("all_offline", [False, True])
def test_a_kind_that_does_not_say_so_is_used_only_by_its_name(all_offline: bool) -> None:
    others = {"jail": kind(None, isolated=True), "yard": kind(None, automatic=1)}
    with pytest.raises(UserError, match="no sandbox works"):
        choose("auto", CONTEXT, {"jail": others["jail"]}, all_offline=all_offline)
    assert choose("jail", CONTEXT, others, all_offline=all_offline) == "jail"
    with pytest.raises(UserError, match="no sandbox works"):
        choose("auto", CONTEXT, others, all_offline=False)
    assert choose("auto", CONTEXT, others, all_offline=True) == "yard"


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
    assert str(caught.value) == "unknown sandbox 'dokcer'; choose process, bubblewrap, docker or auto"
