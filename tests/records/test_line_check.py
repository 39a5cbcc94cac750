"""What a record must be: every wrong value is one line that names file, line and key."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from pytest_recode.faults import UserError
from pytest_recode.metrics.reading import read
from pytest_recode.records.line_check import checked_record
from pytest_recode.schema.field_checks import (
    DOLLARS,
    FLAG,
    TEXT,
    Key,
    list_of,
    list_of_texts,
    object_of,
    one_of,
    or_null,
    remembered,
    whole_number,
)
from tests.examples import examples
from tests.metrics.samples import own_run, record, replay, run, shared, sorted_turn, turn

GOOD = record("a", (1, 4))


def changed(keys: str, value: Any) -> dict[str, Any]:
    """The record with another value at "turns.0.level"."""
    changed_record = copy.deepcopy(GOOD)
    at: Any = changed_record
    *parents, last = (int(key) if key.isdecimal() else key for key in keys.split("."))
    for key in parents:
        at = at[key]
    at[last] = value
    return changed_record


@pytest.mark.parametrize(
    "good",
    [
        GOOD,
        record("b", (), outcome="error"),
        record("c", (0, 1)),
        own_run("m", "GPT_4_1")[0],
        shared(GOOD),
        replay(GOOD, 2, 4),
        record("d", turns=[turn(1, 0), sorted_turn(2, ["T1", ""])]),
        record("e", added_by_a_later_version={"x": [1]}),
        record("f", turns=[{**turn(1, 4), "seed": 2**64 - 1}]),  # --recode-seed takes as much
    ],
)
def test_what_a_run_writes_is_right(good: dict[str, Any]) -> None:
    assert checked_record(good) == good


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        ("schema", True, "schema true: this version reads 1"),
        ("schema", 1.0, "schema 1.0: this version reads 1"),
        ("schema", "1", 'schema "1": this version reads 1'),
        ("solved_turn", 0, "solved_turn is 0: must be a whole number from 1 or null"),
        ("solved_turn", True, "solved_turn is true: must be a whole number from 1"),
        ("solved_turn", 3, "solved_turn is 3, and turns has no such turn"),
        ("solved_turn", 1, "solved_turn is 1, and that turn did not solve it"),
        ("solved_turn", None, "solved_turn is null and outcome 'solved': one of the two is wrong"),
        ("outcome", "unsolved", "solved_turn is 2 and outcome 'unsolved': one of the two is wrong"),
        ("outcome", "Solved", "outcome is 'Solved': must be solved or unsolved or error"),
        ("outcome", None, "outcome is null: must be solved or unsolved or error"),
        ("attempt", "1", "attempt is '1': must be a whole number from 1"),
        ("attempt", 0, "attempt is 0: must be a whole number from 1"),
        ("paper", "yes", "paper is 'yes': must be true or false"),
        ("task", 7, "task is 7: must be a nonempty text"),
        ("model", "", "model is '': must be a nonempty text or null"),
        ("cutoff", "last year", "cutoff is 'last year': must be a date such as 2024-10"),
        ("cutoff", "2024-13", "cutoff is '2024-13': must be a date such as 2024-10"),
        (
            "facts",
            {"first_commit_date": "soon"},
            "facts.first_commit_date is 'soon': must be a date such as 2024-10-17",
        ),
        (
            "facts",
            {"paper": "p", "snippet": "s", "lines": 0},
            "facts.lines is 0: must be a whole number from 1",
        ),
        ("turns", None, "turns is null: must be a list"),
        ("turns.0", [], "turns[0] is []: must be an object"),
        ("turns.0.level", "L9", "turns[0].level is 'L9': must be L0 or L1 or L2 or L3 or L4 or null"),
        ("turns.1.total", 0, "turns[1].total is 0: must be a whole number from 1"),
        ("turns.1.passed", 5, "turns[1].passed is 5 of 4"),
        ("turns.1.passed", 4.0, "turns[1].passed is 4.0: must be a whole number from 0"),
        ("turns.1.tampering", "x", "turns[1].tampering is 'x': must be a list"),
        (
            "turns.0.cases.2.outcome",
            "skipped",
            "turns[0].cases[2].outcome is 'skipped': must be passed or failed or error",
        ),
        ("usage.cost_usd", -1, "usage.cost_usd is -1: must be a number from 0 or null"),
        ("usage.cost_usd", 1e999, "is damaged: not JSON"),
        ("usage.prompt_tokens", None, "usage.prompt_tokens is null: must be a whole number from 0"),
        ("usage.completion_tokens", float("nan"), "is damaged: not JSON"),
        ("settings", [], "settings is []: must be an object"),
        ("settings.turns", [1], "settings.turns is [1]: must be a whole number from 1"),
        ("settings.of_a_later_version", [1], "settings.of_a_later_version is not a single value"),
    ],
)
def test_a_wrong_value_is_one_line(tmp_path: Path, keys: str, value: Any, words: str) -> None:
    directory = run(tmp_path / "run", [record("x"), changed(keys, value)])
    with pytest.raises(UserError) as raised:
        read([directory])
    message = str(raised.value)
    assert message.startswith(f"{directory}/results.jsonl, line 2: ")
    assert words in message
    assert "\n" not in message


def test_a_large_number_that_json_reads_as_infinity(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(GOOD).replace('"cost_usd": 0.5', '"cost_usd": 1e999') + "\n")
    with pytest.raises(UserError, match=r"line 1: .*usage.cost_usd is inf: must be a number from 0 or null"):
        read([path])


@pytest.mark.parametrize(
    "key",
    [key for key in GOOD if key != "ended"],
)
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    directory = run(tmp_path / "run", [{name: value for name, value in GOOD.items() if name != key}])
    words = "is not a record of a run" if key in {"schema", "nodeid"} else f"lacks '{key}'"
    with pytest.raises(UserError, match=f"line 1: .*{words}"):
        read([directory])


def test_a_line_cut_off_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(record("a"))[:99] + "\n" + json.dumps(record("b")) + "\n")
    with pytest.raises(UserError, match=r"results.jsonl, line 1: is damaged: not JSON: restore it, or delete the line"):
        read([path])


def test_nesting_without_end_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"schema": ' + "[" * 100_000 + "\n" + json.dumps(record("b")) + "\n")
    with pytest.raises(UserError, match="line 1: is damaged"):
        read([path])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
places = [
    "task",
    "facts",
    "agent",
    "model",
    "simulated",
    "attempt",
    "paper",
    "cutoff",
    "settings",
    "outcome",
    "solved_turn",
    "turns",
    "turns.0",
    "turns.1.passed",
    "turns.1.total",
    "turns.0.level",
    "turns.0.cases",
    "turns.1.cases.0",
    "turns.1.feedback",
    "usage",
    "usage.cost_usd",
    "turns.1.usage.prompt_tokens",
    "isolation",
    "transcript",
    "digest",
    "replay",
    "turns.0.seed",
]


@given(st.sampled_from(places), json_values)
@examples(400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_there_it_is_read_or_named(tmp_path: Path, keys: str, value: Any) -> None:
    directory = run(tmp_path / "run", [changed(keys, value)])
    try:
        [source] = read([directory])
        answer = f"{len(source.attempts)} attempt"
    except UserError as error:
        answer = str(error)
    assert re.match(rf"1 attempt|{re.escape(str(directory))}/results.jsonl, line 1: ", answer)


CASE = object_of(
    {
        "id": Key(check=TEXT),
        "outcome": Key(check=one_of("passed", "failed")),
        "kind": Key(check=or_null(TEXT)),
        "junit": Key(check=TEXT, required=False),
    }
)
VALUES = st.sampled_from(["passed", "failed", "", "x", None, 0, 1, True, [], {}])


CASES = st.lists(
    st.one_of(st.dictionaries(st.sampled_from(["outcome", "kind", "junit", "id"]), VALUES), VALUES), max_size=4
)


@given(st.lists(st.one_of(CASES, VALUES), max_size=12))
def test_remembered_cases_are_checked_like_others(values: list[Any]) -> None:
    """Also after equal and similar values: 1 and True, a key that is missing and one that is null."""
    plain, remembering = list_of(CASE), list_of_texts(CASE, ["id"], ["outcome", "kind", "junit"])
    assert [remembering(value) for value in values + values] == [plain(value) for value in values + values]


NUMBERS = {
    "turns": Key(check=whole_number(1), required=False),
    "reindent": Key(check=FLAG, required=False),
    "temperature": Key(check=or_null(DOLLARS), required=False),
}
SETTINGS = st.dictionaries(
    st.sampled_from(["turns", "reindent", "temperature"]), st.sampled_from([0, 1, 1.0, True, False, None, "1", []])
)


@given(st.lists(SETTINGS, max_size=12))
def test_remembered_values_are_checked_like_others(values: list[Any]) -> None:
    """Also 1, 1.0 and true, which are equal."""
    plain = object_of(NUMBERS)
    remembering = remembered(plain)
    assert [remembering(value) for value in values + values] == [plain(value) for value in values + values]
