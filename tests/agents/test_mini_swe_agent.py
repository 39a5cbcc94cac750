"""The agent `mini-swe-agent` with the real package, in real workspaces: turns, submission, limits, faults, and what the transcript has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_recode.agents import mini_swe_library
from pytest_recode.agents.mini_swe_agent import KIND, SUBMIT, MiniSweAgent
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback, Move, Stop
from pytest_recode.faults import BudgetSpent, ModelError, ModelFault
from pytest_recode.models import Message, Reply
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Limits
from pytest_recode.testing import check_agent
from tests.agents.conftest import Open
from tests.agents.scripted import USAGE, Answer, Logged, Scripted, a_brief, a_context, calls
from tests.agents.test_loop import play

# not imported here: the import on its own writes into the user's home
pytestmark = pytest.mark.skipif(find_spec("minisweagent") is None, reason="mini-swe-agent is not installed")

RIGHT = "def solve(x):\n    return 2 * x\n"
WRITE = f"cat <<'EOF' > solver.py\n{RIGHT}EOF"
HAND_IN = f"echo {SUBMIT}"


def bash(*commands: str, native: bool = True, text: str = "So:", **fields: object) -> Reply:
    """An answer with these commands, in the form of a model with native tools or without them."""
    if native:
        made = calls(*(("bash", json.dumps({"command": command})) for command in commands), text=text)
    else:
        blocks = [f"```mswea_bash_command\n{command}\n```" for command in commands]
        made = Reply(text="\n\n".join([text, *blocks]), usage=USAGE)
    return replace(made, **fields)  # type: ignore[arg-type]


class Played:
    """An agent of its own for one test."""

    def __init__(
        self, workspace: SandboxWorkspace, *answers: Answer, native: bool = True, steps: int = 10, seconds: float = 30
    ) -> None:
        self.model = Scripted(answers, native_tools=native)
        self.log = Logged()
        context = replace(a_context(self.model, steps=steps, log=self.log), command_seconds=seconds)
        made = KIND.make(context)
        assert isinstance(made, MiniSweAgent)
        self.agent = made
        self.workspace = workspace

    def turn(self, turn: int = 1) -> Move:
        feedback = None if turn == 1 else Feedback(level=2, text=f"Wrong sign, {turn - 1}.", turn=turn - 1)
        return self.agent.act(a_brief(), feedback, self.workspace)

    def results(self) -> list[str]:
        return [fields["text"] for fields in self.log.of("result")]


def shape(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


@pytest.mark.parametrize("native", [True, False], ids=["tools", "text"])
def test_feedback_continues_the_conversation(open_walled: Open, native: bool) -> None:
    workspace = open_walled()
    played = Played(
        workspace,
        *(bash("cat solver.py", native=native), bash("echo 'x = 1' > solver.py", native=native)),
        *(bash(HAND_IN, native=native), bash(WRITE, native=native), bash(HAND_IN, native=native)),
        native=native,
    )
    first, before = played.turn(), workspace.targets()
    second = played.turn(2)
    assert (first.steps, first.submitted, first.usage.prompt_tokens) == (3, True, 300)
    assert (second.steps, second.submitted, second.stopped) == (2, True, "")
    assert before == {"solver.py": b"x = 1\n"}
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    asked = played.model.asked
    answers = ["assistant", "tool" if native else "user"]
    after = "user" if native else ""  # a result that is a user's message is one with the feedback
    assert shape(asked[3]) == [each for each in ["system", "user", *answers * 3, after] if each]
    assert asked[3][: len(asked[2])] == asked[2]
    feedback = asked[3][-1].content
    assert "Wrong sign, 1." in feedback
    assert "This is turn 2 of 10" in feedback
    assert f"submit again with `echo {SUBMIT}`" in feedback
    assert "Your last turn was ended" not in feedback
    assert [each[0].name for each in played.model.tools] == ["bash"] * 5 if native else not any(played.model.tools)


def test_the_prompts_are_those_of_the_library(open_walled: Open) -> None:
    played = Played(open_walled(), bash(HAND_IN))
    played.turn()
    library = mini_swe_library.library()
    system, task = played.model.asked[0]
    assert system.content == library.with_tools["agent"]["system_template"].strip()
    assert task.content.startswith("Please solve this issue: You are an engineer who implements research code")
    assert "## Recommended Workflow" in task.content
    assert "The paper says: solve(x) is 2 x." in task.content
    assert "A turn ends at the latest after 10 of your answers" in task.content
    assert "<system_information>\nLinux" in task.content


def test_a_model_without_tools_gets_the_librarys_text_form(open_walled: Open) -> None:
    played = Played(open_walled(), bash(HAND_IN, native=False), native=False)
    played.turn()
    system, _ = played.model.asked[0]
    assert "```mswea_bash_command" in system.content


def test_the_environment_of_the_host_is_in_no_prompt(open_walled: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-host")
    played = Played(open_walled(), bash("env"), bash(HAND_IN))
    played.turn()
    said = "\n".join(message.content for asked in played.model.asked for message in asked)
    assert "sk-secret-of-the-host" not in said + json.dumps(played.agent.state())
    assert os.uname().nodename not in played.model.asked[0][1].content


def test_commands_have_the_librarys_variables(open_walled: Open) -> None:
    played = Played(open_walled(), bash("echo $PAGER $TQDM_DISABLE; no-such-command"), bash(HAND_IN))
    played.turn()
    told = json.loads(played.model.asked[1][-1].content)
    assert told["returncode"] == 127
    assert told["output"].startswith("cat 1\n")
    assert "line 1: no-such-command" in told["output"]


@pytest.mark.parametrize("native", [True, False], ids=["tools", "text"])
def test_the_marker_counts_only_as_the_first_line_of_a_command_that_succeeds(open_walled: Open, native: bool) -> None:
    commands = (f"echo first; {HAND_IN}", f"{HAND_IN}; false", f"{HAND_IN}; echo and more")
    played = Played(open_walled(), *(bash(command, native=native) for command in commands), native=native)
    move = played.turn()
    assert (move.steps, move.submitted) == (3, True)


def test_commands_after_the_submission_are_not_executed_and_told_so(open_walled: Open) -> None:
    workspace = open_walled()
    played = Played(workspace, bash("touch a", HAND_IN, "touch b"), bash(HAND_IN))
    played.turn()
    played.turn(2)
    assert {"a", "b"} & set(workspace.list()) == {"a"}
    *_, asked, first, submitted, last, _ = played.model.asked[1]
    assert [call.id for call in asked.tool_calls] == [each.tool_call_id for each in (first, submitted, last)]
    assert SUBMIT in submitted.content
    assert "action was not executed" in last.content


def test_a_turn_without_steps_left_is_handed_in_as_it_is(open_walled: Open) -> None:
    workspace = open_walled()
    played = Played(workspace, bash("echo 'x = 1' > solver.py"), bash("true"), bash(WRITE), bash(HAND_IN), steps=2)
    first, second = played.turn(), played.turn(2)
    assert (first.steps, first.submitted, first.stopped) == (2, False, "steps")
    assert (second.steps, second.submitted) == (2, True)
    assert "Your last turn was ended because it had no answer left." in played.model.asked[2][-1].content
    assert workspace.targets() == {"solver.py": RIGHT.encode()}


@pytest.mark.parametrize("native", [True, False], ids=["tools", "text"])
def test_an_answer_without_a_command_costs_a_step_and_three_in_a_row_end_the_turn(
    open_walled: Open, native: bool
) -> None:
    nothing = Reply(text="I am done.", usage=USAGE)
    answers = (nothing, nothing, bash("true", native=native), nothing, nothing, nothing, bash(HAND_IN, native=native))
    played = Played(open_walled(), *answers, native=native)
    move = played.turn()
    assert (move.steps, move.unparsed, move.asked_again, move.submitted, move.stopped) == (6, 5, 0, False, "")
    assert move.usage.prompt_tokens == 600
    told = [fields["error"] for fields in played.log.of("step")]
    assert [bool(error) for error in told] == [True, True, False, True, True, True]
    assert told[0] in played.model.asked[1][-1].content
    assert not any(a == b == "user" for a, b in zip(*[shape(played.model.asked[2])[n:] for n in (0, 1)], strict=False))
    second = played.turn(2)
    assert second.submitted
    assert "several answers in a row could not be used" in played.model.asked[-1][-1].content


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("bash", "{oops"), "Error parsing tool call arguments"),
        (("python", '{"command": "true"}'), "Unknown tool 'python'"),
        (("bash", '{"cmd": "true"}'), "Missing 'command' argument"),
        (("bash", '["true"]'), "Missing 'command' argument"),
    ],
)
def test_a_wrong_call_is_told_in_the_librarys_words(open_walled: Open, call: tuple[str, str], words: str) -> None:
    played = Played(open_walled(), calls(call), bash(HAND_IN))
    assert played.turn().unparsed == 1
    assert words in played.model.asked[1][-1].content
    assert "assistant" not in shape(played.model.asked[1])


def test_a_cut_off_answer_is_told_as_what_it_is(open_walled: Open) -> None:
    played = Played(open_walled(), Reply(text="Let me", usage=USAGE, finish="length"), bash(HAND_IN))
    played.turn()
    assert "reached the output token limit (finish_reason=length)" in played.model.asked[1][-1].content


@pytest.mark.parametrize("value", [["ls"], {"a": 1}, 5, None])
def test_a_command_that_is_no_text_is_not_executed(open_walled: Open, value: object) -> None:
    played = Played(open_walled(), calls(("bash", json.dumps({"command": value}))), bash(HAND_IN))
    played.turn()
    assert f"the command is no text but a {type(value).__name__}" in played.model.asked[1][-1].content
    assert [fields["ok"] for fields in played.log.of("result")] == [False, True]


@pytest.mark.parametrize("native", [True, False], ids=["tools", "text"])
def test_a_command_that_takes_too_long_is_told_with_its_output(open_walled: Open, native: bool) -> None:
    workspace = open_walled(limits=Limits(command_seconds=1))
    slow = "echo before; sleep 100; echo after"
    played = Played(workspace, bash(slow, native=native), bash(HAND_IN, native=native), native=native, seconds=1)
    played.turn()
    told = played.model.asked[1][-1].content
    assert "timed out after 1 seconds" in told
    assert "before" in told
    assert "\nafter" not in told


def test_odd_bytes_of_a_command_reach_the_model_as_text(open_walled: Open) -> None:
    command = r"printf '\033[1m\000\377 \001'"
    for native in (True, False):
        played = Played(open_walled(), bash(command, native=native), bash(HAND_IN, native=native), native=native)
        played.turn()
        told = played.model.asked[1][-1].content
        assert not [character for character in told if character < " " and character not in "\n\t"], told


def test_a_command_with_a_lone_surrogate_is_executed_as_a_question_mark(open_walled: Open) -> None:
    played = Played(open_walled(), calls(("bash", '{"command": "echo \\ud800"}')), bash(HAND_IN))
    played.turn()
    assert json.loads(played.model.asked[1][-1].content)["output"] == "?\n"


def test_only_targets_are_handed_in(open_walled: Open) -> None:
    workspace = open_walled()
    harm = "rm -rf lib; echo planted > conftest.py; echo planted > ../outside; ln -sf /etc/passwd README.md; true"
    played = Played(workspace, bash(harm), bash(WRITE), bash(HAND_IN))
    assert played.turn().submitted
    assert workspace.targets() == {"solver.py": RIGHT.encode()}


def test_a_deleted_repository_leaves_no_target(open_walled: Open) -> None:
    workspace = open_walled()
    played = Played(workspace, bash("rm -rf ./* .[a-z]*; ls"), bash(HAND_IN))
    assert played.turn().submitted
    assert workspace.targets() == {}


def test_it_goes_on_in_another_process_as_it_would_have(open_walled: Open) -> None:
    answers = [bash("cat README.md", opaque='{"signature": "s"}'), bash("echo 1", HAND_IN), bash(WRITE), bash(HAND_IN)]
    whole, other = Played(open_walled(), *answers), Played(open_walled(), *answers[2:])
    whole.turn()
    other.agent.restore(json.loads(json.dumps(whole.agent.state())))
    assert other.agent.state() == whole.agent.state()
    other.workspace.lay(whole.workspace.changes())
    assert whole.turn(2) == other.turn(2)
    assert whole.model.asked[2:] == other.model.asked
    assert other.model.asked[0][2].opaque == '{"signature": "s"}'
    assert whole.agent.state() == other.agent.state()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"turn": "1"}, {"over": "otherwise"}, {"messages": 7}, {"messages": ["x"]}, {"messages": [{"role": "user"}]}),
        *(
            {"messages": [{"role": "tool", "content": 7}]},
            {"messages": [{"role": "a", "content": "", "tool_calls": [{}]}]},
        ),
    ],
)
def test_a_state_that_is_nonsense_is_not_restored(open_walled: Open, wrong: dict[str, object]) -> None:
    played = Played(open_walled(), bash(HAND_IN))
    played.turn()
    with pytest.raises((LookupError, TypeError)):
        played.agent.restore({**played.agent.state(), **wrong})


def test_the_state_has_no_output_twice(open_walled: Open) -> None:
    played = Played(open_walled(), bash("seq 2000"), bash(HAND_IN))
    played.turn()
    assert json.dumps(played.agent.state()).count("1500\\\\n1501") == 1


FAULTS = [ModelError(ModelFault.RATE_LIMIT, "scripted", "too many"), BudgetSpent("spent")]


@pytest.mark.parametrize("fault", FAULTS, ids=["model", "budget"])
def test_a_model_that_fails_midway_is_an_error_of_the_episode(open_walled: Open, fault: Exception) -> None:
    def fails(_: Sequence[Message]) -> Reply:
        raise fault

    played = Played(open_walled(), bash(HAND_IN), bash("true"), fails)
    played.turn()
    before = json.dumps(played.agent.state()["messages"])
    with pytest.raises(type(fault)) as caught:
        played.turn(2)
    assert caught.value is fault
    assert json.dumps(played.agent.state()["messages"]) == before


def test_a_conversation_that_does_not_fit_ends_the_turn_once_the_model_has_answered(open_walled: Open) -> None:
    def too_long(_: Sequence[Message]) -> Reply:
        raise ModelError(ModelFault.CONTEXT, "scripted", "too long")

    workspace = open_walled()
    played = Played(workspace, bash(WRITE), too_long, too_long)
    first, second = played.turn(), played.turn(2)
    assert (first.steps, first.submitted) == (2, False)
    assert (second.steps, second.submitted) == (1, False)
    assert "does not fit into the model's context window" in played.log.of("step")[1]["error"]
    assert workspace.targets() == {"solver.py": RIGHT.encode()}
    with pytest.raises(ModelError):
        Played(open_walled(), too_long).turn()


def test_the_transcript_has_every_call_in_order(open_walled: Open) -> None:
    played = Played(open_walled(), bash("cat README.md", "false", text="I look."), bash(HAND_IN), bash(HAND_IN))
    played.turn()
    played.turn(2)
    kinds = [(kind, fields["turn"], fields["step"]) for kind, fields in played.log.lines if kind != "message"]
    one = [
        ("step", 1, 1),
        *[("action", 1, 1), ("result", 1, 1)] * 2,
        ("step", 1, 2),
        ("action", 1, 2),
        ("result", 1, 2),
    ]
    assert kinds == [*one, ("step", 2, 1), ("action", 2, 1), ("result", 2, 1)]
    step = played.log.of("step")[0]
    assert (step["planning"], step["actions"], step["error"]) == ("I look.", ["bash", "bash"], "")
    assert step["usage"]["prompt_tokens"] == 100
    assert played.log.of("action")[0]["arguments"] == {"command": "cat README.md"}
    assert "# A repository" in played.results()[0]
    messages = [(fields["turn"], fields["step"], fields["role"]) for fields in played.log.of("message")]
    assert messages == [
        *((1, 0, "system"), (1, 0, "user"), (1, 1, "assistant"), (1, 1, "tool"), (1, 1, "tool")),
        *((1, 2, "assistant"), (1, 2, "tool")),
        *((2, 0, "user"), (2, 1, "assistant"), (2, 1, "tool")),
    ]


def test_an_episode_is_solved_with_feedback(open_walled: Open) -> None:
    played = Played(open_walled(), bash(HAND_IN), bash(WRITE, text="Twice."), bash(HAND_IN))
    episode = play(played.agent, played.workspace)
    assert (episode.stop, episode.solved_turn) == (Stop.SOLVED, 2)
    assert [turn.move.steps for turn in episode.turns] == [1, 2]


def test_it_keeps_to_what_agents_promise(sandbox: Sandbox) -> None:
    check_agent(KIND, sandbox)
    check_agent(
        KIND, sandbox, model=lambda: Scripted([bash("ls", "cat solver.py"), bash(HAND_IN)] * 2, native_tools=True)
    )


IMPORTED = """\
import os, sys
before = dict(os.environ)
from pytest_recode.agents.mini_swe_agent import KIND
assert "minisweagent" not in sys.modules
KIND.check()
assert "minisweagent" in sys.modules
assert not {"litellm", "openai", "pytest"} & set(sys.modules), "heavy"
assert dict(os.environ) == before, "environment"
"""


@pytest.mark.parametrize("own", [{}, {"MSWEA_GLOBAL_CONFIG_DIR": "own"}], ids=["unset", "set"])
def test_the_import_leaves_no_trace(tmp_path: Path, own: dict[str, str]) -> None:
    home = tmp_path / "home"
    for directory in (home / ".config/mini-swe-agent", home / "own"):
        directory.mkdir(parents=True)
        (directory / ".env").write_text("OPENAI_API_KEY=sk-of-the-file\n")
    files = sorted(home.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        cwd=home,
        env={**os.environ, "HOME": str(home), "TMPDIR": str(home), **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(home.rglob("*")) == files


def test_the_extra_is_what_the_agent_checks() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["optional-dependencies"]["mini-swe-agent"] == [f"mini-swe-agent{mini_swe_library.VERSIONS}"]


def test_the_form_of_a_text_is_that_of_the_library() -> None:
    """Its constant stands in a module that imports litellm."""
    from pytest_recode.agents.mini_swe_agent import TEXT_ACTION

    package = Path(mini_swe_library.library().toolcall.__file__).parents[2]
    assert f'r"{TEXT_ACTION}"' in (package / "models/litellm_textbased_model.py").read_text("utf-8")
    assert SUBMIT in (package / "environments/local.py").read_text("utf-8")
