"""Compare the definitions of two versions of a file: which are missing, and whose parameters differ."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recode.feedback import source
from pytest_recode.feedback.source import Definition, Parameter, Source


def structure(file: str, path: Sequence[str], theirs: Source, ours: Source) -> tuple[list[str], list[str]]:
    """Missing definitions and different signatures, as facts and as steps to take."""
    if theirs.problem:
        return [f"{file} {theirs.problem}"], [theirs.remedy.format(file=file)]
    if not path:
        return _each_structure(file, theirs, ours)
    wanted, given = source.definition(ours, path), source.definition(theirs, path)
    if wanted is None:
        return [], []
    names = ", ".join(f"`{each.name}`" for each in source.parameters(wanted) or () if each.name not in {"self", "cls"})
    noun = "class" if hasattr(wanted, "bases") else "function"
    where = f"the class {'.'.join(path[:-1])} in {file}" if len(path) > 1 else file
    signature = f" with the parameters {names}" if names else ""
    if given is None:
        return [f"{where} defines no `{path[-1]}`"], [f"define the {noun} `{path[-1]}` in {where}{signature}"]
    if hasattr(wanted, "bases") != hasattr(given, "bases"):
        return [f"`{path[-1]}` is no {noun}"], [f"make `{path[-1]}` a {noun}{signature}"]
    facts = _signature(path[-1], wanted, given)
    step = (
        f"give `{path[-1]}` the parameters {names}, in this order" if names else f"let `{path[-1]}` take no arguments"
    )
    return facts, [step] if facts else []


def _each_structure(file: str, theirs: Source, ours: Source) -> tuple[list[str], list[str]]:
    """The same for every public definition of a file that is one interface."""
    facts, steps = [], []
    for node in ours.tree.body if ours.tree is not None else ():
        if isinstance(node, Definition) and not node.name.startswith("_"):
            more_facts, more_steps = structure(file, (node.name,), theirs, ours)
            facts += more_facts
            steps += more_steps
    return facts, steps


def _signature(name: str, wanted: Definition, given: Definition) -> list[str]:
    ours, theirs = source.parameters(wanted), source.parameters(given)
    if ours is None or theirs is None:
        return []
    takes_any = any(parameter.kind == "**" for parameter in theirs)
    ours_by, theirs_by = _by_name(ours), _by_name(theirs)
    missing = [each for each in ours_by if each not in theirs_by and not takes_any]
    extra = [each for each in theirs_by if each not in ours_by]
    facts = []
    if missing:
        plural = "s" if len(missing) > 1 else ""
        facts.append(f"`{name}` lacks the parameter{plural} {', '.join(f'`{each}`' for each in missing)}")
    for each in extra:
        needed = theirs_by[each].default is None and theirs_by[each].kind in {"positional", "keyword"}
        renamed = " (the same under another name?)" if missing and len(missing) == len(extra) else ""
        if needed or renamed:
            facts.append(f"`{name}` has a parameter `{each}` that nobody passes{renamed}")
    for each in ours_by:
        if each in theirs_by and ours_by[each].default is not None and theirs_by[each].default is None:
            facts.append(f"the parameter `{each}` of `{name}` must have a default")
    both = [each.name for each in ours if each.name in theirs_by and each.kind == "positional"]
    order = [each.name for each in theirs if each.name in both]
    if order != both:
        facts.append(f"the parameters of `{name}` are in another order than asked")
    return facts


def _by_name(parameters: Sequence[Parameter]) -> dict[str, Parameter]:
    return {each.name: each for each in parameters if each.kind in {"positional", "keyword"}}
