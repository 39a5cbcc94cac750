"""A real language model plays three tasks with each agent, where `RECODE_SMALL_MODEL` is the address of a server that speaks OpenAI's protocol.

A model of some hundred million parameters solves nothing. What it writes is no fault of anybody else's: no episode is an ERROR, and none
of its answers makes the plugin fail. The guide on local models says how such a server is started.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.record_cassette import ROOT

ADDRESS = os.environ.get("RECODE_SMALL_MODEL", "")
TASKS = ("min-p", "soft-nms", "tau-leaping")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not ADDRESS, reason="RECODE_SMALL_MODEL names no server"),
]


@pytest.mark.parametrize("agent", ["recode", "one-shot", "recode-h"])
def test_a_small_model_gets_verdicts(agent: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    table = pytester.path / "models.yaml"
    entry = {"model": "openai/small", "api_base": ADDRESS, "params": {"max_tokens": 300}}
    table.write_text(json.dumps({"small": entry}))
    out = pytester.path / "out"
    steps = () if agent == "one-shot" else ("--recode-steps=2",)
    result = pytester.runpytest_subprocess(
        *(str(ROOT / "tasks" / name) for name in TASKS),
        *(f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml"), "--recode-sandbox=bubblewrap"),
        *(f"--recode-models-file={table}", "--recode-model=small", f"--recode-agent={agent}", f"--recode-out={out}"),
        *("--recode-turns=2", *steps, "--recode-feedback=L3", "--recode-call-seconds=900"),
        timeout=7000,
    )
    records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [record["error"] for record in records] == [None] * len(TASKS)
    assert {record["outcome"] for record in records} <= {"solved", "unsolved"}
    assert "INTERNALERROR" not in result.stdout.str()
    assert all(Path(out, record["transcript"]).stat().st_size for record in records)
