"""The workspace, in real sandboxes: each action, the ways out of it, and commands that misbehave."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recode.agents import Refused
from pytest_recode.agents.workspace import MAX_TARGET, SandboxWorkspace
from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment, Limits
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, a_brief


def refusal(call: object, *arguments: str) -> str:
    with pytest.raises(Refused) as caught:
        call(*arguments)  # type: ignore[operator]
    return str(caught.value)


# Files


def opened(sandbox: Sandbox, **fields: Any) -> SandboxWorkspace:
    return SandboxWorkspace(sandbox, a_brief(**fields), Environment(), Limits(command_seconds=30))


def test_paper_and_instruction_can_be_read(sandbox: Sandbox) -> None:
    with opened(sandbox) as workspace:
        assert workspace.read("paper.md") == "The paper says: solve(x) is 2 x."
        assert workspace.run("cat ./instruction.md").output == "Write solve(x)."
        assert workspace.changes().files == {}


def test_what_is_written_to_them_does_not_leave_the_workspace(walls: Sandbox) -> None:
    with opened(walls) as workspace:
        workspace.write("paper.md", "x")
        workspace.write("solver.py", "y")
        assert workspace.targets() == {"solver.py": b"y"}


def test_without_the_paper_there_is_none_to_read(walls: Sandbox) -> None:
    with opened(walls, paper=None) as workspace:
        assert refusal(workspace.read, "paper.md") == "there is no paper.md"
        assert "paper.md" not in workspace.list()


@pytest.mark.parametrize(
    ("own", "targets", "files"),
    [
        ({"paper.md": b"The repository's own.\n"}, ("solver.py",), {"instruction.md"}),
        ({"paper.md/notes.txt": b"A directory.\n"}, ("solver.py",), {"instruction.md"}),
        ({}, ("solver.py", "paper.md", "instruction.md"), set()),
    ],
    ids=["file", "directory", "targets"],
)
def test_a_path_of_the_repository_or_a_target_is_not_taken(
    walls: Sandbox, own: dict[str, bytes], targets: tuple[str, ...], files: set[str]
) -> None:
    repo = {**REPO, **own}
    with opened(walls, repo=repo, targets=targets) as workspace:
        assert set(workspace.list()) == {*repo, *files}
        for path, data in own.items():
            assert workspace.read(path) == data.decode()
        assert set(workspace.targets()) == {"solver.py"}


def test_untouched_targets_need_no_sandbox(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.targets() == {"solver.py": REPO["solver.py"]}
    assert workspace._connection is None


def test_list_names_every_file_sorted(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.list() == ("README.md", "instruction.md", "lib/helpers.py", "paper.md", "solver.py")
    assert workspace.list("lib") == ("lib/helpers.py",)
    assert workspace.list("lib/helpers.py") == ("lib/helpers.py",)
    assert refusal(workspace.list, "nowhere") == "there is no nowhere"


@pytest.mark.slow
def test_list_leaves_out_caches_and_says_what_it_cuts(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.run("mkdir __pycache__ many; touch __pycache__/a.pyc; cd many; seq -f f%05g 5100 | xargs touch")
    listed = workspace.list()
    assert listed[0] == "README.md"
    assert not any("pycache" in path for path in listed)
    assert listed[-1] == "... more than 5000 files"
    assert len(listed) == 5001


def test_read_gives_the_text(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.read("lib/helpers.py") == "def double(x):\n    return 2 * x\n"
    assert workspace.read("./lib//helpers.py") == "def double(x):\n    return 2 * x\n"
    root = workspace.run("pwd").output.strip()
    assert workspace.read(f"{root}/README.md") == "# A repository\n"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.py", "there is no nowhere.py"),
        ("lib/nowhere.py", "there is no lib/nowhere.py"),
        ("no/where.py", "there is no no"),
        ("lib", "lib is a directory: list it"),
        (".", ". is a directory: list it"),
        ("README.md/x", "README.md is no directory"),
        ("../solver.py", "../solver.py is refused: a path may not go up by '..'"),
        ("lib/../../x", "lib/../../x is refused: a path may not go up by '..'"),
        ("/etc/passwd", "/etc/passwd is outside the workspace: give a path relative to it"),
        ("a\0b", "'a\\x00b' is no possible path"),
        ("\ud800", "'\\ud800' is no possible path"),
    ],
)
def test_read_refuses(open_workspace: Open, path: str, words: str) -> None:
    assert refusal(open_workspace().read, path) == words


def test_read_refuses_what_is_no_text_and_what_is_huge(open_workspace: Open) -> None:
    workspace = open_workspace(files={**REPO, "weights.bin": b"\xff\xfe\x00", "huge.txt": b"x" * (MAX_TARGET + 1)})
    assert refusal(workspace.read, "weights.bin") == "weights.bin is no UTF-8 text (3 bytes)"
    assert refusal(workspace.read, "huge.txt") == (
        "huge.txt has 1048577 bytes, more than the 1048576 that are read at once: look at a piece of it by a command"
    )


def test_a_pipe_is_refused_and_not_waited_for(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.run("mkfifo pipe")
    assert refusal(workspace.read, "pipe") == "pipe is no regular file"
    assert refusal(workspace.write, "pipe", "x") == "pipe is no regular file"
    assert refusal(workspace.grep, "x", "pipe") == "pipe is no directory"
    assert workspace.grep("x") == (
        "instruction.md:1:Write solve(x).",
        "lib/helpers.py:1:def double(x):",
        "lib/helpers.py:2:    return 2 * x",
        "paper.md:1:The paper says: solve(x) is 2 x.",
        "solver.py:1:def solve(x):",
    )


def test_write_makes_what_is_missing_and_keeps_the_mode(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.write("a/b/c d é.py", "x = 'é'\n")
    assert workspace.read("a/b/c d é.py") == "x = 'é'\n"
    workspace.run("echo old > run.sh; chmod 755 run.sh")
    workspace.write("run.sh", "echo new\n")
    assert (
        workspace.run("./run.sh; ls -A").output
        == "new\nREADME.md\na\ninstruction.md\nlib\npaper.md\nrun.sh\nsolver.py\n"
    )


def test_write_refuses(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert refusal(workspace.write, "lib", "x") == "lib is a directory"
    assert refusal(workspace.write, ".", "x") == "the workspace itself is a directory: give the path of a file"
    assert refusal(workspace.write, "../x", "x") == "../x is refused: a path may not go up by '..'"
    assert refusal(workspace.write, "README.md/x", "x") == "README.md is no directory"
    assert refusal(workspace.write, "x.py", "\ud800") == "the text for x.py is no Unicode text: surrogates not allowed"
    assert "File name too long" in refusal(workspace.write, "n" * 300, "x")


def test_bytes_that_are_no_text_survive_a_surrogate_escape(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.write("solver.py", b"# -*- latin-1 -*- \xe9\n".decode("utf-8", "surrogateescape"))
    assert workspace.targets() == {"solver.py": b"# -*- latin-1 -*- \xe9\n"}


def test_a_full_disk_is_refused_and_leaves_the_old_file(open_walled: Open) -> None:
    workspace = open_walled(Limits(disk_mb=4))
    workspace.run("head -c 10000000 /dev/zero > fill")
    assert "No space left on device" in refusal(workspace.write, "solver.py", "x" * 100_000)
    assert workspace.read("solver.py") == REPO["solver.py"].decode()
    workspace.run("rm fill")
    workspace.write("solver.py", "x = 1\n")
    assert workspace.targets() == {"solver.py": b"x = 1\n"}


def test_grep_gives_file_line_and_text(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.grep(r"^def \w+") == ("lib/helpers.py:1:def double(x):", "solver.py:1:def solve(x):")
    assert workspace.grep("2", "lib") == ("lib/helpers.py:2:    return 2 * x",)
    assert workspace.grep("nothing here") == ()
    assert refusal(workspace.grep, "(") == (
        "'(' is no regular expression of Python's: missing ), unterminated subpattern at position 0"
    )


def test_grep_is_bounded(open_workspace: Open) -> None:
    many = b"hit\n" * 1000 + b"hit" + b"y" * 1000 + b"\n"
    workspace = open_workspace(files={"many.txt": many, "long.txt": b"hit" + b"y" * 1000, "bin": b"hit\0"})
    lines = workspace.grep("hit")
    assert lines[0] == "long.txt:1:hit" + "y" * 297 + "..."
    assert lines[1] == "many.txt:1:hit"
    assert lines[-1] == "... more than 200 lines match"
    assert len(lines) == 201


@pytest.mark.slow  # ten seconds, as the next one
def test_a_pattern_that_takes_for_ever_is_refused(open_walled: Open) -> None:
    workspace = open_walled(files={"a.txt": b"a" * 60 + b"!"})
    assert refusal(workspace.grep, "(a+)+$") == "it took longer than 10 s"
    assert workspace.grep("a!") == ("a.txt:1:" + "a" * 60 + "!",)


@pytest.mark.slow
def test_a_pattern_that_no_signal_interrupts_is_refused(open_walled: Open) -> None:
    """To try it at one place is a loop in C, and it is tried at a million."""
    workspace = open_walled(files={"a.txt": b"a" * (1 << 20)})
    assert refusal(workspace.grep, "a*b") == "it took longer than 10 s"
    assert workspace.run("echo alive").output == "alive\n"


def test_a_long_pattern_is_refused(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.grep("x" * 1000) == ()
    assert refusal(workspace.grep, "x" * 1001) == "the pattern has 1001 characters, more than 1000"


def test_a_pattern_that_takes_all_memory_is_refused(open_walled: Open) -> None:
    limits = Limits(memory_mb=64, disk_mb=32, pids=32)
    workspace = open_walled(files={"a.txt": b"ab" * (1 << 19)}, limits=limits)
    assert refusal(workspace.grep, "(?:(a)|(b))*c") == "it takes more memory than there is"
    assert workspace.run("echo alive").output == "alive\n"


# Ways out


def test_links_lead_nowhere(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.run("ln -s /etc out; ln -s /etc/passwd passwd; ln -s lib inner; ln -s ../.. up")
    follows = " but a symbolic link, and those are not followed"
    assert refusal(workspace.read, "out/passwd") == f"out is no directory{follows}"
    assert refusal(workspace.read, "passwd") == f"passwd is no regular file{follows}"
    assert refusal(workspace.read, "inner/helpers.py") == f"inner is no directory{follows}"
    assert refusal(workspace.write, "passwd", "x") == f"passwd is no regular file{follows}"
    assert refusal(workspace.write, "out/x", "x") == f"out is no directory{follows}"
    assert refusal(workspace.list, "up") == f"up is no directory{follows}"
    assert refusal(workspace.grep, "root", "passwd") == f"passwd is no directory{follows}"
    assert workspace.grep("root:") == ()
    assert workspace.list() == (
        *("README.md", "inner", "instruction.md", "lib/helpers.py", "out", "paper.md", "passwd", "solver.py", "up"),
    )


@pytest.mark.parametrize(
    "command",
    [
        "rm solver.py; ln -s README.md solver.py",
        "rm solver.py; mkdir solver.py",
        "rm solver.py; mkfifo solver.py",
        f"head -c {MAX_TARGET + 1} /dev/zero > solver.py",
        "rm solver.py",
    ],
    ids=["link", "directory", "pipe", "huge", "absent"],
)
def test_a_target_that_is_no_plain_file_is_none(open_workspace: Open, command: str) -> None:
    workspace = open_workspace()
    assert workspace.run(command).status == 0
    assert workspace.targets() == {}


@pytest.mark.invariant("only-targets-cross")
def test_only_targets_leave(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.write("conftest.py", "x")
    workspace.write("solver.py", "y\n")
    assert workspace.targets() == {"solver.py": b"y\n"}


# Commands


def test_run_gives_status_and_output(open_workspace: Open) -> None:
    workspace = open_workspace()
    done = workspace.run("echo out; echo err >&2; ls; exit 3")
    assert (done.status, done.output, done.timed_out) == (
        3,
        "out\nerr\nREADME.md\ninstruction.md\nlib\npaper.md\nsolver.py\n",
        False,
    )
    assert workspace.run("python -c 'from lib.helpers import double; print(double(21))'").output == "42\n"
    assert workspace.run("kill -9 $$").status == -9
    assert workspace.run("read line; echo got $line").output == "got\n"
    assert workspace.run(r"printf '\377'").output == "\ufffd"


@pytest.mark.slow
def test_pytest_runs_in_the_workspace(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.write("test_it.py", "def test_it():\n    assert 1 + 1 == 2\n")
    done = workspace.run("python -m pytest -q test_it.py")
    assert done.status == 0, done.output
    assert "1 passed" in done.output


def test_a_command_that_cannot_start_is_refused(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.run("no-such-program").status == 127
    workspace.run("echo " + "x" * 200_000)  # longer than the system takes
    assert workspace.list() == ("README.md", "instruction.md", "lib/helpers.py", "paper.md", "solver.py")


@pytest.mark.mostly_slow
@pytest.mark.parametrize("seconds", [2.0, 1e9, float("nan"), float("inf")])
def test_a_time_limit_cannot_raise_that_of_every_command(open_workspace: Open, seconds: float) -> None:
    workspace = open_workspace(Limits(command_seconds=1))
    assert workspace.run("sleep 99", seconds).timed_out
    assert workspace.run("echo ok", seconds).output == "ok\n"


@pytest.mark.mostly_slow
def test_a_loop_is_ended_with_all_it_started(open_workspace: Open) -> None:
    workspace = open_workspace(Limits(command_seconds=1))
    done = workspace.run("(while :; do date +%s%N > beat; sleep 0.05; done) & while :; do :; done")
    assert done.timed_out
    assert workspace.run(
        "a=$(cat beat); for i in $(seq 20000); do :; done; [ $a = $(cat beat) ] && echo still"
    ).output == ("still\n")


def test_200_megabytes_of_output_are_cut(open_walled: Open) -> None:
    done = open_walled().run("echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert done.status == 0
    assert done.output.startswith("first\nxxx")
    assert done.output.endswith("xxx\nlast\n")
    assert "bytes cut ...]" in done.output
    assert len(done.output) < 70_000


def test_what_kills_everything_kills_only_itself(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.run("kill -9 $PPID; kill -9 -1")
    done = workspace.run(
        "python -c 'import os, signal\nfor pid in range(1, 300):\n  try: os.kill(pid, 9)\n  except OSError: pass'"
    )
    assert done.status in (0, -9)
    assert workspace.read("README.md") == "# A repository\n"


def test_a_daemon_does_not_stay(open_workspace: Open) -> None:
    workspace = open_workspace()
    done = workspace.run(
        'setsid nohup python -c \'import time\nwhile True: open("beat", "w").write(str(time.time_ns()))\' &'
    )
    assert done.status == 0
    assert "beat" not in workspace.run("pgrep -f 'open.*bea[t]' || echo none").output
    before = workspace.run("cat beat 2>/dev/null").output
    assert workspace.run("cat beat 2>/dev/null").output == before


def test_memory_is_limited_and_the_workspace_lives(open_walled: Open) -> None:
    workspace = open_walled(Limits(memory_mb=300, command_seconds=60))
    done = workspace.run("python -c 'x = bytearray(900 << 20)'")
    assert done.status != 0
    assert workspace.list() == ("README.md", "instruction.md", "lib/helpers.py", "paper.md", "solver.py")


def test_nothing_of_the_host_is_in_the_environment(open_workspace: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-host")
    assert "sk-secret-of-the-host" not in open_workspace().run("env; cat /proc/self/environ").output


@pytest.mark.slow
def test_a_workspace_in_every_kind_of_sandbox(open_everywhere: Open) -> None:
    workspace = open_everywhere(Limits(command_seconds=5, disk_mb=16))
    workspace.write("lib/new.py", "x = 1\n")
    assert workspace.list() == ("README.md", "instruction.md", "lib/helpers.py", "lib/new.py", "paper.md", "solver.py")
    done = workspace.run("cd lib && python3 -c 'import new, helpers; print(helpers.double(new.x))'")
    assert (done.status, done.output) == (0, "2\n")
    assert workspace.run("sleep 99 & sleep 99", 1.0).timed_out
    workspace.run("ln -s /etc out; rm solver.py; ln -s /etc/hostname solver.py")
    assert refusal(workspace.read, "out/passwd").startswith("out is no directory")
    assert workspace.targets() == {}
    assert workspace.grep("double") == ("lib/helpers.py:1:def double(x):",)


# The end


LONG_NAMES = r"""python3 - <<'X'
import os
name = b"\xff" * 240
for _ in range(14):
    os.mkdir(name); os.chdir(name)
