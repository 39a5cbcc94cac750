"""Tasks found on disk without pytest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.discovery import DiscoveredTasks, find
from pytest_recode.metrics.record_attempts import task_key
from tests.recode_h.scene import task_of, write

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "tasks"


def test_every_bundled_task_with_its_reference() -> None:
    tasks = find([BUNDLED], task_key)
    assert tasks.errors == ()
    assert tasks.names == {"directory": {path.parent.name for path in BUNDLED.glob("*/task.yaml")}}
    expected = (BUNDLED / "sinkhorn/reference/sinkhorn.py").read_bytes()
    assert tasks.reference("directory", "sinkhorn") == {"sinkhorn.py": expected}
    assert tasks.reference("directory", "nobody") is None
    assert tasks.reference("recode-h", "sinkhorn") is None


def test_a_manifest_its_directory_and_one_above_are_the_same() -> None:
    ways = [[BUNDLED / "sinkhorn/task.yaml"], [BUNDLED / "sinkhorn"], [BUNDLED / "sinkhorn", BUNDLED / "sinkhorn"]]
    assert [find(paths, task_key).names for paths in ways] == [{"directory": {"sinkhorn"}}] * 3


def test_a_reference_is_had_without_the_repository(tmp_path: Path) -> None:
    """RECODE-H has 7.7 GB of repositories, and a report needs none of them."""
    manifest = write(tmp_path)
    tasks = find([tmp_path], task_key)
    task = task_of(manifest)
    expected = task.load().reference
    shutil.rmtree(tmp_path / "annotations/annotation_1/scales")
    assert tasks.reference("recode-h", task.id) == expected


def test_snippets_have_the_names_of_published_results() -> None:
    found = find([ROOT / "tests/papers"], task_key)
    assert {"running-moments/mean of both", "shrinkage/threshold"} < found.names["researchcodebench"]


def test_what_cannot_be_read_is_noted_and_stops_no_other(tmp_path: Path) -> None:
    shutil.copytree(BUNDLED / "sinkhorn", tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/task.yaml").write_text("schema: 1\nid: bad\n")
    found = find([tmp_path], task_key)
    assert found.names == {"directory": {"sinkhorn"}}
    [note] = found.errors
    assert "bad/task.yaml" in note
    assert "\n" not in note
    (tmp_path / "good/feedback.yaml").write_text("- [")
    with pytest.raises(UserError, match="good"):
        find([tmp_path / "good"], task_key).reference("directory", "sinkhorn")


@pytest.mark.parametrize(
    ("name", "message"), [("empty", "contains no tasks"), ("nowhere", "no such file or directory")]
)
def test_a_path_without_tasks_is_one_line(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=rf"{name}: {message}; give a directory with .*task\.yaml"):
        find([tmp_path / name], task_key)


def test_a_misspelt_path_names_the_nearest_directory() -> None:
    with pytest.raises(
        UserError, match=r"sinkhron: no such file or directory \(did you mean .*tasks/sinkhorn\?\); give"
    ):
        find([BUNDLED / "sinkhron"], task_key)


def test_two_tasks_of_one_id_are_refused_and_one_that_is_named_twice_is_not(tmp_path: Path) -> None:
    for place in ("a", "b"):
        shutil.copytree(BUNDLED / "sinkhorn", tmp_path / place / "sinkhorn")
    assert len(find([tmp_path / "a", tmp_path / "a/sinkhorn"], task_key).tasks) == 1
    with pytest.raises(UserError, match=r"b/sinkhorn/task\.yaml: task id 'sinkhorn' is already used by .*a/sinkhorn/"):
        find([tmp_path / "a", tmp_path / "b"], task_key)


def test_nothing_named_is_nothing_found() -> None:
    assert find([], task_key) == DiscoveredTasks()
