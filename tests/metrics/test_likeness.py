"""CodeBLEU against its package and by hand; comments; what is not there is counted; CodeBERTScore where it is installed."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.metrics.code_similarity import codebertscore, codebleu, fetch, without_comments
from pytest_recode.metrics.final import finals, last_code, mean
from pytest_recode.metrics.reading import read
from tests.metrics.samples import record, run, transcript

calc_codebleu = pytest.importorskip("codebleu", reason="needs the extra codebleu").calc_codebleu

REFERENCE = b"""
def scale(values, by):
    # every value times by
    total = []
    for value in values:
        total.append(value * by)
    return total
"""
CLOSE = REFERENCE.replace(b"* by", b"+ by").replace(b"    # every value times by\n", b"")
FAR = b"import os\n\n\ndef scale(*args):\n    return os.getcwd()\n"


@pytest.mark.parametrize("candidate", [REFERENCE, CLOSE, FAR, b"def scale(:"])
def test_it_is_the_packages(candidate: bytes) -> None:
    likeness = codebleu({"a.py": candidate}, {"a.py": REFERENCE})
    scores = calc_codebleu([REFERENCE.decode()], [candidate.decode()], lang="python", weights=(0.25,) * 4)
    assert likeness.codebleu == pytest.approx(scores["codebleu"])
    assert (likeness.ngram, likeness.weighted) == pytest.approx(
        (scores["ngram_match_score"], scores["weighted_ngram_match_score"])
    )
    assert (likeness.syntax, likeness.dataflow) == pytest.approx(
        (scores["syntax_match_score"], scores["dataflow_match_score"])
    )


def test_its_parts_weigh_a_quarter_each() -> None:
    found = codebleu({"a.py": CLOSE}, {"a.py": REFERENCE})
    assert found.codebleu == pytest.approx((found.ngram + found.weighted + found.syntax + found.dataflow) / 4)
    assert found.dataflow > 0  # of 0 the package makes 1


def test_ngrams_by_hand() -> None:
    """Five tokens, four of them right: 4/5 of the words, then 3/4, 2/3 and 1/2 of the longer runs; lengths are equal."""
    found = codebleu({"a.py": b"a = b + d"}, {"a.py": b"a = b + c"})
    assert found.ngram == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


def test_the_same_code_is_all_of_it_and_nothing_is_none_of_it() -> None:
    assert codebleu({"a.py": REFERENCE}, {"a.py": REFERENCE}).codebleu == 1.0
    assert codebleu({}, {"a.py": REFERENCE}).codebleu == 0.0
    assert codebleu({"a.py": b"  \n"}, {"a.py": REFERENCE}).codebleu == 0.0
    # the reason for a rule of our own: the package rewards an empty answer
    assert calc_codebleu([REFERENCE.decode()], [""], lang="python")["codebleu"] == 0.25


def test_several_targets_are_one_corpus() -> None:
    both = codebleu({"a.py": REFERENCE, "b.py": FAR, "extra.py": b"x"}, {"b.py": FAR, "a.py": CLOSE})
    theirs = calc_codebleu([CLOSE.decode(), FAR.decode()], [REFERENCE.decode(), FAR.decode()], lang="python")
    assert both.codebleu == pytest.approx(theirs["codebleu"])


def test_without_comments_what_only_they_say_counts_for_nothing() -> None:
    bare = REFERENCE.replace(b"    # every value times by\n", b"")
    assert codebleu({"a.py": bare}, {"a.py": REFERENCE}).codebleu < 1
    assert codebleu({"a.py": bare}, {"a.py": REFERENCE}, comments=False).codebleu == 1.0


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ('x = "a # no"  # yes\n', 'x = "a # no"\n'),
        ('"""Doc\nof a module."""\n# c\n\nx = 1', "\nx = 1"),
        ('def f():\n    "only"\n', "def f():\n    pass\n"),
        ('def f(): "d"  # c\n', "def f(): pass\n"),
        ('def f():\n    """dé"""; y = 1  # é\n', "def f():\n    pass; y = 1\n"),
        ("x = (1  # open\n", "x = (1\n"),
        ("def f(:\n    # c\n    '''d'''\n", "def f(:\n    '''d'''\n"),
        ("x = 1\x0c# c\n", "x = 1\n"),
        ("", ""),
    ],
)
def test_comments_and_docstrings_go(source: str, bare: str) -> None:
    assert without_comments(source) == bare


@pytest.mark.slow
def test_the_program_stays_the_same() -> None:
    changed = []
    for path in sorted(Path(__file__).parents[2].glob("pytest_recode/**/*.py")):
        source = path.read_text("utf-8")
        bare = without_comments(source)
        if _program(bare) != _program(source) or "\n    # " in bare:
            changed.append(path)
    assert changed == []


def _program(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def test_the_last_whole_turn_counts(tmp_path: Path) -> None:
    path = transcript(tmp_path / "x.jsonl", [{"a.py": "one"}, {"a.py": "two"}])
    with path.open("a") as file:
        file.write('{"event": "turn", "time": 3, "targets": {"a.p')
    assert last_code(path) == {"a.py": b"two"}
    assert last_code(transcript(tmp_path / "y.jsonl", [])) is None
    assert last_code(None) is None


def test_what_is_not_there_is_counted(tmp_path: Path) -> None:
    directory = run(
        tmp_path / "run",
        [
            record("a", (4,), transcript="episodes/a.jsonl"),
            record("b", (1,), transcript="gone.jsonl"),
            record("c", (1,), transcript="episodes/a.jsonl"),
            record("d", (1,), outcome="error", transcript="episodes/a.jsonl"),
        ],
    )
    transcript(directory / "episodes/a.jsonl", [{"a.py": "x"}])
    [source] = read([directory])
    known: dict[str, Any] = {"a": {"a.py": b"y"}, "b": {"a.py": b"y"}, "d": {"a.py": b"y"}}
    last = finals(source.attempts, lambda attempt: known.get(attempt.task))
    assert last.pairs == (({"a.py": b"x"}, {"a.py": b"y"}),)
    assert (last.played, last.no_code, last.no_reference, last.errors) == (3, 1, 1, 1)
    assert last.played == len(last.pairs) + last.no_code + last.no_reference
    assert mean([1.0], last.played + last.errors) == 0.25


@pytest.mark.skipif(find_spec("code_bert_score") is not None, reason="the extra codebertscore is installed")
def test_without_its_extra_codebertscore_says_how_to_have_it() -> None:
    for ask in (lambda: fetch(print), lambda: codebertscore([({"a.py": b"x"}, {"a.py": b"x"})])):
        with pytest.raises(
            UserError, match=r"^CodeBERTScore needs an extra: pip install 'pytest-recode\[codebertscore\]'$"
        ):
            ask()


@pytest.mark.skipif(find_spec("code_bert_score") is None, reason="the extra codebertscore is not installed")
class TestCodeBERTScore:
    """With a model of three small layers of its own, made here."""

    @pytest.fixture(scope="class")
    def model(self, tmp_path_factory: pytest.TempPathFactory) -> str:
        import torch
        from tokenizers import ByteLevelBPETokenizer
        from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

        where = str(tmp_path_factory.mktemp("model"))
        words = ByteLevelBPETokenizer()
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        words.train_from_iterator(["def f(x): return x"], vocab_size=300, special_tokens=special)
        words.save_model(where)
        tokenizer = RobertaTokenizerFast.from_pretrained(where, model_max_length=512)
        tokenizer.save_pretrained(where)
        torch.manual_seed(0)
        config = RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=514,
        )
        RobertaModel(config).save_pretrained(where)
        return where

    def test_the_same_code_is_1_and_nothing_is_0(self, model: str) -> None:
        same, other, nothing = codebertscore(
            [({"a.py": code}, {"a.py": REFERENCE}) for code in (REFERENCE, FAR, b"")], model=model, layer=2
        )
        assert same == pytest.approx(1.0, abs=1e-5)
        assert 0 < other < same
        assert nothing == 0.0

    def test_code_longer_than_the_models_window_is_read_to_its_end(self, model: str) -> None:
        long = REFERENCE * 40
        [score] = codebertscore([({"a.py": long + FAR}, {"a.py": long})], model=model, layer=2)
        assert score < 1.0

    def test_what_is_not_here_and_cannot_be_had_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(UserError) as raised:
            fetch(print, "nobody/has-this-model")
        assert "nobody/has-this-model is not" in str(raised.value)
        assert "\n" not in str(raised.value)
        assert "some 500 MB" in capsys.readouterr().out  # said before it is tried
