"""What is kept of a workspace between turns, and laid into another one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_recode.records.checkpoint import changes_of
from pytest_recode.task import Limits
from tests.agents.conftest import Open
from tests.agents.scripted import REPO


def test_nothing_was_done(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.changes() == changes_of({})
    assert workspace._connection is None, "an untouched workspace needs no sandbox"
    workspace.list()
    assert workspace.changes() == changes_of({})


def test_another_workspace_becomes_the_same(open_workspace: Open) -> None:
    first = open_workspace()
    first.write("solver.py", "answer = 42\n")
    first.run(
        "mkdir -p data/empty; printf '\\000\\377' > data/raw; rm README.md; chmod 750 lib/helpers.py; ln -s raw data/link;"
        " printf x > \"$(printf 'a\\377')\"; printf '#!/bin/sh\\necho made' > tool; chmod +x tool"
    )
    changes = first.changes()
    assert changes.versions == {
        "solver.py": (b"answer = 42\n", 0o644),
        "data/raw": (b"\0\xff", 0o644),
        "a\udcff": (b"x", 0o644),
        "lib/helpers.py": (REPO["lib/helpers.py"], 0o750),
        "tool": (b"#!/bin/sh\necho made", 0o755),
    }
    assert changes.removed == ("README.md",)
    assert changes.whole
    second = open_workspace()
    second.lay(changes)
    assert second.changes() == changes
    assert second.run("./tool").output.strip() == "made"
    assert second.list() == (
        *("a\udcff", "data/raw", "instruction.md", "lib/helpers.py", "paper.md", "solver.py", "tool"),
    )


def test_a_file_in_the_place_of_a_directory_and_the_other_way_round(open_workspace: Open) -> None:
    files = {"solver.py": b"pass\n", "lib/deep/helpers.py": b"x = 1\n", "README.md": b"read me\n"}
    first = open_workspace(files=files)
    first.run("rm -r lib README.md; echo file > lib; mkdir README.md; echo y > README.md/z")
    changes = first.changes()
    assert changes.removed == ("README.md", "lib/deep/helpers.py")
    second = open_workspace(files=files)
    second.lay(changes)
    assert second.changes() == changes
    assert second.read("lib") == "file\n"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"touch '{'😀' * 63}' '{'一' * 85}' '{'x' * 255}'", id="the longest names"),
        pytest.param("mkdir .tool.recode-new; touch .tool.recode-new/x tool", id="names of unfinished files"),
        pytest.param(
            "touch -- made .hidden '-rf' ' ' '\\'; chmod 4755 made; chmod 400 .hidden", id="odd names and modes"
        ),
    ],
)
def test_whatever_files_there_are_can_be_put_back(open_workspace: Open, command: str) -> None:
    first, second = open_workspace(), open_workspace()
    assert first.run(command).status == 0
    changes = first.changes()
    assert changes.whole
    assert len(changes.files) > 1
    second.lay(replace(changes, files=dict(sorted(changes.files.items()))))
    assert second.changes() == changes


def test_files_that_fill_the_disk_can_be_put_back(open_walled: Open) -> None:
    limits, files = Limits(disk_mb=32), {"solver.py": b"", "data": bytes(20 << 20)}
    first, second = (open_walled(files=files, limits=limits) for _ in range(2))
    assert first.run("echo > data; head -c 25M /dev/zero > a").status == 0
    changes = first.changes()
    second.lay(changes)
    assert second.changes() == changes
    assert changes.whole


def test_a_change_that_hides_its_time_is_one(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.run(
        "touch -r solver.py stamp; printf X | dd of=solver.py conv=notrunc status=none; touch -r stamp solver.py"
    )
    assert workspace.changes().versions["solver.py"][0][:1] == b"X"


@pytest.mark.slow
def test_more_files_than_are_listed(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.run("mkdir many; cd many; seq -f f%05g 6000 | xargs touch")
    assert len(workspace.changes().files) == 6000


def test_what_cannot_be_kept_leaves_the_targets(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.write("solver.py", "answer = 42\n")
    workspace.run("truncate -s 40M big")
    kept = workspace.changes()
    assert kept == changes_of({"solver.py": (b"answer = 42\n", 0o644)}, whole=False)
    assert workspace.read("solver.py") == "answer = 42\n", "and the workspace goes on"


@pytest.mark.parametrize(
    "command",
    [
        "chmod 000 solver.py",
        "rm solver.py; ln -s README.md solver.py",
        "rm solver.py; mkfifo solver.py",
        "rm solver.py; mkdir solver.py",
        "truncate -s 2M solver.py",
        "truncate -s 2M solver.py; truncate -s 40M big",
    ],
)
def test_a_target_that_is_none_is_none_in_another_workspace(open_workspace: Open, command: str) -> None:
    first, second = open_workspace(), open_workspace()
    assert first.run(command).status == 0
    targets = first.targets()
    second.lay(first.changes())
    assert second.targets() == targets
