"""`--recode-markdown` and GitHub Actions: the summary as Markdown, and errors as annotations; texts of a run stay texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.cli import main
from pytest_recode.metrics import baseline
from pytest_recode.metrics.fail_on import conditions
from pytest_recode.metrics.gate_comparison import gate
from pytest_recode.metrics.score import scores
from pytest_recode.plugin.reports import github
from pytest_recode.records.episode_summary import episode_summary
from pytest_recode.render import markdown_summary
from tests.messages import assert_line
from tests.metrics.samples import record, run

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

HALF = ("--recode-agent=tiny_agents:THIRD_TIME", "--recode-feedback=L0", "--recode-feedback=none")

LOUD = """\
from pytest_recode.agents import AgentKind


class Loud:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        raise ZeroDivisionError("100%, <b>bold</b> | ::error::x\\r::add-mask::secret")


LOUD = AgentKind(make=Loud, needs_model=False)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_the_summary_says_what_the_terminal_says(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task("a")
    first = recode("-n0", *HALF, "--recode-out=before", "--recode-markdown=first.md", "--recode-fail-under=60")
    assert first.ret == 1
    page = (pytester.path / "first.md").read_text()
    assert page.startswith("## pytest-recode: 2 episodes: 1 solved, 1 unsolved\n")
    assert "| directory | tiny\\_agents\\:THIRD\\_TIME | L0 | 1/1 | 100\\.0 |" in page
    assert "**failed**: 50\\.0 % solved \\(2 judged\\), at least 60 % wanted" in page
    assert main(["bless", str(pytester.path / "before"), "-o", str(pytester.path / "b.json")]) == 0
    again = recode(
        workers,
        *HALF,
        "--recode-baseline=b.json",
        "--recode-markdown=second.md",
        "--recode-fail-on=worse,any-lost-task",
    )
    assert again.ret == 0
    page = (pytester.path / "second.md").read_text()
    assert "### Compared with the baseline" in page
    assert "**passed**: baseline " in page
    rows = [line for line in page.splitlines() if "too few tasks to tell" in line and line.startswith("|")]
    assert len(rows) == 2
    assert "| 1 | 100.0 | 100.0 | +0.0 | -100.0 to +100.0 | 1.000 | 0 | 0 |" in rows[0]
    assert "passed: too few tasks to tell" in words(again)


def test_on_github_the_step_has_the_summary_and_errors_are_annotations(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    make_task("a")
    make_task("b")
    pytester.makepyfile(loud_agents=LOUD)
    pytester.syspathinsert()
    summary = pytester.path / "step.md"
    summary.write_text("of an earlier step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = recode(workers, "--recode-agent=loud_agents:LOUD", "--tb=no")
    page = summary.read_text()
    assert page.startswith("of an earlier step\n## pytest-recode: 2 episodes: 0 solved, 0 unsolved, 2 with an error\n")
    assert "2 episodes, first bench/a/task\\.yaml\\:\\:episode" in page
    assert "\\<b\\>bold\\<\\/b\\> \\| \\:\\:error" in page or "\\<b\\>bold\\</b\\> \\| \\:\\:error" in page
    [line] = [line for line in result.outlines if line.startswith("::")]
    assert line.startswith("::error title=recode%3A the agent%2C or pytest-recode itself%2C raised")
    assert "(and 1 more): ZeroDivisionError: 100%25, <b>bold</b>" in line
    assert not [line for line in result.outlines if line.lstrip().startswith("::add-mask")]


def test_elsewhere_there_are_no_annotations(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    pytester.makepyfile(loud_agents=LOUD)
    pytester.syspathinsert()
    result = recode("-n0", "--recode-agent=loud_agents:LOUD", "--tb=no")
    assert not [line for line in result.outlines if line.startswith("::")]


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_a_file_that_cannot_be_written_is_said(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_task()
    given = ("-n0", "--recode-agent=reference")
    for path, wrong in (("nowhere/s.md", "no directory"), (".", "is a directory")):
        result = recode(*given, f"--recode-markdown={path}", "--recode-out=out")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert_line("\n".join(result.errlines), "--recode-markdown", wrong, "directory that exists")
        assert not (pytester.path / "out").exists()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "nowhere/step.md"))
    late = recode(*given)
    assert late.ret == 1
    assert_line("\n".join(late.outlines), "no Markdown", "nowhere/step.md")


HOSTILE = st.text(
    alphabet=st.sampled_from("ab|`*_[]()<>#\\!&~@:%,\n\r\t\x1b\u202e\u2028$-+. ") | st.characters(), max_size=60
)


@given(HOSTILE)
def test_a_text_is_one_line_and_no_markup(hostile: str) -> None:
    shown = markdown_summary.text(hostile)
    assert len(shown.splitlines()) <= 1
    assert shown.isprintable()
    assert not re.search(r"(?<!\\)(?:\\\\)*[|`*_\[\]<>&#@:$!~]", shown)


@given(HOSTILE, HOSTILE)
def test_an_annotation_is_one_command_that_says_the_text(node: str, message: str) -> None:
    failed = record("a", (), outcome="error", replay=None, error={"kind": "sandbox", "message": message})
    failed["nodeid"] = node
    [line] = github.error_commands([episode_summary(json.loads(json.dumps(failed)))], None)
    assert len(line.splitlines()) == 1
    head, _, rest = line.removeprefix("::").partition("::")
    assert head.startswith("error title=")
    assert head.count("=") == 1
    assert "," not in head.partition("=")[2]
    assert "%" not in re.sub("%25|%0D|%0A|%3A|%2C", "", line)
    assert "\n" not in rest


def test_a_page_has_every_row_and_every_error_once() -> None:
    records: list[dict[str, Any]] = [record("a"), record("b", (1,), feedback="L2"), record("c", (), outcome="error")]
    records.append(record("d", (), outcome="error"))
    found = [episode_summary({**each, "replay": None}) for each in records]  # type: ignore[typeddict-item]
    page = markdown_summary.summary(scores(found), found, planned=5, gate=None, tests=[])
    assert page.startswith("## pytest-recode: 5 episodes: 1 solved, 1 unsolved, 2 with an error, 1 without a record")
    scored, helped = (
        [line for line in page.splitlines() if line.startswith("| directory") and line.count("|") == bars]
        for bars in (12, 8)
    )
    assert len(scored) == len(helped) == 2
    assert "| directory | m | L0 | 100\\.0 | none | none | 0 |" in helped
    assert page.count(": died") == 1
    assert "2 episodes, first c/task" in page


def test_all_lost_tasks_are_named(tmp_path: Path) -> None:
    names = [f"task-{place:03}" for place in range(90)]
    run(tmp_path / "before", [record(name, digest="1") for name in names])
    run(tmp_path / "now", [record(name, (1,), digest="1") for name in names])
    before, now = (baseline.of_run(tmp_path / which) for which in ("before", "now"))
    page = markdown_summary.summary([], [], planned=0, gate=gate(now, before, conditions(["worse"], "")), tests=[])
    assert "**failed**: baseline " in page
    assert "| worse | 90 | 0.0 | 100.0 | -100.0 |" in page
    [line] = [line for line in page.splitlines() if "lost\\: " in line]
    assert line.count("task\\-") == 90
