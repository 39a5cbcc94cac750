"""A recorded run of a bundled task is replayed: the whole path, with a real model's place taken by its recorded answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.record_cassette import CASSETTE, ROOT, RUN

Run = Callable[..., pytest.RunResult]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_the_recorded_run_is_replayed(
    run_pytest: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """If this fails after a change of the prompts: `python -m tests.record_cassette`."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    out = pytester.path / "out"
    task, *options = RUN
    given = (str(ROOT / task), *options, "--recode-cassette-mode=replay", f"--recode-out={out}")
    result = run_pytest(workers, f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml"), *given)
    [record] = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert record["error"] is None, record["error"]
    assert (record["outcome"], record["solved_turn"], record["usage"]["cost_usd"]) == ("solved", 2, 0)
    assert record["turns"][0]["failed"] > 0
    assert {turn["seed"] for turn in record["turns"]} == seeds(CASSETTE)
    result.assert_outcomes(passed=1)


def seeds(cassette: Path) -> set[int]:
    lines = (json.loads(line) for path in cassette.glob("*.jsonl") for line in path.read_text().splitlines())
    return {line["seed"] for line in lines if "seed" in line}
