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
    wanted = source.parameters(right)
    listed = ", ".join(_with_default(each) for each in wanted or () if each.name not in {"self", "cls"})
    noun = "class" if isinstance(right, ast.ClassDef) else "function"
    where = f"the class {'.'.join(path[:-1])} in {file}" if len(path) > 1 else file
    if own is None:
        step = f"define the {noun} `{name}` in {where}" + (f" with the parameters {listed}" if listed else "")
        return Structure(facts=(f"{where} defines no `{name}`",), steps=(step,))
    parameters = source.parameters(own)
    refused = _refused(wanted, parameters) if wanted is not None and parameters is not None else set()
    if wanted is None or parameters is None or not refused:
        return Structure()
    if wanted and parameters and wanted[0] == parameters[0] and wanted[0].name in {"self", "cls"}:
        wanted, parameters = wanted[1:], parameters[1:]
    fact = (_difference(name, wanted, parameters),)
    several = ("s", ", in this order") if "," in listed else ("", "")
    step = (
        f"give `{name}` the parameter{several[0]} {listed}{several[1]}" if listed else f"let `{name}` take no arguments"
    )
    if len(refused) == 1:
        return Structure(names=fact, naming=(step,))
    return Structure(facts=fact, steps=(step,))


def _difference(name: str, wanted: Sequence[Parameter], parameters: Sequence[Parameter]) -> str:
    lacking, more = (
        ", ".join(f"`{each.name}`" for each in one if each.name not in {other.name for other in two})
        for one, two in ((wanted, parameters), (parameters, wanted))
    )
    if lacking:
        return f"`{name}` lacks the parameter{'s' if ',' in lacking else ''} {lacking}" + (
            f", and has {more} instead" if more else ""
        )
    if more:
        return f"`{name}` has the parameter{'s' if ',' in more else ''} {more}, without which its callers call it"
    return f"`{name}` has {_named(parameters)}, and its callers expect {_named(wanted)}"


def _named(parameters: Sequence[Parameter]) -> str:
    """A list such as "the parameters `x`, `z` (has a default)"."""
    names = [
        f"`{each.kind if '*' in each.kind else ''}{each.name}`"
        + (" (by name only)" if each.kind == "keyword" else "")
        + (" (has a default)" if each.default is not None else "")
        for each in parameters
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
        [Passed(each.name, _KINDS[each.kind], default=each.default or Passed.empty) for each in candidate]
    )
    refused = set()
    for all_of_them in (True, False):
        passed = [each for each in reference if "*" not in each.kind and (all_of_them or each.default is None)]
        for way, named in (
            ("position", {each.name for each in passed if each.kind == "keyword"}),
            ("name", {each.name for each in passed if each.kind != "positional only"}),
        ):
            by_position = [each.name for each in passed if each.kind != "keyword" and each.name not in named]
            try:
                bound = signature.bind(*by_position, **{name: name for name in named}).arguments
            except TypeError:
                refused.add(way)
                continue
            if any(value != name and value in list(signature.parameters) for name, value in bound.items()):
                return {"position", "name"}  # in another order, arguments are taken for others
    return refused if "name" in refused or not any(each.kind == "**" for each in candidate) else set()
