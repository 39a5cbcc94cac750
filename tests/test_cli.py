"""`pytest-recode report`, as its users call it; and every such command that the documentation prints."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import termios
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.messages import assert_line, assert_message
from tests.metrics.samples import (
    figures,
    own_run,
    record,
    replay,
    run,
    shared,
    sorted_turn,
    stats,
    transcript,
    turn,
)
from tests.projects import Command

ROOT = Path(__file__).resolve().parents[1]
# test_tutorials.py runs the commands of the tutorials to their end
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "tutorials")]


Report = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def report(quick_python: tuple[str, ...]) -> Report:
    def run(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*quick_python, "-m", "pytest_recode.cli", "report", *map(str, arguments)],
            cwd=cwd,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the documentation names them: runs below recode-out/ and of the bundled levels, and a clone beside."""
    root = tmp_path_factory.mktemp("user")
    run(root / "recode-out/gpt-4.1", own_run("gpt-4.1", "GPT_4_1", cutoff="2024-06"))
    run(root / "recode-out/gpt-6-sol", own_run("gpt-6-sol", "GPT_4_1", cutoff="2024-06"))
    run(root / "recode-out/no-paper", own_run("gpt-4.1", "GPT_4_1_MINI", cutoff="2024-06", paper=False))
    run(root / "recode-out/L0", [record("a", (0, 4)), record("b", (1, 1)), record("c", (), outcome="error")])
    run(root / "recode-out/L4", [record(task, (0, 4), feedback="L4", levels=[None, "L4"]) for task in "abc"])
    run(root / "recode-out/by-hand", [record("a", (0, 4), agent="person", model=None)])
    (root / "recode-out/killed").mkdir()
    (root / "recode-out/killed/results.jsonl").write_text("")
    again = [replay(record("a", (0, 4)), 2, passed, level=level) for passed, level in ((3, "L2"), (4, "L4"))]
    run(root / "recode-out/again", [{**one, "replay": {**one["replay"], "run": "L0"}} for one in again])
    for name, model in (("levels", "sim/graduate"), ("levels-of-others", "sim/expert")):
        at = [record("a", (0, 4), model=model, simulated=True, feedback=L, levels=[None, L]) for L in ("L0", "L4")]
        run(root / name, at)
    for name, agents in (
        ("agents", ("recode", "one-shot")),
        ("first-agent", ("recode",)),
        ("second-agent", ("one-shot",)),
    ):
        of_agents = [
            record(task, (0, 4), model="sim/graduate", simulated=True, agent=agent, feedback=L, levels=[None, L])
            for agent in agents
            for L in ("L0", "L4")
            for task in "ab"
        ]
        run(root / name, of_agents)
    for day in (9, 10):
        run(root / f"nights/{day}", [record("a", ended=f"2026-11-{day:02}T02:00:00+00:00")])
    (root / "tasks").symlink_to(ROOT / "tasks")
    published = root / "ResearchCodeBench/outputs/20llms_greedy/2025-05-12-17-13-20/overall_stats.json"
    published.parent.mkdir(parents=True)
    published.write_text(json.dumps(stats()))
    return root


@pytest.fixture(scope="module")
def published(files: Path) -> Path:
    [path] = files.glob("ResearchCodeBench/outputs/*/*/overall_stats.json")
    return path


@pytest.mark.parametrize("width", [60, 80, 132])
@pytest.mark.mostly_slow
def test_in_a_terminal_no_line_is_wider_than_that(report: Report, files: Path, width: int) -> None:
    """Of all tables; a path is one word, which stays whole."""
    end, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (40, width))
    command = [
        sys.executable,
        "-m",
        "pytest_recode.cli",
        "report",
        *(f"recode-out/{name}" for name in ("L0", "L4", "again")),
    ]
    process = subprocess.Popen(command, cwd=files, env={"PYTHONPATH": str(ROOT)}, stdout=terminal, stderr=terminal)
    os.close(terminal)
    data = b""
    with contextlib.suppress(OSError):  # the other side is closed
        while part := os.read(end, 65536):
            data += part
    os.close(end)
    assert process.wait() == 0, data
    lines = data.decode().splitlines()
    assert max(map(len, lines)) <= width, max(lines, key=len)
    piped = report("recode-out/L0", "recode-out/L4", "recode-out/again", cwd=files).stdout
    assert max(map(len, piped.splitlines())) > 132
    assert "turns at most" in piped.splitlines()[2]
    assert any("turns at most 2" in line or "turns at most" in line.split("  ") for line in lines)


