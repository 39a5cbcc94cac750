"""Each mistake is one line that names the thing, the choices and the next step, said before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_line, assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]


def one_line(result: pytest.RunResult) -> str:
    """The usage error; there must be nothing else to read: no traceback, no second error."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR, words(result)
    assert "Traceback" not in words(result)
    assert "INTERNALERROR" not in words(result)
    [line] = [line for line in (*result.errlines, *result.outlines) if line.startswith("ERROR: ")]
    return line.removeprefix("ERROR: ")


NUMBERS = [
    ("--recode-turns=0", "--recode-turns=0 is not a whole number from 1 to 10000"),
    ("--recode-turns=-3", "--recode-turns=-3 is not a whole number from 1 to 10000"),
    ("--recode-steps=many", "--recode-steps=many is not a whole number from 1 to 10000"),
    ("--recode-attempts=1000000", "--recode-attempts=1000000 is not a whole number from 1 to 10000"),
    ("--recode-temperature=9", "--recode-temperature=9 is not a number from 0 to 2"),
    ("--recode-temperature=nan", "--recode-temperature=nan is not a number from 0 to 2"),
    (
        "--recode-max-cost=0",
        "--recode-max-cost=0 is not an amount of US dollars above 0, or MODEL=USD for a single model",
    ),
    (
        "--recode-max-cost=inf",
        "--recode-max-cost=inf is not an amount of US dollars above 0, or MODEL=USD for a single model",
    ),
    (
        "--recode-fail-under=101",
        "--recode-fail-under=101 is not a percentage: 0, or from 1 to 100, as in 30 for 30 %",
    ),
    (
        "--recode-fail-under=0.3",
        "--recode-fail-under=0.3 is not a percentage: 0, or from 1 to 100, as in 30 for 30 %",
    ),
    ("--recode-memory-keep=0", "--recode-memory-keep=0 is not a whole number from 1 to 10000"),
    ("--recode-test-output=some", "--recode-test-output=some is not none or full"),
    ("--recode-feedback-scope=some", "--recode-feedback-scope=some is not failing or all"),
    ("--recode-feedback-code=L0", "--recode-feedback-code=L0 is not L1, L2, L3 or L4"),
    ("--recode-feedback-writer=me", "--recode-feedback-writer=me is not with-reference or without-reference"),
    ("--recode-seed=-1", "--recode-seed=-1 is not a whole number from 0 to 2**64 - 1"),
]

