"""Slots of the machine: never more than there are, over threads and processes, and none is lost with a process that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_recode.faults import MachineError, Stopped
from pytest_recode.sandboxes.machine_slots import MachineSlots
from tests.messages import assert_message


@pytest.fixture(autouse=True)
def _own_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_threads_take_turns() -> None:
    slots, lock = MachineSlots("gradings", 2), threading.Lock()
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with slots.taken():
            with lock:
                inside += 1
                most = max(most, inside)
            with lock:
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside, 1 <= most <= 2) == (0, True)


HOLDS = """\
import sys
import tempfile

tempfile.tempdir = sys.argv[1]
from pytest_recode.sandboxes.machine_slots import MachineSlots

with MachineSlots("gradings", 1).taken():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_has_the_slot_until_it_dies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        slots, looked = MachineSlots("gradings", 1), []

        def check() -> None:
            looked.append(1)
            if len(looked) == 3:
                os.kill(holder.pid, signal.SIGKILL)

        with slots.taken(check) as waited:
            assert len(looked) >= 3
            assert waited > 0


def test_what_ends_the_episode_ends_its_wait_for_a_slot() -> None:
    slots = MachineSlots("gradings", 1)

    def stopped() -> None:
        raise Stopped("Ctrl-C")

    with slots.taken(), pytest.raises(Stopped), slots.taken(stopped):
        raise AssertionError("there is only one slot")
    with slots.taken(stopped):  # it is free: nothing is waited for
        pass


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    other = tmp_path / f"pytest-recode-slots-{os.getuid()}"
    other.mkdir()
    os.chown(other, 65534, 65534)
    with pytest.raises(MachineError) as caught, MachineSlots("gradings").taken():
        raise AssertionError("another user could hold all slots")
    assert_message(str(caught.value), str(other), "belongs to another user", "TMPDIR")
