"""Task directories as items: ids, selection, what is claimed and what is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.messages import assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_a_task_is_an_item_per_model_policy_and_attempt(make_task: Callable[..., Path], recode: Run) -> None:
    make_task()
    result = recode(
        "--collect-only", "-q", "--recode-model=sim/novice", "--recode-model=gpt-5", "--recode-feedback=L0",
        "--recode-feedback=escalate:start=1", "--recode-attempts=2",
    )  # fmt: skip
    assert ids(result) == [
        f"bench/tiny/task.yaml::episode[{model}-{policy}{attempt}]"
        for model in ("sim/novice", "gpt-5")
        for policy in ("L0", "escalate:start=1")
        for attempt in ("", "-2")
    ]


def test_hidden_tests_are_not_collected_as_tests(make_task: Callable[..., Path], recode: Run, workers: str) -> None:
    root = make_task()
    result = recode(workers, str(root))
    result.assert_outcomes(skipped=1)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (["-k", "tiny"], ["tiny"]),
        (["-k", "nlp"], ["other"]),
        (["-k", "arithmetic and not other"], ["tiny"]),
        (["-k", "graduate"], ["other", "tiny"]),
        (["-k", "L3"], ["other", "tiny"]),
        (["-k", "L2"], []),
        (["-m", "recode"], ["other", "tiny"]),
        (["-m", "recode(domain='nlp')"], ["other"]),
        (["-m", "recode(domain='ml', difficulty='easy', feedback='L3')"], ["tiny"]),
        (["-m", "recode(subset='quick')"], ["tiny"]),
        (["-m", "recode(subset='own', domain='ml')"], ["tiny"]),
        (["-m", "not recode(subset='quick')"], ["other"]),
        (["-m", "not recode"], []),
        (["bench/other/task.yaml::episode[sim/graduate-L3]"], ["other"]),
        (["bench/tiny"], ["tiny"]),
    ],
)
@pytest.mark.mostly_slow
def test_selection(make_task: Callable[..., Path], recode: Run, select: list[str], expected: list[str]) -> None:
    make_task(manifest="subsets: [quick, own]\n")
    make_task("other", domain="nlp")
    result = recode("--collect-only", "-q", "--recode-model=sim/graduate", "--recode-feedback=L3", *select)
    assert [line.split("/")[1] for line in ids(result)] == expected


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n2"])
def test_a_key_that_no_task_has_is_said_with_those_there_are(
    make_task: Callable[..., Path], recode: Run, workers: str
) -> None:
    """It selects nothing, as pytest has it, or with `not` everything."""
    make_task()
    given = ("--recode-model=sim/graduate", "--recode-feedback=none")
    subject = "recode: -m recode(domian=…)"
    parts = ("'domian'", "did you mean domain", "attempt, difficulty, domain, feedback, format, model, subset, task")
    result = recode(*given, workers, "-m", "recode(domian='nlp')")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert words(result).count(subject) == 1
    assert_message(words(result), subject, *parts)
    result = recode(*given, "-m", "recode and not (slow or recode(task='tiny', domian='nlp'))")
    assert_message(words(result), subject, *parts)
    for right in ("recode(domain='nlp')", "recode(feedback='none', attempt=1)", "slow or other(domian='nlp')"):
        assert "did you mean" not in words(recode(*given, "-m", right))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("select", "subject", "parts"),
    [
        ("-m recode(subset='quikc')", "-m recode(subset='quikc')", ("did you mean quick?", "'own', 'quick'")),
        ("-m recode(domain='math')", "-m recode(domain='math')", ("no task has this domain: choose from 'ml', 'nlp'",)),
        ("-m recode and not recode(attempt=2)", "-m recode(attempt=2)", ("no task has this attempt: choose from 1",)),
        ("-m recode(difficulty='hard') or slow", "-m recode(difficulty='hard')", ("choose from 'easy'",)),
        ("-k tinny", "-k tinny", ("did you mean tiny?", "ids of tasks (other, tiny)")),
        ("-k tiny and (grauate or L0)", "-k grauate", ("ids of tasks (other, tiny), domains, tags",)),
    ],
)
def test_what_no_task_has_is_said_with_the_choices(
    make_task: Callable[..., Path], recode: Run, workers: str, select: str, subject: str, parts: tuple[str, ...]
) -> None:
    make_task(manifest="subsets: [quick, own]\n")
    make_task("other", domain="nlp")
    option, expression = select.split(" ", 1)
    result = recode(workers, "--recode-model=sim/graduate", "--recode-feedback=none", option, expression)
    assert words(result).count(f"recode: {subject}:") == 1
    assert_message(words(result), f"recode: {subject}", *parts)


@pytest.mark.slow
def test_what_a_task_has_is_no_reason_for_a_warning(make_task: Callable[..., Path], recode: Run) -> None:
    """Nor are words of -k beside which something is selected, because they may belong to other tests."""
    make_task(manifest="subsets: [quick, own]\n")
    for select in (
        ("-m", "recode(subset='own') or recode(subset='quick')"),
        ("-m", "recode(domain='ml', difficulty='easy', attempt=1, model='')"),
        ("-k", "tiny and not flaky"),
        ("-k", "tiny and not recode"),
    ):
        assert "choose from" not in words(recode("--collect-only", *select)), select


@pytest.mark.invariant("nothing-spent-silently")
def test_without_a_model_items_are_skipped_and_nothing_is_written(
    make_task: Callable[..., Path], recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    before = set(pytester.path.rglob("*"))
    result = recode(workers, "-rs")
    result.assert_outcomes(skipped=1)
    assert_message(words(result), "no model", "--recode-model=NAME", "--recode-model=sim/graduate")
    own = {"stdout", "stderr", "runpytest-0", "runpytest-current"}  # what pytester itself leaves
    assert {path.name for path in set(pytester.path.rglob("*")) - before} - own == set()


@pytest.mark.slow
def test_an_existing_suite_beside_the_tasks_is_untouched(
    make_task: Callable[..., Path], recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    pytester.makepyfile(test_mine="def test_passes():\n    pass\n\n\ndef test_fails():\n    assert False\n")
    result = recode(workers, "--recode-agent=reference")
    result.assert_outcomes(passed=2, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_directory_without_a_manifest_is_pytests_own(pytester: pytest.Pytester, recode: Run) -> None:
    pytester.mkpydir("sub").joinpath("test_x.py").write_text("def test_x():\n    pass\n")
    recode().assert_outcomes(passed=1)


@pytest.mark.slow
def test_last_failed_and_stepwise_know_episodes(
    make_task: Callable[..., Path], pytester: pytest.Pytester, agents: None
) -> None:
    make_task("a")
    make_task("b", files={"reference/answer.py": "def twice(x):\n    return x\n\n\ndef half(x):\n    return x / 2\n"})
    args = ("--recode-sandbox=process", "--recode-agent=reference", "--recode-turns=1")
    pytester.runpytest_subprocess(*args).assert_outcomes(passed=1, failed=1)
    again = pytester.runpytest_subprocess(*args, "--lf")
    again.assert_outcomes(failed=1)
    assert re.search(r"bench/b/task\.yaml", words(again))
    pytester.runpytest_subprocess(*args, "--sw").assert_outcomes(passed=1, failed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "firsts"),
    [
        (["--recode-agent=reference"], {0, 4}),
        (["--recode-agent=reference", "--dist=load"], {0, 2}),
        (["--recode-feedback=L0"], {0, 2}),
    ],
    ids=["played", "as the user says", "skipped"],
)
def test_neighbouring_items_are_one_workers(
    make_task: Callable[..., Path], recode: Run, options: list[str], firsts: set[int]
) -> None:
    """They share what is kept warm for their task. Told by the item with which each worker begins."""
    for number in range(8):
        make_task(f"task{number}")
    result = recode("-n2", "-v", *options)
    began: dict[str, int] = {}
    for line in result.outlines:
        if found := re.match(r"\[(gw\d)\].* \S*bench/task(\d)/", line):
            began.setdefault(found[1], int(found[2]))
    assert set(began.values()) == firsts


@pytest.mark.slow
def test_a_conftest_has_the_first_word_on_how_items_are_spread(
    make_task: Callable[..., Path], recode: Run, pytester: pytest.Pytester
) -> None:
    make_task()
    pytester.makeconftest(
        """\
        from xdist.scheduler import LoadScheduling

        class Mine(LoadScheduling):
            def schedule(self):
                print("spread by the conftest")
                super().schedule()

        def pytest_xdist_make_scheduler(config, log):
            return Mine(config, log)
        """
    )
    result = recode("-n2", "-s", "--recode-agent=reference")
    assert "spread by the conftest" in words(result)
