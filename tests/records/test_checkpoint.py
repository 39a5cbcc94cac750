"""Checkpoints: what goes in comes out, whatever a killed process left of a file."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.clock import Clock
from pytest_recode.episode import Feedback, FeedbackItem, Move, Turn
from pytest_recode.faults import UserError
from pytest_recode.models import Usage
from pytest_recode.records.checkpoint import Checkpoint, StoredEpisode, changes_of
from pytest_recode.records.checkpoint_file import (
    KEPT_CONTENTS,
    MAX_CONTENTS,
    CheckpointWriter,
    stored_episode,
)
from pytest_recode.records.first_turn import first_turn
from pytest_recode.records.run_directory import in_use, wait_until_unused
from pytest_recode.schema.stored_forms import dump, load
from pytest_recode.verdict import Case, Exc, Outcome, Verdict
from tests.messages import assert_message

ITEM = FeedbackItem(
    interface="a.f", category="T2", description="d", analysis="a\n\ud800", suggestion="s", correction="def f(): ..."
)
FEEDBACK = Feedback(
    level=3,
    text="Feedback on turn 1",
    turn=1,
    items=(ITEM,),
    source="model",
    usage=Usage(prompt_tokens=3, cost_usd=None),
)
VERDICT = Verdict(
    cases=(
        Case(id="t::a", interface="a.f", outcome=Outcome.PASSED, seconds=0.25),
        Case(
            id="t::b[1-x]",
            interface="a.f",
            outcome=Outcome.FAILED,
            kind="exception",
            message="long",
            exception=Exc(type="ValueError", message="no", frames=("a.py:1 in f: raise", "b")),
        ),
    ),
    seed=2**47,
    seconds=1.5,
    isolation="shared",
    tampering=("the class was changed",),
    versions={"python": "3.12.1", "numpy": "2.3.0"},
)
TURN = Turn(
    number=1,
    feedback=None,
    move=Move(
        steps=2, submitted=False, reindented=True, usage=Usage(prompt_tokens=5, completion_tokens=7, cost_usd=0.1)
    ),
    verdict=VERDICT,
    targets={"a.py": b"\xff\x00 not text"},
    seconds=2.25,
)
WHOLE = Checkpoint(
    turn=TURN,
    agent={"turn": 1, "memory": ["x"]},
    changes=changes_of({"a.py": (b"\xff", 0o755)}, ["b.py"]),
)
NEXT = replace(WHOLE, turn=replace(TURN, number=2, feedback=FEEDBACK, shared="another"))


@pytest.mark.parametrize("checkpoint", [WHOLE, NEXT, Checkpoint(turn=TURN, agent=None, changes=None)])
def test_what_goes_in_comes_out(checkpoint: Checkpoint) -> None:
    assert load(Checkpoint, json.loads(json.dumps(dump(checkpoint)))) == checkpoint


def kept(path: Path, *lines: Checkpoint | Feedback) -> StoredEpisode:
    keeper = CheckpointWriter(path, "me")
    for line in lines:
        keeper.feedback(line) if isinstance(line, Feedback) else keeper.turn(line)
    keeper.close()
    return stored_episode(path, "me")


def test_the_feedback_nobody_has_worked_on_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "deep/er.jsonl"
    assert stored_episode(path, "me") == StoredEpisode()
    assert kept(path, WHOLE, FEEDBACK) == StoredEpisode(checkpoints=(WHOLE,), feedback=FEEDBACK)
    assert kept(path, NEXT) == StoredEpisode(checkpoints=(WHOLE, NEXT), feedback=None)


def test_the_file_of_another_episode_is_none_of_this_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    kept(path, WHOLE, FEEDBACK)
    keeper = CheckpointWriter(path, "another")
    keeper.turn(NEXT)
    keeper.close()
    with pytest.raises(UserError) as caught:
        stored_episode(path, "me")
    assert_message(
        str(caught.value), f"{path}, line 3", "the episode another", "not of me", "restore", "another --recode-out"
    )


def test_the_file_of_another_first_turn_is_none_of_this_one(tmp_path: Path) -> None:
    with first_turn(tmp_path, "one", Clock()) as place:
        place.store(WHOLE, by="me")
    other = tmp_path / "first-turns/other.json"
    other.write_bytes((tmp_path / "first-turns/one.json").read_bytes())
    with pytest.raises(UserError) as caught, first_turn(tmp_path, "other", Clock()):
        pass
    assert_message(str(caught.value), str(other), "another first turn", "one.json", "remove it")


@pytest.mark.parametrize("size", [1, 40, 100_000])
def test_a_torn_line_spoils_no_other(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.jsonl"
    kept(path, WHOLE)
    with path.open("ab") as file:
        file.write((json.dumps(dump(NEXT)) * 50).encode()[:size])
    assert stored_episode(path, "me").checkpoints == (WHOLE,)
    assert kept(path, NEXT).checkpoints == (WHOLE, NEXT)


def test_from_an_agent_that_keeps_nothing_nobody_goes_on(tmp_path: Path) -> None:
    assert kept(tmp_path / "a", replace(WHOLE, agent=None, changes=None)) == StoredEpisode()


def test_a_first_turn_names_who_paid_for_it(tmp_path: Path) -> None:
    with first_turn(tmp_path, "key", Clock()) as place:
        assert place.checkpoint is None
        place.store(WHOLE, by="me")
    with first_turn(tmp_path, "key", Clock()) as place:
        assert place.checkpoint == replace(WHOLE, turn=replace(TURN, shared="me"))
    with first_turn(tmp_path, "other", Clock()) as place:
        assert place.checkpoint is None


def test_a_directory_is_in_use_as_long_as_its_process_lives(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\nfrom pytest_recode.records.run_directory import in_use\n"
        "with in_use(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    notified: list[str] = []
    wait_until_unused(tmp_path, notified.append, 0)
    assert notified == []
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with in_use(tmp_path):  # beside the other: workers of one run
            pass
        with pytest.raises(UserError, match="another run is still writing there: wait for its end"):
            wait_until_unused(tmp_path, notified.append, 0)
        assert notified == [f"{tmp_path}: another run is still writing there: waiting up to 0 s for its end"]
        other.kill()
        other.wait()
    wait_until_unused(tmp_path, notified.append, 0)
    assert len(notified) == 1


def test_contents_are_stored_once(tmp_path: Path) -> None:
    path, large = tmp_path / "a.jsonl", b"\x00" * 100_000
    turns = [
        replace(
            WHOLE,
            turn=replace(TURN, number=number),
            changes=changes_of({"big": (large, 0o644), "copy": (large, 0o600), "own": (b"%d" % number, 0o644)}),
        )
        for number in (1, 2, 3)
    ]
    assert kept(path, *turns).checkpoints == tuple(turns)
    assert path.stat().st_size < 2 * len(large)
    assert kept(path, replace(NEXT, turn=replace(NEXT.turn, number=4))).checkpoints[:3] == tuple(turns)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:]))
    with pytest.raises(UserError) as caught:
        stored_episode(path, "me")
    assert_message(str(caught.value), f"{path}, line 1: is damaged", "restore it")


@pytest.mark.slow
def test_more_contents_than_are_stored_of_an_episode_leave_the_targets(tmp_path: Path) -> None:
    """Each turn has other contents, as a log or a trained model has."""
    half = MAX_CONTENTS // 2 + 1
    turns = [
        replace(WHOLE, turn=replace(TURN, number=number), changes=changes_of({"log": (bytes([number]) * half, 0o644)}))
        for number in (1, 2)
    ]
    first, second = kept(tmp_path / "a.jsonl", *turns).checkpoints
    assert first == turns[0]
    assert second.changes == changes_of({"a.py": (TURN.targets["a.py"], 0o644)}, whole=False)


@pytest.mark.slow
def test_a_later_process_stores_no_contents_again_and_counts_them(tmp_path: Path) -> None:
    path, half = tmp_path / "a.jsonl", MAX_CONTENTS // 2 + 1
    first = replace(WHOLE, changes=changes_of({"log": (b"1" * half, 0o644)}))
    earlier = kept(path, first)
    size = path.stat().st_size
    writer = CheckpointWriter(path, "me", earlier=earlier)
    writer.turn(replace(first, turn=replace(TURN, number=2)))
    assert path.stat().st_size < size + 10_000
    writer.turn(replace(first, turn=replace(TURN, number=3), changes=changes_of({"log": (b"3" * half, 0o644)})))
    writer.close()
    turns = stored_episode(path, "me").checkpoints
    assert [each.changes.whole for each in turns if each.changes is not None] == [True, True, False]


@pytest.mark.parametrize(("size", "whole"), [(KEPT_CONTENTS // 2, True), (KEPT_CONTENTS, False)])
def test_after_the_end_of_an_episode_large_contents_are_dropped(tmp_path: Path, size: int, whole: bool) -> None:
    path = tmp_path / "a.jsonl"
    versions = {"log": (b"1" * size, 0o644), "a.py": (TURN.targets["a.py"], 0o755)}
    turns = [
        replace(WHOLE, changes=changes_of(versions, ["b.py"])),
        replace(NEXT, changes=changes_of({**versions, "log": (b"2" * (size // 2), 0o644)}, ["b.py"])),
    ]
    writer = CheckpointWriter(path, "me")
    for turn in turns:
        writer.turn(turn)
    writer.feedback(FEEDBACK)
    writer.finish()
    writer.close()
    left = stored_episode(path, "me")
    if whole:
        assert left.checkpoints == tuple(turns)
    else:
        assert path.stat().st_size < 20_000
        alone = changes_of({"a.py": versions["a.py"]}, ["b.py"], whole=False)
        assert left.checkpoints == tuple(replace(turn, changes=alone) for turn in turns)
    assert left.feedback == FEEDBACK
