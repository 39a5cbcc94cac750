"""The judge that shares a process with the candidate: what cheats is not solved, and what is honest is not held for a cheat."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from tests.oracle import shared_attacks, shared_honest, shared_styles
from tests.oracle.shared_papers import WEIGHTED, failed, graded


@pytest.mark.slow
@pytest.mark.parametrize("name", shared_attacks.MEAN)
def test_no_attack_is_solved(walls: Sandbox, name: str) -> None:
    assert not graded(walls, "weighted mean", shared_attacks.MEAN[name], test_seconds=20).solved


@pytest.mark.parametrize("name", shared_attacks.WEIGHT)
@pytest.mark.mostly_slow
def test_no_attack_on_arrays_is_solved(walls: Sandbox, name: str) -> None:
    assert not graded(walls, "decay by age", shared_attacks.WEIGHT[name], test_seconds=20).solved


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["frames, disguised", "the judge's module", "forged frames", "closes the pipe", "a liar", "os._exit"]
)
def test_no_attack_is_solved_without_walls(bare: Sandbox, name: str) -> None:
    assert not graded(bare, "weighted mean", shared_attacks.MEAN[name], test_seconds=20).solved


HONEST = {**shared_honest.MEAN, **shared_styles.ACCUSED, **shared_styles.STYLES}


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_answer_is_solved(walls: Sandbox, name: str) -> None:
    verdict = graded(walls, "weighted mean", HONEST[name])
    assert verdict.tampering == ()
    assert failed(verdict) == []
    assert verdict.solved


@pytest.mark.parametrize("name", shared_attacks.PASS_TWICE)
def test_who_passes_against_a_wrong_judge_too_is_not_solved(walls: Sandbox, name: str) -> None:
    verdict = graded(walls, "weighted mean", shared_attacks.PASS_TWICE[name])
    assert failed(verdict) == []
    assert verdict.tampering == (
        f"passes against a wrong judge too: the reference's values were shifted, and {WEIGHTED} did not fail",
    )


@pytest.mark.parametrize("name", shared_attacks.LIMITS)
def test_what_one_process_cannot_hold(walls: Sandbox, name: str) -> None:
    """docs/explanation/oracle-shared.md says so. Where one of these fails, it is held now, and the page is to be changed."""
    assert graded(walls, "weighted mean", shared_attacks.LIMITS[name]).solved
