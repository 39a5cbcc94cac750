"""Manifests of one line of JSON for each task: their lines, and what stands for one that is not valid."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_recode.formats.document import data_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongLine:
    """A line that is not valid: its name in the report, and its error."""

    name: str
    fault: str


def numbered_lines(path: Path, *, most: int) -> list[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1. `most`: bytes of the file. Raises `UserError` as `data_of` does."""
    return [(number, data) for number, data in enumerate(data_of(path, most=most).split(b"\n"), 1) if data.strip()]
