"""The data set as its rows and folders say it: all of it, and what is wrong with a row told of that row alone."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.recode_h import FORMAT, owns
from pytest_recode.task import Beside, Environment, Task, brief
from pytest_recode.testing import check_format
from tests.messages import assert_message
from tests.recode_h.make_metadata_facts import CODE
from tests.recode_h.scene import DATASET, FILES, ROW, task_of, tree, write

FACTS = Path(__file__).parents[1] / "recode_h/metadata_facts.jsonl"
ENVIRONMENTS = (
    *("test_newtransformer1", "test_281", "test_191", "test_common1", "test_151", "test_511", "test_631", "test_981"),
)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def lay_out(root: Path, row: Mapping[str, Any]) -> None:
    """A tiny folder for a row of the data set."""
    target = row["target_file_path"]
    place = target.rpartition("/")[0] or "."
    write(
        root,
        {
            "test.py": "".join(
                f"def {name}(): ...\n" for name in {case.partition("[")[0] for case in row["test_cases"]}
            ),
            "canonical.py": "def method(): ...\n",
            "test.sh": FILES["test.sh"]
            .replace("/scales", f"/{row['repo_dir_name']}")
            .replace("test_common1", ENVIRONMENTS[row["index"] % len(ENVIRONMENTS)])
            .replace("/pkg/.", f"/{place}"),
            f"{row['repo_dir_name']}/{target}": "LEFT = 'over'\n",
            **{name: None for name in FILES if name.startswith("scales/")},
        },
        **row,
    )


def loaded(root: Path, lines: list[dict[str, Any]]) -> tuple[Task, ...]:
    for row in lines:
        lay_out(root, row)
    tasks = FORMAT.load(root / "annotation_meta.jsonl")
    assert [task.fault for task in tasks if task.fault] == []
    return tuple(tasks)


def check_all(tasks: tuple[Task, ...], lines: list[dict[str, Any]]) -> None:
    assert len(lines) == 104
    assert len(tasks) == 102
    assert [task.facts["annotation"] for task in tasks] == [row["index"] for row in lines if row["if_test"]]
    assert sum(int(task.facts["cases"]) for task in tasks) == 715
    assert len({task.id for task in tasks}) == 102
    assert len({task.facts["repository"] for task in tasks}) == 92
    by_index = {row["index"]: row for row in lines}
    begins = Counter[str]()
    for task in tasks:
        row = by_index[task.facts["annotation"]]
        parts = task.load()
        assert task.targets == (row["target_file_path"],)
        assert list(parts.cases) == row["test_cases"]
        text = parts.repo[task.targets[0]].decode()
        assert text == ("" if row["init_content"] in ("", "\n", "N/A") else row["init_content"])
        begins["code" if text else "empty"] += 1
        assert b"LEFT" not in b"".join(parts.repo.values())
    assert begins == {"code": 17, "empty": 85}


def test_all_rows_of_the_data_set(tmp_path: Path) -> None:
    given = rows(FACTS)
    check_all(loaded(tmp_path, given), given)
    kinds = Counter(row["init_content"] for row in given)
    assert kinds == {"": 84, "\n": 1, "N/A": 1, CODE: 18}


def test_all_rows_of_the_real_file(tmp_path: Path) -> None:
    """`RECODE_H` names its annotation_meta.jsonl, or the directory with it."""
    if "RECODE_H" not in os.environ:
        pytest.skip("RECODE_H names no annotation_meta.jsonl of RECODE-H")
    real = Path(os.environ["RECODE_H"])
    given = rows(real / FORMAT.manifest if real.is_dir() else real)
    check_all(loaded(tmp_path, given), given)


def test_the_projects_own_annotations() -> None:
    tasks = FORMAT.load(DATASET / FORMAT.manifest)
    assert [task.id for task in tasks if not task.fault] == ["annotation_1", "annotation_2", "annotation_3"]


def test_the_promises_of_a_format(tmp_path: Path) -> None:
    check_format(FORMAT, write(tmp_path))


def test_what_a_task_is(tmp_path: Path) -> None:
    task = task_of(write(tmp_path))
    assert (task.id, task.title, task.format) == ("annotation_1", "scales: pkg/scale.py", "recode-h")
    assert task.environment == Environment(name="test_common1")
    assert task.limits.test_seconds == 20
    assert task.limits.grading_seconds == 600
    assert task.oracle.beside == Beside(test="pkg/test.py", cwd=".", base=".", roots=(".",))
    assert task.facts == {
        "annotation": 1,
        "repository": "scales",
        "target": "pkg/scale.py",
        "cases": 2,
        "environment": "test_common1",
    }


def test_what_an_agent_may_see(tmp_path: Path) -> None:
    left = "def double(x):\n    return 'the solution of somebody'\n"
    hidden = {name: FILES[name] for name in ("canonical.py", "test.py")}
    task = task_of(
        write(
            tmp_path,
            {
                "scales/pkg/scale.py": left,
                "scales/build/scale.py": left,
                "scales/pkg/canonical.py": "left by test.sh",
                "scales/pkg/test.py": "left by test.sh",
                "scales/copies/of_canonical.py": hidden["canonical.py"],
                "scales/.git/config": "[core]",
                "scales/pkg/__pycache__/scale.pyc": "compiled",
            },
            init_content="# begin here\n",
        )
    )
    shown = brief(task, task.load())
    assert shown.repo == {
        "README": b"Scales.\n",
        "pkg/__init__.py": b"",
        "pkg/base.py": b"def times(x, factor):\n    return x * factor\n",
        "pkg/scale.py": b"# begin here\n",
    }
    assert shown.paper == "$2x$ and $3x$.\n"
    assert shown.instruction == "Write pkg/scale.py with double(x) and triple(x).\n"
    assert shown.interfaces == ("pkg.scale.double", "pkg.scale.triple")


@pytest.mark.parametrize("begins", ["", "\n", "N/A", None])
def test_a_target_that_begins_empty(tmp_path: Path, begins: str | None) -> None:
    assert task_of(write(tmp_path, init_content=begins)).load().repo["pkg/scale.py"] == b""


def test_links_and_special_files(tmp_path: Path) -> None:
    task = task_of(write(tmp_path, {"scales/data/one.txt": "1"}))
    repository = tmp_path / "annotations/annotation_1/scales"
    (tmp_path / "secret.txt").write_text("outside")
    (repository / "alias").symlink_to("data")
    (repository / "data/again.txt").symlink_to("one.txt")
    (repository / "data/round").symlink_to("..")
    (repository / "outside.txt").symlink_to(tmp_path / "secret.txt")
    (repository / "canonical.py").symlink_to("../canonical.py")
    (repository / "nowhere").symlink_to("gone")
    os.mkfifo(repository / "pipe")
    repo = task.load().repo
    assert {path: data for path, data in repo.items() if not path.startswith("pkg/")} == {
        "README": b"Scales.\n",
        "alias/again.txt": b"1",
        "alias/one.txt": b"1",
        "data/again.txt": b"1",
        "data/one.txt": b"1",
    }


def test_a_repository_is_read_when_its_item_runs(tmp_path: Path) -> None:
    manifest = write(tmp_path)
    task = task_of(manifest)
    before = list(tree(tmp_path))
    (tmp_path / "annotations/annotation_1/scales/late.txt").write_text("late")
    assert task.load().repo["late.txt"] == b"late"
    (tmp_path / "annotations/annotation_1/scales/late.txt").unlink()
    assert [each[3] for each in tree(tmp_path)] == [each[3] for each in before]


def test_the_reference_is_the_canonical_after_what_only_init_content_defines(tmp_path: Path) -> None:
    begins = "def half(x):\n    return x / 2\n"
    plain = task_of(write(tmp_path / "plain", init_content=begins))
    assert plain.load().reference == {"pkg/scale.py": plain.load().tests["pkg/canonical.py"]}
    tests = FILES["test.py"].replace("import double, triple", "import double, half, triple")
    needing = task_of(write(tmp_path / "needing", {"test.py": tests}, init_content=begins)).load()
    assert needing.reference == {"pkg/scale.py": begins.encode() + b"\n\n" + needing.tests["pkg/canonical.py"]}


WRONG_ROWS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "index": ({"index": 0}, ("index", "whole number of at least 1", "not 0")),
    "if_test": ({"if_test": "yes"}, ("if_test", "true or false", 'not "yes"')),
    "folder": ({"repo_dir_name": "../x"}, ("repo_dir_name", "name of a folder", 'not "../x"')),
    "target above": (
        {"target_file_path": "../x.py"},
        ("target_file_path", "path of a .py file", "without ..", 'not "../x.py"'),
    ),
    "target": ({"target_file_path": "x"}, ("target_file_path", "path of a .py file", 'not "x"')),
    "init_content": ({"init_content": 3}, ("init_content", "must be text", "not 3")),
    "no cases": ({"test_cases": []}, ("test_cases", "at least one test name", "not []")),
    "cases twice": ({"test_cases": ["a", "a"]}, ("test_cases", "without duplicates", 'not ["a", "a"]')),
}


@pytest.mark.parametrize("name", WRONG_ROWS)
def test_a_wrong_row_is_told_of_that_row_alone(tmp_path: Path, name: str) -> None:
    wrong, (key, *parts) = WRONG_ROWS[name]
    write(tmp_path, index=7)
    manifest = write(tmp_path, **{"index": 8, **wrong})
    good, bad = FORMAT.load(manifest)
    assert (good.id, good.fault) == ("annotation_7", "")
    assert_message(bad.fault, f"{manifest}:2: {key}", *parts)
    assert bad.id == ("line 2 of annotation_meta.jsonl" if name == "index" else "annotation_8")
    with pytest.raises(UserError, match="annotation_meta"):
        bad.load()


def test_lines_that_are_no_rows(tmp_path: Path) -> None:
    manifest = write(tmp_path)
    row = json.dumps(ROW)
    lines = [
        "{",
        "[1]",
        row,
        json.dumps({key: value for key, value in {**ROW, "index": 9}.items() if key != "if_test"}),
    ]
    manifest.write_text("\n".join([row, "", *lines, ""]))
    first, *rest = FORMAT.load(manifest)
    assert first.fault == ""
    keys = "index, repo_dir_name, target_file_path, if_test, init_content, test_cases"
    expected = {
        "line 3 of annotation_meta.jsonl": (":3", "not valid JSON", "column 2", "fix or remove the line"),
        "line 4 of annotation_meta.jsonl": (":4", "an object with", keys, "not a list"),
        "line 5 of annotation_meta.jsonl": (":5", "index 1", "line 1", "another index"),
        "annotation_9": (":6", "missing key 'if_test'", keys),
    }
    assert [task.id for task in rest] == list(expected)
    for task in rest:
        place, *parts = expected[task.id]
        assert_message(task.fault, f"{manifest}{place}", *parts)


def test_an_index_is_that_of_the_first_right_row(tmp_path: Path) -> None:
    """Neither what is broken nor what is not to be run takes it from a row below, wherever it stands."""
    manifest = write(tmp_path)
    lines = (
        {"index": 1},
        {**ROW, "if_test": False},
        ROW,
        {**ROW, "test_cases": []},
        ROW,
        {"index": 2},
        {"index": 2},
        {"if_test": False},
    )
    manifest.write_text("".join(json.dumps(row) + "\n" for row in lines))
    assert [(task.id, task.fault.removeprefix(f"{manifest}:")[:24]) for task in FORMAT.load(manifest)] == [
        ("line 1 of annotation_meta.jsonl", "1: missing key 'if_test'"),
        ("annotation_1", ""),
        ("line 4 of annotation_meta.jsonl", "4: test_cases: must be a"),
        ("line 5 of annotation_meta.jsonl", "5: index 1 is already us"),
        ("annotation_2", "6: missing key 'if_test'"),
        ("line 7 of annotation_meta.jsonl", "7: missing key 'if_test'"),
    ]


def test_a_byte_that_is_no_utf8_is_told_of_its_line_alone(tmp_path: Path) -> None:
    write(tmp_path, index=1)
    write(tmp_path, index=2)
    manifest = write(tmp_path, index=3)
    first, second, third = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(b"\xef\xbb\xbf" + first + second.replace(b"scales", b"sc\xe4les") + third)
    good, bad, also = FORMAT.load(manifest)
    assert [task.fault for task in (good, also)] == ["", ""]
    assert [good.id, bad.id, also.id] == ["annotation_1", "line 2 of annotation_meta.jsonl", "annotation_3"]
    assert bad.fault == f"{manifest}:2: not UTF-8 text (byte 0xe4); save the file as UTF-8"


@pytest.mark.parametrize("data", [b"", b"{\n", b"[]\n[]\n", json.dumps(ROW).encode("utf-16"), b"\n\xff\n\xff\n"])
def test_a_file_without_any_row(tmp_path: Path, data: bytes) -> None:
    manifest = tmp_path / FORMAT.manifest
    manifest.write_bytes(data)
    with pytest.raises(UserError, match=r"annotation_meta\.jsonl:?"):
        FORMAT.load(manifest)


@pytest.mark.parametrize("name", ["instruction.txt", "latex.txt", "canonical.py", "test.py", "test.sh"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    write(tmp_path, index=2)
    manifest = write(tmp_path, {name: None})
    good, bad = FORMAT.load(manifest)
    assert good.fault == ""
    path = tmp_path / "annotations/annotation_1" / name
    assert_message(bad.fault, f"{manifest}:2: {path}", "no such file", "download it", "-k")


def test_a_missing_folder(tmp_path: Path) -> None:
    manifest = write(tmp_path)
    shutil.rmtree(tmp_path / "annotations/annotation_1/scales")
    [bad] = FORMAT.load(manifest)
    folder = tmp_path / "annotations/annotation_1"
    assert_message(bad.fault, f"{manifest}:1: {folder / 'scales'}", "no such folder", "download it", "repo_dir_name")
    shutil.rmtree(folder)
    [bad] = FORMAT.load(manifest)
    assert_message(bad.fault, f"{manifest}:1: {folder}", "no such folder", "download it", "-k")


def test_a_row_that_is_not_to_be_run_needs_nothing(tmp_path: Path) -> None:
    manifest = write(tmp_path)
    with manifest.open("a") as file:
        file.write(json.dumps({"index": 2, "if_test": False}) + "\n")
    assert [task.id for task in FORMAT.load(manifest)] == ["annotation_1"]


def test_what_belongs_to_the_data_set(tmp_path: Path) -> None:
    manifest = tmp_path / FORMAT.manifest
    assert owns(manifest, tmp_path / "annotations")
    assert owns(manifest, tmp_path / "annotations/annotation_1/repo/tests")
    assert not owns(manifest, tmp_path / "tests")
