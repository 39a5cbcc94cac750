"""The ledger: one file, many processes, nothing lost, nothing spent past the limit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.faults import BudgetSpent, ModelError, ModelFault, UserError
from pytest_recode.models import Reach, Usage
from pytest_recode.records.ledger import FileLedger
from tests.messages import assert_message

CENT = Usage(prompt_tokens=3, completion_tokens=2, cost_usd=0.01)


def worker(script: str, path: Path) -> subprocess.Popen[str]:
    head = f"""
import os, signal, sys
from pathlib import Path
from pytest_recode.faults import *
from pytest_recode.models import Reach, Usage
from pytest_recode.records.ledger import FileLedger
path = Path({str(path)!r})
cent = Usage(prompt_tokens=3, completion_tokens=2, cost_usd=0.01)
"""
    return subprocess.Popen(
        [sys.executable, "-c", head + script],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_no_file_before_the_first_call(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl", max_cost=1.0)
    assert ledger.total == Usage()
    assert not list(tmp_path.iterdir())
    ledger.before_call("m")
    assert lines(tmp_path / "spent.jsonl") == [{"model": "m", "call": "begun"}]


@given(
    model=st.text(min_size=1, max_size=40),
    prompt=st.integers(0, 10**12),
    cost=st.none() | st.floats(0, 1e6) | st.floats(-1e-290, 1e-290),
)
def test_a_call_takes_no_more_room_than_was_written_before_it(model: str, prompt: int, cost: float | None) -> None:
    """So that a disk that is full by then has its line all the same."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "spent.jsonl")
        ledger, other = FileLedger(path), FileLedger(path)
        ledger.before_call(model)
        assert other.unbooked == 1
        size = path.stat().st_size
        ledger.spent(model, Usage(prompt_tokens=prompt, completion_tokens=prompt, cost_usd=cost))
        assert path.stat().st_size == size
        assert (other.unbooked, other.total.prompt_tokens) == (0, prompt)


