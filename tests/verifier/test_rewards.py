"""The results of the verifier, as Harbor and readers of CTRF take them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.verdict import Case, Outcome, Verdict
from pytest_recode.verifier import rewards

ROOT = Path(__file__).resolve().parents[2]
TASK = FORMAT.load(ROOT / "tasks/sinkhorn/task.yaml")[0]
PASSED = Case(id="test_a.py::test_one", interface="a.f", outcome=Outcome.PASSED, seconds=0.25)
FAILED = Case(
    id="test_a.py::test_two", interface="a.g", outcome=Outcome.FAILED, kind="shape", message="(2,) is not (3,)"
)


@pytest.mark.parametrize(
    ("cases", "reward", "share"),
    [((PASSED, PASSED), 1, 1.0), ((PASSED, FAILED), 0, 0.5), ((FAILED,), 0, 0.0), ((), 0, 0.0)],
)
def test_rewards_are_finite_numbers(tmp_path: Path, cases: tuple[Case, ...], reward: int, share: float) -> None:
    rewards.write(tmp_path, TASK, "0123", Verdict(seed=7, cases=cases), [])
    assert json.loads((tmp_path / "reward.json").read_text()) == {"reward": reward, "solved": reward, "share": share}


def test_cases_are_named_with_interface_kind_and_message(tmp_path: Path) -> None:
    rewards.write(tmp_path, TASK, "0123", Verdict(seed=7, cases=(PASSED, FAILED)), ["sinkhorn.py: No such file"])
    report = json.loads((tmp_path / "ctrf.json").read_text())["results"]
    assert (report["summary"]["tests"], report["summary"]["passed"], report["summary"]["failed"]) == (2, 1, 1)
    assert [(test["name"], test["status"], test["suite"]) for test in report["tests"]] == [
        ("test_a.py::test_one", "passed", "a.f"),
        ("test_a.py::test_two", "failed", "a.g"),
    ]
    assert report["tests"][1]["message"] == "(2,) is not (3,)"
    assert report["tests"][1]["extra"] == {"kind": "shape"}
    assert report["extra"]["seed"] == 7
    assert report["extra"]["fingerprint"] == "0123"
    assert report["extra"]["notes"] == ["sinkhorn.py: No such file"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ctrf.json", "reward.json"]


def test_results_of_an_earlier_verifier_go(tmp_path: Path) -> None:
    for name in ("reward.json", "reward.txt", "ctrf.json", "test-stdout.txt"):
        (tmp_path / name).write_text("1")
    rewards.remove_earlier(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["test-stdout.txt"]


def test_a_link_in_the_place_of_a_result_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("untouched")
    (tmp_path / "logs").mkdir()
    for name in ("reward.json", ".reward.json.part"):
        (tmp_path / "logs" / name).symlink_to(tmp_path / "elsewhere")
    rewards.write(tmp_path / "logs", TASK, "", Verdict(seed=7, cases=(PASSED,)), [])
    assert (tmp_path / "elsewhere").read_text() == "untouched"
    assert not (tmp_path / "logs/reward.json").is_symlink()
