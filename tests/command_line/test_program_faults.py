"""Programs that misbehave: each is a script that is given as the program of a command-line agent, in a real sandbox, behind the real gateway."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.records.transcript_turns import read_episode
from tests.chat_server import ChatServer
from tests.plugin.conftest import words

from .played_script import Play

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]


def test_one_that_keeps_its_session_is_judged_by_its_last_files(play: Play) -> None:
    record = play("ask()\nwrite(RIGHT if turn == 2 else WRONG)")
    assert (record["outcome"], [turn["passed"] for turn in record["turns"]]) == ("solved", [1, 2])


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        pytest.param(
            "print('Please log in: run /login')", "agent:no-model-call", "Please log in", id="asks for a login"
        ),
        pytest.param("sys.exit(3)", "agent:no-model-call", "ended with status 3", id="fails at once"),
        pytest.param("ask('Hello.')", "agent:failed", "none of its requests had the prompt", id="asks something else"),
        pytest.param(
            "ask()\nprint('disk is full')\nsys.exit(7)", "agent:failed", "status 7: disk is full", id="fails later"
        ),
        pytest.param("ask()\nos.kill(os.getpid(), 9)", "agent:failed", "ended with status -9", id="is killed"),
        pytest.param("messages.clear()\nask()", "agent:session-lost", "session-lost", id="begins a new session"),
        pytest.param(
            "urllib.request.urlopen('http://192.0.2.1/', timeout=5)", "agent:no-model-call", "unreachable", id="network"
        ),
    ],
)
def test_one_that_cannot_play_is_an_error(play: Play, body: str, kind: str, said: str) -> None:
    record = play(body)
    assert (record["outcome"], record["error"]["kind"]) == ("error", kind)
    assert said in record["error"]["message"]
    assert "Traceback" not in record["said"]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("body", "options", "stopped"),
    [
        pytest.param("ask()\nwrite(RIGHT)\ntime.sleep(600)", ["--recode-agent-seconds=10"], "time", id="time"),
        pytest.param("ask()\nwrite(RIGHT)\nwhile True: ask('more')", ["--recode-steps=2"], "steps", id="steps"),
        pytest.param(
            "ask()\nwrite(RIGHT)\nheld = []\nwhile True: held.append(bytearray(1 << 24))",
            [],
            "memory",
            id="memory",
        ),
        pytest.param(
            "ask()\nwrite(RIGHT)\nwhile True:\n  try: subprocess.Popen(['sleep', '600'])\n  except OSError: pass",
            ["--recode-agent-seconds=8"],
            "",
            id="processes",
        ),
    ],
)
def test_a_turn_that_a_limit_ends_is_judged_as_it_is(play: Play, body: str, options: list[str], stopped: str) -> None:
    record = play(body, *options, "--recode-turns=1")
    assert record["outcome"] == "solved"
    (turn,) = record["turns"]
    assert stopped in turn["stopped"]
    assert turn["stopped"]


@pytest.mark.slow
def test_the_next_prompt_says_that_a_turn_was_ended(play: Play, pytester: pytest.Pytester) -> None:
    record = play("ask()\nwrite(WRONG)\nwhile turn == 1: ask('more')", "--recode-steps=2")
    episode = read_episode(pytester.path / "out" / record["transcript"])
    (prompt,) = [each.content for each in episode.turns[1].messages if "Feedback on turn 1" in each.content]
    assert "Your last turn was ended because it had no model call left." in prompt


@pytest.mark.slow
def test_a_gigabyte_of_output_is_cut(play: Play, pytester: pytest.Pytester) -> None:
    record = play("ask()\nwrite(RIGHT)\nfor _ in range(1 << 10): sys.stdout.write('x' * (1 << 20))")
    assert record["outcome"] == "solved"
    assert (pytester.path / "out" / record["transcript"]).stat().st_size < 1 << 20


def test_what_it_leaves_running_changes_nothing_after_its_turn(play: Play) -> None:
    """A process that would make the answer right while the tests judge, or in the next turn."""
    record = play(
        """
        ask()
        write(WRONG)
        if turn == 1:
            code = "import os,time,pathlib\\nos.setsid()\\ntime.sleep(2)\\npathlib.Path('answer.py').write_text(" + repr(RIGHT) + ")"
            subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        else:
            time.sleep(4)
        """
    )
    assert (record["outcome"], [turn["passed"] for turn in record["turns"]]) == ("unsolved", [1, 1])


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "import shutil\nfor each in pathlib.Path('.').iterdir(): each.is_dir() or each.unlink()", id="deletes all"
        ),
        pytest.param("os.remove('answer.py')\nos.symlink('constants.py', 'answer.py')", id="a link"),
        pytest.param("os.remove('answer.py')\nos.mkdir('answer.py')", id="a directory"),
        pytest.param("write('x = 1\\n' * (1 << 20))", id="a huge file"),
        pytest.param("write(WRONG)\npathlib.Path('constants.py').write_text('TWO = 0')", id="another file"),
    ],
)
def test_what_it_does_to_the_files_is_the_candidates(play: Play, body: str) -> None:
    record = play(f"ask()\n{body}", "--recode-turns=1")
    assert (record["outcome"], record["error"]) == ("unsolved", None)


@pytest.mark.slow
def test_a_full_disk_is_its_own(play: Play) -> None:
    record = play(
        """
        ask()
        write(RIGHT)
        try:
            with open("big", "wb") as file:
                while True:
                    file.write(bytes(1 << 24))
        except OSError:
            pass
        """,
        "--recode-turns=1",
    )
    assert record["outcome"] == "solved"


def test_other_paths_and_keys_are_refused(play: Play, pytester: pytest.Pytester) -> None:
    """What it may not ask for is refused, and is no model call."""
    record = play(
        """
        def status(path, key=key, method="POST", body=b"{}"):
            request = urllib.request.Request(url + path, body, {"authorization": f"Bearer {key}"}, method=method)
            try:
                return urllib.request.urlopen(request).status
            except urllib.error.HTTPError as error:
                return error.code

        found = [
            status("/v1/run/ledger/spent"), status("/v1/run/files/results.jsonl", method="GET", body=None),
            status("/v1/models/openai/local", method="GET", body=None), status("/v1/embeddings"), status("/v1/gradings"),
            status("/v1/agents/messages"), status("/../../v1/messages/../run/check"),
            status("/v1/messages", key="sk-other"), status("/v1/messages", key=""),
            status("/v1/messages", body=b"no json"), status("/v1/messages", body=b"[]"),
            status("/v1/messages", body=b'{"messages": 3}'),
        ]
        print("FOUND", found)
        ask()
        write(RIGHT)
        """
    )
    assert (record["outcome"], record["asked"]) == ("solved", 1)
    lines = (pytester.path / "out" / record["transcript"]).read_text().splitlines()
    (output,) = [line["output"] for line in map(json.loads, lines) if line["event"] == "program"]
    assert output.strip() == f"FOUND {[404] * 7 + [401] * 2 + [400] * 3}"


def test_a_flood_of_the_door_ends_no_workspace(play: Play) -> None:
    """Half requests, too many connections, a body that is too long: its own call still works."""
    record = play(
        """
        half = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for each in half:
            each.sendall(b"POST /v1/messages HTTP/1.1\\r\\nContent-Length: 100\\r\\n\\r\\n{")
        raw = socket.create_connection(("127.0.0.1", port))
        raw.sendall(b"POST /v1/messages HTTP/1.1\\r\\nContent-Length: 999999999999\\r\\n\\r\\n")
        assert b" 413 " in raw.recv(100)
        raw = socket.create_connection(("127.0.0.1", port))
        raw.sendall(b"\\x00\\xff garbage\\r\\n\\r\\n")
        raw.recv(100)
        for each in half:
            each.close()
        connection = http.client.HTTPConnection("127.0.0.1", port)
        messages.append({"role": "user", "content": prompt})
        body = json.dumps({"model": "m", "max_tokens": 99, "messages": messages}).encode()
        chunks = (body[at : at + 1000] for at in range(0, len(body), 1000))
        connection.request("POST", "/v1/messages", chunks, {"x-api-key": key}, encode_chunked=True)
        answer = connection.getresponse()
        assert (answer.status, json.load(answer)["role"]) == (200, "assistant")
        write(RIGHT)
        """,
        "--recode-turns=1",
    )
    assert (record["outcome"], record["asked"]) == ("solved", 1)


def test_it_finds_neither_keys_nor_tests_nor_a_network(play: Play, pytester: pytest.Pytester) -> None:
    record = play(
        """
        import glob
        seen = []
        for path in glob.glob("/proc/*/environ"):
            try:
                seen.append(pathlib.Path(path).read_bytes())
            except OSError:
                pass
        print("KEYS", any(b"sk-of-the-user" in each for each in seen), "sk-of-the-user" in str(os.environ))
        found = subprocess.run(
            "find / -xdev \\\\( -name test_answer.py -o -name results.jsonl -o -name '*.sock' \\\\) 2>/dev/null; grep -rsl 'x \\\\* TWO' / --include=*.py",
            shell=True, capture_output=True, text=True,
        ).stdout
        print("FILES", found.split())
        try:
            print("NET", open("/proc/net/dev").read().count(":"))
        except OSError as error:
            print("NET", error)
        ask()
        """,
        "--recode-turns=1",
    )
    lines = (pytester.path / "out" / record["transcript"]).read_text().splitlines()
    (output,) = [line["output"] for line in map(json.loads, lines) if line["event"] == "program"]
    assert output.splitlines() == ["KEYS False False", "FILES []", "NET 1"]


ONCE = """
from pytest_recode.agents.command_line import CommandLineAgent
from pytest_recode.agents.command_line.program_player import kind_of