@pytest.mark.slow
def test_the_64_numbers_as_text_and_markdown(report: Report, published: Path) -> None:
    for form, between in (("text", r"\s+[\d.]+ to [\d.]+\s+"), ("markdown", r" \| [\d.]+ to [\d.]+ \| ")):
        done = report(published, "--table=scores", f"--format={form}")
        assert done.returncode == 0, done.stderr
        for model, (scaled, plain) in figures().items():
            assert re.search(rf"{re.escape(model)}[ |]+{plain}{between}{scaled}\b", done.stdout), (form, model)


@pytest.mark.slow
def test_the_64_numbers_as_csv_and_json(report: Report, published: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(report(published, "--format=csv").stdout)))
    assert {row["model"]: (row["scaled_pass_at_1"], row["pass_at_1"]) for row in rows} == figures()
    whole = json.loads(report(published, "--format=json", "--table=scores").stdout)
    [table] = whole["tables"]
    assert {
        row["model"]: (f"{row['scaled_pass_at_1']:.2f}", f"{row['pass_at_1']:.2f}") for row in table["rows"]
    } == figures()


@pytest.mark.slow
def test_an_own_run_is_a_row_among_the_32(report: Report, files: Path, published: Path) -> None:
    done = report(files / "recode-out/gpt-4.1", published, "--table=scores", "--format=csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 33
    mine, theirs = (next(row for row in rows if row["model"] == name) for name in ("gpt-4.1", "GPT-4.1"))
    assert (mine["source"], theirs["source"]) == ("gpt-4.1", "published")
    assert mine["scaled_pass_at_1"] == theirs["scaled_pass_at_1"] == "27.54"


def test_what_the_paper_is_worth(report: Report, files: Path) -> None:
    done = report(files / "recode-out/gpt-4.1", files / "recode-out/no-paper", "--table=ablation", "--format=json")
    [row] = json.loads(done.stdout)["tables"][0]["rows"]
    # 399 of 1449 lines with, 258 without
    assert row["difference"] == pytest.approx(100 * (399 - 258) / 1449)
    assert len(row["only_with"]) - len(row["only_without"]) == 106 - 90
    low, high = row["difference_interval"]
    assert low < row["difference"] < high


@pytest.mark.slow
def test_common_compares_on_what_every_row_played(report: Report, files: Path, published: Path, tmp_path: Path) -> None:
    part = run(tmp_path / "part", own_run("gpt-4.1", "GPT_4_1")[:100])
    alone = report(part, published, "--table=scores")
    assert "missing: snippets that other rows" in alone.stdout
    common = report(part, published, "--table=scores", "--common", "--format=csv")
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(common.stdout))}
    assert {row["snippets"] for row in rows.values()} == {"100"}
    assert rows["gpt-4.1"]["scaled_pass_at_1"] == rows["GPT-4.1"]["scaled_pass_at_1"]


@pytest.mark.slow
def test_hard_needs_the_published_file_and_says_so(report: Report, files: Path, published: Path) -> None:
    mine = files / "recode-out/gpt-4.1"
    assert "HARD needs the published results" in report(mine, "--table=hard").stdout
    assert "HARD: the 109 snippets (1130 lines)" in report(mine, published, "--table=hard").stdout
    assert "HARD: the 96 snippets" in report(mine, published, "--table=hard", "--hard-threshold=1/4").stdout


@pytest.mark.slow
def test_hard_without_the_own_vote(report: Report, files: Path, published: Path) -> None:
    """What a model fails is likelier to be HARD by its own vote; a run's model has the vote of the published one of its name."""
    done = report(files / "recode-out/gpt-4.1", published, "--table=hard", "--format=json")
    rows = {row["model"]: row for row in json.loads(done.stdout)["tables"][0]["rows"]}
    best = rows["Gemini-2.5-Pro-Preview-05-06"]
    assert (round(best["pass_at_1"], 2), round(best["unbiased"], 2), best["unbiased_snippets"]) == (33.03, 35.4, 113)
    assert rows["gpt-4.1"]["unbiased"] == rows["GPT-4.1"]["unbiased"] > rows["GPT-4.1"]["pass_at_1"]
    differences = [row["unbiased"] - row["pass_at_1"] for row in rows.values() if row["published"]]
    # docs/reference/metrics.md says so
    assert (round(sum(differences) / 32, 1), round(max(differences), 1), min(differences)) == (1.3, 3.3, 0.0)


