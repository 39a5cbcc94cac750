"""What an agent delivers is read without following what it may have put there."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_recode.verifier.delivered import targets


def test_a_target_is_taken_with_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/code.py").write_bytes(b"x = 1\r\n\xff")
    (tmp_path / "other.py").write_text("not asked for")
    files, faults = targets(tmp_path, ["deep/er/code.py"], 100)
    assert files == {"deep/er/code.py": b"x = 1\r\n\xff"}
    assert faults == ()


def test_no_link_leads_to_the_reference(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/code.py").write_text("the reference")
    place = tmp_path / "app"
    place.mkdir()
    (place / "file.py").symlink_to(tmp_path / "secret/code.py")
    (place / "directory").symlink_to(tmp_path / "secret")
    (tmp_path / "linked").symlink_to(place)
    files, faults = targets(place, ["file.py", "directory/code.py", "missing.py"], 100)
    assert files == {}
    assert [fault.split(":")[0] for fault in faults] == ["file.py", "directory/code.py", "missing.py"]
    assert targets(tmp_path / "linked", ["file.py"], 100)[0] == {}


def test_what_is_no_file_or_too_large_is_not_taken(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "directory.py").mkdir()
    (tmp_path / "one.py").write_bytes(b"x" * 60)
    (tmp_path / "two.py").write_bytes(b"x" * 60)
    with (tmp_path / "sparse.py").open("wb") as file:
        file.truncate(1 << 40)
    names = ["pipe.py", "directory.py", "sparse.py", "one.py", "two.py"]
    files, faults = targets(tmp_path, names, 100)
    assert list(files) == ["one.py"]  # both together are too large
    assert [fault.split(":")[0] for fault in faults] == ["pipe.py", "directory.py", "sparse.py", "two.py"]
