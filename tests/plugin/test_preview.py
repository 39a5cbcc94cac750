"""`pytest-recode preview`: the prompt, the verdict and the feedback that it prints are those of a run, and of a validation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.render.task_preview import WARNING
from tests.chat_server import ChatServer, say
from tests.messages import assert_message
from tests.projects import Command

from .conftest import FILES, words
from .no_images import daemon_without_images

__all__ = ["daemon_without_images"]

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

RIGHT = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n"
HALF = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x\n"
LEAKING = (
    "answer.half:\n  description: Half is not half.\n"
    "  suggestion: 'They say def twice ( x ) colon def half ( x ) : return x / TWO in the end.'\n"
)
SLOW = pytest.mark.slow


def parts(text: str) -> dict[str, str]:
    """What is between the rules of the output, by their titles."""
    found = re.split(r"^──── (.*?) ─+\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "protocol"),
    [
        ("recode", "tools"),
        pytest.param("recode", "text", marks=SLOW),
        pytest.param("recode-h", "text", marks=SLOW),
        pytest.param("one-shot", "text", marks=SLOW),
    ],
)
def test_the_prompt_is_what_a_run_sends(
    agent: str,
    protocol: str,
    make_task: MakeTask,
    recode: Run,
    command: Command,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    task = make_task(
        files={"repo/deep/other.py": "# Paper\n\n```\nx = 1\n```\n", "instruction.md": "Write:\n\n# Targets\n\nx\n"}
    )
    with ChatServer([say("no action")]) as server:  # the second request ends the run
        (pytester.path / "models.yaml").write_text(
            f"mine: {{model: openai/any, api_base: '{server.url}', tools: {json.dumps(protocol == 'tools')}}}\n"
        )
        given = ("--recode-model=mine", "--recode-models-file=models.yaml", f"--recode-agent={agent}")
        recode(*given, "--recode-out=out")
    monkeypatch.delenv("OPENAI_API_KEY")
    asked = server.requests[0].body
    done = command(pytester.path, "preview", task, f"--agent={agent}", f"--protocol={protocol}")
    assert done.returncode == 0, done.stderr
    shown = parts(done.stdout)
    assert [
        shown[f"message {n} of 2: {each['role']}"].removesuffix("\n") for n, each in enumerate(asked["messages"], 1)
    ] == [each["content"] for each in asked["messages"]]
    tools = shown.get(f"{len(asked.get('tools', []))} tools, sent with the messages", "")
    assert [json.loads(line) for line in tools.splitlines()] == asked.get("tools", [])
    assert bool(tools) == (protocol == "tools")


@pytest.fixture
def answers(pytester: pytest.Pytester) -> Callable[..., Path]:
    """Write an answer for the small task."""

    def write(path: str, text: str, requirement: str = "") -> Path:
        place = pytester.path / path
        place.mkdir(parents=True)
        (place / "answer.py").write_text(text)
        if requirement:
            (place / "requirement.yaml").write_text(requirement)
        return place

    return write


Write = Callable[..., Path]


@pytest.mark.slow
@pytest.mark.parametrize("leaking", [True, pytest.param(False, marks=SLOW)])
def test_the_feedback_is_that_of_a_run_at_every_level(
    leaking: bool,
    make_task: MakeTask,
    recode: Run,
    agents: None,
    answers: Write,
    command: Command,
    pytester: pytest.Pytester,
) -> None:
    """Of the task's author, with a passage that the audit cuts, and derived."""
    task = make_task(files={"feedback.yaml": LEAKING} if leaking else {})
    levels = [f"--recode-feedback=L{level}" for level in range(5)]
    recode("--recode-agent=tiny_agents:NEVER", "--recode-turns=2", "--recode-seed=5", "--recode-out=out", *levels)
    lines = [
        json.loads(line)
        for path in pytester.path.glob("out/episodes/*.jsonl")
        for line in path.read_text().splitlines()
    ]
    given = {entry["level"]: entry["text"] for entry in lines if entry["event"] == "feedback"}
    assert sorted(given) == ["L0", "L1", "L2", "L3", "L4"]
    answer = answers("answer", HALF)
    done = command(pytester.path, "preview", task, "--answer", answer, "--sandbox=process", "--seed=5")
    assert done.returncode == 0, done.stderr
    shown = parts(done.stdout)
    assert {level: shown[f"feedback at level {level}"] for level in given} == given
    assert done.stdout.count(WARNING) == 2
    cut = "answer.half, suggestion repeats code of the reference: 'half ( x ) : return x / TWO'"
    assert (cut in done.stdout) == leaking
    assert ("colon def [left out] in the end." in shown["feedback at level L3"]) == leaking
    assert "[left out]" not in shown["feedback at level L2"]


