"""A command of which the kernel has killed a process for memory, before what watches it has seen anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_recode.inside.runtime.control_group import JoinedGroup
from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import opened

RUN = """
import os
from _recode.runtime import command_process, command_runner, control_group
with open("kills", "w") as file:
    file.write("low 0\\noom 3\\noom_kill 2\\n")
group = control_group.JoinedGroup((), kills=os.open("kills", os.O_RDONLY))
command_process.settings = command_process.settings._replace(group=group)
done = command_runner.run(["sh", "-c", COMMAND], cwd=".", seconds=60, output_limit=999)
result = [done.status, done.killed, done.output.decode()]
"""
"""With a file of its own in place of the kernel's, which the command changes: nothing makes the kernel the first one each time."""
COUNTED = "printf 'low 0\\noom 4\\noom_kill 3\\n' > kills; "
SAID = "out of memory (64 MiB)"


@pytest.mark.parametrize(
    ("command", "ended"),
    [
        pytest.param(COUNTED + "kill -9 $$", [-9, SAID, f"[killed: {SAID}]\n"], id="the command"),
        pytest.param(COUNTED + "exit 3", [3, SAID, f"[killed: {SAID}]\n"], id="a process of it"),
        pytest.param(COUNTED + "exit 0", [0, "", ""], id="one that it can do without"),
        pytest.param("kill -9 $$", [-9, "", ""], id="itself"),
        pytest.param("exit 3", [3, "", ""], id="it failed"),
    ],
)
def test_a_command_that_fails_then_was_out_of_memory(
    command: str, ended: list[object], context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    limits = Limits(memory_mb=64, disk_mb=32, pids=32)
    bench = Bench(sandbox=opened("bubblewrap", context, sandboxes), environment=Environment(), limits=limits)
    with bench.probe(persistent=True) as probe:
        assert probe.ask(f"COMMAND = {command!r}\n{RUN}") == ended


@pytest.mark.parametrize(
    "text", ["oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "max 7\noom 3\noom_kill 2\noom_group_kill 0\n"]
)
def test_both_versions_of_control_groups_count(tmp_path: Path, text: str) -> None:
    (tmp_path / "events").write_text(text)
    descriptor = os.open(tmp_path / "events", os.O_RDONLY)
    group = JoinedGroup((), kills=descriptor)
    assert group.killed() == 2
    assert group.killed_since(1)
    assert not group.killed_since(2)
    os.close(descriptor)
    assert not JoinedGroup(()).killed_since(0)
