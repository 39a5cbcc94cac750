"""Every kind keeps what its isolation promises."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.sandboxes.conformance import promised
from pytest_recode.testing import check_sandbox
from tests.sandboxes.conftest import KINDS, opened

ISOLATION = {name: "process" if name.startswith("process") else "separate" for name in KINDS}


def promises(kind: str) -> list[tuple[str, str]]:
    return [(kind, promise) for promise in promised(ISOLATION[kind])]


@pytest.mark.invariant("no-secret-in-a-sandbox")
@pytest.mark.mostly_slow
@pytest.mark.parametrize(("kind", "promise"), [each for kind in KINDS for each in promises(kind)])
def test_it_keeps(kind: str, promise: str, context: SandboxContext, sandboxes: dict[str, Sandbox]) -> None:
    check_sandbox(opened(kind, context, sandboxes), only=[promise])


def test_what_process_does_not_promise() -> None:
    assert set(promised("separate")) - set(promised("process")) == {
        "signals_stay_inside",
        "nothing_else_can_be_traced",
        "no_process_outside_is_seen",
        "the_system_cannot_be_written",
        "nothing_written_stays",
        "files_of_this_machine_are_absent",
        "there_is_no_network",
        "localhost_has_a_name",
        "no_message_is_left_in_the_times_of_a_file",
        "disk_is_limited",
        "files_are_limited",
        "other_families_of_sockets_are_refused",
        "messages_and_semaphores_of_system_v_are_none",
        "there_are_no_rights_to_gain",
        "shared_memory_counts",
        "commands_cannot_reach_their_program",
        "the_host_is_usable_throughout",
    }