@pytest.mark.slow
def test_a_second_published_file_does_not_define_hard(report: Report, published: Path, tmp_path: Path) -> None:
    whole = stats()
    for paper in whole["results"].values():
        for model in paper["results"].values():
            for [one] in model["results"].values():
                one["passed"] = False
    (tmp_path / "none.json").write_text(json.dumps(whole))
    done = report(published, tmp_path / "none.json", "--table=hard")
    assert "HARD: the 109 snippets (1130 lines)" in done.stdout


def test_a_curve_ends_with_the_turns_that_the_row_was_given(report: Report, tmp_path: Path) -> None:
    """Three turns say nothing of what ten would have given."""
    ten = run(tmp_path / "ten", [record("a", (0, 0, 0, 0, 4))])
    few = {**record()["settings"], "turns": 3}
    three = run(tmp_path / "three", [record("a", (0, 4), settings=few), record("b", (0, 0, 0), settings=few)])
    rows = json.loads(report(ten, three, "--table=curves", "--format=json").stdout)["tables"][0]["rows"]
    recalls = {row["source"]: [row[f"turn_{n}"] for n in range(1, 6)] for row in rows if row["what"] == "recall"}
    assert recalls == {"ten": [0.0, 0.0, 0.0, 0.0, 100.0], "three": [0.0, 50.0, 50.0, None, None]}


@pytest.mark.slow
def test_timeline_and_years(report: Report, published: Path, tmp_path: Path) -> None:
    done = report(published, "--table=timeline", "--table=cutoffs")
    assert re.search(r"DiffusionDPO +9 +59 +2023-11-22 +2023-12-24 +2025-02-03", done.stdout)
    assert re.search(r"2023-09 +1 +20 +212 .* Qwen-2.5-Turbo", done.stdout)
    several = [record(f"annotation_{n}", format="recode-h", facts={"annotation": n}) for n in (1, 2, 70)]
    mine = run(tmp_path / "mine", several)
    rows = list(csv.DictReader(io.StringIO(report(mine, "--table=years", "--format=csv").stdout)))
    assert [(row["year"], row["played"]) for row in rows] == [("2023", "1"), ("2024", "1"), ("unknown", "1")]
    assert "70 and 79, which these lists omit" in report(mine, "--table=years").stdout


@pytest.mark.slow
def test_what_the_paper_did_to_each_snippet(report: Report, files: Path) -> None:
    both = [files / "recode-out/gpt-4.1", files / "recode-out/no-paper"]
    rows = json.loads(report(*both, "--table=impact", "--format=json").stdout)["tables"][0]["rows"]
    assert len(rows) == 212
    assert sum(row["difference"] > 0 for row in rows) - sum(row["difference"] < 0 for row in rows) == 106 - 90
    shown = report(*both, "--table=impact").stdout
    assert "snippets without a difference are omitted" in shown
    assert shown.count("+100.00") == sum(row["difference"] > 0 for row in rows)


def test_errors_stay_in_sight(report: Report, files: Path) -> None:
    done = report(files / "recode-out/L0", "--format=json", "--table=episodes")
    [row] = json.loads(done.stdout)["tables"][0]["rows"]
    assert (row["solved"], row["played"], row["errors"]) == (1, 2, 1)
    assert (row["recall"], row["recall_at_least"]) == (50.0, pytest.approx(100 / 3))


@pytest.mark.slow
def test_recode_h_has_the_published_rows_beside(report: Report, tmp_path: Path) -> None:
    mine = run(tmp_path / "mine", [record("1", (4,), format="recode-h")])
    done = report(mine, "--table=episodes")
    assert re.search(r"GPT-5 +published +ReCodeAgent +L4 .* 71\.57 .* 73 +102", done.stdout)
    assert "published" not in report(run(tmp_path / "other", [record("1")]), "--table=episodes").stdout


