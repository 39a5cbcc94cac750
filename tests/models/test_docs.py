"""docs/reference/models.md says what the tables say."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from pytest_recode.models import catalog
from pytest_recode.models.retirement import retirement
from pytest_recode.models.retry import Retries
from pytest_recode.models.table import resolve
from pytest_recode.simulated.sim import SKILLS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/models.md").read_text("utf-8")


def test_all_that_litellm_lacks_is_listed() -> None:
    for name, fields in catalog.lacking().models.items():
        cells = f"` | `{resolve(name, {}).model}` | {fields.get('cutoff', '')} | {fields.get('retired', '')} |"
        rows = [line for line in PAGE.splitlines() if line.startswith("| `") and line.endswith(cells)]
        assert name in [catalog.plain(row.split("`")[1]) for row in rows]


PAGES = [
    ROOT / "README.md",
    *(path for path in (ROOT / "docs").rglob("*.*") if path.suffix in (".md", ".yml", ".yaml", ".sh")),
]
_OWN = re.compile(r"--recode-(api-base|models-file)|sim/|my-|:[A-Z]")


def test_the_models_of_readme_and_docs_are_live() -> None:
    """In a command whose models are not on a server of one's own. When this fails, a maker has retired one: name a living one."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    commands = [
        (path, line) for path in PAGES if "decisions" not in path.parts for line in path.read_text("utf-8").splitlines()
    ]
    named = {
        (path.name, name)
        for path, line in commands
        if not _OWN.search(line)
        for name in re.findall(r"--[\w-]+model=([a-z][\w./-]*\w)", line)
    }
    assert len(named) > 20
    for page, name in sorted(named):
        model = resolve(name, {}).model
        assert catalog.listed_as(model) is not None, f"{page}: litellm does not list {name}"
        date = retirement(model)[0]
        assert date is None or today < date, f"{page}: {name} was retired on {date}"


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
    assert f"no try starts {retries.knocking_here:.0f} seconds after it if the model has not answered" in words
    assert f"No try starts {retries.patience / 60:.0f} minutes after the first" in words
