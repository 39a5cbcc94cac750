"""What is sent into a sandbox to begin with: sources, and the bytecode that goes with them."""

from __future__ import annotations

import ast
import base64
import marshal
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from pytest_recode.sandboxes.shipping import bytecode, imports, modules_for, source

INSIDE = Path(__file__).parents[2] / "pytest_recode/inside"
MODULES = sorted(
    path.relative_to(INSIDE).with_suffix("").as_posix().replace("/", ".")
    for path in INSIDE.rglob("*.py")
    if path.stem != "__init__"
)


def parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from parts(each)


@pytest.mark.parametrize("name", MODULES)
def test_bytecode_is_that_of_the_source(name: str) -> None:
    text = source(name)
    code = marshal.loads(base64.b64decode(bytecode(f"_recode.{name}", text)))
    assert code == compile(text, "", "exec", dont_inherit=True)
    assert {part.co_filename for part in parts(code)} == {f"<_recode.{name}>"}


def test_of_another_text_there_is_none() -> None:
    text = source("wire.frames")
    assert not bytecode("_recode.wire.frames", text + "\n")
    assert not bytecode("_recode.wire.nowhere", text)
    assert not bytecode("wire.frames", text)


@pytest.mark.parametrize("name", MODULES)
def test_imports_are_what_a_parser_finds_and_come_before_what_imports_them(name: str) -> None:
    imported = set()
    for node in ast.walk(ast.parse(source(name))):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = ".".join([*name.split(".")[: -node.level], *([node.module] if node.module else [])])
            imported |= {package} if package in MODULES else {f"{package}.{alias.name}" for alias in node.names}
    assert set(imports(name)) == imported
    order = list(modules_for(name))
    assert order[-1] == f"_recode.{name}"
    for at, module in enumerate(order):
        needed = {f"_recode.{each}" for each in imports(module.removeprefix("_recode."))}
        assert {
            each for each in needed if not each.startswith("_recode.runtime.") or name.startswith("runtime.")
        } <= set(order[:at])