def failing(text: str) -> list[str]:
    return re.findall(r"^  (?:failed|error) +(\S+)  ", text, re.MULTILINE)


@pytest.mark.slow
def test_the_verdict_is_that_of_a_validation(
    make_task: MakeTask, recode: Run, answers: Write, command: Command, pytester: pytest.Pytester
) -> None:
    """Of right and wrong answers, also those that are changes of the reference."""
    task = make_task()
    requirement = "requirement: Write answer.py with twice(x) and half(x).\ninterface: answer.half\n"
    changes = "changes: [{file: answer.py, old: x / TWO, new: x}]\n"
    place = "bench/tiny/proofs"
    for path, text, more in (
        ("right/good", RIGHT, ""),
        ("right/bad", HALF, ""),
        ("wrong/bad", HALF, requirement),
        ("wrong/good", RIGHT, requirement),
    ):
        answers(f"{place}/{path}", text, more)
    (answers(f"{place}/wrong/changed", "", requirement + changes) / "answer.py").unlink()
    said = words(recode("--recode-validate", "-k", "right or wrong", "--recode-seed=7"))
    verdicts = {}
    for path in sorted((task / "proofs").glob("*/*")):
        done = command(pytester.path, "preview", task / "task.yaml", "--answer", path, "--sandbox=process", "--seed=7")
        assert done.returncode == 0, done.stderr
        verdicts["/".join(path.parts[-2:])] = failing(done.stdout)
        assert "--seed=7" in done.stdout
        assert ("It violates, according to its requirement.yaml: Write answer.py" in done.stdout) == (
            "wrong" in path.parts
        )
        solved = "The answer solves the task" in done.stdout
        assert solved == (failing(done.stdout) == []) == ("feedback at level L0" not in done.stdout)
    half = ["test_answer.py::test_half"]
    assert verdicts == {"right/bad": half, "right/good": [], "wrong/bad": half, "wrong/changed": half, "wrong/good": []}
    assert "tiny: proofs/right/bad fails 1 of 2 cases with seed 7" in said
    assert "test_answer.py::test_half (answer.half)" in said
    assert "tiny: proofs/wrong/good solves the task with seed 7" in said
    assert "proofs/right/good" not in said
    assert not re.search("proofs/wrong/(bad|changed)", said)


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=SLOW)])
def test_a_mutant_is_the_validations_by_name_and_number(
    every: bool, make_task: MakeTask, recode: Run, command: Command, pytester: pytest.Pytester
) -> None:
    weak = FILES["tests/test_answer.py"].replace(
        "answer.half(1.5) == reference.answer.half(1.5)", "answer.half(0) == 0"
    )
    task = make_task(files={"tests/test_answer.py": weak, "proofs/equivalent.txt": ""})
    report = recode("--recode-validate", "-k", "mutants").stdout.lines
    names = [line.strip() for line in report if re.match(r" +answer\.py \w+: .* -> ", line)]
    assert names

    def preview(mutant: object) -> tuple[str, str]:
        done = command(pytester.path, "preview", task, "--mutant", mutant, "--sandbox=process")
        assert done.returncode == 0, done.stderr
        [name] = re.findall(r"^    (answer\.py .* -> .*)$", done.stdout, re.MULTILINE)
        assert "feedback at level L4" in done.stdout or "The answer solves the task" in done.stdout
        return name, "survives" if not failing(done.stdout) else "noticed"

    assert preview(names[0]) == (names[0], "survives")
    (task / "proofs/equivalent.txt").write_text(f"# why\n{names[0]}\n")
    shown = command(pytester.path, "preview", task, "--mutant", f"  {names[0]}\n", "--sandbox=process").stdout
    assert "equivalent.txt:2 lists it as equivalent" in shown
    [count] = {int(n) for n in re.findall(r"mutant \d+ of (\d+) of the reference", shown)}
    listed = command(pytester.path, "preview", task, "--mutants").stdout
    assert WARNING in listed
    rows = re.findall(
        r"^ +(\d+)  answer\.py:\d+ in \w+ +(answer\.py .*?)(?:  \(equivalent\.txt:2\))?$", listed, re.MULTILINE
    )
    assert [int(number) for number, _ in rows] == list(range(1, count + 1))
    assert listed.count("(equivalent.txt:2)") == 1
    for number, name in rows if every else rows[:1]:
        assert preview(number)[0] == name
    found = dict(map(preview, range(1, count + 1 if every else 2)))
    assert {name for name, what in found.items() if what == "survives"} == {name for name in names if name in found}
    assert not every or (len(found) == count and set(names) < set(found))


