"""Faults of the machine, in the midst of what usually is a fault of a file: they name what is lacking, and what to do."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_recode.episode.error_record import error_record
from pytest_recode.faults import MachineError, UserError
from pytest_recode.formats.document import data_of
from pytest_recode.formats.files import entries_of
from pytest_recode.records.run_directory import reading
from pytest_recode.sandboxes.interpreters import interpreter
from tests.messages import assert_message


@pytest.fixture
def no_descriptor_left() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def read_record(path: Path) -> None:
    with reading(path):
        path.read_bytes()


READERS: dict[str, Callable[[Path], object]] = {
    "manifest": lambda path: data_of(path, most=100),
    "directory": lambda path: entries_of(str(path.parent)),
    "record": read_record,
    "interpreter": lambda path: interpreter(str(path)),
}


@pytest.mark.parametrize("what", READERS)
def test_too_many_open_files_are_no_fault_of_the_file(tmp_path: Path, no_descriptor_left: None, what: str) -> None:
    with pytest.raises(MachineError) as caught:
        READERS[what](tmp_path / "file")
    assert not isinstance(caught.value, UserError)
    record = error_record(caught.value)
    assert record["kind"] == "machine"
    assert_message(record["message"], str(tmp_path), "Too many open files", "ulimit -n", "fewer workers")


def test_what_an_agent_does_not_handle_names_the_machine_too(tmp_path: Path, no_descriptor_left: None) -> None:
    with pytest.raises(OSError, match="Too many open files") as caught:
        (tmp_path / "file").read_bytes()
    record = error_record(caught.value)
    assert record["kind"] == "machine"
    assert_message(record["message"], "could not be played", "Too many open files", "ulimit -n")
