"""Checks code that a library compiles from a string of the candidate's: `timeit`, annotations, `pandas` queries.

Runs in the shared judge, in one process with the candidate. Called from an audit hook, by `audit_monitor.py`, with
the compiled code object. Must not call a method of a candidate's value or run the code. Most of that code is honest,
such as what `dataclasses` and `collections` generate.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator

from . import audit_policy, deny_rules, static_checks

WRITER, COMPILER = "/torch/_inductor/", "/torch/_dynamo/"
"""Parts of torch. The first generates code that has nothing of the candidate's text, if it was called by the second."""
_NAMES = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
_FORBIDDEN_NAMES = {*deny_rules.CALLS, "__loader__", "__spec__", "__builtins__"}


def objection(code: types.CodeType, hidden: Iterable[str]) -> str:
    """The finding for a code object, or ""."""
    return next((f"a string that a library runs as code: {why}" for why in _objections(code, frozenset(hidden))), "")


def _objections(code: types.CodeType, hidden: frozenset[str]) -> Iterator[str]:
    names = set(code.co_names)
    for step in dis.get_instructions(code):
        name = step.argval
        if isinstance(name, str):
            yield from _instruction_findings(step.opname, name, names, hidden)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _objections(each, hidden)


def _instruction_findings(operation: str, name: str, names: set[str], hidden: frozenset[str]) -> Iterator[str]:
    if operation == "LOAD_CONST":
        yield from static_checks.named(name, hidden)
    elif operation == "IMPORT_NAME":
        found = audit_policy.import_finding(name)
        if found or name in hidden:
            yield found or f"import of {name}, {deny_rules.HIDDEN_MODULE}"
    elif operation in _NAMES:
        if name in _FORBIDDEN_NAMES:
            yield f"{name} {deny_rules.CALLS.get(name, deny_rules.LOOKS)}"
    elif operation.startswith(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER", "IMPORT_FROM", "STORE_ATTR", "DELETE_ATTR")):
        if name in deny_rules.ATTRIBUTES and name not in deny_rules.OVERRIDES:
            yield f"{name} {deny_rules.ATTRIBUTES[name]}"
        for module in names:
            if (module, name) in deny_rules.OF_MODULE:
                yield f"{module}.{name} {deny_rules.OF_MODULE[module, name]}"