BAD = {
    "no task": (["nowhere"], "nowhere", "does not exist", "task.yaml"),
    "misspelt task": (["bench/tniy"], "bench/tniy", "does not exist", "did you mean bench/tiny", "task.yaml"),
    "set of tasks": (["bench"], "bench", "set of tasks", "bench/tiny"),
    "no task in it": (["other"], "other", "contains no task.yaml"),
    "no directory": (["bench/tiny/paper.md"], "bench/tiny/paper.md", "is no task.yaml", "directory of a task"),
    "damaged task": (["damaged"], "damaged/task.yaml", "schema"),
    "unknown agent": (["bench/tiny", "--agent=recoder"], "--agent=recoder", "did you mean recode?", "one-shot"),
    "agent without a model": (["bench/tiny", "--agent=noop"], "--agent=noop", "asks no model", "one-shot"),
    "unknown protocol": (["bench/tiny", "--protocol=json"], "--protocol=json", "text or tools"),
    "agent without tools": (
        ["bench/tiny", "--agent=recode-h", "--protocol=tools"],
        "--protocol=tools",
        "--agent=recode",
    ),
    "no answer": (["bench/tiny", "--answer=nowhere"], "nowhere", "no such directory", "answer.py"),
    "answer is a file": (
        ["bench/tiny", "--answer=bench/tiny/paper.md"],
        "bench/tiny/paper.md",
        "is a file",
        "answer.py",
    ),
    "no such proof": (
        ["bench/tiny", "--answer=proofs/x"],
        "proofs/x",
        "no such directory",
        "bench/tiny/proofs/right/good",
    ),
    "answer relative to the task": (
        ["bench/tiny", "--answer=proofs/right/good"],
        "proofs/right/good",
        "did you mean bench/tiny/proofs/right/good",
    ),
    "misspelt proof": (
        ["bench/tiny", "--answer=bench/tiny/proofs/right/goood"],
        "goood",
        "did you mean bench/tiny/proofs/right/good",
    ),
    "no target": (
        ["bench/tiny", "--answer=bench/tiny/tests"],
        "bench/tiny/tests/answer.py",
        "every target",
        "answer.py",
    ),
    "answer with other files": (
        ["bench/tiny", "--answer=other"],
        "other",
        "constants.py",
        "mine.py",
        "not targets",
        "copy",
        "answer.py",
    ),
    "no such mutant": (
        ["bench/tiny", "--mutant=99"],
        "mutant '99'",
        "a number from 1 to 9",
        "--recode-validate",
        "--mutants",
    ),
    "number zero": (["bench/tiny", "--mutant=0"], "mutant '0'", "a number from 1 to 9"),
    "unknown mutant": (
        ["bench/tiny", "--mutant=answer.py twice: x"],
        "answer.py twice: x",
        "nearest",
        "x * TWO",
        "1 to 9",
    ),
    "unknown sandbox": (
        ["bench/tiny", "--mutant=1", "--sandbox=jail"],
        "'jail'",
        "bubblewrap, docker, process or auto",
    ),
    "no seed": (["bench/tiny", "--mutant=1", "--seed=-1"], "--seed=-1", "whole number"),
    "seed of no grading": (["bench/tiny", "--seed=1"], "--seed", "--answer or --mutant"),
    "seed of a list": (["bench/tiny", "--mutants", "--seed=1"], "--seed", "--answer or --mutant"),
    "agent of a list": (["bench/tiny", "--mutants", "--agent=recode"], "--agent", "--mutants", "leave out"),
    "agent of a grading": (["bench/tiny", "--mutant=1", "--agent=recode"], "--agent", "--mutant", "leave out"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case: str, make_task: MakeTask, command: Command, pytester: pytest.Pytester) -> None:
    make_task()
    if "proof" in " ".join(BAD[case][0]):
        (pytester.path / "bench/tiny/proofs/right/good").mkdir(parents=True)
    (pytester.path / "damaged").mkdir()
    (pytester.path / "damaged/task.yaml").write_text("schema: 9\n")
    (pytester.path / "other").mkdir()
    for name in ("answer.py", "constants.py", "mine.py"):
        (pytester.path / "other" / name).write_text("")
    arguments, subject, *rest = BAD[case]
    done = command(pytester.path, "preview", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr.removeprefix("pytest-recode: error: "), subject, *rest)


def test_tests_that_give_no_verdict_are_one_line(
    make_task: MakeTask, command: Command, pytester: pytest.Pytester
) -> None:
    task = make_task(
        files={"tests/test_answer.py": "import nothing_of_that_name\n\n\ndef test_twice(candidate):\n    pass\n"}
    )
    done = command(pytester.path, "preview", task, "--mutant=1", "--sandbox=process")
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr.removeprefix("pytest-recode: error: "), "tiny", "nothing_of_that_name")


