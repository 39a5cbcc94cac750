"""Compare the definitions of two versions of a file: which are missing, and which cannot be called as the authors' can."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import Parameter as Passed
from inspect import Signature

from pytest_recode.program import source
from pytest_recode.program.source import Definition, FileVersion, Parameter

LONGEST_DEFAULT = 20
"""Maximum characters of a default that is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Differences of definitions, as facts and as steps to take.

    `names` and `naming`: the same of parameters that only calls by name, or only calls by position, notice.
    """

    facts: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()

    def __add__(self, other: Structure) -> Structure:
        return Structure(
            facts=self.facts + other.facts,
            steps=self.steps + other.steps,
            names=self.names + other.names,
            naming=self.naming + other.naming,
        )


def structure(file: str, path: Sequence[str], candidate: FileVersion, reference: FileVersion) -> Structure:
    """Missing definitions and different signatures at `path`; of a whole file (), those of every public definition."""
    if candidate.problem:
        return Structure(facts=(f"{file} {candidate.problem}",), steps=(candidate.remedy.format(file=file),))
    if not path:
        whole = Structure()
        for node in reference.tree.body if reference.tree is not None else ():
            if isinstance(node, Definition) and not node.name.startswith("_"):
                whole += structure(file, (node.name,), candidate, reference)
        return whole
    right, own = source.definition(reference, path), source.definition(candidate, path)
    if right is None:
        return Structure()
    name = path[-1]
    expected = source.parameters(right)
    listed = ", ".join(_with_default(each) for each in expected or () if each.name not in {"self", "cls"})
    noun = "class" if isinstance(right, ast.ClassDef) else "function"
    where = f"the class {'.'.join(path[:-1])} in {file}" if len(path) > 1 else file
    if own is None:
        step = f"define the {noun} `{name}` in {where}" + (f" with the parameters {listed}" if listed else "")
        return Structure(facts=(f"{where} defines no `{name}`",), steps=(step,))
    parameters = source.parameters(own)
    refused = _refused(expected, parameters) if expected is not None and parameters is not None else set()
    if expected is None or parameters is None or not refused:
        return Structure()
    if expected and parameters and expected[0] == parameters[0] and expected[0].name in {"self", "cls"}:
        expected, parameters = expected[1:], parameters[1:]
    fact = (_difference(name, expected, parameters),)
    several = ("s", ", in this order") if "," in listed else ("", "")
    step = (
        f"give `{name}` the parameter{several[0]} {listed}{several[1]}" if listed else f"let `{name}` take no arguments"
    )
    if len(refused) == 1:
        return Structure(names=fact, naming=(step,))
    return Structure(facts=fact, steps=(step,))


def _difference(name: str, expected: Sequence[Parameter], parameters: Sequence[Parameter]) -> str:
    lacking, more = (
        ", ".join(f"`{each.name}`" for each in one if each.name not in {other.name for other in two})
        for one, two in ((expected, parameters), (parameters, expected))
    )
    if lacking:
        return f"`{name}` lacks the parameter{'s' if ',' in lacking else ''} {lacking}" + (
            f", and has {more} instead" if more else ""
        )
    if more:
        return f"`{name}` has the parameter{'s' if ',' in more else ''} {more}, without which its callers call it"
    return f"`{name}` has {_named(parameters)}, and its callers expect {_named(expected)}"


def _named(parameters: Sequence[Parameter]) -> str:
    """A list such as "the parameters `x`, `z` (has a default)"."""
    names = [
        f"`{parameter.kind if '*' in parameter.kind else ''}{parameter.name}`"
        + (" (by name only)" if parameter.kind == "keyword" else "")
        + (" (has a default)" if parameter.default is not None else "")
        for parameter in parameters
    ]
    return f"the parameter{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "no parameters"


def _with_default(parameter: Parameter) -> str:
    """`x`, `z=1.96`, `depth` (has a default): only a value that says nothing of the authors' code is shown."""
    if parameter.default is None:
        return f"`{parameter.name}`"
    shown = len(parameter.default) <= LONGEST_DEFAULT and _is_literal(parameter.default)
    return f"`{parameter.name}={parameter.default}`" if shown else f"`{parameter.name}` (has a default)"


def _is_literal(text: str) -> bool:
    """Whether an expression is a number, text, bool or None."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return value is None or isinstance(value, int | float | complex | str)


_KINDS = {
    "positional only": Passed.POSITIONAL_ONLY,
    "positional": Passed.POSITIONAL_OR_KEYWORD,
    "keyword": Passed.KEYWORD_ONLY,
    "*": Passed.VAR_POSITIONAL,
    "**": Passed.VAR_KEYWORD,
}


def _refused(reference: Sequence[Parameter], candidate: Sequence[Parameter]) -> set[str]:
    """The ways to pass the arguments of the reference, "position" and "name", that fail with the candidate's parameters."""
    signature = Signature(
        [
            Passed(parameter.name, _KINDS[parameter.kind], default=parameter.default or Passed.empty)
            for parameter in candidate
        ]
    )
    refused = set()
    for all_of_them in (True, False):
        passed = [
            parameter
            for parameter in reference
            if "*" not in parameter.kind and (all_of_them or parameter.default is None)
        ]
        for way, named in (
            ("position", {parameter.name for parameter in passed if parameter.kind == "keyword"}),
            ("name", {parameter.name for parameter in passed if parameter.kind != "positional only"}),
        ):
            by_position = [
                parameter.name for parameter in passed if parameter.kind != "keyword" and parameter.name not in named
            ]
            try:
                bound = signature.bind(*by_position, **{name: name for name in named}).arguments
            except TypeError:
                refused.add(way)
                continue
            if any(value != name and value in list(signature.parameters) for name, value in bound.items()):
                return {"position", "name"}  # in another order, arguments are taken for others
    return refused if "name" in refused or not any(parameter.kind == "**" for parameter in candidate) else set()
