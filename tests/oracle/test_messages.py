"""The step messages of graders: both ends agree, and a reader refuses everything else with one typed error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.inside.wire import codec, messages

FAILURE: messages.FailureReport = {
    "kind": "exception",
    "message": "it failed",
    "exception": {"type": "ValueError", "message": "no", "frames": ("m.py:1 in f: raise",)},
}
FAILED = messages.CaseOutcome(outcome="failed", junit="failure", **FAILURE)
GRADER: list[Any] = [
    messages.Collected(
        op="collected", cases=[{"id": "test_m.py::test_f", "interface": "m.f"}], versions={"python": "3.12.1"}
    ),
    messages.started("test_m.py::test_f"),
    messages.finished_using("test_m.py::test_f", messages.PASSED, ["m.f"], {"speed-up": 1.5}),
    messages.finished_using("test_m.py::test_f", FAILED, [], {}),
    messages.Broken(op="broken", text="no", lacking="", python="/usr/bin/python3"),
    messages.DONE,
    messages.READY,
]
JUDGE: list[Any] = [
    messages.started("A.test"),
    messages.finished("A.test", FAILED),
    messages.finished_of("A.test", "m.f", messages.PASSED),
    messages.ended(FAILURE),
    messages.Flag(op="flag", text="it replaced numpy.allclose"),
    messages.DONE,
]
LEARNED = messages.Learned(
    op="collected",
    cases={"A.test": "A.test"},
    sensitive={"reference": ["A.test"], "candidate": []},
    problem="",
    versions={"numpy": "2.0"},
)


def sent(message: Any) -> Any:
    header, buffers = codec.dump(message)
    return codec.parse(header, b"".join(buffers))


@pytest.mark.parametrize("step", GRADER, ids=lambda step: step["op"])
def test_a_step_of_the_grader_is_read_as_it_was_made(step: Any) -> None:
    assert messages.grader_step(sent(step)) == step


@pytest.mark.parametrize("step", JUDGE, ids=lambda step: step["op"])
def test_a_step_of_the_judge_is_read_as_it_was_made(step: Any) -> None:
    assert messages.judge_step(sent(messages.with_token(step, "t"))) == {**step, "token": "t"}


def test_what_the_judge_learned_is_read_as_it_was_made() -> None:
    assert messages.learned(sent(LEARNED)) == LEARNED


def test_the_bytes_on_the_wire() -> None:
    """Their order of fields is part of the protocol."""
    header, _ = codec.dump(messages.with_token(messages.finished_of("t", "m.f", messages.PASSED), "x"))
    pairs = json.loads(header)[0][1:]
    names = ["op", "id", "interface", "outcome", "kind", "message", "exception", "junit", "token"]
    assert pairs[::2] == names
    header, _ = codec.dump(messages.finished("t", FAILED))
    assert json.loads(header)[0][1::2] == ["op", "id", "outcome", "junit", "kind", "message", "exception"]
    header, _ = codec.dump(messages.finished_using("t", FAILED, ["m.f"], {}))
    assert json.loads(header)[0][1::2] == [
        "op",
        "id",
        "outcome",
        "junit",
        "kind",
        "message",
        "exception",
        "uses",
        "scores",
    ]


WRONG = [None, 7, 1 << 20_000, b"x", ["x"], {"x": 7}, np.str_("passed"), np.zeros(2), {"type": 7}]


@pytest.mark.parametrize("read", [messages.grader_step, messages.judge_step, messages.learned])
def test_what_is_no_step_is_refused(read: Any) -> None:
    for message in (*WRONG, "done", {}, *({"op": value} for value in WRONG), {"op": "stop"}):
        with pytest.raises(messages.MessageError, match="no step"):
            read(message)


@pytest.mark.parametrize(
    ("read", "step", "name"),
    [
        (read, step, name)
        for read, steps in ((messages.grader_step, GRADER), (messages.judge_step, JUDGE), (messages.learned, [LEARNED]))
        for step in steps
        for name in step
        if name not in ("op", "interface", "exception")
    ],
    ids=lambda value: value if isinstance(value, str) else value["op"] if isinstance(value, dict) else value.__name__,
)
def test_a_field_that_is_missing_or_of_another_type_is_refused(read: Any, step: Any, name: str) -> None:
    without = {key: value for key, value in step.items() if key != name}
    values = [value for value in WRONG if not (name == "uses" and type(value) is list)]  # a list of texts is right
    for wrong in (without, *({**step, name: value} for value in (*values, [7], ("x",)))):
        with pytest.raises(messages.MessageError, match=f"no valid '{name}'"):
            read(wrong)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda below: (
            st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["type", "message", "frames", "x"]), below)
        ),
        max_leaves=6,
    )
)
def test_an_exception_of_any_shape_is_whole_or_refused(exception: Any) -> None:
    step = {**messages.finished("t", FAILED), "exception": exception}
    try:
        read: Any = messages.judge_step(step)
    except messages.MessageError:
        return
    report = read["exception"]
    assert report is None or (
        type(report["type"]) is str
        and type(report["message"]) is str
        and all(type(line) is str for line in report["frames"])
    )
