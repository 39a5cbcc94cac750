"""What words repeat of reference and hidden tests is measured, cut and marked, whoever wrote them; a category is never shown."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.episode import Audit, Feedback, FeedbackItem, Turn
from pytest_recode.feedback.audit import MARK, TEST_NAME, audited, cuts, leaks_of, secrets
from pytest_recode.feedback.creation import recut
from pytest_recode.feedback.model_answers import WORDS
from pytest_recode.models import Usage
from pytest_recode.records.checkpoint import Checkpoint
from pytest_recode.researchers import prompts
from pytest_recode.researchers.human_researcher import FeedbackRequest, Words, by_person
from pytest_recode.researchers.researcher import drafted, in_words, researcher
from pytest_recode.schema.stored_forms import dump, load
from pytest_recode.task import Beside, Oracle, Parts
from tests.chat_server import ChatServer, Script, say
from tests.feedback.honest import HONEST
from tests.feedback.scene import REFERENCE, STUB, case, parts, task, turn
from tests.feedback.test_bundled_tasks import TASKS, candidate, failed, read
from tests.researchers.test_researcher import FAILED, answer, model, record

Serve = Callable[[Script], ChatServer]

CODE = "sum(v * w for v, w in zip(values, weights))"  # 17 tokens of the reference
ASSERTED = "abs(got - 2.771204) < 1e-6"  # 8 tokens of the tests


def audit(words: str, code: str = STUB) -> tuple[str, Audit]:
    item = FeedbackItem(interface="stats.mean", analysis=words)
    [kept], found = audited([item], secrets(parts(), Oracle()), {"stats.py": code.encode()})
    return kept.analysis, found


def test_a_passage_of_the_reference_is_measured_cut_and_marked() -> None:
    words, found = audit(f"It must be {CODE} then.")
    assert words == f"It must be {MARK} then."
    assert found == Audit(reference_run=17, reference_share=round(17 / 22, 4), cut=1)


def test_a_passage_of_the_hidden_tests_is_told_apart() -> None:
    words, found = audit(f"See {ASSERTED}: no.")
    assert words == f"See {MARK}: no."
    assert found == Audit(tests_run=8, tests_share=round(8 / 12, 4), cut=1)


@pytest.mark.parametrize(
    "oracle",
    [
        Oracle(isolation="shared", script="test_stats.py"),
        Oracle(isolation="shared", beside=Beside(test="test_stats.py")),
    ],
    ids=["script", "beside"],
)
def test_a_solution_that_is_hidden_with_the_tests_is_the_references(oracle: Oracle) -> None:
    """Two of them: one as the reference has it, and one that says more than it."""
    more = "def harmonic(values):\n    return len(values) / sum(1 / value for value in values)\n"
    its = parts()
    its = replace(its, tests={**its.tests, "canonical.py": REFERENCE.encode(), "stats_ref.py": more.encode()})
    words = f"First {CODE}; then len(values) / sum(1 / value; then {ASSERTED}."  # 17, 10 and 8 of 41 tokens
    [kept], found = audited(
        [FeedbackItem(interface="stats.mean", analysis=words)], secrets(its, oracle), {"stats.py": STUB.encode()}
    )
    assert kept.analysis == f"First {MARK}; then {MARK}; then {MARK}."
    assert found == Audit(
        reference_run=17, reference_share=round(27 / 41, 4), tests_run=8, tests_share=round(8 / 41, 4), cut=3
    )


def test_each_passage_is_marked_by_itself() -> None:
    words, found = audit(f"First {ASSERTED} and then {CODE}; nothing else.")
    assert words == f"First {MARK} and then {MARK}; nothing else."
    assert (found.reference_run, found.tests_run, found.cut) == (17, 8, 2)


def test_run_and_share_are_of_the_same_tokens() -> None:
    """17 of which nobody knows 8 in a row, all of them or but 8 in the middle; then 14: 7 on each side of what the candidate has."""
    assert audit(CODE) == (MARK, Audit(reference_run=17, reference_share=1.0, cut=1))
    assert audit(CODE, "w for v, w in zip(")[1] == Audit(reference_run=17, reference_share=1.0, cut=1)
    halves = CODE[:16], CODE[16:]
    assert halves == ("sum(v * w for v,", " w in zip(values, weights))")
    words, found = audit(CODE, "\n;\n".join(halves))
    assert words == f"sum{MARK}))"
    assert found == Audit(reference_run=14, reference_share=round(14 / 17, 4), cut=1)


def test_what_is_short_is_measured_and_stays() -> None:
    words = "Take zip(values, weights) there."
    assert audit(words) == (words, Audit(reference_run=6))


def test_what_the_candidate_has_is_no_leak() -> None:
    words = f"You wrote {CODE}, without the total."
    assert audit(words, f"def mean(values, weights):\n    return {CODE}\n") == (words, Audit())


def test_what_is_no_sentence_is_cut() -> None:
    assert audit("x" * 150) == (MARK, Audit(cut=1, encoded=1))
    digits = base64.b64encode(b"return sum(values) / n").decode()
    assert audit(f"Decode {digits} there.")[0].startswith(f"Decode {MARK}")


def test_all_levels_of_one_answer_have_its_audit() -> None:
    words = {"stats.mean": {"suggestion": f"Write {CODE} there."}}
    ask = researcher(task(), parts(words))
    played = turn("def mean(values, weights=None):\n    return 1\n", case())
    low, high = ask([played], 1), ask([played], 3)
    assert low.audit == high.audit
    assert high.audit.cut == 1
    assert f"Suggestion: Write {MARK} there.\n" in high.text
    assert recut(task(), played, low, 3).text == high.text


def test_a_model_that_leaks_twice_is_cut(chat_server: Serve) -> None:
    bad = say(answer(record(suggestion=f"It is {CODE} there."), record("stats.deviation")))
    feedback = researcher(task(), parts(), model(chat_server([bad, bad])))([FAILED], 3)
    assert feedback.items[0].suggestion == f"It is {MARK} there."
    assert (feedback.source, feedback.audit.cut, feedback.audit.reference_run) == ("model", 1, 17)


def test_what_a_model_leaks_within_the_marks_of_code_is_measured_before_it_is_removed(chat_server: Serve) -> None:
    bad = say(answer(record(suggestion=f"It is `{CODE}` there."), record("stats.deviation")))
    server = chat_server([bad, bad])
    feedback = researcher(task(), parts(), model(server))([FAILED], 3)
    assert "stats.mean has a record whose suggestion repeats code of the reference" in server.requests[1].prompt
    assert feedback.items[0].suggestion == "It is (code left out) there."
    assert (feedback.audit.cut, feedback.audit.reference_run) == (1, 17)


def test_a_model_that_leaks_once_is_not(chat_server: Serve) -> None:
    bad = say(answer(record(suggestion=f"It is {CODE} there."), record("stats.deviation")))
    good = say(answer(record(), record("stats.deviation")))
    feedback = researcher(task(), parts(), model(chat_server([bad, good])))([FAILED], 3)
    assert feedback.items[0].suggestion == "Divide by the sum of the weights."
    assert feedback.audit.cut == 0


def test_who_wrote_it_and_asked_how_is_in_it(chat_server: Serve) -> None:
    good = say(answer(record(), record("stats.deviation")))
    by_model = researcher(task(), parts(), model(chat_server([good])))([FAILED], 1)
    assert (by_model.model, by_model.prompt) == ("gpt-5-mini", prompts.VERSION)
    by_nobody = researcher(task(), parts())([FAILED], 1)
    assert (by_nobody.model, by_nobody.prompt) == ("", "")


def test_code_in_the_authors_words_is_left_out() -> None:
    words = {"stats.mean": {"suggestion": "Divide by all.\nMind `f(x) + 1` there."}}
    feedback = researcher(task(), parts(words))([turn("def mean(values, weights=None):\n    return 1\n", case())], 3)
    assert feedback.items[0].suggestion == "Divide by all.\nMind (code left out) there."


def test_a_feedback_comes_back_from_a_checkpoint_as_it_was() -> None:
    given = Feedback(
        level=3,
        text="Feedback on turn 1, level L3.\n",
        turn=1,
        items=(
            FeedbackItem(interface="a", category="T1", description="d", analysis="a", suggestion="s", correction="c"),
        ),
        source="model",
        model="o4-mini",
        prompt="1",
        audit=Audit(reference_run=9, reference_share=0.3333, tests_run=4, tests_share=0.0, cut=1),
        usage=Usage(prompt_tokens=1, completion_tokens=2, cost_usd=0.5),
    )
    played = replace(turn("x = 1\n", case(), number=2), feedback=given)
    entry = json.loads(json.dumps(dump(Checkpoint(turn=played, agent={}, changes=None))))
    assert load(Checkpoint, entry).turn == played


# -- names of hidden tests -----------------------------------------------------------------------------------------

NAME = "test_mean_of_unequal_weights"
FORMS = {
    "as it is": NAME,
    "in an id": f"test_stats.py::{NAME}[2]",
    "in backticks": f"`{NAME}`",
    "in capitals": NAME.upper(),
    "in letters that look alike": NAME.replace("e", "\u0435"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_name_of_a_hidden_test_is_cut(form: str) -> None:
    words, found = audit(f"The case {form} fails.")
    told = re.sub(f"{NAME}|{NAME.upper()}|{FORMS['in letters that look alike']}", lambda _: MARK, form)
    assert words == f"The case {told} fails."
    assert found == Audit(cut=1)


@pytest.mark.parametrize(
    "words",
    [
        "Test the mean of unequal weights.",
        "The test means that weights are unequal.",
        "Its tests, and the test of weights.",
        "Run testing_tools or test_mean_of_unequal_weights_too.",
        "Test it: a test, two tests.",
    ],
)
def test_words_that_a_name_has_too_are_not_cut(words: str) -> None:
    assert audit(words) == (words, Audit())


@pytest.mark.parametrize("where", ["instruction", "repository", "candidate"])
def test_a_name_that_the_agent_knows_may_stay(where: str) -> None:
    its = parts()
    if where == "instruction":
        its = replace(its, instruction=f"{its.instruction}\nSee `{NAME}`.")
    if where == "repository":
        its = replace(its, repo={**its.repo, "tests/test_old.py": f"def {NAME}(): ...\n".encode()})
    code = f"def {NAME}(): ...\n" if where == "candidate" else STUB
    words = f"The case {NAME} fails."
    item = FeedbackItem(interface="stats.mean", analysis=words)
    [kept], found = audited([item], secrets(its, Oracle()), {"stats.py": code.encode()})
    assert (kept.analysis, found) == (words, Audit())


@pytest.mark.parametrize("source", ["task", "model", "person", "derived"])
def test_no_researcher_names_a_hidden_test(chat_server: Serve, source: str) -> None:
    told = f"The case {NAME} fails."
    played = turn("def mean(values, weights=None):\n    return 1\n", case())
    words = {"stats.mean": {"suggestion": told}}

    def ask(request: FeedbackRequest) -> Words:
        assert request.lost(told) == f"this text {TEST_NAME}, which will be cut"
        return words

    if source == "model":
        bad = say(answer(record(suggestion=told)))
        feedback = researcher(task(), parts(), model(chat_server([bad, bad])))([played], 3)
    elif source == "person":
        feedback = by_person(task(), parts(), ask, name="e", waiting=nullcontext)([played], 3)
    elif source == "task":
        feedback = researcher(task(), parts(words))([played], 3)
    else:
        authors = f"def mean(values, weights=None, {NAME}=0):\n    return {NAME}\n"
        feedback = researcher(task(), replace(parts(), reference={"stats.py": authors.encode()}))([played], 3)
    assert feedback.source == source
    assert feedback.audit.cut == feedback.text.count(MARK) > 0
    assert NAME not in feedback.text


def test_a_model_that_names_a_hidden_test_is_asked_again(chat_server: Serve) -> None:
    played = turn("def mean(values, weights=None):\n    return 1\n", case())
    bad = say(answer(record(suggestion=f"The case {NAME} fails.")))
    server = chat_server([bad, say(answer(record()))])
    feedback = researcher(task(), parts(), model(server))([played], 3)
    assert feedback.items[0].suggestion == "Divide by the sum of the weights."
    assert TEST_NAME in server.requests[1].prompt


def test_the_name_of_a_hidden_test_is_reported_to_the_author() -> None:
    """By validation, and by the preview of an answer."""
    its = parts({"stats.mean": {"analysis": f"See {NAME}."}})
    assert leaks_of(its) == (f"feedback.yaml: stats.mean.analysis {TEST_NAME}, which will be cut: '{NAME}'",)
    its = parts({"stats.mean": {"correction": f"def mean(values):  # as {NAME} wants it\n    ..."}})
    assert leaks_of(its) == (f"feedback.yaml: stats.mean.correction {TEST_NAME}: '{NAME}'; write it without the name",)
    item = FeedbackItem(interface="stats.mean", analysis=f"See {NAME}.")
    [cut] = cuts([item], secrets(its, Oracle()), {})
    assert (cut.field, cut.passage, cut.reasons) == ("analysis", NAME, (TEST_NAME,))


@pytest.mark.parametrize("words", HONEST)
def test_honest_texts_stay(words: str) -> None:
    assert audit(words)[0] == words


# -- the category --------------------------------------------------------------------------------------------------


def answered(source: str, chat_server: Serve, level: int) -> Feedback:
    words = {
        name: {"category": "T3", "description": "d.", "analysis": "a.", "suggestion": "s.", "correction": "x = 1"}
        for name in ("stats.mean", "stats.deviation")
    }
    played = turn(REFERENCE.replace("/ total", "* total").replace("- ddof", "+ ddof"), *FAILED.verdict.cases)

    def ask(request: FeedbackRequest) -> Words:
        assert level > 0
        return words

    if source == "model":
        server = chat_server([say(answer(record(category="T3"), record("stats.deviation", category="T3")))])
        return researcher(task(), parts(), model(server))([played], level)
    if source == "person":
        return by_person(task(), parts(), ask, name="e", waiting=nullcontext)([played], level)
    return researcher(task(), parts(words if source == "task" else None))([played], level)


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize("source", ["task", "model", "derived", "person"])
def test_the_category_is_recorded_and_shown_at_no_level(chat_server: Serve, source: str, level: int) -> None:
    feedback = answered(source, chat_server, level)
    for item in feedback.items:
        assert item.category in {"T0", "T1", "T2", "T3", "T4"}
        assert source == "derived" or level == 0 or item.category == "T3"
        shown = replace(item, category="T99")
        assert item.category not in feedback.text
        assert shown.category not in feedback.text
    assert "ategory" not in feedback.text


# -- the tasks -----------------------------------------------------------------------------------------------------


@pytest.mark.mostly_slow
@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
def test_nothing_is_cut_from_a_bundled_tasks_feedback(manifest: Path) -> None:
    bundled, its = read(manifest)
    assert its.feedback is not None
    assert leaks_of(its) == ()
    for fields in its.feedback.values():
        assert {name: in_words(fields)[name].split() for name in WORDS} == {
            name: fields[name].split() for name in WORDS
        }
    played = failed(bundled, its, candidate(bundled, its, "the reference, inverted"))
    given = researcher(bundled, its)([played], 3)
    assert given.audit.cut == 0
    drafts = drafted(bundled, its, played, its.feedback)
    assert [item.suggestion for item in given.items] == [item.suggestion for item in drafts]


def test_a_leak_in_a_tasks_feedback_is_named() -> None:
    its = parts({"stats.mean": {"analysis": f"Not {ASSERTED}.", "suggestion": f"Write {CODE}."}})
    assert leaks_of(its) == (
        f"feedback.yaml: stats.mean.analysis repeats the hidden tests, which will be cut: '{ASSERTED}'",
        f"feedback.yaml: stats.mean.suggestion repeats code of the reference, which will be cut: '{CODE}'",
    )


def test_a_repository_of_data_is_not_read_for_ever() -> None:
    """Files that are no text, or too large, are known to nobody by heart."""
    its = replace(parts(), repo={**parts().repo, "a.bin": b"\0" * 10, "b.txt": b"x " * 1_000_000})
    assert isinstance(its, Parts)
    assert "x" not in secrets(its, Oracle()).known


def test_the_turn_of_another_episode_is_audited_anew() -> None:
    """One researcher serves an episode: what its candidate has now counts, not what it had before."""
    words = {"stats.mean": {"analysis": f"Not {CODE}."}}
    ask = researcher(task(), parts(words))
    first: Turn = turn("def mean(values, weights=None):\n    return 1\n", case())
    second = turn(f"def mean(values, weights=None):\n    return {CODE}\n", case(), number=2)
    assert ask([first], 2).items[0].analysis == f"Not {MARK}."
    assert ask([first, second], 2).items[0].analysis == f"Not {CODE}."
