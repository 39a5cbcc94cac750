"""CodeBLEU and CodeBERTScore: similarity of the last turn's code to the reference.

Each uses a package that is an optional extra, and imports it only when a number is computed.
"""

from __future__ import annotations

import ast
import io
import logging
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.program.source import tree_of

WEIGHTS = (0.25, 0.25, 0.25, 0.25)
"""RECODE-H's weights of n-grams, weighted n-grams, syntax and data flow."""

BERT = "neulab/codebert-python"
"""The model and layer of `BERTScorer(lang="python")` in code-bert-score 0.4.1."""
BERT_LAYER = 11

Codes = Mapping[str, bytes]
"""Text of files by path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """CodeBLEU and its four parts, each 0 to 1."""

    codebleu: float
    ngram: float
    weighted: float
    syntax: float
    dataflow: float


def codebleu(candidate: Codes, reference: Codes, *, comments: bool = True) -> Likeness:
    """CodeBLEU = .25 n-gram + .25 weighted n-gram + .25 syntax + .25 data flow, over the reference's files as one corpus
    (Ren et al. 2020, arXiv 2009.10297; RECODE-H's `metric_codebleu.py`), by the package `codebleu` 0.7.

    `comments=False` removes comments and docstrings from both sides. A file that the candidate lacks is empty. Empty code has 0
    in everything; the package would give it 0.25, because it counts a data flow of 0 as 1 (docs/reference/metrics.md).
    Raises `UserError` if the package is not installed.
    """
    need("codebleu", "CodeBLEU")
    from codebleu import calc_codebleu

    pairs = [(_text(candidate.get(path, b"")), _text(data)) for path, data in sorted(reference.items())]
    if not comments:
        pairs = [(without_comments(one), without_comments(other)) for one, other in pairs]
    if not any(one.strip() for one, _ in pairs):
        return Likeness(codebleu=0.0, ngram=0.0, weighted=0.0, syntax=0.0, dataflow=0.0)
    root = logging.getLogger()
    root.addFilter(_no_data_flow)
    try:
        scores = calc_codebleu([other for _, other in pairs], [one for one, _ in pairs], lang="python", weights=WEIGHTS)
    finally:
        root.removeFilter(_no_data_flow)
    return Likeness(
        codebleu=float(scores["codebleu"]),
        ngram=float(scores["ngram_match_score"]),
        weighted=float(scores["weighted_ngram_match_score"]),
        syntax=float(scores["syntax_match_score"]),
        dataflow=float(scores["dataflow_match_score"]),
    )


def codebertscore(pairs: Sequence[tuple[Codes, Codes]], *, model: str = BERT, layer: int = BERT_LAYER) -> list[float]:
    """F1 of CodeBERTScore for each (candidate, reference), with files joined in the order of their paths (Zhou et al. 2023, arXiv
    2302.05527; RECODE-H's `metric_codebert.py`), by the package `code-bert-score` 0.4.

    `model` is a name on the hub, whose files `fetch` has downloaded, or a directory. Long code is processed in windows of 512
    tokens that overlap by half. Empty code has 0. Raises `UserError` if the package or the model is not on this machine.
    """
    need("code_bert_score", "CodeBERTScore")
    texts = [(_joined(one, other), _joined(other, other)) for one, other in pairs]
    full = [place for place, (one, other) in enumerate(texts) if one.strip() and other.strip()]
    scores = [0.0] * len(pairs)
    if not full:
        return scores
    here = _here(model)
    if here is None:
        raise UserError(f"CodeBERTScore: {model} is not on this machine")
    from code_bert_score import BERTScorer

    # Load from the directory: given a name, transformers requests the hub repeatedly
    scorer = BERTScorer(model_type=here, num_layers=layer)
    found = scorer.score([texts[place][0] for place in full], [texts[place][1] for place in full])[2]
    for place, value in zip(full, found.tolist(), strict=True):
        scores[place] = float(value)
    return scores


def fetch(notify: Callable[[str], None], model: str = BERT) -> None:
    """Download the files of the model if they are missing. `notify` gets a line about the download before it starts.

    Raises `UserError` if the package is not installed, if this machine is set to be offline, or if the hub cannot be reached.
    """
    need("code_bert_score", "CodeBERTScore")
    if _here(model) is not None:
        return
    from huggingface_hub import HfApi, constants, snapshot_download

    once = "omit --codebertscore, or download the model once with network access"
    if constants.HF_HUB_OFFLINE:
        raise UserError(f"CodeBERTScore: {model} is not in {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE is set: {once}")
    notify(f"CodeBERTScore downloads {model} (some 500 MB) from {constants.ENDPOINT} to {constants.HF_HUB_CACHE}")
    try:
        # One request first: the download itself would retry for minutes
        HfApi().model_info(model, timeout=10)
        snapshot_download(model, allow_patterns=list(_FILES))
    except OSError as error:  # exceptions of requests and of the hub derive from OSError
        raise UserError(
            f"CodeBERTScore: {model} is not on this machine, and {constants.ENDPOINT} does not provide it ({type(error).__name__}): {once}"
        ) from None


_FILES = ("*.json", "*.txt", "pytorch_model.bin", "model.safetensors")
_WEIGHTS = _FILES[2:]


def _here(model: str) -> str | None:
    """The local directory with the model's files, or None."""
    if Path(model).is_dir():
        return model
    from huggingface_hub import try_to_load_from_cache

    found = [try_to_load_from_cache(model, name) for name in ("config.json", *_WEIGHTS)]
    paths = [path for path in found if isinstance(path, str)]
    return str(Path(paths[0]).parent) if isinstance(found[0], str) and len(paths) > 1 else None


def need(package: str, number: str) -> None:
    """Raise `UserError` if the package is not installed."""
    if find_spec(package) is None:
        extra = {"codebleu": "codebleu", "code_bert_score": "codebertscore"}[package]
        raise UserError(f"{number} needs an extra: pip install 'pytest-recode[{extra}]'")


def without_comments(source: str) -> str:
    """Remove comments, docstrings and lines that contain nothing else. Invalid Python loses the comments before its first error,
    and keeps its docstrings."""
    lines = [line.encode() for line in source.split("\n")]
    emptied = set()
    # From the end, so that a cut does not move the positions of later cuts
    for row, start, stop, instead in sorted(_comments(source) + _docstrings(source), key=_place, reverse=True):
        line = lines[row]
        lines[row] = (line[:start] + instead + line[len(line) if stop is None else stop :]).rstrip()
        if not lines[row]:
            emptied.add(row)
    return "\n".join(line.decode() for row, line in enumerate(lines) if row not in emptied)


_Cut = tuple[int, int, int | None, bytes]
"""Line from 0, start and end byte (None: end of line), replacement."""


def _place(cut: _Cut) -> tuple[int, int]:
    return cut[:2]


def _comments(source: str) -> list[_Cut]:
    cuts: list[_Cut] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                cuts.append((token.start[0] - 1, len(token.line[: token.start[1]].encode()), None, b""))
    except (tokenize.TokenError, SyntaxError):
        pass
    return cuts


def _docstrings(source: str) -> list[_Cut]:
    tree = tree_of(source)
    if tree is None:
        return []
    cuts: list[_Cut] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if not (
            isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
        ):
            continue
        # a body cannot be empty
        instead = b"" if len(node.body) > 1 and node.body[1].lineno > (first.end_lineno or 0) else b"pass"
        rows = range(first.lineno - 1, first.end_lineno or first.lineno)
        for row in rows:
            start = first.col_offset if row == rows[0] else 0
            stop = first.end_col_offset if row == rows[-1] else None
            cuts.append((row, start, stop, instead if row == rows[0] else b""))
    return cuts


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _joined(files: Codes, reference: Codes) -> str:
    return "\n".join(_text(files.get(path, b"")) for path in sorted(reference))


def _no_data_flow(record: logging.LogRecord) -> bool:
    """Drop the package's warning about a reference without data flow; the table has a column for it."""
    return "no reference data-flows" not in str(record.msg)
