"""The control group of a launch: where one can be made, what it limits, and that none is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.owned_directory import owner
from pytest_recode.sandboxes import Sandbox, SandboxContext, control_groups
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.task import Environment, Limits
from tests.agents.scripted import a_brief
from tests.sandboxes.conftest import opened

LIMITS = Limits(memory_mb=64, disk_mb=32, pids=32)
V1 = (
    "30 25 0:26 / {point}/memory rw - cgroup cgroup rw,memory\n"
    "31 25 0:27 {root} {point}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 25 0:28 / {point}/pids rw - cgroup cgroup rw,pids\n"
)


def found(mounts: str, own: str) -> list[tuple[int, str, tuple[str, ...]]]:
    return [(each.version, str(each.directory), each.controllers) for each in control_groups.candidates(mounts, own)]


def test_version_1_is_below_the_own_group_of_each_controller(tmp_path: Path) -> None:
    own = "9:memory:/session/a\n8:cpu,cpuacct:/docker/x/b\n7:pids:/\n0::/\n"
    mounts = V1.format(point=tmp_path, root="/docker/x")  # a container sees its part of the hierarchy
    assert found(mounts, own) == [
        (1, f"{tmp_path}/memory/session/a", ("memory",)),
        (1, f"{tmp_path}/cpu,cpuacct/b", ("cpu",)),
    ]


def test_version_2_is_where_controllers_are_passed_on(tmp_path: Path) -> None:
    scope = tmp_path / "user.slice" / "user@1000.service" / "app.slice" / "term.scope"
    scope.mkdir(parents=True)
    for directory, passed in ((scope, ""), (scope.parent, "memory pids"), (scope.parents[1], "cpu memory pids")):
        (directory / "cgroup.subtree_control").write_text(f"{passed}\n")
    mounts = f"35 25 0:30 / {tmp_path} rw - cgroup2 cgroup2 rw,nsdelegate\n"
    assert found(mounts, "0::/user.slice/user@1000.service/app.slice/term.scope\n") == [
        (2, str(scope.parent), ("memory",)),
        (2, str(scope.parents[1]), ("memory", "cpu")),
    ]


def test_a_hierarchy_that_is_not_mounted_is_none() -> None:
    assert found("", "9:memory:/\n0::/\n") == []


needs_groups = pytest.mark.skipif(
    not control_groups.limits_memory(), reason="this user may make no control group of the memory controller here"
)


def groups() -> set[Path]:
    """The launches' groups of this process."""
    return {
        group for each in control_groups.hierarchies() for group in each.directory.glob(f"pytest-recode.{owner()}/*/")
    }


@needs_groups
@pytest.mark.parametrize("kind", ["bubblewrap", "bubblewrap-cold", "process"])
def test_a_launch_has_a_group_of_its_own_until_it_ends(
    kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    bench = Bench(sandbox=opened(kind, context, sandboxes), environment=Environment(), limits=LIMITS)
    before = groups()
    with bench.probe() as probe:
        probe.ask("result = 1")
        mine = groups() - before
        assert len(mine) == len(control_groups.hierarchies())
        assert all(len((group / "cgroup.procs").read_text().split()) == 1 for group in mine)  # not what monitors it
    assert {group: (group / "cgroup.procs").read_text() for group in mine & groups()} == {}


@needs_groups
@pytest.mark.parametrize("kind", ["bubblewrap", "process"])
def test_in_a_workspace_the_kernel_ends_the_command_alone(
    kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    before = groups()
    workspace = SandboxWorkspace(opened(kind, context, sandboxes), a_brief(), Environment(), LIMITS)
    try:
        assert workspace.run("echo $((6 * 7))").output == "42\n"
        mine = groups() - before
        assert len(mine) == len(control_groups.hierarchies())
        limits = [group / name for group in mine for name in ("memory.limit_in_bytes", "memory.max")]
        (limit,) = [file for file in limits if file.exists()]
        assert int(limit.read_text()) > LIMITS.memory_mb << 20
        limit.write_text(f"{32 << 20}")  # below what is measured, so that only the kernel can end the command
        assert workspace.run("python3 -c 'b\"x\" * (48 << 20)'").status == -9
        assert workspace.run("echo $((6 * 7))").output == "42\n"
    finally:
        workspace.close()
    assert mine & groups() == set()


@needs_groups
def test_groups_of_killed_runs_are_removed() -> None:
    left = [each.directory / "pytest-recode.4194304.1" / "7" for each in control_groups.hierarchies()]
    for directory in left:
        directory.mkdir(parents=True)
    control_groups.reap()
    assert [directory for directory in left if directory.parent.exists()] == []