@pytest.mark.slow
def test_other_settings_than_the_published_runs_had_are_named(report: Report, tmp_path: Path) -> None:
    settings = {**record()["settings"], "turns": 3, "steps": 3, "temperature": 0.0}
    mine = run(tmp_path / "mine", [record("1", format="recode-h", settings=settings, feedback_model="o4-mini")])
    rows = json.loads(report(mine, "--table=episodes", "--format=json").stdout)["tables"][0]["rows"]
    assert [row["settings"] for row in rows[:2]] == ["turns 3", "turns 10"]
    same = record("1", format="recode-h", settings={**settings, "turns": 10}, feedback_model="o4-mini")
    rows = json.loads(report(run(tmp_path / "same", [same]), "--table=episodes", "--format=json").stdout)
    assert {row["settings"] for row in rows["tables"][0]["rows"]} == {None}


def test_published_rows_are_marked_and_all_there(report: Report, tmp_path: Path) -> None:
    mine = run(tmp_path / "mine", [record("1", turns=[turn(1, 0), sorted_turn(2, ["T2"])], format="recode-h")])
    episodes, errors = json.loads(report(mine, "--table=episodes", "--table=categories", "--format=json").stdout)[
        "tables"
    ]
    shares = {
        (row["model"], row["feedback"]): (row["solved"], row["played"], f"{row['recall']:.1f}", row["turns"])
        for row in episodes["rows"]
        if row["published"]
    }
    assert shares == {
        (model, level): (solved, 102, recall, 10)
        for model, *cells in (
            ("GPT-5", (30, "29.4"), (57, "55.9"), (73, "71.6")),
            ("DeepSeek-V3.1", (11, "10.8"), (44, "43.1"), (72, "70.6")),
            ("GPT-5-mini", (20, "19.6"), (48, "47.1"), (68, "66.7")),
            ("Gemini-2.5-pro", (13, "12.7"), (38, "37.3"), (60, "58.8")),
            ("Claude-Sonnet-4", (15, "14.7"), (34, "33.3"), (49, "48.0")),
        )
        for level, (solved, recall) in zip(("L0", "L2", "L4"), cells, strict=True)
    }
    assert {row["model"]: (row.get("T0"), row["T1"], row["T4"]) for row in errors["rows"]} == {
        "m": (0.0, 0.0, 0.0),
        "GPT-5": (None, 11.4, 4.4),
        "Claude-Sonnet-4": (None, 26.5, 7.5),
        "DeepSeek-chat": (None, 20.6, 7.5),
    }


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json"])
def test_per_model_and_level_beside_the_published_in_every_form(report: Report, tmp_path: Path, form: str) -> None:
    levels = ("L0", "L2", "L4")
    mine = run(
        tmp_path / "mine",
        [record(n, (4,), format="recode-h", feedback=level, model=m) for m in "ba" for level in levels for n in "12"],
    )
    done = report(mine, "--table=episodes", f"--format={form}")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "published" in line and "71.57" in line]
    assert len(lines) == (0 if form == "json" else 1)
    if form == "json":
        assert '"recall": 71.56' in done.stdout
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        # by model and level, whatever ended first
        assert [(row["model"], row["feedback"]) for row in rows[:6]] == [(m, level) for m in "ab" for level in levels]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("codebleu") is None, reason="needs the extra codebleu")
