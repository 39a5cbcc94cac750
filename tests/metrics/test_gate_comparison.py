"""A run against a baseline: what is compared, what is only listed, what is refused, and when it fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.cli import main
from pytest_recode.faults import UserError
from pytest_recode.metrics import baseline
from pytest_recode.metrics.fail_on import conditions
from pytest_recode.metrics.gate_comparison import Gate, gate
from pytest_recode.metrics.gate_verdict import GateVerdict
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.record_attempts import from_record
from pytest_recode.metrics.rows import rows
from pytest_recode.records.record import Record
from pytest_recode.render.report_pairs import tables
from tests.messages import assert_line, assert_message
from tests.metrics.samples import record, run, snippet

Records = Sequence[dict[str, Any]]
Compare = Callable[..., Gate]


def episodes(solved: str, **more: Any) -> list[dict[str, Any]]:
    """An episode per letter: `+` solved in turn 1, `-` unsolved after two turns, `!` an error."""
    turns: dict[str, tuple[int, ...]] = {"+": (4,), "-": (1, 1), "!": ()}
    return [
        record(f"t{place:02}", turns[letter], digest="1", **({"outcome": "error"} if letter == "!" else {}), **more)
        for place, letter in enumerate(solved)
    ]


@pytest.fixture
def compared(tmp_path: Path) -> Compare:
    def compare(before: Records, now: Records, *fail_on: str, unplayed: int = 0) -> Gate:
        run(tmp_path / "before", before)
        run(tmp_path / "now", now)
        (tmp_path / "b.json").write_text(baseline.text(baseline.of_run(tmp_path / "before")))
        asked = conditions(fail_on or ("worse",), "--fail-on")
        return gate(baseline.of_run(tmp_path / "now"), baseline.load(tmp_path / "b.json"), asked, unplayed=unplayed)

    return compare


@pytest.mark.parametrize(
    ("before", "now", "verdict", "passed"),
    [
        ("++++++", "------", GateVerdict.WORSE, False),
        ("------", "++++++", GateVerdict.BETTER, True),
        ("+++++", "-----", GateVerdict.FEW, True),
        (30 * "+", 30 * "+", GateVerdict.SAME, True),
    ],
)
def test_the_verdicts(compared: Compare, before: str, now: str, verdict: GateVerdict, passed: bool) -> None:
    found = compared(episodes(before), episodes(now))
    [row] = found.rows
    assert (row.verdict, found.passed) == (verdict, passed)
    assert row.enough == (10 if verdict is GateVerdict.FEW else None)
    assert (bool(row.lost), bool(row.gained)) == ((False, False) if now == before else (now[0] == "-", now[0] == "+"))


def test_the_numbers_are_those_of_the_report(compared: Compare, tmp_path: Path) -> None:
    found = compared(episodes("++++++--+-"), episodes("-+++-+-++-"))
    [row] = found.rows
    sources = read([tmp_path / "before", tmp_path / "now"])
    attempts = [attempt for source in sources for attempt in source.attempts]
    both = rows(attempts)
    table = tables(both, {}, attempts, base=next(iter(both)))["comparisons"]()
    assert table is not None
    assert row.compared is not None
    [reported] = table.rows
    assert (row.compared.p, row.compared.units) == (reported["p"], reported["units"])
    assert [100 * end for end in row.compared.interval] == list(reported["difference_interval"])
    assert (list(row.lost), list(row.gained)) == (reported["lost"], reported["won"])


def test_the_test_of_snippets_is_by_papers(compared: Compare) -> None:
    def played(solved: bool) -> Records:
        return [snippet(f"p{paper}", f"s{n}", 5, solved=solved, digest="1") for paper in range(5) for n in range(3)]

    [row] = compared(played(True), played(False)).rows
    assert row.compared is not None
    assert (row.compared.units, row.verdict, row.enough) == ("5 papers", GateVerdict.FEW, 30)


def test_what_cannot_be_compared_is_listed_and_in_no_number(compared: Compare) -> None:
    before = [
        *episodes("++++++"),
        record("gone", digest="1"),
        record("other", digest="1"),
        record("ill", (), outcome="error"),
    ]
    now = [
        *episodes("++++++"),
        record("fresh", (1,), digest="1"),
        record("other", (1,), digest="2"),
        record("ill", (1,)),
    ]
    result = compared(before, now, "any-lost-task")
    [row] = result.rows
    assert (row.changed, row.new, row.missing, row.errors_before) == (("other",), ("fresh",), ("gone",), ("ill",))
    assert row.compared is not None
    assert (row.compared.pairs, row.lost, row.gained, result.passed) == (6, (), (), True)


def test_of_an_unexpected_exception_the_reason_is_its_last_line() -> None:
    trace = "Traceback (most recent call last):\n  File 'a.py', line 1\nZeroDivisionError: by nought\n"
    error = {"kind": "internal", "message": trace}
    attempt = from_record(cast(Record, record("t", (), outcome="error", error=error)), "run")
    assert attempt.reason == "internal error: ZeroDivisionError: by nought"


def test_an_error_is_no_loss_and_no_verdict(compared: Compare) -> None:
    result = compared(episodes("++++++"), episodes("!!!!!!"))
    [row] = result.rows
    assert (row.compared, row.lost, row.verdict, row.enough) == (None, (), GateVerdict.FEW, None)
    assert row.reasons == {f"t0{place}, attempt 1": "sandbox error: died" for place in range(6)}
    assert len(row.errors) == 6
    assert result.failures == ("6 episodes have no verdict",)
    assert compared(episodes("+++"), episodes("+++"), unplayed=1).failures == ("1 episode has no verdict",)


def test_several_rows_are_adjusted_together(compared: Compare) -> None:
    """One of six comparisons with p = 0.031 is no evidence; a single one is."""
    others = [each for n in range(5) for each in episodes("++++++", model=f"m{n}")]
    one = {row.key.model: row for row in compared([*episodes("++++++"), *others], [*episodes("------"), *others]).rows}[
        "m"
    ]
    assert one.compared is not None
    assert one.p == 6 * one.compared.p
    assert (one.verdict, one.enough) == (GateVerdict.FEW, 12)


@pytest.mark.parametrize(
    ("now", "condition", "passed"),
    [
        (episodes("+++-"), "any-lost-task", False),
        (episodes("++++"), "any-lost-task", True),
        (episodes("+++-"), "turns:+0.25", True),  # 1.25 turns
        (episodes("+++-"), "turns:+0.24", False),
        (episodes("++++", usage={"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": 0.6}), "cost:+20%", True),
        (episodes("++++", usage={"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": 0.6}), "cost:+19.9%", False),
        (episodes("++++", usage={"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": None}), "cost:+900%", False),
        (episodes("----"), "cost:+0%", True),
    ],
)
def test_the_conditions(compared: Compare, now: Records, condition: str, passed: bool) -> None:
    assert compared(episodes("++++"), now, condition).passed == passed
    assert compared(episodes("++++"), now, f"worse, {condition}").passed == passed


def test_attempts_are_means_of_their_task(compared: Compare) -> None:
    before = [record("a", digest="1"), record("a", (1, 1), digest="1", attempt=2), record("b", digest="1")]
    [row] = compared(before, [record("a", digest="1"), record("b", (1, 4), digest="1")]).rows
    assert row.turns is not None
    assert (row.turns.before, row.turns.now, row.gained) == (1.25, 1.5, ("a",))


@pytest.mark.parametrize(
    ("now", "condition", "named"),
    [
        (episodes("+", model="other"), "worse", ("no row of this run", "other, L0", "m, L0", "bless")),
        ([], "worse", ("no row of this run", "no episodes")),
        (
            episodes("+", settings={**record()["settings"], "version": "9", "turns": 3}),
            "worse",
            ("m, L0", "turns 10 / 3", "bless"),
        ),
    ],
)
def test_a_comparison_that_would_mean_nothing_is_refused(
    compared: Compare, now: Records, condition: str, named: tuple[str, ...]
) -> None:
    with pytest.raises(UserError) as raised:
        compared(episodes("+"), now, condition)
    assert_message(str(raised.value), "b.json", *named)


def test_other_versions_are_named_and_settings_that_one_side_does_not_know_are_not_compared(compared: Compare) -> None:
    settings = {**record()["settings"], "version": "0.2.0", "sandbox_size": 3}
    [row] = compared(episodes("+"), episodes("+", settings=settings)).rows
    assert row.differs == ("version 0.1.0 / 0.2.0",)


def test_rows_of_one_side_are_listed(compared: Compare) -> None:
    old, new = episodes("+", feedback="L2"), episodes("+", feedback="L3")
    found = compared([*episodes("+"), *old], [*episodes("+"), *new])
    assert ([key.policy for key in found.new], [key.policy for key in found.missing]) == (["L3"], ["L2"])
    assert found.passed


def test_the_command_says_what_it_found_by_its_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, now = run(tmp_path / "before", episodes("++++++")), run(tmp_path / "now", episodes("------"))
    file = tmp_path / "b.json"
    assert main(["bless", str(before), "-o", str(file)]) == 0
    assert main(["gate", str(before), str(file)]) == 0
    assert "passed: too few tasks to tell" in capsys.readouterr().out
    assert main(["gate", str(now), str(file)]) == 1
    output = capsys.readouterr().out
    assert (
        output.splitlines()[0]
        == f"baseline {file}: failed: m, L0, with paper, recode [directory] is worse than the baseline"
    )
    assert "0.0 % solved now, 100.0 % before, now - before -100.0 points" in output
    assert "lost: t00, t01, t02, t03, t04, t05" in output
    for place in range(6):
        assert_line(output, f"t0{place}:", "1 of 4 cases pass after turn 2", "the first that fails: t::1 (mismatch)")
    assert main(["gate", str(now), str(file), "--fail-on", "turns:+1", "--fail-on", "cost:+1%"]) == 0
    capsys.readouterr()
    assert main(["gate", str(now), str(tmp_path / "none.json")]) == 2
    assert_message(capsys.readouterr().err, "none.json", "no such baseline", "pytest-recode bless")
    for wrong in ("better", "cost:+20", "turns:+1%", "turns:1", "worse,", ""):
        assert main(["gate", str(now), str(file), f"--fail-on={wrong}"]) == 2
        assert_message(capsys.readouterr().err, "--fail-on", "any-lost-task", "cost:+20%", "turns:+1")


def test_a_run_with_an_interrupted_episode_or_without_a_shard_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, now = run(tmp_path / "before", episodes("++")), run(tmp_path / "now", episodes("+"))
    file = tmp_path / "b.json"
    assert main(["bless", str(before), "-o", str(file)]) == 0
    assert main(["gate", str(now), str(file)]) == 0, "a run of some of the tasks"
    (now / "merged.json").write_text(json.dumps({"missing": ["2/2"]}))
    assert main(["gate", str(now), str(file)]) == 1
    assert_line(capsys.readouterr().out, "tasks of the baseline are missing", "shard 2/2")
    (before / "merged.json").write_text(json.dumps({"missing": ["2/2"]}))
    assert main(["gate", str(before), str(file)]) == 0, "the run was resumed, and has all of them now"
    (now / "merged.json").unlink()
    (now / "episodes").mkdir(exist_ok=True)
    begun = {"event": "episode", "time": 1.0, **episodes("++")[1]}
    (now / "episodes/t01.jsonl").write_text(json.dumps(begun) + "\n")
    assert main(["gate", str(now), str(file)]) == 1
    assert "1 episode has no verdict" in capsys.readouterr().out


def test_a_task_of_any_name_stays_on_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "x\nbaseline: passed\x1b[2J\u202e"
    before = run(tmp_path / "before", [record(name, digest="1")])
    assert main(["bless", str(before), "-o", str(tmp_path / "b.json")]) == 0
    now = run(tmp_path / "now", [record(name, (1,), digest="1")])
    capsys.readouterr()
    assert main(["gate", str(now), str(tmp_path / "b.json")]) == 0
    out = capsys.readouterr().out
    assert "lost: x\\nbaseline: passed\\x1b[2J\\u202e" in out
    assert len(out.splitlines()) == 5


@given(st.from_regex(r"(cost:\+[0-9]{1,3}%|turns:\+[0-9](\.[0-9])?|worse|any-lost-task)", fullmatch=True))
def test_a_condition_is_printed_as_it_is_read(text: str) -> None:
    [one] = conditions([text], "--fail-on")
    assert conditions([str(one)], "--fail-on") == (one,)


def test_the_costs_of_a_baseline_are_known_before_they_are_needed(compared: Compare, tmp_path: Path) -> None:
    free = episodes("+", usage={"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": None})
    assert compared(free, episodes("+")).passed
    with pytest.raises(UserError) as raised:
        compared(free, episodes("+"), "cost:+20%")
    assert_message(str(raised.value), "b.json", "cost is unknown", "leave the condition out")
    assert json.loads((tmp_path / "b.json").read_text())["rows"][0]["tasks"]["t00"]["attempts"][0]["cost_usd"] is None
