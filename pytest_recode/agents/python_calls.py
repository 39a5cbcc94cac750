"""Parse actions that a model writes as calls in Python: `read(path="a.py")`, `print(default_api.submit())`, `[read(path="a.py"), submit()]`.

Called by the readers of answers in the pytest process. Pure: the source is parsed and never executed. Arguments must be literals.
"""

from __future__ import annotations

import ast
import re
import tokenize
import warnings

from pytest_recode.agents.action_names import kind_of
from pytest_recode.agents.calls import Call
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.json_calls import taken_parts
from pytest_recode.agents.values import DamagedError

LIST_OF_CALLS = re.compile(r"[ \t]*\[[A-Za-z_][\w.]{0,80}\(.*\)\][ \t]*")
"""A line as Llama 4 writes its calls."""
API_CALL = re.compile(r"[ \t]*(?:print\([ \t]*)?default_api\.\w{1,80}\(")
"""The beginning of a call as Gemini writes it."""


def python_calls(source: str, line: int) -> list[Call]:
    """The calls in `source`, which begins in line `line` of the answer. Raises DamagedError if anything else is in it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that Python does not know
            body = ast.parse(source.strip()).body
    except SyntaxError as error:
        where = line + (error.lineno or 1) - 1
        ended = source.count("'" * 3) % 2 or source.count('"' * 3) % 2
        how = (
            "A text in three quotes is not closed: if it holds a line of backticks, that ends the code fence. Write it as a block, which takes "
            "such lines."
            if ended
            else ""
        )
        raise DamagedError(
            f"The calls in Python that begin in line {line} cannot be read (line {where}: {error.msg.partition(' (')[0]}).",
            advice=how,
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise DamagedError(f"The calls in Python that begin in line {line} cannot be read ({error}).") from None
    nodes: list[ast.expr] = []
    for statement in body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        value = value.args[0] if isinstance(value, ast.Call) and _name(value) == "print" and value.args else value
        nodes += value.elts if isinstance(value, ast.List) else [value] if value is not None else []
    calls = [_call(node, line) for node in nodes]
    if not calls or len(calls) < len(body):
        raise DamagedError(f"The Python that begins in line {line} holds more than calls of tools.")
    return calls


def end_of_expression(text: str, at: int) -> int:
    """The index after the bracket that closes the first one from `at` on, as Python reads strings and comments; the end of the text if none
    does."""
    lines = [f"{line}\n" for line in text[at:].split("\n")]
    depth = 0
    try:
        for token in tokenize.generate_tokens(iter([*lines, ""]).__next__):
            if token.type == tokenize.OP and token.string in "([{":
                depth += 1
            elif token.type == tokenize.OP and token.string in ")]}":
                depth -= 1
                if not depth:
                    row, column = token.end
                    return at + sum(map(len, lines[: row - 1])) + column
    except (tokenize.TokenError, SyntaxError):
        pass  # what is wrong is reported where the calls are parsed
    return len(text)


def _call(node: ast.expr, line: int) -> Call:
    name = _name(node)
    if not isinstance(node, ast.Call) or not name:
        raise DamagedError(f"The Python that begins in line {line} holds more than calls of tools.")
    try:
        given = literal_arguments(node, name)
    except ValueError:
        raise DamagedError(f"Line {line} calls `{name[:80]}` with arguments that cannot be read.") from None
    return Call(name=name, line=line + node.lineno - 1, parts=taken_parts(given), arguments=given)


def literal_arguments(node: ast.Call, name: str) -> dict[str, object]:
    """The arguments of a call by name; a single argument without a name is the action's main one. Raises ValueError."""
    given: dict[str, object] = {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg}
    if len(given) < len(node.keywords) or len(node.args) > 1:
        raise ValueError("too many")
    kind = kind_of(name)
    if node.args and kind is not None:
        given[FORMS[kind].main] = ast.literal_eval(node.args[0])
    return given


def _name(node: ast.expr) -> str:
    """The name of the function that is called; "" for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if function.attr == "call":  # `read.call(path="a.py")`, as Llama 3 writes its built-in tools
            return function.value.id
        return function.attr if function.value.id in ("default_api", "functions", "tools") else ""
    return function.id if isinstance(function, ast.Name) else ""
