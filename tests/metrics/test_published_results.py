"""Published results: every wrong value is one line that names file and key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.metrics.reading import read
from tests.metrics.samples import stats


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"passed": true', '"passed": 1', "passed is 1: must be true or false"),
        (
            '"snippet_code_line_count": 7',
            '"snippet_code_line_count": "7"',
            "results.advantage-alignment.results.GEMINI_2_0_FLASH.results.aa_terms3[0].snippet_code_line_count is '7'",
        ),
        ('"knowledge_cutoff_date": "2024-06"', '"knowledge_cutoff_date": "June"', "knowledge_cutoff_date is 'June'"),
        ('"GPT_4_1": {"llm_cfg"', '"GPT_4_2": {"llm_cfg"', "results.GPT_4_1: overall_scores has no such model"),
        ('"GPT_4_1_MINI": {"results"', '"GPT_4_1": {"results"', "the key 'GPT_4_1' occurs twice in one object"),
    ],
)
def test_published_results_are_checked_too(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = json.dumps(stats())
    assert old in text
    (tmp_path / "stats.json").write_text(text.replace(old, new, 1))
    with pytest.raises(UserError) as raised:
        read([tmp_path / "stats.json"])
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
