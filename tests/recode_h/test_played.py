"""The data set, played where it lies: by several models at several levels at once, and nothing of it is changed."""

from __future__ import annotations

import os
import shutil
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_recode.metrics.reading import read
from tests.chat_server import ChatServer, Request, say
from tests.messages import assert_message
from tests.plugin.conftest import words
from tests.plugin.test_options import marked
from tests.plugin.test_outcomes import SCHEMA
from tests.recode_h.scene import DATASET, tree, write

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]


ENVIRONMENTS = (f"--recode-env=test_common1={sys.executable}", f"--recode-env=test_151={sys.executable}")
SEEKER = '''\
"""Looks for the answer from where an agent works."""

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move

HIDDEN = "canonical.py test.py test.sh latex.txt annotation_meta.jsonl".split()


class Seeker:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        names = " -o ".join(f"-name {name}" for name in HIDDEN)
        others = " -o ".join(f"-path '{path}'" for path in ("/proc", "/sys", "/usr", "*-packages"))
        seen = workspace.run(f"find / \\( {others} \\) -prune -o \\( {names} \\) -print 2>/dev/null; ls").output
        workspace.write("spectral/momentum.py", f"SEEN = {seen!r}\\n")
        return Move(steps=1)


KIND = AgentKind(make=Seeker, needs_model=False)
'''


@pytest.fixture
def dataset(pytester: pytest.Pytester) -> Path:
    """Nobody has the right to write into it."""
    root = Path(shutil.copytree(DATASET, pytester.path / "dataset"))
    for path in root.rglob("*"):
        path.chmod(path.stat().st_mode & 0o555)
    return root


