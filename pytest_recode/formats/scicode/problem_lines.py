"""Read and check the lines of SciCode's `problems_dev.jsonl`: one problem each, with its steps."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats.document import decoded, kind_of
from pytest_recode.formats.json_lines import WrongLine, numbered_lines
from pytest_recode.program.source import tree_of

LARGEST = 64 * 1024 * 1024
_OF_PROBLEM = ("problem_id", "problem_name", "problem_description_main", "required_dependencies", "sub_steps")
_OF_STEP = ("step_number", "step_description_prompt", "function_header", "ground_truth_code", "test_cases")
_OPTIONAL = ("problem_background_main", "problem_io", "step_background", "return_line")
_QUOTES = re.compile(r"\A\s*(?:\"\"\"|''')|(?:\"\"\"|''')\s*\Z")
_NUMBER = re.compile(r"\d+")
_STEP_NUMBER = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemStep:
    """One function (or class) of a problem, `name`. `stub`: its header with a body that raises; `code`: the authors' code."""

    number: str
    name: str
    description: str
    background: str
    header: str
    stub: str
    code: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScicodeProblem:
    """One line of the file. `imports`: the import statements that an answer may use."""

    id: str
    name: str
    description: str
    background: str
    signature: str
    imports: str
    steps: tuple[ProblemStep, ...]


def problems(path: Path) -> Iterator[ScicodeProblem | WrongLine]:
    """Yield the problem of each line that is not blank, in the order of the file. Raises `UserError` if no line can be read."""
    lines = numbered_lines(path, most=LARGEST)
    if not lines:
        raise UserError(f"{path}: is empty; it must contain one line of JSON for each problem")
    problems_read = [_problem_or_fault(path, number, data) for number, data in lines]
    faults = [problem.fault for problem in problems_read if isinstance(problem, WrongLine)]
    if len(faults) == len(lines):
        raise UserError(faults[0])
    taken: set[str] = set()
    for (number, _), problem in zip(lines, problems_read, strict=True):
        if isinstance(problem, ScicodeProblem) and problem.id in taken:
            why = f"{path}:{number}: problem_id {problem.id!r} is used by an earlier line; give this problem another id"
            yield WrongLine(name=f"line {number} of {path.name}", fault=why)
            continue
        if isinstance(problem, ScicodeProblem):
            taken.add(problem.id)
        yield problem


def _problem_or_fault(path: Path, number: int, data: bytes) -> ScicodeProblem | WrongLine:
    try:
        return _problem(f"{path}:{number}", decoded(path, data, number))
    except UserError as error:
        return WrongLine(name=f"line {number} of {path.name}", fault=str(error))


def _problem(where: str, line: str) -> ScicodeProblem:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: is not valid JSON ({error}); download the file again") from None
    _check(where, fields, _OF_PROBLEM)
    if not _NUMBER.fullmatch(fields["problem_id"]):
        raise UserError(f"{where}: problem_id: must be a number in quotes, not {fields['problem_id']!r}")
    steps = tuple(_step(where, step) for step in fields["sub_steps"])
    numbers = [step.number for step in steps]
    if not steps or len(set(numbers)) < len(numbers):
        raise UserError(
            f"{where}: sub_steps: must be steps with different numbers, not {', '.join(numbers) or 'empty'}"
        )
    if tree_of(fields["required_dependencies"].encode()) is None:
        raise UserError(f"{where}: required_dependencies: must be import statements; download the file again")
    return ScicodeProblem(
        id=fields["problem_id"],
        name=fields["problem_name"],
        description=fields["problem_description_main"].strip(),
        background=fields["problem_background_main"].strip(),
        signature=_QUOTES.sub("", fields["problem_io"]).strip(),
        imports="\n".join(row.rstrip() for row in fields["required_dependencies"].strip().split("\n")),
        steps=steps,
    )


def _step(where: str, fields: Any) -> ProblemStep:
    number = fields.get("step_number") if isinstance(fields, dict) else None
    where = f"{where}: step {number}" if isinstance(number, str) else where
    _check(where, fields, _OF_STEP)
    if not _STEP_NUMBER.fullmatch(fields["step_number"]):
        raise UserError(f"{where}: step_number: must be PROBLEM.STEP, such as 10.5")
    header, code = fields["function_header"].rstrip(), fields["ground_truth_code"].strip("\n")
    stub = f"{header}\n    raise NotImplementedError\n"
    definition = _definition(stub)
    if definition is None:
        raise UserError(f"{where}: function_header: must be the header of one function or class, with its docstring")
    tree = tree_of(code.encode())
    if tree is None or definition not in {getattr(node, "name", None) for node in tree.body}:
        raise UserError(
            f"{where}: ground_truth_code: does not define {definition}: only problems with the authors' code can be judged, as in"
            " the development set"
        )
    return ProblemStep(
        number=fields["step_number"],
        name=definition,
        description=fields["step_description_prompt"].strip(),
        background=fields["step_background"].strip(),
        header="\n".join(filter(None, (header, fields["return_line"].rstrip()))),
        stub=stub,
        code=code,
        tests=tuple(fields["test_cases"]),
    )


def _definition(stub: str) -> str | None:
    tree = tree_of(stub.encode())
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef | ast.ClassDef):
        return None
    return tree.body[0].name


def _check(where: str, fields: Any, required: tuple[str, ...]) -> None:
    """Check the types of the values: lists for two keys, text for the rest. Adds optional keys that are missing or null, as ""."""
    if not isinstance(fields, dict):
        raise UserError(f"{where}: must be an object with {', '.join(required)}, not {kind_of(fields)}")
    for key in required:
        if key not in fields:
            raise UserError(f"{where}: missing key '{key}'; the required keys are {', '.join(required)}")
    for key in _OPTIONAL:
        fields[key] = fields.get(key) or ""
    for key in (*required, *_OPTIONAL):
        wanted = list if key in ("sub_steps", "test_cases") else str
        if not isinstance(fields[key], wanted):
            words = "a list" if wanted is list else "text"
            raise UserError(f"{where}: {key}: must be {words}, not {kind_of(fields[key])}")
    tests = fields.get("test_cases", ["-"])
    if not tests or not all(isinstance(test, str) for test in tests):
        raise UserError(f"{where}: test_cases: must be at least one text")
