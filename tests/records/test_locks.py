"""File locks: who excludes whom, and that a lock ends with its file and with its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_recode.records import locks


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_only_shared_locks_go_together(tmp_path: Path, first: bool, second: bool) -> None:
    path = tmp_path / "lock"
    with locks.closing(locks.open_lock(path)) as other:
        with locks.locked(locks.open_lock(path), shared=first):
            assert locks.try_acquire(other, shared=second) == (first and second)
        assert locks.try_acquire(other)


def test_a_released_lock_is_free_while_its_file_is_open(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locks.locked(locks.open_lock(path)) as file, locks.closing(locks.open_lock(path)) as other:
        assert not locks.try_acquire(other)
        locks.release(file)
        assert locks.try_acquire(other)


def test_a_killed_process_has_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    program = (
        "import sys; from pathlib import Path; from pytest_recode.records import locks\n"
        "with locks.locked(locks.open_lock(Path(sys.argv[1]))):\n"
        "    print('locked', flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child, locks.closing(locks.open_lock(path)) as file:
        assert child.stdout is not None
        assert child.stdout.readline() == "locked\n"
        assert not locks.try_acquire(file)
        child.kill()
        child.wait()
        assert locks.try_acquire(file)


def test_the_mode_and_flags_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    os.close(locks.open_lock(path, 0o600))
    assert path.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(OSError, match="symbolic links"):
        locks.open_lock(link, flags=os.O_NOFOLLOW)
