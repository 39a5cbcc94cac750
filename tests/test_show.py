"""`pytest-recode show`: an episode of a run, chosen by path, id or expression, turn by turn; also while it is played, and of hostile text."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.faults import UserError
from pytest_recode.records.episode_choice import episodes_of, matcher
from pytest_recode.records.episode_ids import episode_ids
from pytest_recode.records.transcript_turns import read_episode
from pytest_recode.render.episode_text import ShownParts, diff, painted
from pytest_recode.render.episode_text import shown as show_lines
from tests.messages import assert_message
from tests.projects import make_task

Show = Callable[..., subprocess.CompletedProcess[str]]
MODEL = "sim/graduate"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, quick_python: tuple[str, ...]) -> Path:
    """A directory with a run of two tasks, which the model solves in a later turn."""
    place = tmp_path_factory.mktemp("project")
    for task in ("one", "two"):
        make_task(place, task)
    (place / "pytest.ini").write_text("[pytest]\n")
    command = [
        *(*quick_python, "-m", "pytest", "tasks", "-p", "no:cacheprovider", "--recode-sandbox=process"),
        *(f"--recode-model={MODEL}", "--recode-feedback=L0", "--recode-seed=5", "--recode-out=recode-out/first"),
        "--recode-turns=2",
    ]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (place / "printed").write_text(done.stdout)
    return place


@pytest.fixture
def project(played: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(played, tmp_path / "project")


@pytest.fixture
def show(quick_python: tuple[str, ...]) -> Show:
    def run(place: Path, *args: object) -> subprocess.CompletedProcess[str]:
        command = [*quick_python, "-m", "pytest_recode.cli", "show", *map(str, args)]
        return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)

    return run


def transcript(place: Path, task: str = "one") -> Path:
    [path] = (place / "recode-out/first/episodes").glob(f"{task}-*.jsonl")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path: Path, content: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in content))


def test_several_episodes_are_listed_and_one_is_shown(played: Path, show: Show) -> None:
    listed = show(played)
    assert listed.returncode == 0, listed.stderr
    rows = [row for row in listed.stdout.splitlines() if "::episode" in row]
    assert [row.split()[-1].split("/")[1] for row in rows] == ["one", "two"]
    assert "2 turns" in rows[0]
    assert "pytest-recode show recode-out/first" in listed.stdout
    by_task = show(played, "recode-out/first", "one").stdout
    assert by_task == show(played, transcript(played).relative_to(played)).stdout
    assert by_task == show(played, "-k", "one and not two").stdout
    nodeid = lines(transcript(played))[0]["nodeid"]
    assert by_task == show(played, "recode-out/first", nodeid).stdout


def test_without_a_directory_an_id_is_one_of_the_latest_run(played: Path, show: Show) -> None:
    assert show(played, "one").stdout == show(played, "recode-out/first", "one").stdout
    assert show(played, "one", "two").stdout == show(played).stdout
    assert show(played, "recode-out/first/results.jsonl", "one").stdout == show(played, "one").stdout


def test_the_latest_run_is_the_one_that_was_started_last_whatever_its_name(project: Path, show: Show) -> None:
    runs = project / "recode-out"
    for name in ("zzz", "aaa"):
        shutil.copytree(runs / "first", runs / name)

    def started(**stamps: str) -> None:
        for name, stamp in stamps.items():
            (runs / name / "controller.lock").write_text(f"{stamp}-abc123\n")

    started(zzz="20260101-100000", aaa="20260102-100000", first="20251231-235959")
    os.utime(runs / "zzz/results.jsonl")  # copied later
    assert_message(show(project, "-k", "three").stderr, "-k 'three'", "recode-out/aaa", "without -k")
    started(first="20260102-100001")
    assert "pytest-recode show recode-out/first" in show(project).stdout
    for name in ("zzz", "aaa", "first"):
        (runs / name / "controller.lock").unlink()  # as in a merged run
        os.utime(runs / name / "results.jsonl", (1e9, 1e9))
    os.utime(runs / "aaa/results.jsonl", (1e9 + 1, 1e9 + 1))
    assert "pytest-recode show recode-out/aaa" in show(project).stdout
    os.utime(runs / "aaa/results.jsonl", (1e9, 1e9))
    assert "pytest-recode show recode-out/zzz" in show(project).stdout


def test_a_task_with_several_episodes_lists_their_ids_and_how_to_choose(project: Path, show: Show) -> None:
    results = project / "recode-out/first/results.jsonl"
    records = lines(results)
    [one] = [record for record in records if record["task"] == "one"]
    rewrite(results, [*records, {**one, "nodeid": one["nodeid"].replace("L0", "L4"), "feedback": "L4"}])
    done = show(project, "one")
    assert done.returncode == 0
    rows = [row for row in done.stdout.splitlines() if "::" in row or "episode[" in row]
    ids = [row.split()[-1] for row in rows]
    assert ids == [f"tasks/one/task.yaml::episode[{MODEL}-{level}]" for level in ("L0", "L4")]
    assert "show one: pytest-recode show recode-out/first 'ID', with an id of the last column" in done.stdout
    assert "feedback L0" in show(project, "recode-out/first", ids[0]).stdout


def test_a_damaged_transcript_is_not_taken_for_another_file(project: Path, show: Show) -> None:
    path = transcript(project)
    for damage in (b'{"event": "episode", "time"\n', b'{"event": "episode", "time": 1.0}\n'):
        path.write_bytes(damage + path.read_bytes())
        assert_message(show(project, path).stderr, f"{path}, line 1: is damaged", "restore it")
    path.write_bytes(b"")
    assert_message(show(project, path).stderr, "is not a transcript", "give a file of DIR/episodes/")


def test_a_damaged_retry_is_one_line(project: Path, show: Show) -> None:
    path = transcript(project)
    begin, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(begin + b'\n{"event": "retry", "time": 9.0, "model": "m", "pause": 1.0}\n' + rest)
    assert_message(show(project, path).stderr, f"{path}, line 2: is damaged", "restore it")


def test_a_difference_of_line_ends_is_no_equality() -> None:
    assert diff("a\nb\n", "a\nb\n") == []
    for other in ("a\nb", "a\r\nb\r\n"):
        assert diff("a\nb\n", other) == ["@@ only line ends differ @@"]


def completions(place: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words of a command line, as after the Tab key."""
    script = """
        eval "$(register-python-argcomplete pytest-recode)"
        COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
        _python_argcomplete pytest-recode
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    command = ["bash", "-c", script, "bash", shlex.join(["pytest-recode", "show", *words[:-1]]) + f" {words[-1]}"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=place, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    )
    return [row.strip().replace("\\", "") for row in done.stdout.splitlines() if row]


@pytest.mark.slow
def test_a_shell_completes_tasks_and_ids(project: Path) -> None:
    ids = [f"tasks/{task}/task.yaml::episode[{MODEL}-L0]" for task in ("one", "two")]
    run = "recode-out/first"
    assert {"one", "two"} <= set(completions(project, run, ""))
    assert completions(project, run, "t") == ["two", *ids]
    assert completions(project, run, "tasks/o") == ids[:1]
    assert completions(project, run, "one", "tw") == ["two"]
    assert completions(project, "pytest.ini", "o") == []
    (project / run / "results.jsonl").write_text('{"schema": 1, "nodeid": "damaged\n')
    assert completions(project, run, "tasks/o") == ids[:1]  # as while the episode is played


def test_ids_for_completion_are_those_of_the_records(project: Path) -> None:
    run = project / "recode-out/first"
    records = lines(run / "results.jsonl")
    strange = 'tä"sk\\ \n$(touch pwned)'
    added = {**records[0], "nodeid": f"{strange}/task.yaml::episode", "task": strange}
    rewrite(run / "results.jsonl", [records[0], added])
    assert episode_ids(run) == {each.nodeid: each.facts["task"] for each in episodes_of(run)}
    assert list(episode_ids(run).values()) == ["one", strange, "two"]


def test_an_episode_is_shown_turn_by_turn(played: Path, show: Show) -> None:
    text = show(played, transcript(played)).stdout
    begin, first, second = re.split(r"^Turn \d", text, flags=re.MULTILINE)
    assert MODEL in begin
    assert "Brief" in begin
    first_turn, second_turn = (line for line in lines(transcript(played)) if line["event"] == "turn")
    assert f"{first_turn['passed']} of {first_turn['total']} cases pass" in first.splitlines()[0]
    assert "answer.py after this turn, " in first
    assert "feedback L0 (source " in first
    [failed, *_] = [case for case in first_turn["verdict"]["cases"] if case["outcome"] != "passed"]
    assert failed["id"] in first
    assert next(row for row in failed["message"].splitlines() if row.startswith("E ")) in first
    assert "with feedback L0" in second.splitlines()[0]
    changed = "changed answer.py" if first_turn["targets"] != second_turn["targets"] else "answer.py is unchanged"
    assert changed in second


def test_the_failure_in_pytest_names_the_first_failing_case_and_the_command(played: Path, show: Show) -> None:
    printed = (played / "printed").read_text()
    path = transcript(played)
    last = [line for line in lines(path) if line["event"] == "turn"][-1]
    failed = next(case for case in last["verdict"]["cases"] if case["outcome"] != "passed")
    assert f"first failing case: {failed['id']}" in printed
    command = re.search(r"^more: pytest-recode show (\S+)$", printed, re.MULTILINE)
    assert command is not None
    assert Path(command[1]) == path
    assert failed["id"] in show(played, command[1]).stdout


def test_a_turn_the_changes_and_the_messages_alone(played: Path, show: Show) -> None:
    only_second = show(played, transcript(played), "--turn=2").stdout
    assert re.findall(r"^Turn (\d)", only_second, re.MULTILINE) == ["2"]
    assert "Brief" not in only_second
    changes = show(played, transcript(played), "--diff").stdout
    assert re.findall(r"^Turn (\d)", changes, re.MULTILINE) == ["1", "2"]
    assert "step 1" not in changes
    assert "feedback L0 (source " not in changes
    prompts = show(played, transcript(played), "--prompts").stdout
    for line in lines(transcript(played)):
        if line["event"] == "message":
            assert all(row in prompts for row in line["content"].splitlines())


def test_an_episode_that_has_not_ended(project: Path, show: Show) -> None:
    path = transcript(project)
    content = lines(path)
    judged = next(number for number, line in enumerate(content) if line["event"] == "turn")
    rewrite(path, content[: judged + 4])
    with path.open("a") as file:
        file.write('{"event": "mess')
    (project / "recode-out/first/results.jsonl").unlink()
    text = show(project, path).stdout
    assert re.findall(r"^Turn (\d)  (not judged)?", text, re.MULTILINE) == [("1", ""), ("2", "not judged")]
    assert f"not ended: the last event is {content[judged + 3]['event']}" in text
    assert "turns 1 of 2, 1 more not judged" in text
    assert "not ended" in show(project).stdout


def test_an_answer_without_an_action_is_shown(project: Path) -> None:
    path = transcript(project)
    content = lines(path)
    why = f"It held no action. {'The reason is as long as it is. ' * 4}Write one."
    step = {"event": "step", "time": 1.0, "turn": 1, "step": 1, "error": f"{why}\n\n### Action: read", "actions": []}
    rows = [f"row {number}" for number in range(50)]
    texts = {"text": ("\n".join(rows), []), "call": ("", [{"name": "nothing"}]), "empty": ("", [])}
    shown = {}
    for name, (said, calls) in texts.items():
        message = {"event": "message", "time": 1.0, "turn": 1, "step": 1, "role": "assistant", "content": said}
        rewrite(path, [content[0], step, {**message, "tool_calls": calls}])
        shown[name] = painted(show_lines(read_episode(path), ShownParts()), colour=False)
    assert "turns 0 of 2, 1 more not judged" in shown["text"]
    assert f"the answer was not used; the model is told: {why} …" in shown["text"]
    assert re.findall(r"^ +(row \d+)$", shown["text"], re.MULTILINE) == rows[:30]
    assert "20 more lines: --prompts" in shown["text"]
    assert '{"name": "nothing"}' in shown["call"]
    assert "(empty)" in shown["empty"]
    assert "the model wrote" not in painted(show_lines(read_episode(path), ShownParts(prompts=True)), colour=False)


def test_thoughts_are_shown_and_tool_calls_among_all_messages(project: Path) -> None:
    path = transcript(project)
    of_step = {"time": 1.0, "turn": 1, "step": 1}
    step = {"event": "step", **of_step, "thoughts": "The sum is in the wrong order.", "planning": "I edit it."}
    calls = [{"id": "c1", "name": "Edit", "arguments": '{"file": "a.py"}'}]
    message = {"event": "message", **of_step, "role": "assistant", "content": "I edit it.", "tool_calls": calls}
    rewrite(path, [lines(path)[0], message, step])
    few, many = (
        painted(show_lines(read_episode(path), ShownParts(prompts=prompts)), colour=False) for prompts in (False, True)
    )
    assert "    thoughts: The sum is in the wrong order.\n    plan: I edit it.\n" in few
    assert f"  I edit it.\n  tool call: {json.dumps(calls[0])}\n" in many


def test_turns_that_were_started_again_are_counted_and_not_shown_twice(project: Path) -> None:
    path = transcript(project)
    content = lines(path)
    judged = next(number for number, line in enumerate(content) if line["event"] == "turn")
    resumed = {**content[0], "event": "resumed", "turns": 1}
    rewrite(path, [*content[: judged + 4], resumed, *content[judged + 2 :]])
    episode = read_episode(path)
    assert [turn.number for turn in episode.turns] == [1, 2]
    assert episode.dropped == 1
    assert episode.turns == read_episode_of(content, path).turns


def read_episode_of(content: list[dict[str, Any]], path: Path) -> Any:
    rewrite(path, content)
    return read_episode(path)


def test_text_of_models_and_candidates_cannot_control_the_terminal(project: Path, show: Show) -> None:
    path = transcript(project)
    hostile = "\x1b[2J\x1b]0;title\x07\u202egnp.exe\r\x00\ud800"
    content = json.loads(json.dumps(lines(path)))
    for line in content:
        if line["event"] == "message":
            line["content"] += hostile
        elif line["event"] == "turn":
            line["targets"] = {f"answer.py{hostile}": hostile}
            for case in line["verdict"]["cases"]:
                case["message"] = f"E {hostile}"
        elif line["event"] == "feedback":
            line["text"] += hostile
        elif line["event"] in ("step", "action", "result"):
            line.update({"planning": hostile, "kind": hostile, "arguments": {"path": hostile}, "error": hostile})
    rewrite(path, content)
    done = show(project, path, "--prompts")
    assert done.returncode == 0, done.stderr
    assert "gnp.exe" in done.stdout
    assert set(done.stdout) & set("\x1b\x07\u202e\r\x00") == set()


def test_lines_of_an_agent_with_other_fields(project: Path, show: Show) -> None:
    path = transcript(project)
    content = lines(path)
    strange: list[dict[str, Any]] = [
        {"event": event, "time": 1.0, **fields}
        for event in ("message", "step", "action", "result", "feedback", "memory", "own")
        for fields in ({}, dict.fromkeys(("turn", "step", "content", "arguments", "files", "tool_calls", "kind"), 7))
    ]
    rewrite(path, [content[0], *strange, *content[1:]])
    done = show(project, path)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^Turn (\d)", done.stdout, re.MULTILINE) == ["1", "2"]


@pytest.mark.parametrize(
    ("arguments", "subject", "step"),
    [
        (
            ["three"],
            "three: no such file or directory, and no such episode in recode-out/first",
            "the tasks are one, two",
        ),
        (["three", "one"], "three: no such file or directory", "give the directory of a run"),
        (["tasks"], "tasks: contains no episode", "give the directory of a run"),
        (["recode-out"], "recode-out: contains no episode", "did you mean recode-out/first?"),
        (["recode-out/first", "three"], "three: no such episode", "the tasks are one, two"),
        (["recode-out/first", "oen"], "oen: no such episode", "did you mean one?"),
        (["oen"], "oen: no such file or directory", "did you mean one?"),
        (
            ["recode-out/first", "-k", "three"],
            "-k 'three': matches no episode of recode-out/first",
            "without -k, all are listed",
        ),
        (["recode-out/first", "-k", "one and"], "-k 'one and'", "write words with and, or, not and parentheses"),
        (["recode-out/first", "one", "--turn=7"], "--turn=7", "its turns are 1, 2"),
        (["tasks/one/task.yaml"], "tasks/one/task.yaml: is not a transcript", "give a file of DIR/episodes/"),
        (["pytest.ini", "one"], "pytest.ini: is not a transcript", "give a file of DIR/episodes/"),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    played: Path, show: Show, arguments: list[str], subject: str, step: str
) -> None:
    done = show(played, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, subject, step)
    assert done.stderr.count("\n") == 1


def test_the_commands_of_the_guide(project: Path, show: Show) -> None:
    """They are of the run of the first tutorial, here with other tasks and feedback."""
    page = Path(__file__).resolve().parents[1] / "docs/how-to/read-a-transcript.md"
    shutil.copytree(project / "recode-out/first", project / "first")
    [path] = (project / "first/episodes").glob("one-*.jsonl")
    path.rename(path.with_name("EPISODE.jsonl"))
    records = project / "first/results.jsonl"
    records.write_text(records.read_text().replace(path.name, "EPISODE.jsonl"))
    commands = re.findall(r"^\$ pytest-recode show(.*)$", page.read_text(), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        done = show(project, *shlex.split(command.replace("sinkhorn", "one").replace("escalate", "L0")))
        assert done.returncode == 0, done.stderr
        assert "one" in done.stdout


def test_without_a_run(tmp_path: Path, show: Show) -> None:
    done = show(tmp_path)
    assert done.returncode == 2
    assert_message(done.stderr, "recode-out: contains no run", "give the directory of a run")


def test_on_a_terminal_it_has_colours_and_goes_through_the_pager(played: Path) -> None:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "pytest_recode.cli", "show", str(transcript(played))]
    environ = {**os.environ, "PAGER": "sed s/^/paged:/", "TERM": "xterm"}
    environ.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdout=child, env=environ, cwd=played) as process:
        os.close(child)
        data = b""
        while chunk := _read(parent):
            data += chunk
        assert process.wait() == 0
    os.close(parent)
    rows = data.decode().split("\r\n")
    assert all(row.startswith("paged:") for row in rows if row)
    assert any("\x1b[1mTurn 1" in row for row in rows)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux: the other end is closed
        return b""


WORDS = st.sampled_from(["one", "two", "episode", "L0", "[", "three", "not-a-word"])
TREES = st.recursive(
    WORDS,
    lambda below: st.one_of(
        st.tuples(st.just("not"), below),
        st.tuples(st.sampled_from(["and", "or"]), below, below),
    ),
    max_leaves=8,
)


def written(tree: Any) -> str:
    if isinstance(tree, str):
        return tree
    if len(tree) == 2:
        return f"not ({written(tree[1])})"
    return f"({written(tree[1])}) {tree[0]} ({written(tree[2])})"


def value(tree: Any, text: str) -> bool:
    if isinstance(tree, str):
        return tree.lower() in text.lower()
    if len(tree) == 2:
        return not value(tree[1], text)
    left, right = value(tree[1], text), value(tree[2], text)
    return (left and right) if tree[0] == "and" else (left or right)


@given(TREES)
def test_an_expression_means_what_it_means_in_pytest(tree: Any) -> None:
    for text in ("tasks/one/task.yaml::episode[sim/graduate-L0]", "two", ""):
        assert matcher(written(tree))(text) == value(tree, text)


@pytest.mark.parametrize("expression", ["and", "one two", "(one", "one)", "not", "one or", "()"])
def test_expressions_that_are_not_well_formed(expression: str) -> None:
    with pytest.raises(UserError):
        matcher(expression)


def test_without_parentheses_and_binds_more_tightly_than_or() -> None:
    assert matcher("one or two and three")("one")
    assert not matcher("(one or two) and three")("one")
    assert matcher("not one or two")("two one")
