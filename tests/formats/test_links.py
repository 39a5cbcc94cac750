"""A task's files lie in the task: no symbolic link takes the contents of another file of this machine for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.directory import FORMAT
from pytest_recode.formats.links import refuse_links, refuse_links_out
from pytest_recode.sandboxes.images import _context
from tests.formats.task_directory import MANIFEST, write
from tests.messages import assert_message

PARTS = ["instruction.md", "paper.md", "feedback.yaml", "task.yaml", "repo", "tests", "reference", "environment"]
BELOW = ["reference/stats.py", "tests/test_stats.py", "tests/data.csv", "repo/secret", "environment/needs.txt"]


@pytest.mark.parametrize("where", ["outside", "beside"])
@pytest.mark.parametrize("name", [*PARTS, *BELOW])
def test_a_link_in_a_task_is_refused_wherever_it_leads(tmp_path: Path, name: str, where: str) -> None:
    task = tmp_path / "task"
    manifest = MANIFEST + ("environment: {requirements: environment/needs.txt}\n" if "needs" in name else "")
    written = write(task, manifest, {"paper.md": "x", "environment/needs.txt": "numpy\n"})
    path, other = task / name, (tmp_path if where == "outside" else task) / "other"
    if path.exists():
        path.rename(other)
    else:
        other.write_text("{}")
    path.symlink_to(other)
    with pytest.raises(UserError) as caught:
        FORMAT.load(written)[0].load()
    assert_message(str(caught.value), str(path), f"symbolic link to {other}", "copy of its target")


def test_a_link_that_leads_nowhere_is_one_too(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "paper.md").unlink(missing_ok=True)
    (tmp_path / "paper.md").symlink_to("nowhere")
    with pytest.raises(UserError, match=r"paper\.md: is a symbolic link to nowhere; "):
        FORMAT.load(path)


def test_a_link_to_a_task_is_its_users(tmp_path: Path) -> None:
    written = write(tmp_path / "task")
    (tmp_path / "alias").symlink_to(tmp_path / "task")
    assert FORMAT.load(tmp_path / "alias" / written.name)[0].load().instruction


@pytest.mark.parametrize("whole", [False, True])
def test_the_folder_of_an_image_holds_no_link(tmp_path: Path, whole: bool) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    assert list(_context(tmp_path, whole=whole)) == [tmp_path / "Dockerfile"]
    (tmp_path / "keys").symlink_to(Path.home())
    with pytest.raises(
        UserError, match=f"keys: is a symbolic link to {Path.home()}, in a folder that Docker builds an image from"
    ):
        list(_context(tmp_path, whole=whole))


def test_only_links_that_lead_out_are_refused_where_benchmarks_hold_others(tmp_path: Path) -> None:
    (tmp_path / "set" / "a").mkdir(parents=True)
    (tmp_path / "set" / "a" / "one").write_text("x")
    (tmp_path / "set" / "b").symlink_to("a")
    refuse_links_out(tmp_path / "set", tmp_path / "set" / "b" / "one")
    (tmp_path / "key").write_text("secret")
    (tmp_path / "set" / "c").symlink_to("../key")
    with pytest.raises(UserError, match=r"set/c: is a symbolic link to \.\./key, outside "):
        refuse_links_out(tmp_path / "set", tmp_path / "set" / "c")
    with pytest.raises(UserError, match=r"set/b: is a symbolic link to a; "):
        refuse_links(tmp_path / "set", "a/one", "b/one")
