"""Programs that attack what runs them, in a real sandbox, behind the real gateway."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import pytest

from pytest_recode.agents import workspace as workspaces
from pytest_recode.agents.door_requests import DoorAnswer, DoorRequest, Playing
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.sandboxes import SandboxContext, bubblewrap
from pytest_recode.task import Brief, Environment, Limits

from .played_script import Play

LEAVES = "ask()\nwrite(RIGHT if turn == 2 else WRONG)\nhome = os.environ['HOME']\n"


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("subprocess.run(['rm', '-rf', home])", "home directory: No such file", id="removes its home"),
        pytest.param("os.chmod(home, 0)", "home directory: Permission denied", id="closes its home"),
        pytest.param(
            "os.rename(home + '/agent', home + '/x')\nos.symlink('/tmp', home + '/agent')",
            "agent is no directory but a symbolic link",
            id="a link",
        ),
        pytest.param(
            "os.unlink(home + '/agent/prompt.txt')\nos.mkfifo(home + '/agent/prompt.txt')",
            "agent/prompt.txt is no regular file",
            id="a pipe",
        ),
        pytest.param(
            "file = open(home + '/big', 'wb')\nwhile True:\n  try: file.write(bytes(1 << 24))\n  except OSError: break",
            "No space left on device",
            id="fills the disk",
        ),
    ],
)
def test_one_that_cannot_be_started_again_is_an_error_of_one_line(play: Play, body: str, said: str) -> None:
    record = play(LEAVES + body)
    assert (record["outcome"], record["error"]["kind"]) == ("error", "agent:failed")
    assert "turn 2: failed: it cannot be started: " in record["error"]["message"]
    assert said in record["error"]["message"]
    assert [turn["passed"] for turn in record["turns"]] == [1]


@pytest.mark.slow
def test_what_it_puts_into_its_session_harms_nobody(play: Play) -> None:
    """Links out of it, pipes, a large file: the next turn is played, and judged."""
    record = play(
        """
        ask()
        write(RIGHT if turn == 2 else WRONG)
        if turn == 1:
            (state / "link").symlink_to("/proc/1/environ")
            os.mkfifo(state / "pipe")
            (state / "big").touch()
            os.truncate(state / "big", 900 << 20)
            os.chdir(state)
            for _ in range(2000):
                os.mkdir("d")
                os.chdir("d")
        """
    )
    assert (record["outcome"], [turn["passed"] for turn in record["turns"]]) == ("solved", [1, 2])


def test_requests_that_nobody_waits_for_are_not_asked(play: Play) -> None:
    """Eight at once, of a program that has ended before the first answer: at most one of them is paid for."""
    record = play(
        """
        ask()
        write(RIGHT)
        body = json.dumps({"model": "m", "max_tokens": 99, "messages": messages}).encode()
        for _ in range(8):
            door = socket.create_connection(("127.0.0.1", port))
            head = f"POST /v1/messages HTTP/1.1\\r\\nx-api-key: {key}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
            door.sendall(head.encode() + body)
        os._exit(0)
        """,
        "--recode-turns=1",
    )
    assert record["outcome"] == "solved"
    assert record["asked"] <= 2


def test_a_process_that_outlives_the_turn_asks_nothing(play: Play) -> None:
    record = play(
        """
        ask()
        write(WRONG)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True:
                    try:
                        ask("more")
                    except OSError:
                        pass
            os._exit(0)
        """,
        "--recode-turns=1",
    )
    assert record["outcome"] == "unsolved"
    assert record["asked"] <= 2


def test_pipelined_requests_are_one(play: Play, pytester: pytest.Pytester) -> None:
    record = play(
        """
        messages.append({"role": "user", "content": prompt})
        body = json.dumps({"model": "m", "max_tokens": 99, "messages": messages}).encode()
        door = socket.create_connection(("127.0.0.1", port))
        head = f"POST /v1/messages HTTP/1.1\\r\\nx-api-key: {key}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
        door.sendall((head.encode() + body) * 5)
        said = b""
        try:
            while data := door.recv(1 << 16):
                said += data
        except ConnectionResetError:
            pass
        print("ANSWERS", said.count(b"HTTP/1.1"))
        write(RIGHT)
        """,
        "--recode-turns=1",
    )
    assert (record["outcome"], record["asked"]) == ("solved", 1)
    lines = (pytester.path / "out" / record["transcript"]).read_text().splitlines()
    (output,) = [line["output"] for line in map(json.loads, lines) if line["event"] == "program"]
    assert output == "ANSWERS 1\n"


@pytest.fixture
def workspace() -> Iterator[SandboxWorkspace]:
    made = bubblewrap.make(SandboxContext(run="attacks", python=sys.executable))
    brief = Brief(
        task="a", title="", instruction="", paper="", repo={"answer.py": b""}, targets=("answer.py",), interfaces=()
    )
    with SandboxWorkspace(made, brief, Environment(), Limits()) as space:
        yield space
    made.close()


def test_an_answer_that_takes_longer_than_the_turn_and_the_margin_ends_no_workspace(
    workspace: SandboxWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = workspace.place()
    monkeypatch.setattr(workspaces, "MARGIN", 1.0)

    def serve(_: DoorRequest, answer: DoorAnswer) -> None:
        time.sleep(3)  # as a model that thinks
        answer.begin(200, {})

    code = f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{place.port}/', b'x')"
    playing = Playing(argv=("python3", "-c", code), env={}, files={"in": b""}, entered="in", seconds=1.0)
    assert workspace.play(playing, serve).timed_out
    assert workspace.read("answer.py") == ""
