"""A transcript that is followed while it is written tells the same as one that is read at once."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.records.transcript import name
from pytest_recode.records.transcript_follow import LIMIT, MODEL, RESEARCHER, RETRY, SANDBOX, TESTS, Follower, Progress

NODEID = "bench/tiny/task.yaml::episode[m-L0]"
BEGUN = {"task": "tiny", "model": "m", "agent": "recode", "feedback": "L0", "settings": {"turns": 4}}
COST = {"model": "m", "prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.25}


def line(event: str, time: float, **fields: Any) -> str:
    return json.dumps({"event": event, "time": time, **fields}) + "\n"


EPISODE = (
    (line("episode", 1.0, **BEGUN), {"task": "tiny", "turn": 1, "turns": 4, "judged": 0, "level": ""}),
    (
        line("message", 2.0, turn=1, step=0, role="user", content='"role": "assistant"'),
        {"waiting": MODEL, "since": 2.0},
    ),
    (line("retry", 2.5, model="m", error="server", message="", pause=1.0), {"waiting": RETRY, "since": 2.5}),
    (line("retry", 2.7, model="m", error="model:rate-limit", message="", pause=1.0), {"waiting": LIMIT, "since": 2.7}),
    (line("usage", 3.0, **COST), {"tokens": 15, "cost_usd": 0.25}),
    (line("message", 3.0, turn=1, step=1, role="assistant", content="é" * 40), {}),
    (line("action", 4.0, turn=1, step=1, kind="run"), {"waiting": SANDBOX, "since": 4.0}),
    (line("result", 5.0, turn=1, step=1, kind="run"), {"waiting": SANDBOX, "since": 4.0}),
    (line("grading", 6.0, targets=["a.py"]), {"waiting": TESTS, "since": 6.0}),
    (
        line("turn", 7.0, turn=1, level=None, passed=3, total=5),
        {"waiting": RESEARCHER, "turn": 2, "judged": 1, "judged_with": "", "passed": 3},
    ),
    (line("feedback", 8.0, turn=1, level="L0"), {"level": "L0", "judged_with": ""}),
    (line("turn", 8.5, turn=2, level="L0", passed=4, total=5), {"judged": 2, "judged_with": "L0"}),
    (line("feedback", 8.7, turn=2, level="L1"), {"level": "L1", "judged_with": "L0"}),
    (line("usage", 9.0, **{**COST, "cost_usd": None}), {"tokens": 30, "cost_usd": None}),
    (line("usage", 9.5, **COST), {"tokens": 45, "cost_usd": None}),
)
WHOLE = "".join(text for text, _ in EPISODE).encode()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("out")
    (place / "episodes").mkdir()
    return place


def followed(out: Path, *parts: bytes) -> Progress:
    path = out / "episodes" / name(NODEID)
    path.unlink(missing_ok=True)
    follower = Follower(out, NODEID)
    follower.look()  # there is no file yet
    for part in parts:
        with path.open("ab") as file:
            file.write(part)
        follower.look()
    return follower.progress


def test_each_line_tells_what_it_says(out: Path) -> None:
    for number, (_, says) in enumerate(EPISODE, 1):
        progress = followed(out, "".join(text for text, _ in EPISODE[:number]).encode())
        assert {key: getattr(progress, key) for key in says} == says, number


@given(st.lists(st.integers(0, len(WHOLE)), max_size=6))
def test_wherever_it_looks_the_end_is_the_same(out: Path, places: list[int]) -> None:
    cuts = [0, *sorted(places), len(WHOLE)]
    parts = [WHOLE[start:stop] for start, stop in itertools.pairwise(cuts)]
    assert followed(out, *parts) == followed(out, WHOLE)


@given(
    st.sampled_from(["episode", "resumed", "usage", "turn", "feedback", "message", "own"]),
    st.dictionaries(
        st.sampled_from(["task", "turn", "level", "settings", "passed", "cost_usd"]), st.none() | st.text()
    ),
)
def test_an_agents_own_lines_do_no_harm(out: Path, event: str, fields: dict[str, Any]) -> None:
    own = line(event, 2.0, **fields).encode()
    progress = followed(out, own, WHOLE, b"no line at all\n")
    assert (progress.turn, progress.passed, progress.tokens) == (3, 4, 45)


def test_before_the_first_line_it_has_the_name_of_the_task(out: Path) -> None:
    assert Follower(out, "bench/tiny/task.yaml::episode[m-L0]").progress.task == "tiny"
    assert Follower(out, "data/meta.jsonl::annotation_3/episode[a/b-L0]").progress.task == "annotation_3"
