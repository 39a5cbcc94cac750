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
    """Differences of definitions, as facts and as steps to take."""

    facts: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def __add__(self, other: Structure) -> Structure:
        return Structure(facts=self.facts + other.facts, steps=self.steps + other.steps)


def structure(
    file: str, path: Sequence[str], candidate: FileVersion, reference: FileVersion, *, refused: bool
) -> Structure:
    """Missing definitions and different signatures at `path`; of a whole file (), those of every public definition.

    `refused`: the interpreter refused the arguments of a call. Otherwise a signature is a fault only if it can be called neither by
    position nor by name as the authors' can, and no decorator can have changed it.
    """
    if candidate.problem:
        return Structure(facts=(f"{file} {candidate.problem}",), steps=(candidate.remedy.format(file=file),))
    if not path:
        whole = Structure()
        for node in reference.tree.body if reference.tree is not None else ():
            if isinstance(node, Definition) and not node.name.startswith("_"):
                whole += structure(file, (node.name,), candidate, reference, refused=refused)
        return whole
    right, own = source.definition(reference, path), source.definition(candidate, path)
    if right is None:
        return Structure()
    name = path[-1]
    expected, parameters = source.parameters(right), source.parameters(own) if own is not None else None
    if expected and expected[0].name in {"self", "cls"} and (own is None or (parameters or ())[:1] == expected[:1]):
        expected, parameters = expected[1:], parameters and parameters[1:]
    noun = "class" if isinstance(right, ast.ClassDef) else "function"
    where = f"the class {'.'.join(path[:-1])} in {file}" if len(path) > 1 else file
    if own is None:
        if _may_have(name, path[:-1], candidate):
            return Structure()
        step = f"define the {noun} `{name}` in {where}" + (f" with {_listed(expected)}" if expected else "")
        return Structure(facts=(f"{where} defines no `{name}`",), steps=(step,))
    if expected is None or parameters is None or (own.decorator_list and not refused):
        return Structure()
    if len(_refused(expected, parameters)) < (1 if refused else 2):
        return Structure()
    return Structure(
        facts=(f"`{name}` has {_listed(parameters)}, and its callers expect {_listed(expected)}",),
        steps=(f"give `{name}` {_listed(expected)}" + (", in this order" if len(expected) > 1 else ""),),
    )


def _may_have(name: str, path: Sequence[str], candidate: FileVersion) -> bool:
    """Whether the module or the class at `path` can have `name` without a definition: assigned, imported, or inherited."""
    around = source.definition(candidate, path)
    body = candidate.tree.body if candidate.tree is not None and not path else around.body if around is not None else ()
    bound = {each for node in source.statements(body) for each in source.bound(node)}
    inherits = isinstance(around, ast.ClassDef) and bool(around.bases or around.keywords)
    return candidate.tree is None or inherits or not bound.isdisjoint({name, "*"})


def _listed(parameters: Sequence[Parameter]) -> str:
    """A list such as "the parameters `x`, `*`, `z=1.96`"."""
    names = [_with_default(each) for each in parameters]
    by_name = next((place for place, each in enumerate(parameters) if each.kind == "keyword"), None)
    if by_name is not None and not any(each.kind == "*" for each in parameters):
        names.insert(by_name, "`*`")
    return f"the parameter{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "no parameters"


def _with_default(parameter: Parameter) -> str:
    """`x`, `z=1.96`, `depth` (has a default): only a value that says nothing of the authors' code is shown."""
    name = f"{parameter.kind if '*' in parameter.kind else ''}{parameter.name}"
    if parameter.default is None:
        return f"`{name}`"
    shown = len(parameter.default) <= LONGEST_DEFAULT and _is_literal(parameter.default)
    return f"`{name}={parameter.default}`" if shown else f"`{name}` (has a default)"


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