LIMITS = [
    ("--recode-limit=gpt*=rpm:5", ("--recode-limit=gpt*=…", "sim/novice", "a pattern that matches one")),
    ("--recode-max-cost=sim/novise=1", ("--recode-max-cost=sim/novise=…", "sim/novice")),
    ("--recode-limit=sim/*=rpm", ("--recode-limit=sim/*=rpm", "rpm:50,tpm:40000,concurrency:8")),
    ("--recode-limit=sim/*=rpm:0", ("--recode-limit=sim/*=rpm:0", "whole numbers from 1")),
    ("--recode-limit=rpm:5", ("--recode-limit=rpm:5", "a pattern of model names")),
    ("--recode-max-cost==1", ("--recode-max-cost==1", "MODEL=USD")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("option", "parts"), LIMITS)
def test_a_limit_that_limits_nothing(recode: Run, option: str, parts: tuple[str, ...]) -> None:
    assert_message(one_line(recode("--recode-model=sim/novice", option)), *parts)


NAMES = [
    ("--recode-model=", "--recode-model= is empty: give it a value, or leave it out"),
    (
        "--recode-api-base=http://localhost:99999/v1",
        "--recode-api-base=http://localhost:99999/v1 is not an address such as http://localhost:8000/v1 (with a port up to 65535)",
    ),
    (
        "--recode-api-base=localhost:8000",
        "--recode-api-base=localhost:8000 is not an address such as http://localhost:8000/v1 (with a port up to 65535)",
    ),
    (
        "--recode-agent=recod",
        "unknown agent 'recod' (did you mean recode?): choose from acp:, aider, claude-code, codex, command:, gemini-cli, mini-swe-agent, noop, one-shot, "
        "opencode, person, recode, recode-h, reference, or package.module:Name",
    ),
    (
        "--recode-agent=no.such.module:Agent",
        "--recode-agent=no.such.module:Agent: there is no module 'no': write package.module:Name, "
        "importable from where pytest runs",
    ),
    (
        "--recode-agent-path=codex",
        "--recode-agent-path=codex is not NAME=PATH, as in codex=/usr/local/bin/codex: write the agent's name and its program",
    ),
    (
        "--recode-agent-path=codex=/usr/bin/env",
        "--recode-agent-path=codex=… is for no agent of this run (recode): add --recode-agent=codex, or leave it out",
    ),
    (
        "--recode-sandbox=dockr",
        "unknown sandbox 'dockr' (did you mean docker?): choose from bubblewrap, docker, process, or auto",
    ),
    (
        "--recode-feedback=L5",
        "unknown feedback policy 'L5': choose from L0, L1, L2, L3, L4, adaptive, escalate, none",
    ),
    (
        "--recode-feedback=l3",
        "unknown feedback policy 'l3' (did you mean L3?): choose from L0, L1, L2, L3, L4, adaptive, escalate, none",
    ),
    (
        "--recode-feedback=escalate:fast",
        "feedback policy 'escalate:fast': 'fast' is not an option; write option=value, as in escalate:start=1,max=3",
    ),
    (
        "--recode-model=sim/genius",
        "unknown model 'sim/genius' (did you mean sim/novice?): choose from sim/expert, sim/graduate, sim/novice",
    ),
    (
        "--recode-modle=sim/novice",
        "--recode-modle: no such option (did you mean --recode-model?); pytest --help lists all of them",
    ),
    ("--recode-qqq", "--recode-qqq: no such option; pytest --help lists all of them"),
    (
        "--recode-python=/no/such/python",
        "--recode-python=/no/such/python: there is no such file; give the path of an interpreter",
    ),
]

CONFLICTS = [
    (("--recode-model=sim/novice", "--recode-with-paper"), ("--recode-with-paper", "--recode-no-paper")),
    (
        ("--recode-validate", "--recode-model=sim/novice"),
        ("--recode-model", "no effect with --recode-validate", "calls no model", "leave one of the two out"),
    ),
    (("--recode-validate", "--recode-fail-under=3"), ("--recode-fail-under", "--recode-validate", "leave")),
    (
        ("--recode-agent=noop", "--recode-model=sim/novice"),
        ("--recode-agent=noop", "leave out --recode-model", "--recode-agent=recode"),
    ),
    (
        ("--recode-model=sim/novice", "--recode-feedback=none", "--recode-feedback-model=o4-mini"),
        ("--recode-feedback-model", "--recode-feedback=none", "leave"),
    ),
    (
        ("--recode-model=sim/novice", "--recode-feedback=none", "--recode-turns=3"),
        ("--recode-turns", "--recode-feedback=none", "leave"),
    ),
    (
        ("--recode-model=sim/novice", "--recode-model=sim/novice"),
        ("--recode-model=sim/novice", "twice", "--recode-attempts=2"),
    ),
    (
        ("--recode-model=sim/novice", "--recode-feedback=L2", "--recode-feedback=escalate:start=2,max=2"),
        ("--recode-feedback=escalate:start=2,max=2", "same policy as L2", "keep one", "--recode-attempts=2"),
    ),
    *[
        (
            ("--recode-agent=" + agent, "--recode-steps=3"),
            (
                f"--recode-agent={agent}",
                "always has --recode-steps=1",
                "leave out --recode-steps",
                "--recode-agent=recode",
            ),
        )
        for agent in ("one-shot", "reference", "noop")
    ],
    *[
        (
            ("--recode-agent=one-shot", f"--recode-{option}"),
            ("--recode-agent=one-shot", f"leave out --recode-{option.partition('=')[0]}", "--recode-agent=recode"),
        )
        for option in ("memory-threshold=20", "memory-keep=2", "search-model=text-embedding-3-small")
    ],
    *[
        (options, (f"--recode-memory-keep={keep}", f"--recode-memory-threshold={threshold}", "10 and 15"))
        for options, keep, threshold in (
            (("--recode-memory-threshold=10", "--recode-memory-keep=10"), 10, 10),
            (("--recode-agent=recode-h", "--recode-memory-keep=15"), 15, 15),
            (("--recode-memory-keep=3", "--recode-memory-threshold=2"), 3, 2),
            (("--recode-agent=recode-h", "--recode-memory-threshold=5"), 5, 5),
        )
    ],
    (
        ("--recode-model=sim/novice", "--recode-search-model=sim/novice"),
        ("--recode-search-model=sim/novice", "text-embedding-3-small", "leave it out"),
    ),
    (
        ("--recode-model=sim/novice", "--recode-feedback-code=L1"),
        ("--recode-feedback-code", "--recode-feedback-model", "leave out"),
    ),
    (
        ("--recode-model=sim/novice", "--recode-feedback=none", "--recode-test-output=full"),
        ("--recode-test-output", "--recode-feedback=none", "leave"),
    ),
    *[
        (("--recode-validate", option), (option.partition("=")[0], "--recode-validate", "leave"))
        for option in (
            "--recode-agent=one-shot",
            "--recode-attempts=2",
            "--recode-turns=3",
            "--recode-steps=3",
            "--recode-feedback=L2",
            "--recode-feedback-model=o3",
            "--recode-no-paper",
            "--recode-temperature=0",
            "--recode-max-cost=1",
            "--recode-api-base=http://127.0.0.1:1/v1",
            "--recode-out=out",
        )
    ],
]

INI = """\
[pytest]
recode_model = gpt-5
recode_agent = {agent}
recode_attempts = 2
recode_turns = 3
recode_steps = 4
recode_feedback_model = gpt-5
recode_temperature = 0.5
recode_max_cost = 1
recode_fail_under = 100
"""


@pytest.mark.parametrize(("option", "line"), NUMBERS + NAMES)
@pytest.mark.mostly_slow
def test_a_bad_value(make_task: MakeTask, recode: Run, option: str, line: str) -> None:
    make_task()
    assert one_line(recode(option)) == line


@pytest.mark.parametrize(("given", "parts"), CONFLICTS)
@pytest.mark.mostly_slow
def test_conflicting_options(make_task: MakeTask, recode: Run, given: tuple[str, ...], parts: tuple[str, ...]) -> None:
    make_task()
    assert_message(one_line(recode(*given)), *parts)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n0"])
def test_the_ini_may_hold_what_validation_has_no_use_for(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the key of its model is asked for."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_task()
    pytester.makeini(INI.format(agent="one-shot"))
    result = recode(workers, "--recode-validate", "-k", "reference or untouched or empty")
    result.assert_outcomes(passed=3, deselected=4)
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_the_ini_may_hold_what_the_agent_has_no_use_for(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_task()
    pytester.makeini(INI.format(agent="recode"))
    result = recode("--recode-agent=reference", "--recode-feedback=none")
    result.assert_outcomes(passed=3)  # one of them is `--recode-fail-under`


def test_a_bad_value_is_one_line_with_workers_too(make_task: MakeTask, recode: Run) -> None:
    make_task()
    assert one_line(recode("-n2", "--recode-turns=0")) == NUMBERS[0][1]


def test_a_bad_ini_value_names_the_ini(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    pytester.makeini("[pytest]\nrecode_turns = none\n")
    assert one_line(recode()) == "recode_turns=none is not a whole number from 1 to 10000"


@pytest.mark.slow
def test_a_directory_that_holds_another_run(
    make_task: MakeTask, recode: Run, workers: str, pytester: pytest.Pytester
) -> None:
    make_task()
    recode("--recode-agent=reference", "--recode-out=out").assert_outcomes(passed=1)
    before = (pytester.path / "out/results.jsonl").read_bytes()
    result = recode(workers, "--recode-agent=reference", "--recode-out=out")
    assert_message(
        one_line(result), f"--recode-out={pytester.path / 'out'}", "another run", "empty directory", "--recode-resume"
    )
    assert (pytester.path / "out/results.jsonl").read_bytes() == before


@pytest.mark.slow
def test_an_expression_that_cannot_be_read_begins_no_run(
    make_task: MakeTask, recode: Run, workers: str, pytester: pytest.Pytester
) -> None:
    make_task()
    result = recode(workers, "--recode-agent=reference", "--recode-out=out", "-k", "tiny tiny")
    assert result.ret != pytest.ExitCode.OK
    assert "to resume" not in words(result)
    recode(workers, "--recode-agent=reference", "--recode-out=out").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ("nowhere", "there is no such directory: give that of a run"),
        ("bench", "holds no checkpoints: give the directory of a run whose agent asked a model"),
    ],
)
def test_what_is_no_run_cannot_be_replayed(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, run: str, why: str
) -> None:
    make_task()
    line = one_line(recode(f"--recode-replay-feedback={run}", "--recode-feedback=L2"))
    assert line == f"--recode-replay-feedback={pytester.path / run}: {why}"


def test_a_usage_error_speaks_of_no_run(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    result = recode("--recode-agent=reference", "--recode-python=nowhere/python", "--recode-out=out")
    one_line(result)
    assert "not played" not in words(result)
    assert "to resume" not in words(result)


def test_a_directory_that_is_not_empty(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    line = one_line(recode("--recode-agent=reference", "--recode-out=bench"))
    assert_message(line, f"--recode-out={pytester.path / 'bench'}", "other files", "empty directory")


def test_a_bad_ini_flag_names_the_ini(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    pytester.makeini("[pytest]\nrecode_no_paper = perhaps\n")
    assert_message(one_line(recode()), "recode_no_paper is not true or false", "perhaps")


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest reads native TOML since 9.0")
@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (
            "recode_attempts = true",
            ("recode_attempts is not", "a whole number from 1 to 10000", "pytest.toml", "got bool: True"),
        ),
        ("recode_attempts = 0", ("recode_attempts=0", "is not a whole number from 1 to 10000")),
        ("recode_call_seconds = []", ("recode_call_seconds is not a number of seconds", "got list: []")),
        (
            'recode_model = "sim/expert"',
            ('recode_model is not a list of texts, as in ["NAME"]', "got str: 'sim/expert'"),
        ),
        ("recode_python = 3", ("recode_python is not a text", "got int: 3")),
        ('recode_no_paper = "yes"', ("recode_no_paper is not true or false", "got str: 'yes'")),
    ],
)
def test_a_toml_value_of_a_wrong_type_names_the_type(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, line: str, parts: tuple[str, ...]
) -> None:
    make_task()
    (pytester.path / "pytest.toml").write_text(f"[pytest]\n{line}\n")
    assert_message(one_line(recode()), *parts)


@pytest.mark.slow
@pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest reads native TOML since 9.0")
def test_toml_numbers_and_texts(make_task: MakeTask, recode: Run, pytester: pytest.Pytester, results: Results) -> None:
    make_task()
    pytester.makepyprojecttoml(
        "[tool.pytest]\nrecode_attempts = 2\nrecode_seed = 7\nrecode_call_seconds = 1.5\nrecode_test_seconds = 30\n"
        'recode_agent = ["reference"]\nrecode_feedback = ["L0"]\nrecode_no_paper = true\nrecode_out = "out"\n'
    )
    recode().assert_outcomes(passed=2)
    assert [each["seed"] for record in results("out") for each in record["turns"]] == [7, 7]


def test_a_directory_that_cannot_be_written(
    make_task: MakeTask, recode: Run, workers: str, pytester: pytest.Pytester
) -> None:
    make_task()
    (pytester.path / "file").touch()
    assert one_line(recode(workers, "--recode-agent=reference", "--recode-out=file/out")) == (
        f"--recode-out={pytester.path / 'file/out'} cannot be written (Not a directory): give a directory that can"
    )


@pytest.mark.parametrize(
    ("more", "give"),
    [((), "a directory, new or empty"), (("--recode-resume",), "the directory of the run to resume")],
)
def test_a_file_in_place_of_a_directory(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, more: tuple[str, ...], give: str
) -> None:
    make_task()
    (pytester.path / "file").write_text("mine")
    line = one_line(recode("--recode-agent=reference", "--recode-out=file", *more))
    assert line == f"--recode-out={pytester.path / 'file'} is a file: give {give}"
    assert (pytester.path / "file").read_text() == "mine"


@pytest.mark.parametrize("out", ["file", "file/out", "bench"])
def test_a_wrong_directory_is_one_line(
    make_task: MakeTask, recode: Run, workers: str, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    make_task()
    Path("file").touch()
    monkeypatch.setenv("OPENAI_API_KEY", "-" * 20)
    model = ("--recode-model=openai/some-model", "--recode-api-base=http://127.0.0.1:9/v1")
    line = one_line(recode(workers, *model, "--recode-sandbox=process", f"--recode-out={out}"))
    assert line.startswith(f"--recode-out={Path(out).resolve()} ")


@pytest.mark.slow
def test_a_duplicate_task_id(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task("a")
    make_task("b", files={"task.yaml": "schema: 1\nid: a\ntitle: Again\ntargets: [answer.py]\n"})
    result = recode("--recode-agent=reference")
    bench = pytester.path / "bench"
    assert_line(
        result.stdout.str(), f"{bench / 'b/task.yaml'}: task id 'a'", f"{bench / 'a/task.yaml'}", "ids", "one directory"
    )
    assert "Traceback" not in words(result)
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.slow
def test_a_malformed_manifest_is_one_line_of_collection(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task("good")
    make_task("bad", files={"task.yaml": "schema: 1\nid: bad\ntitle: Bad\ntargets: [answer.py]\ndomian: ml\n"})
    result = recode("--recode-agent=reference")
    assert f"{pytester.path / 'bench/bad/task.yaml'}" in words(result)
    assert "domian" in words(result)
    assert "did you mean" in words(result)
    assert "Traceback" not in words(result)


def test_docker_that_is_down(make_task: MakeTask, recode: Run, workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_task()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    line = one_line(recode(workers, "--recode-agent=reference", "--recode-sandbox=docker"))
    assert "docker" in line.lower()
    assert "--recode-sandbox" in line or "start" in line.lower()


def test_auto_without_walls_stops_with_the_three_ways_on(
    make_task: MakeTask, recode: Run, workers: str, monkeypatch: pytest.MonkeyPatch, agents: None
) -> None:
    make_task()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("PATH", "/nowhere")
    line = one_line(recode(workers, "--recode-agent=tiny_agents:NEVER", "--recode-sandbox=auto"))
    for way in ("Docker", "bubblewrap", "--recode-sandbox=process"):
        assert way in line


@pytest.mark.slow
def test_paths_with_spaces_and_non_ascii_names(make_task: MakeTask, recode: Run, workers: str) -> None:
    root = make_task("tiny")
    root.rename(root.parent / "größte Aufgabe — 研究")
    result = recode(workers, "-v", "--recode-agent=reference", "--recode-out=Ergebnis mit Leerzeichen ö")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("recode_turn", ("recode_turn:", "no such key (did you mean recode_turns?)", "pytest --help")),
        ("recode_qqq", ("recode_qqq:", "no such key;", "pytest --help")),
    ],
)
def test_an_unknown_key_of_the_ini_file_is_one_line(
    pytester: pytest.Pytester, recode: Run, key: str, named: tuple[str, ...]
) -> None:
    pytester.makeini(f"[pytest]\n{key} = 3\n")
    result = recode()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_line("\n".join(result.errlines), "tox.ini", *named)


def test_a_key_of_another_plugin_is_its_own(pytester: pytest.Pytester, recode: Run) -> None:
    pytester.makeini("[pytest]\nrecode_extra = 3\n")
    pytester.makeconftest("def pytest_addoption(parser):\n    parser.addini('recode_extra', 'of another plugin')\n")
    pytester.makepyfile("def test_one():\n    pass\n")
    recode().assert_outcomes(passed=1)
