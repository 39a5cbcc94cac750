"""Programs that attack what runs them, in a real sandbox, behind the real gateway."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator

import pytest

from pytest_recode.agents.door_requests import DoorAnswer, DoorRequest, PendingAnswer, Playing
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


def test_requests_that_nobody_waits_for_end_no_turn(play: Play, pytester: pytest.Pytester) -> None:
    """Eight at once, of a program that has ended before the first answer: what was asked is in the ledger, and they are no steps."""
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
    assert record["asked"] <= 9
    lines = (pytester.path / "out" / "spending.jsonl").read_text().splitlines()
    assert record["asked"] <= len([line for line in lines if '"model"' in line]) <= 9


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


class Unanswered:
    """Begins to answer, and then keeps the program waiting until nobody waits any more. A `DoorService`, and its only answer."""

    def __init__(self, *, waits: bool) -> None:
        self.waits, self.over = waits, False
        self.answer: DoorAnswer | None = None
        self.left = threading.Event()

    def serve(self, _: DoorRequest, answer: DoorAnswer) -> PendingAnswer:
        self.answer = answer
        answer.begin(200, {})
        return self

    def events(self) -> Iterator[object]:
        while not self.left.wait(0.01):
            yield "alive"

    def take(self, event: object) -> bool:
        assert self.answer is not None
        self.answer.send(b" ")
        return False

    def leave(self) -> None:
        self.left.set()


def playing(workspace: SandboxWorkspace, code: str, seconds: float) -> Playing:
    begin = f"import socket, urllib.request\nport = {workspace.place().port}\n"
    return Playing(argv=("python3", "-c", begin + code), env={}, files={"in": b""}, entered="in", seconds=seconds)


def test_the_time_of_a_program_ends_an_answer_that_never_comes(workspace: SandboxWorkspace) -> None:
    code = "print(len(urllib.request.urlopen(f'http://127.0.0.1:{port}/', b'x').read()))"
    service = Unanswered(waits=False)
    assert workspace.play(playing(workspace, code, 2.0), service).timed_out
    assert service.left.is_set()
    assert workspace.read("answer.py") == ""


def test_an_answer_is_left_when_the_program_does_not_wait_for_it(workspace: SandboxWorkspace) -> None:
    """It hangs up, and goes on until the host has noticed."""
    code = """
door = socket.create_connection(("127.0.0.1", port))
door.sendall(b"POST / HTTP/1.1\\r\\nContent-Length: 1\\r\\n\\r\\nx")
door.recv(1)
door.close()
while True:
    pass
"""
    service = Unanswered(waits=True)  # its time stands still, and begins again when nobody waits
    assert workspace.play(playing(workspace, code, 2.0), service).timed_out
    assert service.left.is_set()


def test_a_key_is_of_its_turn_only(play: Play, pytester: pytest.Pytester) -> None:
    record = play(
        """
        earlier = state / "key"
        if turn == 2:
            try:
                ask("hello", key=earlier.read_text())
            except urllib.error.HTTPError as error:
                print("REFUSED", error.code)
            messages.pop()
        earlier.write_text(key)
        ask()
        write(RIGHT if turn == 2 else WRONG)
        """
    )
    assert (record["outcome"], record["asked"]) == ("solved", 2)
    lines = map(json.loads, (pytester.path / "out" / record["transcript"]).read_text().splitlines())
    assert [line["output"] for line in lines if line["event"] == "program"] == ["", "REFUSED 401\n"]


TITLED = """
tools = [{"name": "run", "input_schema": {"type": "object"}}]
if turn == 2:
    title = {"role": "user", "content": f"Name this session: {prompt}"}
    body = json.dumps({"model": "m", "max_tokens": 99, "messages": [title]}).encode()
    urllib.request.urlopen(urllib.request.Request(url + "/v1/messages", body, {"x-api-key": key})).read()
"""


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param("ask(tools=tools)\nwrite(RIGHT if turn == 2 else WRONG)", None, id="a title"),
        pytest.param("messages.clear()\nask(tools=tools)", "agent:session-lost", id="its conversation"),
        pytest.param("write(WRONG)\nif turn == 1:\n    ask(tools=tools)", "agent:failed", id="nothing else"),
    ],
)
def test_a_request_without_the_tools_that_it_offers_is_none_of_its_conversation(
    play: Play, body: str, error: str | None
) -> None:
    """It may have the prompt, and no turn before it."""
    record = play(TITLED + body)
    assert (record["error"] and record["error"]["kind"]) == error
    assert record["outcome"] == ("error" if error else "solved")


def test_a_candidate_reaches_no_door(play: Play) -> None:
    """It gives right answers only if nothing listens where its program has asked its model, a moment before."""
    record = play(
        """
        ask()
        code = f"import socket\\ntry:\\n    socket.create_connection(('127.0.0.1', {port}), 5)\\n"
        write(code + "except OSError:\\n" + "".join(f"    {line}\\n" for line in RIGHT.splitlines()))
        """,
        "--recode-turns=1",
    )
    assert record["outcome"] == "solved"


DEEP = b'{"messages": ' + b"[" * 300 + b"]" * 300 + b"}"


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b"[" * 100_000, 400, id="brackets"),
        pytest.param(DEEP, 400, id="deep"),
        pytest.param(b'{"messages": [{"role": "user", "content": "\\ud800"}], "max_tokens": 9}', 200, id="a surrogate"),
        pytest.param(b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 1e999}', 200, id="infinite"),
        pytest.param(b'{"messages": [{"role": 1, "content": {"a": 2}}], "max_tokens": "x"}', 200, id="other types"),
        pytest.param(b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"name": 1}]}', 200, id="a tool"),
    ],
)
def test_what_it_asks_for_ends_no_episode_as_a_fault_of_others(
    play: Play, pytester: pytest.Pytester, body: bytes, status: int
) -> None:
    record = play(
        f"""
        ask()
        write(RIGHT)
        request = urllib.request.Request(url + "/v1/messages", {body!r}, {{"x-api-key": key}})
        try:
            answer = urllib.request.urlopen(request)
            answer.read()
            print(answer.status)
        except urllib.error.HTTPError as error:
            print(error.code)
        """,
        "--recode-turns=1",
    )
    assert record["error"] is None
    lines = map(json.loads, (pytester.path / "out" / record["transcript"]).read_text().splitlines())
    (output,) = [line["output"] for line in lines if line["event"] == "program"]
    assert output in (f"{status}\n", "400\n")
