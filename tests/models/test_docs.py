"""docs/reference/models.md says what the tables say."""

from __future__ import annotations

from pathlib import Path

from pytest_recode.models import catalog
from pytest_recode.models.retry import Retries
from pytest_recode.models.table import resolve
from pytest_recode.simulated.sim import SKILLS

PAGE = (Path(__file__).parents[2] / "docs/reference/models.md").read_text("utf-8")


def test_all_that_litellm_lacks_is_listed() -> None:
    for name, fields in catalog.lacking().models.items():
        cells = f"` | `{resolve(name, {}).model}` | {fields.get('cutoff', '')} | {fields.get('retired', '')} |"
        rows = [line for line in PAGE.splitlines() if line.startswith("| `") and line.endswith(cells)]
        assert name in [catalog.plain(row.split("`")[1]) for row in rows]


def test_every_skill_is_listed() -> None:
    for name, skill in SKILLS.items():
        repairs = " ".join(f"{100 * chance:.0f}" for chance in skill.repairs)
        assert f"| `sim/{name}` | {100 * skill.right:.0f} % | {repairs} % |" in PAGE


def test_the_patience_that_is_told_is_the_one_there_is() -> None:
    retries = Retries()
    words = " ".join(PAGE.split())
    *waits, longest = (f"{retries.base * 2**tried:.0f}" for tried in range(retries.tries - 1))
    assert retries.tries == 6
    assert f"tried up to six times, after {', '.join(waits)} and {longest} seconds plus" in words
    assert f"up to {retries.cap:.0f} seconds; a message says" in words
    assert f"no try starts {retries.knocking:.0f} seconds after the first" in words
    assert f"No try starts {retries.patience / 60:.0f} minutes after the first" in words
