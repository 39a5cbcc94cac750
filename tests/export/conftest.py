"""What the tests of exports read from a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def records(run: Path) -> dict[str, dict[str, Any]]:
    """The records of a run, by node id."""
    found = map(json.loads, (run / "results.jsonl").read_text().splitlines())
    return {record["nodeid"]: record for record in found}


def transcript(run: Path, record: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / record["transcript"]).read_text().splitlines()]


def rewrite(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
