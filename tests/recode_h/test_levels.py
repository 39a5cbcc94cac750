"""The command of the benchmark's users: all levels in one run, models and researcher behind one server, several workers."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, Request, say
from tests.plugin.conftest import words
from tests.recode_h.scene import DATASET

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]

ANNOTATION = DATASET / "annotations/annotation_1"
RIGHT = (ANNOTATION / "canonical.py").read_text()
WRONG = RIGHT.replace("second**2 / 4", "second / 4")
WORDS = {
    "category": "T2",
    "description": "The momentum is too large.",
    "analysis": "The eigenvalue enters once, and the paper has its square.",
    "suggestion": "Square it before the division.",
    "caused_by": "",
}
SHOWN = ("description", "analysis", "suggestion", "correction")
PRINTED = {**WORDS, "correction": "second**2 / 4"}  # the authors' line


def script(request: Request) -> Answer:
    if request.body["model"] == "writer-1":
        return say(json.dumps({"feedbacks": [{"interface": "spectral.momentum.optimal_momentum", **WORDS}]}))
    return say(f"```python spectral/momentum.py\n{RIGHT if 'level L4' in request.prompt else WRONG}\n```")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n2", "-n4"])
def test_all_levels_in_one_run(recode: Run, results: Results, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ChatServer(script) as server:
        result = recode(
            workers, str(DATASET), "-k", "annotation_1", f"--recode-env=test_common1={sys.executable}",
            "--recode-agent=one-shot", "--recode-model=openai/tiny-1", "--recode-feedback-model=openai/writer-1",
            f"--recode-api-base={server.url}", "--recode-turns=2", "--recode-out=out",
            *(f"--recode-feedback=L{level}" for level in (0, 1, 2, 3, 4)),
        )  # fmt: skip
    by_level = {record["feedback"]: record for record in results()}
    assert {level: record["outcome"] for level, record in by_level.items()} == {
        **{f"L{level}": "unsolved" for level in range(4)},
        "L4": "solved",
    }, words(result)
    asked = Counter(request.body["model"] for request in server.requests)
    assert asked["tiny-1"] == 1 + 5, "one first turn, and a second at each level"
    assert asked["writer-1"] == 4, "at L0 there is nothing to write"
    prompts = [request.prompt for request in server.requests if "Feedback on turn 1" in request.prompt]
    seconds = {level: next(each for each in prompts if f"level L{level}." in each) for level in range(5)}
    for level, prompt in seconds.items():
        shown = [name for name in SHOWN if PRINTED[name] in prompt]
        assert shown == list(SHOWN[:level])
        assert "T2" not in prompt
    for level, record in by_level.items():
        assert [turn["level"] for turn in record["turns"]] == [None, level]
        assert record["feedback_model"] == "openai/writer-1"