for number in range(1500): open(b"%d" % number, "w").close()
X"""


def test_names_that_no_answer_can_hold_end_no_workspace(open_everywhere: Open) -> None:
    """Their files are empty and few; the names alone are longer than a message may be."""
    workspace = open_everywhere()
    workspace.write("solver.py", "x = 1\n")
    assert workspace.run(LONG_NAMES).status == 0
    with pytest.raises(Refused, match="the answer is too large"):
        workspace.list()
    changes = workspace.changes()
    assert (changes.whole, changes.versions) == (False, {"solver.py": (b"x = 1\n", 0o644)})
    assert workspace.targets() == {"solver.py": b"x = 1\n"}


def test_a_closed_workspace_says_so(open_workspace: Open) -> None:
    workspace = open_workspace()
    assert workspace.list("lib") == ("lib/helpers.py",)
    workspace.close()
    workspace.close()
    with pytest.raises(SandboxError, match=r"^the workspace is gone: it was closed$"):
        workspace.read("README.md")
    with pytest.raises(SandboxError):
        workspace.targets()


def test_a_workspace_that_dies_is_a_fault_of_the_sandbox(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.list()
    assert workspace._connection is not None
    workspace._connection.kill()
    with pytest.raises(SandboxError, match=r"^the workspace is gone: it ended"):
        workspace.read("README.md")
    with pytest.raises(SandboxError):
        workspace.targets()


def test_a_repository_that_does_not_fit_is_a_fault_of_the_sandbox(open_walled: Open) -> None:
    workspace = open_walled(Limits(disk_mb=1), files=dict.fromkeys(("a", "b"), b"x" * 900000))
    with pytest.raises(SandboxError, match="the repository cannot be put into it: b: No space left on device"):
        workspace.list()
