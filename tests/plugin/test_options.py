"""Every option has its effect: given on the command line or in the ini file, alone and with workers.

Options that do not disturb each other share a session. What shows that one of them worked must be there where they are
given, and must not be there where each has another value or none.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.cli import main
from pytest_recode.sandboxes import control_groups
from pytest_recode.settings import OPTIONS
from tests.agents.vectors_server import embedded
from tests.chat_server import Answer, ChatServer, Request, say
from tests.command_line.played_script import BEGIN

from .conftest import FILES, words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

DATASET = Path(__file__).parents[1] / "recode_h/dataset"

# Never solved, so that every failure tells what was drawn, by which interpreter, in which image.
TELLING = """\
import sys
from pathlib import Path

import pytest


@pytest.mark.interface("answer.twice")
def test_twice(candidate):
    assert candidate.answer.twice(3.0) == 6.0


@pytest.mark.interface("answer.half")
def test_half(candidate, rng):
    x = float(rng.normal())
    half = candidate.answer.half(x)
    assert half == x / 2, f"drew {x} by {sys.prefix} with a mark: {Path('/mark').exists()}"
"""
UNSOLVED: dict[str, str | None] = {
    "tests/test_answer.py": TELLING,
    "repo/answer.py": "def twice(x):\n    return x\n\n\ndef half(x):\n    return x\n",
}
MUTATED: dict[str, str | None] = {
    "proofs/right/sum/answer.py": "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return 0.5 * x\n"
}
# Writes down what it was shown, and whether the task is in the reach of its commands.
AGENTS = """\
from pathlib import Path

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move

TWICE = "def twice(x):\\n    return x + x\\n"
HALF = "def half(x):\\n    return x\\n"
MANIFEST = Path(__file__).parent / "bench/tiny/task.yaml"


def writes(text):
    class Writer:
        def __init__(self, context):
            self.context = context

        def act(self, brief, feedback, workspace):
            facts = {
                "paper": brief.paper is not None,
                "reached": "TASK" in workspace.run(f"test -e '{MANIFEST}' && echo TASK").output,
                "may move": self.context.reindent,
            }
            workspace.write("answer.py", text + "".join(f"# {name}: {fact}\\n" for name, fact in facts.items()))
            return Move(steps=1)

    return AgentKind(make=Writer, needs_model=False)


BOTH = writes(TWICE + HALF)
ONE = writes(HALF)
ENDLESS = writes("def twice(x):\\n    while True:\\n        pass\\n\\n\\nhalf = twice\\n")
"""
# 18 tokens a call: three calls pass 0.04 dollars, two do not.
MODELS = """\
tiny: {model: openai/tiny-1, params: {top_p: 0.5}, price: {prompt: 1000, completion: 1000}}
writer: {model: openai/writer-1, price: {prompt: 1000, completion: 1000}}
"""
# A person who is quick: the answer is there before it is waited for.
ANSWERS = """\
from pytest_recode.records.transcript import name


def pytest_recode_turn_finished(item, turn):
    folder = item.config.rootpath / "told/feedback"
    folder.mkdir(exist_ok=True)
    episode = name(item.nodeid).removesuffix(".jsonl")
    (folder / f"{episode}-turn-{turn.number}.yaml").write_text("answer.half: {description: It is whole.}")
