"""Calls of models in transcripts, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.metrics.calls import calls, read


def usage(tokens: int, **times: Any) -> dict[str, Any]:
    spent = {"prompt_tokens": 1, "completion_tokens": tokens, "cost_usd": None}
    return {"event": "usage", "time": 1.0, "model": "m", **spent, **times}


RETRY = {"event": "retry", "time": 1.0, "model": "m", "error": "model:server", "message": "x", "pause": 2.0}


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_waits_and_speed(tmp_path: Path) -> None:
    lines = [
        usage(30, waited=4.0, answering=1.0),
        RETRY,
        usage(60, waited=0.5, answering=2.0),
        usage(9, waited=0, answering=6),
    ]
    summary = calls(read(written(tmp_path / "t.jsonl", *lines)))
    assert (summary.calls, summary.retries) == (3, 1)
    assert (summary.waited, summary.longest_wait, summary.answering) == (4.5, 4.0, 2.0)
    assert summary.speed == pytest.approx(99 / 9)


def test_calls_without_times_are_counted(tmp_path: Path) -> None:
    found = calls(read(written(tmp_path / "t.jsonl", usage(30), RETRY)))
    assert (found.calls, found.retries, found.waited, found.speed) == (1, 1, None, None)
    assert read(None) == ()


def test_replayed_calls_are_told_from_paid_ones(tmp_path: Path) -> None:
    lines = [
        usage(30, cost_usd=0.5, call="x"),
        usage(30, cost_usd=0.0, replayed=True, recorded_usd=0.25),
        usage(30, cost_usd=0.0, replayed=True, recorded_usd=0.5),
    ]
    found = calls(read(written(tmp_path / "t.jsonl", *lines)))
    assert (found.calls, found.replayed, found.cost_usd, found.recorded_usd) == (3, 2, 0.5, 0.75)
    unknown = usage(30, cost_usd=0.0, replayed=True, recorded_usd=None)
    assert calls(read(written(tmp_path / "t.jsonl", *lines, unknown))).recorded_usd is None


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", usage(30, waited="long"))
    with pytest.raises(UserError, match=r"t\.jsonl, line 1: is damaged"):
        read(path)
