"""The directory of a run: claimed once by the controlling process, new or gone on with."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.settings import Settings

RESULTS = "results.jsonl"


def claim(out: Path, settings: Settings, ids: Collection[str]) -> None:
    """A run writes into a directory of its own, or with `--recode-resume` goes on in that of another; `ids` are of the items it is
    about to play. Raises `UserError`."""
    results = out / RESULTS
    try:
        if settings.resume and results.exists():
            _go_on(out, ids)
            return
        if out.is_dir() and any(out.iterdir()):
            what, also = (
                (f"another run ({RESULTS})", ", or --recode-resume to go on with it")
                if results.exists()
                else ("other files", "")
            )
            raise UserError(f"--recode-out={out} holds {what}: give a new or an empty directory{also}")
        out.mkdir(parents=True, exist_ok=True)
        if settings.out is None:
            (out.parent / ".gitignore").write_text("*\n")
        os.close(os.open(results, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except OSError as error:
        raise UserError(f"--recode-out={out} cannot be written ({error.strerror}): give a directory that can") from None


def finished(out: Path) -> Mapping[str, Mapping[str, Any]]:
    """The records of what an earlier run has played to its end, by node id."""
    from pytest_recode.render.records import read

    return {record["nodeid"]: record for record in read(out / RESULTS) if record["outcome"] != "error"}


def _go_on(out: Path, ids: Collection[str]) -> None:
    """What is about to be played again gets its record then: an error of the earlier run, and what was cut off in the middle."""
    from pytest_recode.checkpoint import wait_until_left
    from pytest_recode.render.records import read, rewrite

    wait_until_left(out)
    found = read(out / RESULTS)
    rewrite(out / RESULTS, [each for each in found if each["outcome"] != "error" or each["nodeid"] not in ids])