"""
WRITTEN = {
    "feedbacks": [
        {"interface": interface, "category": "T2", "description": "d", "analysis": "a", "suggestion": "s"}
        | {"caused_by": ""}
        for interface in ("answer.twice", "answer.half")
    ]
}
FAULTS = {
    "faults": [
        {"interface": interface, "category": "T2", "file": "answer.py", "first_line": 1, "last_line": 1}
        | {"passages": [], "caused_by": ""}
        for interface in ("answer.twice", "answer.half")
    ]
}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a session left."""

    root: Path
    result: pytest.RunResult
    requests: Sequence[Request]  # that came to the server of `--recode-api-base`
    elsewhere: Sequence[Request]  # that came to the other one

    @property
    def out(self) -> Path:
        [path] = self.root.rglob("results.jsonl")
        return path.parent

    @property
    def records(self) -> list[dict[str, Any]]:
        lines = (self.out / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    @property
    def turns(self) -> list[dict[str, Any]]:
        """Of all episodes, out of the transcripts."""
        return [event for event in self.events if event["event"] == "turn"]

    @property
    def events(self) -> list[dict[str, Any]]:
        texts = [(self.out / record["transcript"]).read_text() for record in self.records]
        return [json.loads(line) for text in texts for line in text.splitlines()]

    @property
    def summed_up(self) -> list[int]:
        """How many messages each summary took the place of."""
        return [event["messages"] for event in self.events if event["event"] == "memory"]

    def in_target(self, text: str) -> bool:
        return bool(self.turns) and all(text in turn["targets"]["answer.py"] for turn in self.turns)

    def told(self, pattern: str) -> list[str]:
        """The group of `pattern` in the failure of each grading."""
        found = [re.search(pattern, json.dumps(turn["verdict"])) for turn in self.turns]
        assert all(found), self.turns
        return [match[1] for match in found if match]

    def asked(self, *, feedback: bool = False) -> list[Request]:
        """What the solving model was asked, wherever that was, or the one that writes feedback."""
        everywhere = (*self.requests, *self.elsewhere)
        return [request for request in everywhere if (request.body["model"] == "writer-1") == feedback]


@dataclass(frozen=True, kw_only=True)
class Case:
    """`values` shows `effect`; `others`, or the option's default, does not."""

    session: str
    values: tuple[str, ...]
    others: tuple[str, ...] = ()
    effect: Callable[[Seen], bool]


def junit_names(seen: Seen) -> str:
    return (seen.root / "report.xml").read_text()


played, asked = partial(Case, session="played"), partial(Case, session="asked")
CASES = {
    "agent": played(
        values=("own_agents:BOTH",),
        others=("own_agents:ONE",),
        effect=lambda seen: {turn["passed"] for record in seen.records for turn in record["turns"]} == {1},
    ),
    "agent-path": Case(
        session="a program",
        values=("claude-code={place}/own.py",),
        others=("claude-code={place}/other.py",),
        effect=lambda seen: any("/own.py" in event["output"] for event in seen.events if event["event"] == "program"),
    ),
    "agent-seconds": Case(
        session="a program",
        values=("3",),
        effect=lambda seen: {turn.get("stopped") for record in seen.records for turn in record["turns"]} == {"time"},
    ),
    "feedback": played(
        values=("L2", "L3"),
        effect=lambda seen: {record["turns"][-1]["level"] for record in seen.records} == {"L2", "L3"},
    ),
    "attempts": played(
        values=("2",), effect=lambda seen: sorted({record["attempt"] for record in seen.records}) == [1, 2]
    ),
    "turns": played(
        values=("2",),
        others=("3",),
        effect=lambda seen: {(record["stop"], len(record["turns"])) for record in seen.records} == {("turns", 2)},
    ),
    "sandbox": played(
        values=("bubblewrap",), others=("process",), effect=lambda seen: seen.in_target("reached: False")
    ),
    "out": played(values=("mine",), effect=lambda seen: seen.out == seen.root / "mine"),
    "no-paper": played(
        values=("true",), effect=lambda seen: any("paper: False" in turn["targets"]["answer.py"] for turn in seen.turns)
    ),
    "with-paper": played(
        values=("true",), effect=lambda seen: {record["paper"] for record in seen.records} == {True, False}
    ),
    "reindent": played(values=("true",), effect=lambda seen: seen.in_target("may move: True")),
    "fail-under": played(values=("0",), effect=lambda seen: seen.result.ret == pytest.ExitCode.OK),
    "seed": played(values=("7",), effect=lambda seen: len(set(seen.told(r"drew ([-\d.e]+) "))) == 1),
    "model": asked(
        values=("tiny",),
        others=("openai/other",),
        effect=lambda seen: {record["model"] for record in seen.records} == {"tiny"},
    ),
    "models-file": asked(
        values=("models.yaml",),
        effect=lambda seen: {request.body.get("top_p") for request in seen.asked()} == {0.5},
    ),
    "api-base": asked(
        values=("{url}",), others=("{other_url}",), effect=lambda seen: bool(seen.requests) and not seen.elsewhere
    ),
    "temperature": asked(
        values=("0.25",),
        effect=lambda seen: {request.body.get("temperature") for request in seen.asked()} == {0.25},
    ),
    "call-seconds": asked(
        values=("77",),
        effect=lambda seen: {request.headers["x-stainless-read-timeout"] for request in seen.asked()} == {"77.0"},
    ),
    "steps": asked(
        values=("2",),
        effect=lambda seen: len(seen.asked()) == 2 * len(seen.turns) > 0,
    ),
    "without-network": asked(
        values=("true",),
        effect=lambda seen: {record["settings"]["without_network"] for record in seen.records} == {True},
    ),
    "shared-verifier": asked(
        values=("true",),
        effect=lambda seen: {record["settings"]["shared_verifier"] for record in seen.records} == {True},
    ),
    "python": asked(
        values=("{place}/other/bin/python",),
        effect=lambda seen: {Path(prefix).name for prefix in seen.told(r"drew [-\d.e]+ by (\S+)")} == {"other"},
    ),
    "feedback-scope": asked(
        values=("all",),
        effect=lambda seen: (
            "also those of interfaces whose tests pass" in " ".join(one.prompt for one in seen.asked(feedback=True))
        ),
    ),
    "feedback-code": asked(
        values=("L3",),
        effect=lambda seen: (
            "suggestion may hold short pieces of code" in " ".join(one.prompt for one in seen.asked(feedback=True))
        ),
    ),
    "feedback-writer": asked(
        values=("without-reference",),
        effect=lambda seen: (
            "who does not have your implementation" in " ".join(one.prompt for one in seen.asked(feedback=True))
        ),
    ),
    "feedback-model": asked(values=("writer",), effect=lambda seen: len(seen.asked(feedback=True)) > 0),
    "feedback-from": Case(
        session="answered",
        values=("files",),
        others=("auto",),
        effect=lambda seen: (
            [turn["feedback"] and turn["feedback"]["source"] for turn in seen.turns] == [None, "person"]
        ),
    ),
    "max-cost": asked(values=("0.06",), effect=lambda seen: {record["stop"] for record in seen.records} == {"budget"}),
    "cassette": asked(values=("tape",), effect=lambda seen: (seen.root / "tape/models.json").exists()),
    "cassette-mode": Case(
        session="taped",
        values=("replay",),
        effect=lambda seen: "there is no such directory: check the path, or record one" in words(seen.result),
    ),
    "limit": Case(
        session="waiting",
        values=("open*=rpm:1",),
        others=("open*=rpm:6000",),
        effect=lambda seen: (
            {record["error"] and record["error"]["kind"] for record in seen.records} == {"model:rate-limit"}
        ),
    ),
    "impossible": Case(
        session="a twin",
        values=("true",),
        effect=lambda seen: "has no impossible twin" in words(seen.result),
    ),
    "in-flight": played(
        values=("3",),
        effect=lambda seen: (
            "one episode at a time in each process, not 3: the agent own_agents:BOTH" in words(seen.result)
        ),
    ),
    "max-wait": Case(
        session="waiting",
        values=("0.3",),
        others=("0.4",),
        effect=lambda seen: "no place within the 0.3 s" in words(seen.result),
    ),
    "progress": Case(
        session="untold",
        values=("live",),
        others=("plain",),
        effect=lambda seen: "--recode-progress=live needs a terminal" in words(seen.result),
    ),
    "baseline": Case(
        session="gated", values=("b.json",), effect=lambda seen: "baseline (any-lost-task)" in junit_names(seen)
    ),
    "fail-on": Case(
        session="gated",
        values=("any-lost-task",),
        effect=lambda seen: "(fails on any-lost-task)" in words(seen.result),
    ),
    "markdown": Case(session="gated", values=("summary.md",), effect=lambda seen: (seen.root / "summary.md").is_file()),
    "otel": Case(
        session="unsent",
        values=("nowhere",),
        others=("nobody",),
        effect=lambda seen: "--recode-otel=nowhere: is not the URL of an OTLP endpoint" in words(seen.result),
    ),
    "memory-threshold": Case(session="remembered", values=("4",), effect=lambda seen: bool(seen.summed_up)),
    "memory-keep": Case(session="summed up", values=("2",), effect=lambda seen: seen.summed_up[:1] == [2 * 3]),
    "search-model": Case(
        session="remembered",
        values=("openai/vectors",),
        effect=lambda seen: any(request.path.endswith("/embeddings") for request in seen.requests),
    ),
    "test-output": Case(
        session="remembered",
        values=("full",),
        others=("none",),
        effect=lambda seen: any("assert half == x / 2" in request.prompt for request in seen.requests),
    ),
    "validate": Case(
        session="validate",
        values=("true",),
        effect=lambda seen: seen.result.parseoutcomes().get("passed") == 1,
    ),
    "validate-seeds": Case(
        session="seeds",
        values=("4",),
        effect=lambda seen: len((seen.root / "gradings").read_text("utf-8")) in (4, 8),  # of one block, or of two
    ),
    "validate-right-mutants": Case(
        session="mutated",
        values=("true",),
        effect=lambda seen: (
            seen.result.parseoutcomes().get("passed") == 2
        ),  # the reference's check and the right answer's
    ),
    "watch": Case(
        session="watched",
        values=("true",),
        effect=lambda seen: "--recode-watch: none of these exists: nowhere" in words(seen.result),
    ),
    "validate-json": Case(
        session="seeds", values=("found.json",), effect=lambda seen: (seen.root / "found.json").is_file()
    ),
    "resume": Case(
        session="resumed",
        values=("true",),
        effect=lambda seen: seen.result.ret != pytest.ExitCode.USAGE_ERROR and len(seen.records) == 1,
    ),
    "replay-feedback": Case(
        session="replayed",
        values=("first",),
        effect=lambda seen: "replay[sim/novice-L1-turn2-L0]" in (seen.root / "report.xml").read_text(),
    ),
    "subset": Case(
        session="chosen",
        values=("quick",),
        effect=lambda seen: [record["task"] for record in seen.records] == ["tiny"],
    ),
    "shard": Case(
        session="divided",
        values=("1/2",),
        others=("2/2",),
        effect=lambda seen: [record["shard"] for record in seen.records] == ["1/2"],
    ),
    "test-seconds": Case(
        session="limited",
        values=("1",),
        others=("2",),
        effect=lambda seen: set(seen.told(r"did not answer within (\d+) s")) == {"1"},
    ),
    "env": Case(
        session="environments",
        values=("test_common1={python}",),
        effect=lambda seen: "1 passed" in words(seen.result),
    ),
    "image": Case(
        session="image",
        values=("{marked}",),
        others=("{image}",),
        effect=lambda seen: (
            set(seen.told(r"with a mark: (True|False)")) == {"True"}
            and {(record["sandbox"], record["isolation"]) for record in seen.records} == {("docker", "separate")}
        ),
    ),
    "docker-host": Case(
        session="image",
        values=("{docker}",),
        effect=lambda seen: any(
            f"recode: docker on {record['sandbox_host']}" in words(seen.result) for record in seen.records
        ),
    ),
}
PROGRAM = f"{BEGIN}ask()\nprint(sys.argv[0])\nsys.stdout.flush()\ntime.sleep(6)\n"
"""Of a command-line agent: takes longer than a limit of 3 s."""
FIRST = ("--recode-model=sim/novice", "--recode-turns=2", "--recode-feedback=L1", "--recode-out=first")
"""The run that another goes on with."""
ALWAYS = {
    "chosen": ("--recode-sandbox=process", "--recode-agent=noop", "--recode-feedback=none"),
    "answered": (
        "--recode-sandbox=process",
        "--recode-agent=own_agents:ONE",
        "--recode-turns=2",
        "--recode-feedback=L1",
        "--recode-out=told",
    ),
    "played": (),
    "remembered": (
        "--recode-sandbox=process",
        "--recode-model=openai/seeker",
        "--recode-api-base={url}",
        "--recode-turns=2",
        "--recode-feedback=L0",
    ),
    "summed up": (
        "--recode-sandbox=process",
        "--recode-model=openai/seeker",
        "--recode-api-base={url}",
        "--recode-turns=2",
        "--recode-feedback=L0",
        "--recode-memory-threshold=6",
    ),
    "asked": ("--recode-sandbox=process", "--recode-turns=2", "--recode-feedback=L2"),
    "taped": (
        "--recode-sandbox=process",
        "--recode-model=openai/tiny",
        "--recode-api-base={url}",
        "--recode-turns=1",
        "--recode-cassette=tape",
    ),
    "waiting": (
        "--recode-sandbox=process",
        "--recode-model=openai/tiny",
        "--recode-api-base={url}",
        "--recode-turns=2",
        "--recode-feedback=L0",
    ),
    "untold": ("--recode-sandbox=process", "--recode-model=sim/expert", "--recode-turns=1"),
    "watched": ("nowhere", "--recode-sandbox=process", "--recode-validate"),
    "unsent": ("--recode-sandbox=process", "--recode-model=sim/expert", "--recode-turns=1"),
    "divided": ("--recode-sandbox=process", "--recode-agent=own_agents:ONE", "--recode-attempts=2", "--recode-turns=1"),
    "validate": ("--recode-sandbox=process", "-k", "untouched or episode"),
    "seeds": ("--recode-sandbox=process", "--recode-validate", "-k", "reference"),
    "mutated": ("--recode-sandbox=process", "--recode-validate", "-k", "mutants-right or twice"),
    "resumed": FIRST,
    "replayed": ("--recode-feedback=L0", "--recode-out=again", "--junitxml=report.xml"),
    "gated": (*FIRST[:3], "--recode-out=again", "--junitxml=report.xml"),
    "limited": ("--recode-sandbox=process", "--recode-agent=own_agents:ENDLESS", "--recode-turns=1"),
    "a program": (
        "--recode-sandbox=bubblewrap",
        "--recode-agent=claude-code",
        "--recode-model=openai/tiny",
        "--recode-api-base={url}",
        "--recode-turns=1",
    ),
    "a twin": ("--recode-sandbox=process", "--recode-agent=own_agents:BOTH", "--recode-turns=1"),
    "environments": ("--recode-sandbox=process", "--recode-agent=reference", "-k", "annotation_1"),
    "image": ("--recode-sandbox=docker", "--recode-agent=own_agents:BOTH", "--recode-turns=1"),
}
"""What is the same with and without the options of a session."""


def test_the_help_has_the_default_of_every_option_that_has_one(pytester: pytest.Pytester) -> None:
    shown = " ".join("".join(pytester.runpytest("--help").outlines).split())
    for option in OPTIONS.values():
        if option.default not in (None, (), "") and not isinstance(option.default, bool):
            default = ", ".join(option.default) if isinstance(option.default, tuple) else f"{option.default}"
            expected = f"[default: {default.removesuffix('.0')}; ini: {option.ini}]"
            assert expected.replace(" ", "") in shown.replace(" ", "")


def test_every_option_has_its_case() -> None:
    assert set(CASES) == set(OPTIONS)


def command_line(pytester: pytest.Pytester, given: dict[str, tuple[str, ...]]) -> list[str]:
    flags = {option.name for option in OPTIONS.values() if option.kind in ("flag", "off")}
    return [
        f"--recode-{name}" if name in flags else f"--recode-{name}={value}"
        for name, values in given.items()
        for value in values
    ]


def ini(pytester: pytest.Pytester, given: dict[str, tuple[str, ...]]) -> list[str]:
    lines = [f"recode_{name.replace('-', '_')} =\n    " + "\n    ".join(values) for name, values in given.items()]
    pytester.makeini("\n".join(["[pytest]", *lines]))
    return []


Way = Callable[[pytest.Pytester, dict[str, tuple[str, ...]]], list[str]]


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A file to which the programs of sandboxes may write: if root runs the tests, each of them has a user of its own."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        file = Path(place) / "gradings"
        file.touch()
        file.chmod(0o666)
        yield file


@pytest.fixture
def attempt(
    make_task: MakeTask,
    run_pytest: Run,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    everybodys: Path,
) -> Callable[..., Seen]:
    """Runs a session with its options, in one way or the other."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    image = os.environ.get("RECODE_TEST_IMAGE", "")

    def script(request: Request) -> Answer:
        if request.path.endswith("/embeddings"):
            return embedded(request)
        if request.body["model"] == "seeker":
            return say("```search\ntwice\n```")
        if request.body["model"] != "writer-1":
            return say("```bash\nls\n```")
        return say(json.dumps(FAULTS if "who does not have your implementation" in request.prompt else WRITTEN))

    def run(session: str, way: Way, workers: str, pick: Callable[[Case], tuple[str, ...]]) -> Seen:
        if session == "environments":
            shutil.copytree(DATASET, pytester.path / "dataset")
        else:
            make_task(files={} if session in {"validate", "seeds"} else MUTATED if session == "mutated" else UNSOLVED)
        if session == "chosen":
            make_task(manifest="subsets: [quick]\n")
            make_task("other")
        if session == "seeds":  # hidden tests leave a mark where they are collected
            make_task(
                files={
                    "tests/test_answer.py": f"with open({str(everybodys)!r}, 'a') as file:\n    file.write('x')\n\n"
                    + FILES["tests/test_answer.py"]
                }
            )
        pytester.makepyfile(own_agents=AGENTS)
        (pytester.path / "models.yaml").write_text(MODELS)
        for name in ("own.py", "other.py"):
            (pytester.path / name).write_text(PROGRAM)
            (pytester.path / name).chmod(0o755)
        docker = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
        places = {"place": str(pytester.path), "image": image, "python": sys.executable, "docker": docker}
        if session == "asked":
            other_interpreter(pytester.path / "other")
        if session in {"resumed", "replayed", "gated"}:
            run_pytest(*FIRST)
        if session == "gated":
            assert main(["bless", str(pytester.path / "first"), "-o", str(pytester.path / "b.json")]) == 0
        if session == "answered":
            pytester.makeconftest(ANSWERS)
        if session == "image":
            places["marked"] = marked(image)
        with ExitStack() as stack:
            servers = [stack.enter_context(ChatServer(script)) for _ in range(2)]
            places |= {"url": servers[0].url, "other_url": servers[1].url}
            given = {
                name: tuple(value.format(**places) for value in pick(case))
                for name, case in CASES.items()
                if case.session == session and pick(case)
            }
            args = way(pytester, given)
            result = run_pytest(workers, *(each.format(**places) for each in ALWAYS[session]), *args)
        shutil.copy(everybodys, pytester.path)
        return Seen(root=pytester.path, result=result, requests=servers[0].requests, elsewhere=servers[1].requests)

    return run


def other_interpreter(place: Path) -> None:
    """With the packages of this one."""
    venv.create(place, symlinks=True)
    [packages] = place.glob("lib/python*/site-packages")
    packages.joinpath("others.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")


def marked(image: str) -> str:
    """The image with a file in it; docker builds it once."""
    if not image and "CI" not in os.environ:
        pytest.skip("RECODE_TEST_IMAGE names no docker image with Python and pytest")
    name = "pytest-recode-test:marked"
    recipe = f"FROM {image}\nRUN touch /mark\n"
    subprocess.run(["docker", "build", "-q", "-t", name, "-"], input=recipe, text=True, check=True, capture_output=True)
    return name


@pytest.mark.slow
@pytest.mark.parametrize(("way", "workers"), [(command_line, "-n2"), (ini, "-n0")])
@pytest.mark.parametrize("session", list(ALWAYS))
def test_every_option_has_its_effect(attempt: Callable[..., Seen], session: str, way: Way, workers: str) -> None:
    seen = attempt(session, way, workers, lambda case: case.values)
    effects = {name: case.effect(seen) for name, case in CASES.items() if case.session == session}
    assert all(effects.values()), (effects, words(seen.result))


@pytest.mark.slow
@pytest.mark.parametrize("session", list(ALWAYS))
def test_no_effect_is_there_without_its_option(attempt: Callable[..., Seen], session: str) -> None:
    seen = attempt(session, command_line, "-n0", lambda case: case.others)
    effects = {name: case.effect(seen) for name, case in CASES.items() if case.session == session}
    assert not any(effects.values()), (effects, words(seen.result))


@pytest.mark.slow
def test_an_interpreter_that_is_none(make_task: MakeTask, recode: Run, workers: str) -> None:
    make_task()
    result = recode(workers, "--recode-agent=reference", "--recode-python=/bin/false")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (
        "interpreter /bin/false: not a working Python (exit status 1); give another with --recode-python=PATH"
        in words(result)
    )
    assert "Traceback" not in words(result)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_the_sandbox_is_the_one_that_was_named(make_task: MakeTask, recode: Run, results: Results, kind: str) -> None:
    make_task()
    result = recode("--recode-agent=reference", "--recode-out=out", f"--recode-sandbox={kind}")
    [record] = results()
    assert record["outcome"] == "solved", words(result)
    assert record["sandbox"] == kind
    assert record["isolation"] == ("process" if kind == "process" else "separate")
    assert record["memory_limit"] == control_groups.memory_limit()
    note = " (limits only, no isolation)" if kind == "process" else ""
    assert f"sandbox: {kind}{note}; memory limit: {record['memory_limit']} records: " in words(result)
