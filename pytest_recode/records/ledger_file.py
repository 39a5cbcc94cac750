"""Lines of a run's ledger in its open file: appended, or overwritten in place by a line of at most the same length."""

from __future__ import annotations

import json
import os

from pytest_recode.records.ledger_lines import LedgerLine


def write(file: int, line: str) -> int:
    """Append a line; returns its offset."""
    end = os.fstat(file).st_size
    if torn := end and os.pread(file, 1, end - 1) != b"\n":
        line = f"\n{line}"  # end the incomplete line of a killed process first
    try:
        put(file, end, line)
    except OSError:
        os.ftruncate(file, end)
        raise
    return end + bool(torn)


def put(file: int, place: int, line: str) -> None:
    data = f"{line}\n".encode()
    while data:
        written = os.pwrite(file, data, place)
        data, place = data[written:], place + written


def padded(line: LedgerLine, width: int) -> str:
    return json.dumps(line).ljust(width)


def width(model: str) -> int:
    """The length of the longest line that a call of `model` may need; shorter lines are padded with blanks."""
    most = {"prompt_tokens": 10**15, "completion_tokens": 10**15, "cost_usd": -1.2345678901234567e-300}
    return len(json.dumps({"model": model, **most}))