@pytest.mark.slow
def test_auto_isolates_an_answer_that_is_no_part_of_the_task(
    make_task: MakeTask, answers: Write, pytester: pytest.Pytester
) -> None:
    """Where there is no docker and no bubblewrap."""
    task = make_task()
    environ = {**os.environ, "PATH": str(pytester.path), "DOCKER_HOST": "tcp://127.0.0.1:1"}

    def preview(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest_recode.cli", "preview", str(task), *map(str, arguments)]
        return subprocess.run(command, env=environ, cwd=pytester.path, capture_output=True, text=True, check=False)

    own = answers("bench/tiny/proofs/right/good", RIGHT)
    assert "all 2 hidden tests pass (sandbox process, process judging" in preview("--answer", own).stdout
    refused = preview("--answer", answers("theirs", RIGHT))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert_message(
        refused.stderr.removeprefix("pytest-recode: error: "), "no sandbox", "bubblewrap", "--sandbox=process"
    )


@pytest.mark.slow
def test_unchanged_files_of_the_repository_may_stand_beside_the_targets(
    make_task: MakeTask, answers: Write, command: Command, pytester: pytest.Pytester
) -> None:
    """As in the directory in which a person works on the task."""
    task, theirs = make_task(), answers("theirs", RIGHT)
    for name in ("repo/constants.py", "paper.md", "instruction.md"):
        shutil.copy(task / name, theirs)
    done = command(pytester.path, "preview", task, "--answer", theirs, "--sandbox=process")
    assert done.returncode == 0, done.stderr
    assert "all 2 hidden tests pass" in done.stdout
    (theirs / "constants.py").write_text("TWO = 3\n")
    refused = command(pytester.path, "preview", task, "--answer", theirs, "--sandbox=process")
    assert refused.returncode == 2
    assert_message(refused.stderr.removeprefix("pytest-recode: error: "), "theirs", "constants.py", "copy", "answer.py")
    assert "paper.md" not in refused.stderr


@pytest.mark.slow
def test_docker_without_an_image_is_not_chosen(
    make_task: MakeTask, answers: Write, command: Command, pytester: pytest.Pytester, daemon_without_images: None
) -> None:
    task = make_task()
    theirs = answers("theirs", RIGHT)
    done = command(pytester.path, "preview", task, "--answer", theirs)
    assert done.returncode == 0, done.stderr
    assert "all 2 hidden tests pass" in done.stdout
    pull, choice = done.stderr.splitlines()
    assert "pulling" in pull
    assert_message(choice, "sandbox bubblewrap", "docker", "image", "could not be pulled")
    named = command(pytester.path, "preview", task, "--answer", theirs, "--sandbox=docker")
    assert named.returncode == 2
    assert_message(named.stderr.splitlines()[-1], "image", "pull it")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["reference", pytest.param("repo", marks=SLOW)])
def test_reference_and_repository_are_graded_as_proofs_are(
    place: str, make_task: MakeTask, command: Command, pytester: pytest.Pytester, daemon_without_images: None
) -> None:
    """Without docker, which `auto` would choose for a model's answer."""
    task = make_task()
    done = command(pytester.path, "preview", task, "--answer", task / place)
    assert done.returncode == 0, done.stderr
    assert ("all 2 hidden tests pass" in done.stdout) == (place == "reference")


@pytest.mark.slow
def test_no_text_of_a_task_controls_the_terminal(
    make_task: MakeTask, command: Command, answers: Write, pytester: pytest.Pytester
) -> None:
    task = make_task(files={"instruction.md": "Write \x1b[31m it.\n"})
    shown = command(pytester.path, "preview", task).stdout
    assert "Write \\x1b[31m it." in shown
    assert "shown as escapes" in shown.partition("────")[0]
    raises = answers("raises", "def twice(x):\n    raise ValueError('\x1b[31m')\n")
    graded = command(pytester.path, "preview", task, "--answer", raises, "--sandbox=process").stdout
    assert "\\x1b[31m" in graded
    assert "\x1b" not in shown + graded


def test_the_sizes_add_up(make_task: MakeTask, command: Command, pytester: pytest.Pytester) -> None:
    task = make_task()
    shown = command(pytester.path, "preview", task, "--agent=one-shot").stdout
    rows: dict[str, Any] = {
        name: (int(characters.replace(",", "")), int(tokens.replace(",", "")))
        for name, characters, tokens in re.findall(r"^(\S.*?)  +([\d,]+)  +([\d,]+)$", shown, re.MULTILINE)
    }
    total = rows.pop("total")
    assert total == tuple(map(sum, zip(*rows.values(), strict=True)))
    contents = [text.removesuffix("\n") for title, text in parts(shown).items() if title.startswith("message")]
    assert total[0] == sum(map(len, contents))
    assert "Tokens are an estimate" in shown
    assert {"system prompt", "paper", "instruction", "list of the repository's files", "the repository's files"} <= set(
        rows
    )
