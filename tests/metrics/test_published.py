"""The published table of ResearchCodeBench, number by number, from the code that also measures runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_recode.metrics import contamination, passing
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.intervals import wilson
from pytest_recode.metrics.published_results import from_published
from pytest_recode.metrics.record_attempts import from_record
from pytest_recode.metrics.rows import rows
from tests.metrics.condense import condense
from tests.metrics.samples import DATA, figures, own_run, stats

CLONE = os.environ.get("RECODE_RCB", "")


def published_file() -> Any:
    [path] = Path(CLONE).glob("outputs/20llms_greedy/*/overall_stats.json")
    return json.loads(path.read_text())


@pytest.fixture(
    scope="module",
    params=[
        "numbers",
        pytest.param(
            "clone", marks=pytest.mark.skipif(not CLONE, reason="RECODE_RCB names no clone of ResearchCodeBench")
        ),
    ],
)
def models(request: pytest.FixtureRequest) -> dict[str, tuple[Attempt, ...]]:
    found = rows(from_published(stats() if request.param == "numbers" else published_file()))
    return {row.model: attempts for row, attempts in found.items()}


def as_rows(models: dict[str, tuple[Attempt, ...]]) -> dict[Row, tuple[Attempt, ...]]:
    return {attempts[0].row: attempts for attempts in models.values()}


def test_the_facts_here_are_what_the_script_makes() -> None:
    facts = json.loads((DATA / "researchcodebench.json").read_text())
    assert condense(stats()) == facts
    if CLONE:
        assert condense(published_file()) == facts


@pytest.mark.parametrize("model", sorted(figures()))
def test_both_numbers_of_a_published_model(models: dict[str, tuple[Attempt, ...]], model: str) -> None:
    result = passing.passed(models[model])
    assert result.scaled is not None
    assert result.plain is not None
    assert (f"{100 * result.scaled:.2f}", f"{100 * result.plain:.2f}") == figures()[model]
    assert (result.snippets, result.lines, result.errors) == (212, 1449, 0)


def test_pass_at_1_is_as_unsure_as_papers_are(models: dict[str, tuple[Attempt, ...]]) -> None:
    """Beside numpy's bootstrap, papers drawn with replacement; and against snippets taken for independent, which is too narrow."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 20, (4000, 20))
    to_papers, to_snippets = [], []
    for attempts in models.values():
        for scaled in (False, True):
            sums: dict[str, list[int]] = {}
            for one in attempts:
                assert one.snippet is not None
                weight = one.snippet.lines if scaled else 1
                found = sums.setdefault(one.snippet.paper, [0, 0])
                found[0] += weight * one.solved_within(1)
                found[1] += weight
            solved, total = np.array(list(sums.values())).T
            low, high = np.quantile(solved[drawn].sum(1) / total[drawn].sum(1), [0.025, 0.975])
            numbers = passing.passed(attempts)
            ends = numbers.scaled_interval if scaled else numbers.plain_interval
            assert ends is not None
            to_papers.append((ends[1] - ends[0]) / (high - low))
            if not scaled:
                assert abs(ends[0] - low) < 0.035
                assert abs(ends[1] - high) < 0.06
                alone = wilson(numbers.solved, numbers.snippets)
                to_snippets.append((ends[1] - ends[0]) / (alone[1] - alone[0]))
    assert 1.0 < np.mean(to_papers) < 1.25
    assert np.mean(to_snippets) == pytest.approx(1.7, abs=0.15)


def test_there_are_32_and_their_order_is_the_published_one(models: dict[str, tuple[Attempt, ...]]) -> None:
    scaled = {model: passing.passed(attempts).scaled or 0 for model, attempts in models.items()}
    assert len(models) == 32
    assert sorted(scaled, key=lambda model: -scaled[model])[:4] == list(figures())[:4]
    assert set(models) == set(figures())


def test_a_run_that_passes_the_same_has_the_same_numbers(models: dict[str, tuple[Attempt, ...]]) -> None:
    own = [from_record(one, "mine") for one in own_run("gpt-4.1", "GPT_4_1")]
    mine, theirs = passing.passed(own), passing.passed(models["GPT-4.1"])
    assert mine == theirs
    assert {one.task for one in own} == {one.task for one in models["GPT-4.1"]}


def test_thirteen_papers_are_after_every_cutoff(models: dict[str, tuple[Attempt, ...]]) -> None:
    everything = [one for attempts in models.values() for one in attempts]
    safe = contamination.safe_papers(everything)
    assert len(safe) == 13
    assert "minp" not in safe  # the published file gives its last commit as its first


def test_hard_by_a_third_is_where_the_best_model_has_the_published_33_percent(
    models: dict[str, tuple[Attempt, ...]],
) -> None:
    hard = passing.hard(passing.votes(as_rows(models)))
    assert hard is not None
    assert (len(hard.tasks), hard.lines, hard.models) == (109, 1130, 32)
    plain = {
        model: passing.passed([one for one in attempts if one.task in hard.tasks]).plain or 0
        for model, attempts in models.items()
    }
    assert max(plain, key=lambda model: plain[model]) == "Gemini-2.5-Pro-Preview-05-06"
    assert max(plain.values()) == pytest.approx(36 / 109)


def test_the_threshold_of_hard_can_be_set(models: dict[str, tuple[Attempt, ...]]) -> None:
    sizes = []
    for threshold in (1 / 32, 0.25, 0.5, 1.0):
        found = passing.hard(passing.votes(as_rows(models)), threshold=threshold)
        assert found is not None
        sizes.append(len(found.tasks))
    # solved by none; by fewer than 8, 16, 32 of 32
    assert sizes == [44, 96, 136, 212]


def test_contamination_of_a_published_model(models: dict[str, tuple[Attempt, ...]]) -> None:
    result = contamination.contamination(models["Gemini-2.5-Pro-Preview-05-06"])
    assert result is not None
    assert (result.cutoff, result.after.snippets, result.before.snippets, result.undated) == ("2025-01", 143, 69, 0)
    assert result.after.lines + result.before.lines == 1449
    assert result.difference == pytest.approx((result.after.scaled or 0) - (result.before.scaled or 0))
    assert result.interval is not None
    assert result.interval[0] < result.difference < result.interval[1]
