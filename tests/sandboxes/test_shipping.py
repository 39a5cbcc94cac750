"""What is sent into a sandbox to begin with: sources, and the bytecode that goes with them."""

from __future__ import annotations

import base64
import marshal
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from pytest_recode.sandboxes.shipping import bytecode

INSIDE = Path(__file__).parents[2] / "pytest_recode/inside"
MODULES = sorted(path.stem for path in INSIDE.glob("*.py") if path.stem != "__init__")


def parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from parts(each)


@pytest.mark.parametrize("name", MODULES)
def test_bytecode_is_that_of_the_source(name: str) -> None:
    text = (INSIDE / f"{name}.py").read_text("utf-8")
    code = marshal.loads(base64.b64decode(bytecode(f"_recode_{name}", text)))
    assert code == compile(text, "", "exec", dont_inherit=True)
    assert {part.co_filename for part in parts(code)} == {f"<_recode_{name}>"}


def test_of_another_text_there_is_none() -> None:
    text = (INSIDE / "wire.py").read_text("utf-8")
    assert not bytecode("_recode_wire", text + "\n")
    assert not bytecode("_recode_nowhere", text)
