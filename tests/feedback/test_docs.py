"""What the pages on feedback and on the task format show is what there is."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback.levels import render
from pytest_recode.feedback.model_answers import MEANINGS
from pytest_recode.formats.directory import FORMAT
from pytest_recode.formats.directory.parts import read_feedback
from pytest_recode.formats.files import OF_TOOLS
from pytest_recode.plugin.collection import defaults
from pytest_recode.verdict import Exc, Verdict
from tests.feedback.scene import case, turn
from tests.feedback.test_policies import policy_of
from tests.formats.task_directory import write
from tests.formats.test_schema import SCHEMA

DOCS = Path(__file__).parents[2] / "docs"
FEEDBACK = (DOCS / "explanation" / "feedback.md").read_text(encoding="utf-8")
FORMAT_PAGE = (DOCS / "reference" / "task-format.md").read_text(encoding="utf-8")


def yaml_of(page: str) -> str:
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    return str(example)


def test_the_manifest_shown_is_a_good_one(tmp_path: Path) -> None:
    files = {
        "reference/sinkhorn.py": "def transport_plan(): ...\n\n\ndef cost(): ...\n",
        "reference/stats.py": None,
        "environment/requirements.txt": "numpy\n",
        "tests/test_stats.py": "import pytest\n\n\n@pytest.mark.interface('sinkhorn.cost')\ndef test_cost(candidate): ...\n",
    }
    (task,) = FORMAT.load(write(tmp_path, yaml_of(FORMAT_PAGE), files))
    assert (task.id, task.paper.arxiv, task.paper.date) == ("sinkhorn", "1306.0895", "2013-06-04")
    assert task.load().reference


def test_every_key_is_in_the_table() -> None:
    rows = "\n".join(line for line in FORMAT_PAGE.splitlines() if line.startswith("|"))
    for key, about in SCHEMA["properties"].items():
        assert f"`{key}" in rows
        for inner in about.get("properties", {}):
            assert f"`{inner}`" in rows or f"`{key}.{inner}`" in rows
    for name in OF_TOOLS:
        assert f"`{name}`" in FORMAT_PAGE


def test_the_feedback_file_shown_is_a_good_one(tmp_path: Path) -> None:
    path = tmp_path / "feedback.yaml"
    path.write_text(yaml_of(FEEDBACK), encoding="utf-8")
    words = read_feedback(path, ("stats.mean",))
    assert words is not None
    assert set(words["stats.mean"]) == {"category", "description", "analysis", "suggestion", "correction"}


def test_the_text_shown_is_what_an_agent_reads() -> None:
    raised = Exc(
        type="ValueError",
        message="operands do not fit",
        frames=("stats.py:3 in mean: return values * weights",),
    )
    cases = (case(kind="exception", exception=raised), case(), case("stats.deviation", passed=True))
    item = FeedbackItem(
        interface="stats.mean",
        description="The mean is off.",
        analysis="The weights are not used.",
        suggestion="Divide by the sum of the weights.",
        correction="def mean(values, weights):\n"
        "    return sum(v * w for v, w in zip(values, weights)) / sum(weights)\n",
    )
    text = render(Verdict(cases=cases, seed=1), (item,), 4, 2, targets=("stats.py",))
    assert textwrap.indent(text, "    ") in FEEDBACK


def test_every_policy_is_in_the_table_and_the_example_is_one() -> None:
    for name in defaults.pytest_recode_policies():
        assert f"`{name}`" in FEEDBACK or name in {"L1", "L2", "L3"}
    (spec,) = re.findall(r"--recode-feedback=(\S+:\S+)", FEEDBACK)
    policy = policy_of(spec)
    assert [policy([turn("")] * failed) for failed in range(1, 7)] == [1, 1, 2, 2, 3, 3]


def test_the_categories_on_the_page_are_those_that_a_person_is_told() -> None:
    for category, meaning in MEANINGS.items():
        assert f"| {category} | {meaning} |" in FEEDBACK