def test_a_call_without_an_answer_stays_in_the_ledger(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl", max_cost=1.0)
    for why in ("timeout", "rate-limit", "connection", "unreachable"):
        ledger.before_call("m")
        ledger.unanswered("m", why)
    ledger.before_call("m")
    ledger.abandon("cut off")
    found = [line["unanswered"] for line in lines(tmp_path / "spent.jsonl")]
    assert found == ["timeout", "rate-limit", "connection", "unreachable", "cut off"]
    assert ledger.unbooked == 3  # a request that was refused, or never sent, costs nothing
    assert ledger.total == Usage()
    ledger.before_call("m")
    ledger.spent("m", CENT)
    assert FileLedger(tmp_path / "spent.jsonl").total == CENT


def test_what_several_processes_spend_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    workers = [worker("[FileLedger(path).spent('m', cent) for _ in range(200)]", path) for _ in range(4)]
    assert [process.wait(60) for process in workers] == [0] * 4
    assert len(lines(path)) == 800
    total = FileLedger(path).total
    assert (total.prompt_tokens, total.completion_tokens) == (2400, 1600)
    assert total.cost_usd == pytest.approx(8.0)


def test_a_limit_holds_for_all_processes(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    script = """
ledger = FileLedger(path, max_cost=1.0)
try:
    while True:
        ledger.before_call("m")
        ledger.spent("m", cent)
except BudgetSpent as spent:
    print(spent)
"""
    workers = [worker(script, path) for _ in range(4)]
    outputs = [process.communicate(timeout=60)[0] for process in workers]
    assert all(words.startswith("budget of 1.00 USD is spent (1.0") for words in outputs)
    # each of the four may have had one call under way when the limit was reached
    assert 100 <= len(lines(path)) <= 103


@pytest.mark.parametrize(
    ("limit", "spent", "words"),
    [
        (0.5, [0.3, 0.23], "budget of 0.50 USD is spent (0.53 USD so far)"),
        (0.3, [0.1, 0.1, 0.1], "budget of 0.30 USD is spent (0.30 USD so far)"),
        (0.004, [0.0041], "budget of 0.004 USD is spent (0.0041 USD so far)"),
    ],
)
def test_at_or_past_the_limit_no_call_starts(tmp_path: Path, limit: float, spent: list[float], words: str) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl", max_cost=limit)
    for cost in spent:
        ledger.before_call("m")
        ledger.spent("m", Usage(cost_usd=cost))
    with pytest.raises(BudgetSpent) as caught:
        ledger.before_call("another")
    assert_message(str(caught.value), words, "--recode-resume", "--recode-max-cost")


def test_it_is_on_disk_before_it_returns(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    process = worker("FileLedger(path).spent('m', cent); os.kill(os.getpid(), signal.SIGKILL)", path)
    assert process.wait(60) == -signal.SIGKILL
    assert lines(path) == [{"model": "m", "prompt_tokens": 3, "completion_tokens": 2, "cost_usd": 0.01}]


def test_a_killed_process_leaves_whole_lines_and_a_free_lock(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    script = """
while True:
    FileLedger(path).spent("m", cent)
    print(flush=True)
"""
    process = worker(script, path)
    assert process.stdout is not None
    for _ in range(50):
        process.stdout.readline()
    process.kill()
    process.communicate()
    ledger = FileLedger(path)
    ledger.spent("m", CENT)
    assert ledger.total.prompt_tokens == 3 * len(lines(path)) >= 150


def test_half_a_line_spoils_nothing(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    ledger = FileLedger(path, max_cost=1.0)
    ledger.spent("m", CENT)
    with path.open("a") as file:
        file.write('{"model": "m", "prompt_to')
    ledger.before_call("m")
    assert ledger.total.prompt_tokens == 3
    FileLedger(path).spent("m", CENT)
    assert ledger.total.prompt_tokens == FileLedger(path).total.prompt_tokens == 6
    assert ledger.total.cost_usd == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("7", "is 7: must be an object"),
        ('{"model": "m"}', "lacks 'prompt_tokens'"),
        (
            '{"model": "m", "prompt_tokens": 1, "completion_tokens": 1, "cost_usd": "much"}',
            "cost_usd is 'much': must be a number",
        ),
        ('{"model": "m", "fault": "weather", "detail": ""}', "fault is 'weather': must be auth or budget-at-provider"),
        ('{"address": "a", "reach": 1}', "reach is 1: must be answers or waiting or lost"),
    ],
)
def test_a_damaged_line_is_one_error_that_names_file_line_and_key(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "spent.jsonl"
    ledger = FileLedger(path)
    ledger.spent("m", CENT)
    with path.open("a") as file:
        file.write(f"{line}\n")
    for use in (lambda: ledger.begin("next", calls=True), lambda: ledger.before_call("m"), lambda: ledger.total):
        with pytest.raises(UserError) as caught:
            use()
        assert_message(str(caught.value), f"{path}, line 2", problem, "restore it", "another --recode-out")


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    ledger = FileLedger(path)
    ledger.spent("m", CENT)
    assert ledger.total.prompt_tokens == 3
    # what was read is not looked at again: only a ledger that starts anew sees this change
    path.write_bytes(path.read_bytes().replace(b"3,", b"9,", 1))
    ledger.spent("m", CENT)
    assert ledger.total.prompt_tokens == 6
    assert FileLedger(path).total.prompt_tokens == 12


def test_a_fatal_fault_is_every_workers(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    process = worker("FileLedger(path).fault(ModelError(ModelFault.AUTH, 'a', 'bad key'))", path)
    assert process.wait(60) == 0
    ledger = FileLedger(path)
    with pytest.raises(ModelError) as caught:
        ledger.before_call("a")
    assert (caught.value.fault, str(caught.value)) == (ModelFault.AUTH, "model a: auth: bad key")
    ledger.before_call("b")
    assert ledger.total == Usage()


def test_a_fault_that_passes_is_not_kept(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "spent.jsonl")
    ledger.fault(ModelError(ModelFault.RATE_LIMIT, "a", "busy"))
    ledger.before_call("a")
    assert [line for line in lines(tmp_path / "spent.jsonl") if "fault" in line] == []


def test_an_address_is_lost_to_every_worker_until_it_answers(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    ledger, other = FileLedger(path), FileLedger(path)
    assert ledger.reached("here", Reach.ANSWERS) is Reach.ANSWERS
    assert not path.exists()
    steps = [
        (ledger, Reach.WAITING, Reach.ANSWERS),
        (other, Reach.WAITING, Reach.WAITING),
        (other, Reach.LOST, Reach.WAITING),
        (ledger, Reach.WAITING, Reach.LOST),
        (other, Reach.WAITING, Reach.LOST),
        (ledger, Reach.ANSWERS, Reach.LOST),
        (other, Reach.ANSWERS, Reach.ANSWERS),
    ]
    assert [who.reached("here", now) for who, now, _ in steps] == [before for _, _, before in steps]
    assert other.reached("there", Reach.LOST) is Reach.ANSWERS
    assert [(line["address"], line["reach"]) for line in lines(path)] == [
        ("here", "waiting"),
        ("here", "lost"),
        ("here", "answers"),
        ("there", "lost"),
    ]
    assert ledger.total == Usage()


def test_of_many_workers_one_is_told_the_change(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    script = "print(FileLedger(path).reached('here', Reach.WAITING))"
    outputs = [process.communicate(timeout=60)[0] for process in [worker(script, path) for _ in range(4)]]
    assert sorted(outputs) == ["answers\n"] + ["waiting\n"] * 3


def test_an_unknown_price_makes_the_total_unknown_and_a_limit_impossible(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    unlimited = FileLedger(path)
    unlimited.spent("m", CENT)
    unlimited.spent("local", Usage(prompt_tokens=1, cost_usd=None))
    unlimited.before_call("local")
    assert unlimited.total == Usage(prompt_tokens=4, completion_tokens=2, cost_usd=None)
    limited = FileLedger(path, max_cost=2.0)
    words = (
        "model local has no known price, so --recode-max-cost=2 cannot be enforced: "
        "give its price in --recode-models-file (price: {prompt: X, completion: Y}), or remove --recode-max-cost"
    )
    with pytest.raises(UserError) as before:
        limited.before_call("m")
    with pytest.raises(UserError) as after:
        limited.spent("local", Usage(cost_usd=None))
    assert str(before.value) == str(after.value) == words
    assert [line.get("call") for line in lines(path)] == [None, None, "begun", None]