def test_tasks_say_what_was_not_played_and_give_the_references(report: Report, tmp_path: Path) -> None:
    reference = (ROOT / "tasks/sinkhorn/reference/sinkhorn.py").read_text()
    directory = run(
        tmp_path / "run",
        [
            record("sinkhorn", (4,), transcript="episodes/a.jsonl"),
            record("nobody-knows", (4,), transcript="episodes/a.jsonl"),
            record("lora", (), outcome="error"),
        ],
    )
    transcript(directory / "episodes/a.jsonl", [{"sinkhorn.py": "x = 1"}, {"sinkhorn.py": reference}])
    done = report(directory, "--tasks", ROOT / "tasks", "--table=code", "--table=episodes", "--format=json")
    code, episodes = (table["rows"][0] for table in json.loads(done.stdout)["tables"])
    assert (code["codebleu"], code["codebleu_bare"], code["compared"]) == (100.0, 100.0, 1)
    assert (code["played"], code["no_reference"], code["no_code"], code["errors"]) == (2, 1, 0, 1)
    assert code["codebleu_at_least"] == pytest.approx(100 / 3)
    # of the bundled tasks, two are in the run
    bundled = len(list(ROOT.glob("tasks/*/task.yaml")))
    named = sum((ROOT / "tasks" / name).exists() for name in ("sinkhorn", "lora"))
    assert code["missing"] == episodes["missing"] == bundled - named
    assert "no reference: the task is not in --tasks" in report(directory, "--tasks", ROOT / "tasks").stdout


