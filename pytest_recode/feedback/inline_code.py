"""Find code within a sentence that is neither fenced nor in backticks nor on its own line.

A piece is code if Python parses it as an assignment or a `return` with a computation on its right, or as an expression with several
computations, and if it has notation that formulas do not have, because people describe methods in formulas. Code ends at two adjacent
words, which Python does not have.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from pytest_recode.feedback import source

LEFT_OUT = "(code left out)"

ENOUGH = 3
"""Minimum operators, calls and indices of an expression that is code; with fewer it is a formula, as in "divided by (n - 1) / 2"."""

MOST_TOKENS = 60
"""Maximum tokens of one piece; longer code is split."""
MOST_TRIES = 400
"""Maximum parse attempts for one line. If that many fail, the whole line counts as code, because no prose is so similar to Python."""

# Text with operator signs that is not code: names in backticks, addresses, files, percentages, orders of growth.
_WORDS = re.compile(
    r"`[^`]*`|\w+://\S+|(?<![\w./-])[\w.-]*(?:/[\w.-]+)+\.(?:py|ipynb|md|tex|txt|json|jsonl|ya?ml|toml|csv|npy|npz|sh)\b"
    r"|\d+(?:\.\d+)? ?%|\b[OoΘΩ]\([^()]*(?:\([^()]*\)[^()]*)*\)"
)
_JOINED = re.compile(r"(?<![\w.)\]])[^\W\d_]+(?:[-/+][^\W\d_]+)+(?![\w(\[])")
_TOKEN = re.compile(
    r"(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)|(?P<number>(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?j?)"
    r"|(?P<text>(?<!\w)([\"'])(?:(?!\4)[^\\\n]|\\.){0,200}\4(?!\w))|(?P<sign>\*\*=?|//=?|[-+*/%@&|^=!<>]=|--+|->|\.\.+|[^\w\s])"
)
_OPERATOR = re.compile(r"[-+*/%@&|^~<>]|\*\*|//|[=!<>]=")
_ASSIGNING = re.compile(r"(?:[-+*/%@&|^]|\*\*|//)?=")
_KEYWORDS = frozenset(keyword.kwlist) - {"True", "False", "None"}


class _Token(NamedTuple):
    kind: str  # "operand" "keyword" "open" "close" "sign"
    text: str
    start: int
    end: int


def left_out(text: str) -> str:
    """Replace each piece of code in the lines of `text` by `LEFT_OUT`."""
    return "\n".join(map(_left_out, text.split("\n")))


def _left_out(line: str) -> str:
    for start, end in reversed(list(_pieces(line))):
        line = line[:start] + LEFT_OUT + line[end:]
    return line


def _pieces(line: str) -> Iterator[tuple[int, int]]:
    for stretch in _stretches(line):
        place, tries = 0, iter(range(MOST_TRIES))
        while place < len(stretch):
            end = _end(line, stretch, place, tries)
            if end > place:
                yield stretch[place].start, stretch[end - 1].end
            place = max(end, place + 1)


def _end(line: str, stretch: Sequence[_Token], place: int, tries: Iterator[int]) -> int:
    """The end of the longest piece that begins at `place`; 0 without one."""
    if not _begins(stretch, place):
        return 0
    depth, ends = 0, []
    for end, token in enumerate(islice(stretch, place, place + MOST_TOKENS), place + 1):
        depth += (token.kind == "open") - (token.kind == "close")
        if depth < 0:
            break
        if depth == 0 and token.kind in {"operand", "close"} and not _goes_on(stretch, end):
            ends.append(end)
    for end in reversed(ends):
        if next(tries, None) is None:
            return len(stretch)
        if _is_code(line[stretch[place].start : stretch[end - 1].end]):
            return end
    return 0


def _begins(stretch: Sequence[_Token], place: int) -> bool:
    """Whether a piece can begin here: not at an operator without a left operand, in the middle of a name, or at the brackets of a call."""
    token = stretch[place]
    if place and stretch[place - 1].text == ".":
        return False
    if token.kind == "open":
        return not place or stretch[place - 1].kind not in {"operand", "close"}
    return token.kind == "operand" or token.text in {"return", "lambda", "-", "~"}


def _goes_on(stretch: Sequence[_Token], end: int) -> bool:
    return end < len(stretch) and (stretch[end].kind == "open" or stretch[end].text == ".")


def _is_code(piece: str) -> bool:
    tree = source.parse(piece.encode(errors="replace")).tree
    node = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    if isinstance(node, ast.AugAssign):
        return True
    if node is None or not any(map(_no_formula, ast.walk(node))):
        return False
    if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
        return _work(node.value, (ast.UnaryOp, ast.Compare, ast.BoolOp)) > 0
    return isinstance(node, ast.Expr) and _work(node.value) >= ENOUGH


def _no_formula(part: ast.AST) -> bool:
    """Whether it has notation of Python that formulas do not have: `**`, `//`, `@`, `a.b`, `a[0]`, `f(x, axis=0)`, a text, a loop, a condition."""
    if isinstance(part, ast.BinOp):
        return isinstance(part.op, ast.Pow | ast.FloorDiv | ast.MatMult)
    if isinstance(part, ast.Constant):
        return isinstance(part.value, str)
    return isinstance(part, _OWN)


_OWN = (ast.Attribute, ast.Subscript, ast.keyword, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.IfExp)


def _work(node: ast.expr, more: tuple[type[ast.expr], ...] = ()) -> int:
    """The number of computations in an expression; 0 without names, because numbers alone are a value."""
    kinds = (ast.BinOp, ast.Subscript, ast.IfExp, ast.Lambda, ast.ListComp, ast.GeneratorExp, *more)
    parts = list(ast.walk(node))
    if not any(isinstance(part, ast.Name) for part in parts):
        return 0
    return sum(_of_call(part) if isinstance(part, ast.Call) else isinstance(part, kinds) for part in parts)


def _of_call(call: ast.Call) -> int:
    """`f(x)` may be a formula; `a.f(x)` and `f(x, axis=0)` are not."""
    return ENOUGH if call.keywords or (call.args and isinstance(call.func, ast.Attribute)) else 1


def _stretches(line: str) -> Iterator[list[_Token]]:
    """Sequences of tokens that could be Python: no two adjacent words, and no punctuation of a sentence between them."""
    masked = _JOINED.sub(_joined, _WORDS.sub(lambda match: "\0" * len(match[0]), line))
    found: list[_Token] = []
    brackets: list[bool] = []  # open brackets: whether words such as `for` can be code in them
    at = 0
    while match := _TOKEN.search(masked, at):
        token = _Token(_kind(match), match[0], *match.span())
        follows = _follows(masked, found[-1] if found else None, token, brackets)
        at = token.end if follows or not match["text"] else token.start + 1  # quoted text may be code
        if not follows and found:
            yield found
        if not follows:
            found, brackets = [], []
        if follows or (not match["text"] and _starts(masked, token)):
            if token.kind == "open":
                brackets.append(bool(found) or token.text != "(")
            elif token.kind == "close":
                brackets.pop()
            found.append(token)
    if found:
        yield found


def _joined(match: re.Match[str]) -> str:
    """Words with a hyphen or a slash: "top-k", "mean/variance", "train/test"; `a/b` and `a-b` may be code."""
    words = re.split("[/+]", match[0])
    prose = all(len(word) > 1 and any(len(part) > 1 for part in word.split("-")) for word in words)
    return "\0" * len(match[0]) if prose else match[0]


def _kind(match: re.Match[str]) -> str:
    if match["sign"] is None:
        return "keyword" if match[0] in _KEYWORDS else "operand"
    return "open" if match[0] in "([{" else "close" if match[0] in ")]}" else "sign"


def _starts(line: str, token: _Token) -> bool:
    if token.kind == "sign":
        return token.text in {"-", "~"} and not _spaced(line, token)[1]
    return token.kind in {"operand", "open"} or token.text == "return"


def _follows(line: str, before: _Token | None, token: _Token, brackets: Sequence[bool]) -> bool:
    """Whether `token` can follow `before` in Python, with this spacing."""
    if before is None or token.text == "return":
        return False
    if token.kind == "keyword":
        return any(brackets)
    ended = before.kind in {"operand", "close"}
    left, right = _spaced(line, token)
    if token.start > before.end and not line[before.end : token.start].isspace():
        return False  # the text between them is not Python
    if token.kind == "operand":
        return not ended
    if token.kind == "open":
        return not (ended and left)
    if token.kind == "close":
        return bool(brackets)
    if token.text in ",:":
        return bool(brackets)
    if token.text == ".":
        return before.kind == "close" and not (left or right)
    if _ASSIGNING.fullmatch(token.text):
        return True
    # "x - y" and "x-y", but not "*x* is": a sign with a space on only one side is an operator only at the beginning
    return bool(_OPERATOR.fullmatch(token.text)) and (left == right if ended else not right)


def _spaced(line: str, token: _Token) -> tuple[bool, bool]:
    """Whether there is a space before the token, and after it."""
    return line[token.start - 1 : token.start].isspace() or not token.start, not line[token.end : token.end + 1].strip()
