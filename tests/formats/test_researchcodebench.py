"""ResearchCodeBench's layout: what is a task, who sees which file, how tasks are chosen, and what is said of wrong papers."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.format_conformance import check_format
from pytest_recode.formats.researchcodebench import FORMAT
from pytest_recode.slots import emptied, held, laid, original, parses
from pytest_recode.task import Task, brief
from tests.messages import assert_message

PAPERS = Path(__file__).parents[1] / "papers"
SNIPPETS = {
    "running-moments/merge of two summaries": (9, None),
    "running-moments/mean of both": (2, "merge of two summaries"),
    "running-moments/squares, of both": (1, "merge of two summaries"),
    "running-moments/floor at zero": (1, None),
    "running-moments/weighted mean": (2, None),
    "running-moments/decay by age": (4, None),
    "shrinkage/threshold": (1, None),
    "shrinkage/shrink": (2, None),
}
"""Code lines and the block around it, counted by hand."""


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    return {task.id: task for task in FORMAT.load(PAPERS / "papers.yaml")}


@pytest.fixture
def papers(pytester: pytest.Pytester) -> Path:
    """A copy, to be broken, in the directory of a session under test."""
    return Path(shutil.copytree(PAPERS, pytester.path / "pset"))


@pytest.fixture
def collected(pytester: pytest.Pytester, papers: Path) -> Callable[..., list[str]]:
    """The ids that a session would run, without their manifest."""

    def collect(*args: str) -> list[str]:
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--collect-only", "-q", *args)
        assert result.ret in (0, 5), result.outlines
        return [line.partition("papers.yaml::")[2] for line in result.outlines if "::" in line]

    return collect


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new))


def test_the_format_keeps_what_every_format_must() -> None:
    check_format(FORMAT, PAPERS / "papers.yaml")


def test_a_block_is_a_task_with_its_facts(tasks: dict[str, Task]) -> None:
    assert {id: (task.facts["lines"], task.facts["outer"]) for id, task in tasks.items()} == SNIPPETS  # noqa: A001
    assert tasks["running-moments/mean of both"].facts == {
        "paper": "running-moments",
        "snippet": "mean of both",
        "lines": 2,
        "nested": True,
        "outer": "merge of two summaries",
        "venue": "Example2025",
        "arxiv_date": "2025-03-01",
        "arxiv_v1_date": "2025-01-01",
        "first_commit_date": "2025-01-15",
        "last_commit_date": "2025-04-02",
        "path": "moments.py",
    }
    assert all(json.loads(json.dumps(task.facts)) == task.facts for task in tasks.values())
    task = tasks["running-moments/decay by age"]
    assert (task.targets, task.interfaces, task.oracle.isolation, task.oracle.script) == (
        ("lib/weights.py",), (), "shared", "paper2code_test.py",
    )  # fmt: skip
    assert task.limits.test_seconds == 60


def test_the_candidate_sees_the_file_without_the_block_and_no_tag(tasks: dict[str, Task]) -> None:
    parts = tasks["running-moments/mean of both"].load()
    text = parts.repo["moments.py"].decode()
    assert parts.slot is not None
    assert text.split("\n")[parts.slot.start - 2 : parts.slot.stop + 4] == [
        "        if count == 0:",
        "            return Moments()",
        '        # TODO: Implement block "mean of both"',
        "        # Approximately 2 line(s) of code.",
        "",
        "        # the distances to the new mean",
        "        squares = self.squares + other.squares + delta**2 * self.count * other.count / count",
        "        return Moments(count, mean, squares)",
    ]
    assert parts.slot.indent == " " * 8
    assert b"<paper2code" not in b"".join([*parts.repo.values(), *parts.reference.values()])
    assert b"0.5 ** (age / half_life)" in parts.repo["lib/weights.py"]  # the other annotated file is whole


def test_an_outer_block_takes_the_inner_ones_with_it(tasks: dict[str, Task]) -> None:
    parts = tasks["running-moments/merge of two summaries"].load()
    text = parts.repo["moments.py"].decode()
    assert "def merge" not in text
    assert "delta" not in text
    assert text.count("# TODO: Implement block") == 1
    assert "# Approximately 9 line(s) of code." in text


@pytest.mark.parametrize("name", SNIPPETS)
def test_the_authors_lines_in_the_slot_are_the_reference(tasks: dict[str, Task], name: str) -> None:
    parts = tasks[name].load()
    lines = original(parts)
    assert lines is not None
    assert parts.slot is not None
    untouched = parts.repo[parts.slot.path].decode()
    assert laid(untouched, parts.slot, lines).encode() == parts.reference[parts.slot.path]
    assert held(untouched, untouched, parts.slot) == "\n".join(
        untouched.split("\n")[parts.slot.start : parts.slot.stop]
    )
    assert parses(emptied(untouched, parts.slot))


def test_nobody_but_the_tests_sees_what_says_the_solution(tasks: dict[str, Task], tmp_path: Path) -> None:
    root = Path(shutil.copytree(PAPERS, tmp_path / "pset"))
    folder = root / "running-moments"
    for path, text in {
        ".git/config": "x",
        "__pycache__/moments_ref.cpython-311.pyc": "x",
        "lib/loose.pyc": "x",
        "test_more.py": "x = 1",
        "lib/uses_older.py": "from .older import Moments\n",
        "lib/harmless.py": "from lib.weights import weights\n",
    }.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    for task in FORMAT.load(root / "papers.yaml")[:6]:
        parts = task.load()
        assert set(parts.tests) == {
            "paper2code_test.py", "test_more.py", "moments_ref.py", "lib/weights_ref.py", "lib/older.py",
            "lib/uses_older.py",
        }  # fmt: skip
        shown = brief(task, parts).repo
        assert set(shown) == {
            "moments.py", "lib/__init__.py", "lib/kinds.py", "lib/weights.py", "lib/harmless.py", "data/sample.bin",
        }  # fmt: skip
    assert tasks["running-moments/floor at zero"].load().repo["data/sample.bin"].count(b"\0") > 8


def test_what_the_annotated_file_imports_stays_even_if_it_repeats_a_block(tmp_path: Path) -> None:
    root = Path(shutil.copytree(PAPERS, tmp_path / "pset"))
    edit(root / "running-moments/moments.py", "import numpy as np\n", "import numpy as np\nimport lib.older\n")
    assert "lib/older.py" in FORMAT.load(root / "papers.yaml")[0].load().repo


def test_paper_context_and_instruction(tasks: dict[str, Task]) -> None:
    task = tasks["running-moments/squares, of both"]
    parts = task.load()
    assert parts.paper is not None
    assert parts.paper.startswith("\\section{Summaries that merge}")
    assert parts.slot is not None
    assert parts.slot.context == ("lib/kinds.py",)
    assert 'named "squares, of both"' in parts.instruction
    assert "about one line of code" in parts.instruction
    assert brief(task, parts, paper=False).paper is None
    assert not any("paper" in path for path in parts.repo)
    other = tasks["shrinkage/shrink"].load()
    assert other.paper is not None
    assert other.paper.startswith("# Shrinkage")
    assert other.slot is not None
    assert other.slot.context == ()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], list(SNIPPETS)),
        (["-k", "running-moments and mean"], ["running-moments/mean of both", "running-moments/weighted mean"]),
        (["-k", "nested"], ["running-moments/mean of both", "running-moments/squares, of both"]),
        (["-k", "merge and running-moments"], ["running-moments/merge of two summaries"]),  # and not what lies in it
        (["-k", "arXiv2023 and not outermost"], []),
        (["-k", "2023-10-20"], ["shrinkage/threshold", "shrinkage/shrink"]),
        (["-m", "recode(paper='shrinkage')"], ["shrinkage/threshold", "shrinkage/shrink"]),
        (["-m", "recode(venue='Example2025', lines=1, nested=False)"], ["running-moments/floor at zero"]),
        (["-m", "recode(outer='merge of two summaries', lines=2)"], ["running-moments/mean of both"]),
        (["-m", "recode(first_commit_date='2025-01-15', path='lib/weights.py')"], ["running-moments/decay by age"]),
        (["-m", "recode(format='researchcodebench', model='gpt-4.1', feedback='none')"], list(SNIPPETS)),
    ],
)  # fmt: skip
def test_selection(collected: Callable[..., list[str]], args: list[str], expected: list[str]) -> None:
    assert collected("--recode-model=gpt-4.1", *args) == [f"{name}/episode[gpt-4.1-none]" for name in expected]


@pytest.mark.slow
def test_an_id_chooses_its_item(collected: Callable[..., list[str]]) -> None:
    for name in collected("--recode-model=gpt-4.1", "--recode-attempts=2"):
        given = ("--recode-model=gpt-4.1", "--recode-attempts=2", f"pset/papers.yaml::{name}")
        assert collected(*given) == [name]


def test_an_only_block_is_named_as_one_of_many(collected: Callable[..., list[str]], papers: Path) -> None:
    """More may come in, and an id is for good."""
    (papers / "papers.yaml").write_text("- id: shrinkage\n  annotated_file_paths: shrink.py\n")
    (papers / "shrinkage/shrink.py").write_text('# <paper2code name="b">\nx = 1\n# </paper2code name="b">\n')
    assert collected() == ["shrinkage/b/episode[one-shot-none]"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], "[one-shot-none]"),
        (["--recode-agent=recode"], "[recode-none]"),
        (["--recode-feedback=escalate"], "[one-shot-escalate]"),
        (["-o", "recode_feedback=L2", "-o", "recode_agent=recode"], "[recode-L2]"),
    ],
)
def test_options_win_over_the_formats_defaults(
    collected: Callable[..., list[str]], args: list[str], expected: str
) -> None:
    assert {name.partition("/episode")[2] for name in collected(*args)} == {expected}


def test_what_the_defaults_changed_is_said(pytester: pytest.Pytester, papers: Path) -> None:
    args = ("-p", "no:cacheprovider", "--collect-only", "--recode-model=sim/expert")
    result = pytester.runpytest_inprocess(*args)
    line = (
        "recode: researchcodebench tasks: agent one-shot; feedback none; 1 turn of 1 step; temperature 0 for *"
        "defaults of this format or agent: agent, feedback, temperature; *"
    )
    result.stdout.fnmatch_lines(["recode: sim/expert", line])
    result.stdout.no_fnmatch_line("*feedback escalate*")
    given = pytester.runpytest_inprocess(*args, "--recode-temperature=0.5", "--recode-feedback=L1")
    given.stdout.fnmatch_lines(
        [
            "recode: researchcodebench tasks: agent one-shot; feedback L1; 10 turns of 1 step; temperature 0.5 for *"
            "defaults of this format or agent: agent; *"
        ]
    )
    whole = pytester.runpytest_inprocess(
        *args, "--recode-temperature=0.5", "--recode-feedback=L1", "--recode-agent=recode", "--recode-turns=4"
    )
    whole.stdout.fnmatch_lines(
        ["recode: researchcodebench tasks: agent recode; feedback L1; 4 turns of 3 steps; temperature 0.5 for *"]
    )


@pytest.mark.slow
def test_with_workers_it_is_said_once_the_first_has_collected(
    run_pytest: Callable[..., pytest.RunResult], papers: Path, tmp_path: Path
) -> None:
    options = (
        "--recode-model=sim/expert",
        "--recode-feedback=none",
        "--recode-feedback=L2",
        f"--recode-out={tmp_path}/out",
    )
    result = run_pytest("-n2", "-k", "none", *options)
    settings = "agent one-shot; feedback none, L2; 10 turns of 1 step (1 turn with feedback none); temperature 0"
    shown = [each for each in result.outlines if each.startswith("recode: researchcodebench tasks:")]
    [line] = shown
    assert_message(
        line, "recode: researchcodebench tasks", settings, "defaults of this format or agent: agent, temperature"
    )


@pytest.mark.slow
def test_a_feedback_model_without_feedback_is_told(pytester: pytest.Pytester, papers: Path) -> None:
    result = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "--recode-model=sim/expert", "--recode-feedback-model=sim/expert"
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["--recode-feedback-model has nothing to write for researchcodebench tasks, which get no feedback without *"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("where", [".", "lib"])
def test_nothing_of_a_folder_is_an_ordinary_test(pytester: pytest.Pytester, papers: Path, where: str) -> None:
    (papers / "running-moments/lib/test_inner.py").write_text("def test_inner(): pass\n")
    for directory, args in (
        (papers / "running-moments" / where, []),
        (papers / "running-moments" / where, ["."]),
        (pytester.path, [f"pset/running-moments/{where}"]),
        (pytester.path, ["pset/running-moments/paper2code_test.py"]),
    ):
        os.chdir(directory)
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)
        assert result.ret not in (0, 1), result.outlines
        assert "passed" not in result.parseoutcomes()
        assert "test_inner" not in result.stdout.str()
    os.chdir(papers / "running-moments")
    pytester.runpytest_inprocess("-p", "no:cacheprovider").stdout.fnmatch_lines(
        [f"{papers}/running-moments: belongs to {papers}/papers.yaml: select its tasks with -k, *-k running-moments, *"]
    )


def test_a_manifest_of_that_name_elsewhere_disturbs_nobody(pytester: pytest.Pytester) -> None:
    (pytester.path / "papers.yaml").write_text("- id: mine\n")
    mine = pytester.mkdir("mine")
    (mine / "test_mine.py").write_text("def test_mine(): pass\n")
    os.chdir(mine)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


MOMENTS = "running-moments/moments.py"
WRONG = [
    (
        "        # </paper2code name=\"floor at zero\">\n", "", f"{MOMENTS}:40",
        ('"floor at zero"', "no closing tag", '# </paper2code name="floor at zero">'),
    ),
    (
        '        # <paper2code name="floor at zero">\n', "", f"{MOMENTS}:41",
        ('"floor at zero"', "no opening tag", "remove it", "add an opening tag"),
    ),
    (
        '        # </paper2code name="squares, of both">\n        return Moments(count, mean, squares)\n'
        '    # </paper2code name="merge of two summaries">\n',
        '    # </paper2code name="merge of two summaries">\n        # </paper2code name="squares, of both">\n',
        f"{MOMENTS}:34",
        ('"merge of two summaries"', "line 32", 'close "squares, of both" first'),
    ),
    (
        '        # <paper2code name="floor at zero">\n', '    # <paper2code name="floor at zero">\n', f"{MOMENTS}:42",
        ('"floor at zero"', "4 (line 40)", "8", "same indentation"),
    ),
    (
        '        # <paper2code name="floor at zero">\n', '        # <paper2code name="mean of both">\n', f"{MOMENTS}:40",
        ('"mean of both"', "line 26", "another name"),
    ),
    (
        '        # <paper2code name="floor at zero">\n', "        # <paper2code name=floor at zero>\n", f"{MOMENTS}:40",
        ("not a valid tag", '# <paper2code name="X">', '# </paper2code name="X">'),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "place", "parts"), WRONG, ids=["unclosed", "unopened", "crossed", "indentation", "twice", "odd"]
)
def test_a_wrong_tag_is_one_line_and_costs_its_paper_alone(
    pytester: pytest.Pytester, papers: Path, old: str, new: str, place: str, parts: tuple[str, ...]
) -> None:
    edit(papers / MOMENTS, old, new)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rA")
    result.assert_outcomes(errors=1, skipped=2)
    [line] = [line for line in result.outlines if line.startswith(f"{papers}/{place}: ")]
    assert_message(line, place, *parts)
    result.stdout.fnmatch_lines(["ERROR pset/papers.yaml::running-moments/unreadable*"])


def test_a_name_in_two_files_of_a_paper(papers: Path) -> None:
    weights = papers / "running-moments/lib/weights.py"
    weights.write_text(weights.read_text().replace("decay by age", "mean of both"))
    [bad, *_] = FORMAT.load(papers / "papers.yaml")
    assert_message(bad.fault, f"{weights}:13", '"mean of both"', "moments.py:26", "another name")


FAULTS = [
    (lambda root: shutil.rmtree(root / "shrinkage"), ("{root}/papers.yaml:17: {root}/shrinkage", "no such folder", "restore it", "remove 'shrinkage' from the list")),
    (lambda root: (root / "shrinkage/paper2code_test.py").unlink(), ("{root}/shrinkage/paper2code_test.py", "no such file", "restore it")),
    (lambda root: (root / "shrinkage/shrink.py").unlink(), ("{root}/papers.yaml:27: annotated_file_paths", "{root}/shrinkage/shrink.py", "restore it", "correct the path")),
    (lambda root: (root / "shrinkage/shrink.py").write_bytes(b"\xff"), ("{root}/shrinkage/shrink.py:1", "byte 0xff", "save the file as UTF-8")),
    (lambda root: (root / "shrinkage/shrink.py").write_text("x = 1\n"), ("{root}/shrinkage/shrink.py", "no block", '# <paper2code name="X">')),
    (lambda root: edit(root / "papers.yaml", "annotated_file_paths: shrink.py", "annotated_file_paths: ../x.py"), ("{root}/papers.yaml:27: [1].annotated_file_paths", "a path within the paper's folder", "not '../x.py'")),
    (lambda root: edit(root / "papers.yaml", "annotated_file_paths: shrink.py", "annotated_file_paths: null"), ("{root}/papers.yaml:27: annotated_file_paths", "at least one file")),
    (lambda root: edit(root / "papers.yaml", 'context_file_paths: "null"', "context_file_paths: {a: b}"), ("{root}/papers.yaml:28: [1].context_file_paths", "a path, a list of paths, or null", "a mapping")),
    (lambda root: edit(root / "papers.yaml", "venue: arXiv2023", "venue: [a]"), ("{root}/papers.yaml:25: venue", "text", "a list")),
]  # fmt: skip


@pytest.mark.parametrize(("harm", "parts"), FAULTS)
def test_a_wrong_paper_costs_itself_alone(papers: Path, harm: Callable[[Path], object], parts: tuple[str, ...]) -> None:
    harm(papers)
    tasks = FORMAT.load(papers / "papers.yaml")
    [fault] = [task.fault for task in tasks if task.fault]
    subject, *rest = (part.format(root=papers) for part in parts)
    assert_message(fault, subject, *rest)
    assert [task.id for task in tasks] == [*list(SNIPPETS)[:6], "shrinkage"]
    with pytest.raises(UserError, match=re.escape(fault)):
        tasks[-1].load()


def test_a_paper_without_or_with_anothers_id_is_called_by_its_place(papers: Path) -> None:
    edit(papers / "papers.yaml", "- id: shrinkage\n  title", "- id: running-moments\n  title")
    assert FORMAT.load(papers / "papers.yaml")[-1].id == "paper 2 of papers.yaml"
    assert FORMAT.load(papers / "papers.yaml")[-1].fault.endswith(
        "the paper 'running-moments' is listed twice; keep one"
    )
    edit(papers / "papers.yaml", "- id: running-moments\n  title: Shrinkage of", "- title: Shrinkage of")
    task = FORMAT.load(papers / "papers.yaml")[-1]
    assert task.id == "paper 2 of papers.yaml"
    assert_message(task.fault, f"{papers}/papers.yaml:17", "missing key 'id'", "id, annotated_file_paths")


def test_a_file_that_changed_since_collection_is_told(papers: Path) -> None:
    task = FORMAT.load(papers / "papers.yaml")[-1]
    shrink = papers / "shrinkage/shrink.py"
    shrink.write_text(shrink.read_text().replace('"shrink"', '"other"'))
    with pytest.raises(
        UserError, match=r'shrink\.py: the block "shrink" has been removed since collection; start the run again$'
    ):
        task.load()


def test_lines_may_end_as_on_windows(papers: Path) -> None:
    shrink = papers / "shrinkage/shrink.py"
    shrink.write_bytes(shrink.read_bytes().replace(b"\n", b"\r\n"))
    task = FORMAT.load(papers / "papers.yaml")[-1]
    parts = task.load()
    assert task.facts["lines"] == 2
    assert parts.slot is not None
    text = parts.repo["shrink.py"].decode()
    assert text.count("\r\n") == text.count("\n")
    lines = "    size = 1\n    return size\n"
    assert laid(text, parts.slot, lines).count("\r\n") == laid(text, parts.slot, lines).count("\n")


# With a clone of the real one.

CLONE = os.environ.get("RECODE_RCB", "")
real = pytest.mark.skipif(not CLONE, reason="RECODE_RCB names no clone of ResearchCodeBench")


@pytest.fixture(scope="module")
def all_tasks() -> list[Task]:
    return list(FORMAT.load(Path(CLONE) / "pset/papers.yaml"))


@real
def test_real_counts(all_tasks: list[Task]) -> None:
    assert [task.fault for task in all_tasks if task.fault] == []
    assert len({task.facts["paper"] for task in all_tasks}) == 20
    assert len(all_tasks) == len({task.id for task in all_tasks}) == 212
    assert sum(task.facts["lines"] for task in all_tasks) == 1449
    assert sum(task.facts["nested"] for task in all_tasks) == 135


@real
def test_real_names_and_counts_are_those_of_the_published_results(all_tasks: list[Task]) -> None:
    [published] = Path(CLONE).glob("outputs/20llms_greedy/*/overall_stats.json")
    results = json.loads(published.read_text())["results"]
    published_names = {
        (paper, name, runs[0]["snippet_code_line_count"])
        for paper, found in results.items()
        for model in found["results"].values()
        for name, runs in model["results"].items()
    }
    assert {(task.facts["paper"], task.facts["snippet"], task.facts["lines"]) for task in all_tasks} == published_names


@real
def test_real_parts_say_no_solution(all_tasks: list[Task]) -> None:
    check_format(FORMAT, Path(CLONE) / "pset/papers.yaml")
    for task in all_tasks:
        parts = task.load()
        lines = original(parts)
        assert parts.slot is not None
        assert lines is not None
        assert parts.paper
        assert "paper2code_test.py" in parts.tests
        untouched = parts.repo[parts.slot.path].decode()
        assert laid(untouched, parts.slot, f"{lines}\n").encode() == parts.reference[parts.slot.path]
        assert parses(emptied(untouched, parts.slot))
        assert not [path for path in parts.repo if path.endswith("_ref.py") or "paper2code" in path]