KIND = kind_of(CommandLineAgent(name="once", source=None, first=lambda start: ["true"], later=None, env=lambda start: {}))
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--recode-agent=once:KIND"], "once:KIND cannot continue a session, and so takes no feedback"),
        (["--recode-agent=once:KIND", "--recode-feedback=none"], "there is no pinned version"),
        (["--recode-agent=codex", "--recode-docker-host=tcp://127.0.0.1:9"], "is a program of this machine, which"),
        (["--recode-agent=codex", "--recode-model=sim/graduate"], "sim/graduate is played by this process"),
    ],
    ids=["feedback", "not found", "another host", "no gateway"],
)
def test_what_cannot_work_is_said_before_anything_is_spent(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, options: list[str], said: str
) -> None:
    pytester.makepyfile(once=ONCE)
    make_task("a")
    sandbox = "docker" if any("docker-host" in option for option in options) else "bubblewrap"
    model = [] if any("--recode-model" in option for option in options) else ["--recode-model=openai/local"]
    result = recode(*options, *model, "--recode-api-base=http://127.0.0.1:9/v1", sandbox=sandbox)
    assert said in words(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("claude-code=/nowhere/claude", "agent claude-code: /nowhere/claude is no executable file"),
        ("claude-code=/etc/passwd", "agent claude-code: /etc/passwd is no executable file"),
    ],
)
def test_a_missing_program_is_said_before_anything_is_spent(
    make_task: MakeTask, recode: Run, path: str, said: str
) -> None:
    make_task("a")
    with ChatServer([]) as server:
        model = ("--recode-model=openai/local", f"--recode-api-base={server.url}")
        result = recode("--recode-agent=claude-code", f"--recode-agent-path={path}", *model, sandbox="bubblewrap")
    assert said in words(result)
    assert not server.requests
    result.assert_outcomes()