def test_without_the_extra_the_table_of_code_says_how_to_have_it(tmp_path: Path) -> None:
    directory = run(tmp_path / "run", [record("sinkhorn", (4,))])
    hide = (
        "import sys; sys.modules['codebleu'] = None; from pytest_recode.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["report", str(directory), "--tasks", str(ROOT / "tasks")]
    whole, alone = (
        subprocess.run(
            [sys.executable, "-c", hide, *arguments, *more], cwd=ROOT, capture_output=True, text=True, check=False
        )
        for more in ([], ["--table=code"])
    )
    assert whole.returncode == 0
    assert "code: CodeBLEU needs an extra: pip install 'pytest-recode[codebleu]'" in whole.stdout
    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr.count("\n") == 1


def test_replays_are_no_episodes(report: Report, files: Path) -> None:
    done = report(files / "recode-out/L0", files / "recode-out/again", "--format=json")
    tables = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert [(row["source"], row["solved"], row["played"]) for row in tables["episodes"]] == [("L0", 1, 2)]
    assert [
        (row["played_level"], row["feedback"], row["what"], row["pairs"], row["share_played"], row["share_replayed"])
        for row in tables["replays"]
    ] == [
        ("L0", "L2", "solves", 1, 100.0, 0.0),
        ("L0", "L2", "gains cases", 1, 100.0, 100.0),
        ("L0", "L4", "solves", 1, 100.0, 100.0),
        ("L0", "L4", "gains cases", 1, 100.0, 100.0),
    ]
    alone = report(files / "recode-out/again")
    assert alone.returncode == 0
    assert "Episodes" not in alone.stdout
    assert_line(alone.stdout, "unpaired:", "replayed run", "FILE")


@pytest.mark.slow
def test_what_was_paid_is_a_column_where_turns_are_shared(report: Report, tmp_path: Path) -> None:
    first = record("a", (1, 4))
    both = run(tmp_path / "both", [first, shared(first, feedback="L2")])
    rows = list(csv.DictReader(io.StringIO(report(both, "--table=costs", "--format=csv").stdout)))
    assert [(row["tokens"], row["paid_tokens"], row["cost_usd"], row["paid_usd"]) for row in rows] == [
        ("100", "100", "0.5", "0.5"),
        ("100", "60", "0.5", "0.3"),
    ]
    assert "paid: a first turn that several episodes share is counted once" in report(both, "--table=costs").stdout
    assert "paid" not in report(run(tmp_path / "one", [first]), "--table=costs").stdout


@pytest.mark.slow
def test_what_options_leave_out_is_said(report: Report, files: Path, tmp_path: Path) -> None:
    two = run(tmp_path / "two", [record("a", model=name) for name in ("gpt-5", "gpt-5-mini", "o3")])
    assert "--model=gpt: 1 of 3 rows omitted: o3" in report(two, "--model=gpt").stdout
    assert "omitted" not in report(two, "--model=gpt", "--model=o3").stdout
    agents = run(tmp_path / "agents", [record(name, model="o3", agent=name) for name in ("codex", "aider")])
    assert "--model=o --agent=COD: 1 of 2 rows omitted: o3 (aider)" in report(agents, "--model=o", "--agent=COD").stdout
    common = report(files / "recode-out/L0", files / "recode-out/L4", "--common")
    assert "--common: 1 task of m, L0, with paper, recode (L0) omitted" in common.stdout


@pytest.mark.slow
def test_a_run_that_was_killed_at_once_stops_no_other(report: Report, files: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    done = report(files / "recode-out/L0", files / "recode-out/killed", tmp_path / "nothing", "--table=episodes")
    assert done.returncode == 0
    assert_line(done.stdout, "killed/results.jsonl", "empty", "no episode")
    assert_line(done.stdout, f"{tmp_path}/nothing", "no results.jsonl", "omitted")
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "results.jsonl").write_text('{"schema": 1, "nodeid')
    assert_line(report(files / "recode-out/L0", torn).stdout, "torn/results.jsonl", "last line", "killed run")
    alone = report("recode-out/killed", cwd=files)
    assert alone.returncode == 2
    assert_message(alone.stderr, "no episode to report", "recode-out/killed/results.jsonl", "empty")


def test_pass_at_k_says_of_how_many_tasks(report: Report, tmp_path: Path) -> None:
    several = [record("a", (4,) if n == 1 else (0,), attempt=n) for n in (1, 2, 3)]
    mine = run(tmp_path / "mine", [*several, record("b", attempt=1), record("c", (), outcome="error", attempt=1)])
    [row] = csv.DictReader(io.StringIO(report(mine, "--table=attempts", "--format=csv").stdout))
    assert (row["tasks_1"], row["tasks_2"], row["tasks_3"]) == ("2", "1", "1")
    assert (row["pass_at_1"], row["pass_at_1_at_least"]) == ("66.67", "44.44")
    assert re.search(r"pass@1 +of tasks +pass@2 +pass\^2 +of tasks", report(mine, "--table=attempts").stdout)


def test_every_table_with_shares_says_what_is_not_in_them(report: Report, tmp_path: Path) -> None:
    one = record("a", turns=[turn(1, 0), sorted_turn(2, ["T1"])])
    mine = run(tmp_path / "mine", [one, record("b", (), outcome="error"), record("a", attempt=2)])
    tables = json.loads(report(mine, "--format=json", "--tasks", ROOT / "tasks").stdout)["tables"]
    assert [table["name"] for table in tables] == [
        "episodes",
        "effort",
        "curves",
        "levels",
        "costs",
        "attempts",
        "tasks",
        "history",
        "errors",
        "categories",
        *(["code"] if find_spec("codebleu") else []),
    ]
    for table in tables:
        if table["name"] not in {"costs", "tasks", "categories"}:
            assert {"played", "errors", "missing"} <= {column["key"] for column in table["columns"]}, table["name"]


def test_rows_of_two_kinds_of_isolation_say_so(report: Report, tmp_path: Path) -> None:
    mixed = run(tmp_path / "mixed", [record("a"), record("b", isolation="shared")])
    assert "verdicts of two kinds of isolation are mixed in: m, L0" in report(mixed).stdout


def test_a_simulated_model_says_so(report: Report, tmp_path: Path) -> None:
    done = report(run(tmp_path / "sim", [record("a", model="sim/novice", simulated=True)]))
    assert "sim/novice *" in done.stdout
    assert "say nothing about real models" in done.stdout


def test_a_killed_run_is_reported_and_said(report: Report, tmp_path: Path) -> None:
    directory = run(tmp_path / "run", [record("a")])
    with (directory / "results.jsonl").open("a") as file:
        file.write('{"schema": 1, "nod')
    done = report(directory)
    assert done.returncode == 0
    assert_line(done.stdout, "results.jsonl", "last line", "killed run")
    assert_line(report(directory, "--format=csv").stderr, "results.jsonl", "last line", "killed run")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such file: give a results.jsonl"),
        (["recode-out"], "recode-out: contains no results.jsonl: did you mean"),
        (
            ["recode-out/L0", "--table=score"],
            "--table=score: no such table for these files; the tables are episodes, effort, comparisons, turns",
        ),
        (
            ["recode-out/L0", "--table=comparison"],
            "--table=comparison: no such table for these files (did you mean comparisons?)",
        ),
        (["recode-out/L0", "--model=gpt-9"], "--model=gpt-9: no such row; the models are m"),
        (["recode-out/L0", "--agent=codex"], "--agent=codex: no such row; the agents are recode"),
        (["recode-out/L0", "--hard-threshold=2"], "'2' is not a share in (0, 1], such as 1/3 or 0.25"),
        (["recode-out/L0", "--format=csv", "--table=costs", "--table=errors"], "give --table once"),
        (["recode-out/L0", "--table=comparisons"], "these files have no data for it"),
        (["recode-out/L0", "--table=code"], "the tables are episodes, effort, comparisons, turns, curves, levels"),
        (["recode-out/L0", "--table=code"], "; code needs --tasks"),
        (["recode-out/L0", "--tasks", "nowhere"], "nowhere: no such file or directory; give a directory with"),
        (["recode-out/L0", "--tasks", "recode-out"], "recode-out: contains no tasks; give a directory with"),
        (["recode-out/L0", "--codebertscore"], "--codebertscore requires the references: add --tasks DIR"),
    ],
)
@pytest.mark.mostly_slow
def test_a_users_fault_is_one_line(report: Report, files: Path, arguments: list[str], message: str) -> None:
    done = report(*arguments, cwd=files)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_it_starts_without_pytest_or_litellm(published: Path) -> None:
    code = (
        "import sys; from pytest_recode.cli import main; main(sys.argv[1:]);"
        "print('MODULES', *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(published), "--table=scores"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(done.stdout.splitlines()[-1].split())
    assert not modules & {"pytest", "_pytest", "litellm", "numpy", "docker", "yaml"}


def test_what_a_model_is_called_does_not_drive_the_terminal(report: Report, tmp_path: Path) -> None:
    done = report(run(tmp_path / "run", [record("a", model="m\x1b[31m|x")]), "--format=markdown")
    assert "\x1b" not in done.stdout
    assert "m\\\\x1b[31m\\|x" in done.stdout or "m\\x1b[31m\\|x" in done.stdout


def test_the_command_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert declared == {"pytest-recode": "pytest_recode.cli:main"}


def commands() -> list[tuple[str, str]]:
    lines = []
    for page in PAGES:
        text = re.sub(r"\\\n\s*", " ", page.read_text("utf-8"))
        for line in re.findall(r"^(?:    |\$ )?(pytest-recode report .*)$", text, re.MULTILINE):
            lines.append((page.name, line))
    return lines


def test_the_documentation_has_commands() -> None:
    assert len(commands()) >= 5


@pytest.mark.parametrize(("page", "command"), commands())
@pytest.mark.mostly_slow
def test_a_printed_command_works(report: Report, files: Path, page: str, command: str) -> None:
    words = shlex.split(command.partition(" > ")[0], comments=True)[2:]
    arguments: list[str] = []
    for word in words:  # as a shell does
        arguments += sorted(str(path.relative_to(files)) for path in files.glob(word)) if "*" in word else [word]
    done = report(*arguments, cwd=files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_without_a_command_all_are_listed(command: Command, tmp_path: Path) -> None:
    done = command(tmp_path)
    assert done.returncode == 2
    assert_line(done.stderr, "show", "one episode, turn by turn")
    assert "report" in done.stderr


def test_a_misspelt_command_gets_a_suggestion(command: Command, tmp_path: Path) -> None:
    done = command(tmp_path, "rport")
    assert (done.returncode, done.stdout) == (2, "")
    assert_line(done.stderr, "no command 'rport'", "did you mean report?", "choose one of report, show,")
    done = command(tmp_path, "xyz")
    assert done.returncode == 2
    assert "did you mean" not in done.stderr


@pytest.mark.slow
def test_without_a_run_it_is_the_latest_one(project: Path, command: Command) -> None:
    (project / "recode-out").mkdir()
    (project / "run").rename(project / "recode-out/first")
    latest = command(project, "report")
    assert latest.stdout == command(project, "report", "recode-out/first").stdout != ""
    for name, *more in (["html"], ["plot"], ["export", "--to=atif"]):
        done = command(project, name, *more)
        assert done.returncode == 0, done.stderr


def test_without_a_run_that_could_be_the_latest_one(tmp_path: Path, command: Command) -> None:
    for name, *more in (["report"], ["html"], ["plot"], ["export", "--to=atif"]):
        done = command(tmp_path, name, *more)
        assert done.returncode == 2
        assert_message(done.stderr, "recode-out: contains no run", "give the directory of a run")