@pytest.mark.slow
def test_two_models_at_three_levels_by_four_workers_and_nothing_is_written(
    dataset: Path, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    before = list(tree(dataset))
    models = ("sim/novice", "sim/expert")
    result = recode(
        "-n4",
        *ENVIRONMENTS,
        *(f"--recode-model={model}" for model in models),
        *(f"--recode-feedback={level}" for level in ("L0", "L2", "L4")),
        "--recode-turns=3",
        "--recode-out=out",
    )
    assert list(tree(dataset)) == before, words(result)
    recorded = results()
    for record in recorded:
        jsonschema.validate(record, SCHEMA)
    played = {(record["task"], record["model"], record["feedback"]) for record in recorded}
    assert len(played) == len(recorded) == 3 * 2 * 3
    for record in recorded:
        if record["task"] == "annotation_3":
            assert (record["outcome"], record["error"]["kind"]) == ("error", "grader")
            assert record["error"]["message"].startswith("cannot be judged here: ")
        else:
            assert record["outcome"] in ("solved", "unsolved")
            assert record["isolation"] == "shared"
            assert not any(turn["tampering"] for turn in record["turns"])
    assert {record["outcome"] for record in recorded if record["feedback"] == "L4"} >= {"solved"}
    assert "annotation_5: no such folder; download it, or select other tasks with -k" in words(result)
    # nor does a report pass over it, which has the records alone
    [source] = read([pytester.path / "out"])
    [note] = source.notes
    assert_message(note, f"{pytester.path / 'out'}", "could not be read", "annotation_5", "--tasks")


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--recode-out=annotations/out",)])
def test_records_may_not_lie_in_the_data_set(
    dataset: Path, recode: Run, workers: str, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """As they would where pytest is started in it and nothing else is said."""
    before = list(tree(dataset))
    deselected = 3 if workers == "-n0" else 0  # which workers do not tell
    monkeypatch.chdir(dataset)
    common = ("-p", "no:cacheprovider", workers, "-k", "annotation_2", ENVIRONMENTS[1], "--recode-agent=reference")
    result = recode(*common, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_message(words(result), f"ERROR: {dataset}", f"data set {dataset}", "--recode-out=DIR")
    recode(*common[:-1]).assert_outcomes(skipped=1, deselected=deselected)
    recode(*common, "--recode-out=../out").assert_outcomes(passed=1, deselected=deselected)
    assert list(tree(dataset)) == before


@pytest.mark.slow
def test_a_conversation_over_two_turns(
    dataset: Path, recode: Run, results: Results, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    right = (DATASET / "annotations/annotation_1/canonical.py").read_text()
    wrong = right.replace("second**2 / 4", "second / 4")

    def script(request: Request) -> Any:
        return say(f"```python spectral/momentum.py\n{right if 'Feedback on turn' in request.prompt else wrong}\n```")

    with ChatServer(script) as server:
        result = recode(
            workers, *ENVIRONMENTS, "-k", "annotation_1", "--recode-agent=one-shot", "--recode-model=openai/tiny-1",
            f"--recode-api-base={server.url}", "--recode-feedback=L1", "--recode-out=out",
        )  # fmt: skip
    [record] = results()
    assert (record["outcome"], record["solved_turn"]) == ("solved", 2), words(result)
    first, second = server.requests
    folder = DATASET / "annotations/annotation_1"
    for part in ((folder / name).read_text() for name in ("instruction.txt", "latex.txt")):
        assert part.strip() in first.prompt
    assert "both vectors get the same factor" not in first.prompt
    for secret in ("def problem(", "left over", "conda"):
        assert secret not in first.prompt + second.prompt
    assert "spectral.momentum.optimal_momentum" in second.prompt


@pytest.mark.slow
def test_an_agent_finds_nothing_of_the_answer(
    dataset: Path, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(seeker=SEEKER)
    recode(
        *ENVIRONMENTS, "-k", "annotation_1", "--recode-agent=seeker:KIND", "--recode-turns=1", "--recode-out=out",
        sandbox="bubblewrap",
    )  # fmt: skip
    [record] = results()
    transcript = (pytester.path / "out" / record["transcript"]).read_text()
    assert "SEEN = '" in transcript
    seen = transcript.partition("SEEN = '")[2].partition("\\\\n'")[0].replace("\\\\n", "\n").split("\n")
    assert seen == ["README.md", "instruction.md", "paper.md", "scripts", "spectral"]


@pytest.mark.parametrize(
    ("chosen", "tasks"),
    [
        (("-k", "quantile-drift"), {"annotation_2"}),
        (("-k", "annotation_1"), {"annotation_1"}),
        (("-k", "spectral/momentum.py"), {"annotation_1"}),
        (("-m", "recode(annotation=2)"), {"annotation_2"}),
        (("-m", "recode(repository='code_repo', cases=12)"), {"annotation_1"}),
        (("-m", "recode(environment='test_common1')", "-k", "not annotation_3"), {"annotation_1"}),
        (("dataset/annotation_meta.jsonl::annotation_2/episode[reference-escalate]",), {"annotation_2"}),
    ],
)
@pytest.mark.mostly_slow
def test_choosing(dataset: Path, recode: Run, chosen: tuple[str, ...], tasks: set[str]) -> None:
    result = recode("--collect-only", "-q", *chosen, "--recode-agent=reference")
    ids = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert {name.partition("/")[0] for name in ids} == tasks


@pytest.mark.slow
def test_rows_that_come_in_leave_the_ids_of_those_before(
    recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    """What is played and paid for is not played again."""
    options = (workers, ENVIRONMENTS[0], "--recode-agent=reference", "--recode-out=out")
    item = "dataset/annotation_meta.jsonl::annotation_{}/episode[reference-escalate]"
    write(pytester.path / "dataset")
    recode(*options).assert_outcomes(passed=1)
    [first] = results()
    assert first["nodeid"] == item.format(1)
    assert first["transcript"].startswith("episodes/annotation_1-episode-")
    write(pytester.path / "dataset", index=2)
    recode(*options, "--recode-resume").assert_outcomes(passed=2)
    again, second = results()
    assert (again, second["nodeid"]) == (first, item.format(2))


@pytest.mark.slow
def test_the_facts_are_in_the_record(dataset: Path, recode: Run, results: Results) -> None:
    recode("-k", "annotation_2", *ENVIRONMENTS, "--recode-agent=reference", "--recode-out=out")
    [record] = results()
    assert (record["outcome"], record["format"]) == ("solved", "recode-h")
    assert record["facts"] == {
        "annotation": 2,
        "repository": "quantile-drift",
        "target": "driftlab/detector.py",
        "cases": 6,
        "environment": "test_151",
    }


@pytest.mark.slow
def test_validation(dataset: Path, recode: Run) -> None:
    result = recode("-v", *ENVIRONMENTS, "--recode-validate", "-k", "annotation_1 or annotation_2")
    result.assert_outcomes(passed=10)


@pytest.mark.slow
def test_nothing_in_the_folders_is_an_ordinary_test(dataset: Path, recode: Run, pytester: pytest.Pytester) -> None:
    for place in (".", "dataset"):
        result = recode("--collect-only", "-q", place)
        assert [line for line in result.outlines if "::" in line] == [
            f"dataset/annotation_meta.jsonl::annotation_{index}/episode[recode-escalate]" for index in (1, 2, 3)
        ] + ["dataset/annotation_meta.jsonl::annotation_5/unreadable"]
    for place in (
        "dataset/annotations",
        "dataset/annotations/annotation_1",
        "dataset/annotations/annotation_1/code_repo",
    ):
        result = recode("--collect-only", "-q", f"--rootdir={place}", place)
        assert f"{pytester.path / place}: belongs to {dataset / 'annotation_meta.jsonl'}" in words(result)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["annotations/annotation_1", "annotations/annotation_1/code_repo", "annotations"])
def test_a_folder_given_by_its_path(dataset: Path, recode: Run, workers: str, place: str) -> None:
    """pytest alone says "not found … no match in any of"."""
    result = recode(workers, f"dataset/{place}", "--recode-agent=reference")
    manifest = dataset / "annotation_meta.jsonl"
    choices = (f"pytest {dataset} -k {Path(place).name}", f"{manifest}::TASK/…")
    assert_message(words(result), f"{dataset / place}: belongs to {manifest}", *choices)
    assert "not found" not in words(result)
    assert "Traceback" not in words(result)
    result.assert_outcomes(errors=1)


# environments

BOTH = "test_151 is needed by annotation_2; test_common1 is needed by annotation_1, annotation_3"


def test_environments_without_a_mapping_are_one_usage_error(dataset: Path, recode: Run, workers: str) -> None:
    result = recode(workers, "--recode-agent=reference", "--recode-out=out")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    options = "--recode-env=test_151=PATH --recode-env=test_common1=PATH"
    assert_message(words(result), "no interpreter is given for 2 environments", BOTH, options, "-k")
    assert "Traceback" not in words(result)
    assert not (dataset.parent / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["../dataset", "../dataset/annotation_meta.jsonl"])
def test_a_data_set_outside_of_the_root_is_checked_before_as_well(
    dataset: Path, recode: Run, workers: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Its node ids say nothing of where it lies."""
    monkeypatch.chdir(pytester.mkdir("here"))
    given = (workers, "--rootdir=.", place, "--recode-agent=reference")
    assert f"no interpreter is given for 2 environments: {BOTH}. Give" in words(recode(*given))
    result = recode(*given, *ENVIRONMENTS, "--recode-out=../dataset/out")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_message(words(result), f"data set {dataset}", "--recode-out=DIR")


@pytest.mark.slow
def test_only_what_is_selected_needs_its_environment(
    dataset: Path, recode: Run, results: Results, workers: str
) -> None:
    result = recode(workers, "-k", "annotation_2", "--recode-agent=reference", "--recode-out=out")
    assert "no interpreter is given for an environment: test_151 is needed by annotation_2. Give" in words(result)
    recode(
        workers, "-k", "annotation_2", ENVIRONMENTS[1], "--recode-agent=reference", "--recode-out=out"
    ).assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_name_that_nothing_uses(dataset: Path, recode: Run, workers: str) -> None:
    """It may be misspelled if another one is missing; otherwise it is for other runs with the same ini file."""
    slips = [f"--recode-env={name}={sys.executable}" for name in ("test_281", "test_common")]
    options = (workers, "-k", "annotation_1", "--recode-agent=reference", *slips)
    result = recode(*options)
    assert_message(
        words(result),
        "test_common1 is needed by annotation_1",
        "uses test_common (did you mean test_common1?), test_281",
        "--recode-env=test_common1=PATH",
    )
    output = words(recode(*options[:1], "-k", "annotation_2", *options[3:]))
    assert "uses test_281, test_common. Give" in output  # which is another one, as much as it looks like test_151
    recode(*options, *ENVIRONMENTS).assert_outcomes(passed=1, deselected=3 if workers == "-n0" else 0)


@pytest.mark.slow
def test_nothing_is_needed_where_nothing_is_run(dataset: Path, recode: Run, workers: str) -> None:
    assert recode(workers, "--collect-only", "-q").ret == pytest.ExitCode.OK
    recode(workers, "-k", "not annotation_5").assert_outcomes(skipped=3)


def test_many_tasks_are_counted(recode: Run, pytester: pytest.Pytester) -> None:
    for index in range(1, 10):
        write(pytester.path / "dataset", index=index)
    result = recode("--recode-agent=reference")
    tasks = ", ".join(f"annotation_{index}" for index in range(1, 7))
    assert f"test_common1 is needed by {tasks} and 3 more. Give" in words(result)


WRONG = {
    "test_151": "test_151 is not NAME=PATH-or-image: write the environment's name, =, and an interpreter or an image",
    "test_151=": "test_151= is not NAME=PATH-or-image: write the environment's name, =, and an interpreter or an image",
    "test_151=/no/such/python": "test_151=/no/such/python: there is no such file; give the path of an interpreter, or the"
    " name of a docker image",
    "test_151=envs/a/bin/python3.10": "test_151=envs/a/bin/python3.10: there is no such file; give the path of an"
    " interpreter, or the name of a docker image",
    "test_151=dataset": "test_151=dataset: is a directory; give the interpreter in it, dataset/bin/python",
}


@pytest.mark.parametrize("value", WRONG)
def test_a_mapping_that_is_none(dataset: Path, recode: Run, value: str) -> None:
    result = recode(f"--recode-env={value}", "--recode-agent=reference")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--recode-env={WRONG[value]}" in words(result)


def test_a_mapping_given_twice(dataset: Path, recode: Run) -> None:
    result = recode(ENVIRONMENTS[0], ENVIRONMENTS[0], "--recode-agent=reference")
    assert f"{ENVIRONMENTS[0]}: test_common1 already has an interpreter; give at most one of each" in words(result)


def test_an_image_is_not_for_a_local_sandbox(dataset: Path, recode: Run) -> None:
    result = recode("-k", "annotation_2", "--recode-env=test_151=ghcr.io/a/b:1", "--recode-agent=reference")
    assert (
        "test_151 (the image ghcr.io/a/b:1 is for --recode-sandbox=docker, and this run's is process) is needed by annotation_2"
    ) in words(result)


def test_what_is_no_python(dataset: Path, recode: Run) -> None:
    result = recode("-k", "annotation_2", "--recode-env=test_151=/bin/false", "--recode-agent=reference")
    assert (
        "interpreter /bin/false: not a working Python (exit status 1); give another with --recode-env=test_151=PATH"
    ) in words(result)


PREFIX = """\
    import sys
    from pathlib import Path
    from pkg.scale import double, triple

    def test_double():
        assert double(1) == 2
        assert Path(sys.prefix).name == "other" or Path("/mark").exists(), sys.prefix

    def test_triple():
        assert triple(1) == 3
    """


def with_pytest(place: Path) -> None:
    """An interpreter with pytest and nothing else, and nothing of it elsewhere."""
    venv.create(place, symlinks=True)
    [packages] = place.glob("lib/python*/site-packages")
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(Path(pytest.__file__).parents[1] / name, packages / name)
    shutil.copy(Path(pytest.__file__).parents[1] / "py.py", packages)


@pytest.mark.slow
@pytest.mark.parametrize(("sandbox", "workers"), [("process", "-n0"), ("bubblewrap", "-n2")])
def test_a_tasks_own_interpreter_is_the_one_that_runs_its_tests(
    recode: Run, results: Results, pytester: pytest.Pytester, sandbox: str, workers: str
) -> None:
    write(pytester.path / "dataset", {"test.py": PREFIX})
    with_pytest(pytester.path / "other")
    pytester.makeini("[pytest]\nrecode_env =\n    test_common1=other/bin/python\n    test_151=/bin/sh\n")
    recode(workers, "--recode-agent=reference", "--recode-out=out", sandbox=sandbox).assert_outcomes(passed=1)
    result = recode(workers, ENVIRONMENTS[0], "--recode-agent=reference", "--recode-out=another", sandbox=sandbox)
    result.assert_outcomes(errors=1)
    assert "cannot be judged here: the reference does not pass its tests test_double: " in words(result)


@pytest.mark.slow
def test_a_tasks_own_image_is_the_one_that_runs_its_tests(recode: Run, pytester: pytest.Pytester) -> None:
    image = os.environ.get("RECODE_TEST_IMAGE", "")
    write(pytester.path / "dataset", {"test.py": PREFIX})
    named = f"--recode-env=test_common1={marked(image)}"
    recode(named, ENVIRONMENTS[0], "--recode-agent=reference", "--recode-out=out", sandbox="docker").assert_outcomes(
        passed=1
    )
    result = recode(ENVIRONMENTS[0], "--recode-agent=reference", sandbox="docker")
    assert f"test_common1 (the interpreter {sys.executable} is for local sandboxes, and this run's is docker)" in words(
        result
    )


@pytest.mark.slow
def test_an_interpreter_without_pytest_is_an_error_that_says_so(recode: Run, pytester: pytest.Pytester) -> None:
    write(pytester.path / "dataset")
    venv.create(pytester.path / "bare", symlinks=True)
    result = recode("--recode-env=test_common1=bare/bin/python", "--recode-agent=reference", "--recode-out=out")
    assert "No module named 'pytest'" in words(result)
