"""Compare the definitions of two versions of a file: which are missing, and whose parameters differ."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_recode.program import source
from pytest_recode.program.source import Definition, FileVersion, Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Differences of definitions, as facts and as steps to take.

    `names` and `naming`: the same of parameters that only have another name. Tests that pass arguments by position do not notice them.
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

    def names_as_facts(self) -> tuple[Structure, Structure]:
        """The other names as facts, because calls are known to have failed; and the rest."""
        return Structure(facts=self.names, steps=self.naming), Structure(facts=self.facts, steps=self.steps)


def structure(file: str, path: Sequence[str], theirs: FileVersion, ours: FileVersion) -> Structure:
    """Missing definitions and different signatures."""
    if theirs.problem:
        return Structure(facts=(f"{file} {theirs.problem}",), steps=(theirs.remedy.format(file=file),))
    if not path:
        return _each_structure(file, theirs, ours)
    wanted, given = source.definition(ours, path), source.definition(theirs, path)
    if wanted is None:
        return Structure()
    names = _listed(source.parameters(wanted) or ())
    noun = "class" if hasattr(wanted, "bases") else "function"
    where = f"the class {'.'.join(path[:-1])} in {file}" if len(path) > 1 else file
    signature = f" with the parameters {names}" if names else ""
    if given is None:
        step = f"define the {noun} `{path[-1]}` in {where}{signature}"
        return Structure(facts=(f"{where} defines no `{path[-1]}`",), steps=(step,))
    if hasattr(wanted, "bases") != hasattr(given, "bases"):
        return Structure(facts=(f"`{path[-1]}` is no {noun}",), steps=(f"make `{path[-1]}` a {noun}{signature}",))
    step = (
        f"give `{path[-1]}` the parameters {names}, in this order" if names else f"let `{path[-1]}` take no arguments"
    )
    return _signature(path[-1], wanted, given, step)


def _each_structure(file: str, theirs: FileVersion, ours: FileVersion) -> Structure:
    """The same for every public definition of a file that is one interface."""
    found = Structure()
    for node in ours.tree.body if ours.tree is not None else ():
        if isinstance(node, Definition) and not node.name.startswith("_"):
            found += structure(file, (node.name,), theirs, ours)
    return found


def _listed(parameters: Sequence[Parameter]) -> str:
    """A list such as "`x`, `z=1.96`, `depth` (has a default)". Only a value that says nothing of the authors' code is shown."""
    return ", ".join(_named(each) for each in parameters if each.name not in {"self", "cls"})


def _named(parameter: Parameter) -> str:
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


LONGEST_DEFAULT = 20
"""Maximum characters of a default that is shown."""


def _signature(name: str, wanted: Definition, given: Definition, step: str) -> Structure:
    ours, theirs = source.parameters(wanted), source.parameters(given)
    if ours is None or theirs is None:
        return Structure()
    takes_any = any(parameter.kind == "**" for parameter in theirs)
    ours_by, theirs_by = _by_name(ours), _by_name(theirs)
    renamed = dict(_renamed(ours, theirs))
    missing = [each for each in ours_by if each not in theirs_by and each not in renamed and not takes_any]
    extra = [each for each in theirs_by if each not in ours_by and each not in renamed.values()]
    facts = []
    if missing:
        plural = "s" if len(missing) > 1 else ""
        facts.append(f"`{name}` lacks the parameter{plural} {', '.join(f'`{each}`' for each in missing)}")
    for each in extra:
        if theirs_by[each].default is None:
            facts.append(
                f"`{name}` has a parameter `{each}` that the authors do not have, and no default for it: calls without it fail"
            )
    for each, same in {**dict(zip(ours_by, ours_by, strict=True)), **renamed}.items():
        if same in theirs_by and ours_by[each].default is not None and theirs_by[same].default is None:
            facts.append(f"the parameter `{same}` of `{name}` must have a default")
    both = [each.name for each in ours if each.name in theirs_by and each.kind == "positional"]
    order = [each.name for each in theirs if each.name in both]
    if order != both:
        facts.append(f"the parameters of `{name}` are in another order than asked")
    by_name = {} if takes_any else {one: other for one, other in renamed.items() if one not in _only_positional(wanted)}
    return Structure(
        facts=tuple(facts),
        steps=(step,) if facts else (),
        names=tuple(
            f"`{name}` has a parameter `{other}` that the authors call `{one}`: calls by name fail"
            for one, other in by_name.items()
        ),
        naming=tuple(f"rename the parameter `{other}` of `{name}` to `{one}`" for one, other in by_name.items()),
    )


def _renamed(ours: Sequence[Parameter], theirs: Sequence[Parameter]) -> Iterator[tuple[str, str]]:
    """The authors' and the candidate's name of each parameter that only has another name: it is at the same position, or the only one."""
    shared = {each.name for each in ours} & {each.name for each in theirs}
    kinds = [[each.name for each in parameters if each.kind == "positional"] for parameters in (ours, theirs)]
    yield from ((one, other) for one, other in zip(*kinds, strict=False) if not shared & {one, other})
    kinds = [
        [each.name for each in parameters if each.kind == "keyword" and each.name not in shared]
        for parameters in (ours, theirs)
    ]
    if all(len(names) == 1 for names in kinds):
        yield kinds[0][0], kinds[1][0]


def _only_positional(node: Definition) -> set[str]:
    """The names of the parameters that no call can pass by name."""
    return set() if isinstance(node, ast.ClassDef) else {each.arg for each in node.args.posonlyargs}


def _by_name(parameters: Sequence[Parameter]) -> dict[str, Parameter]:
    return {each.name: each for each in parameters if each.kind in {"positional", "keyword"}}
