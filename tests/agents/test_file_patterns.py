"""Patterns of files are read as ripgrep reads them."""

from __future__ import annotations

import re

import pytest

from pytest_recode.agents.file_patterns import regular_expression


@pytest.mark.parametrize(
    ("pattern", "files", "others"),
    [
        ("*.py", ["a.py", "src/a.py", "src/lib/.py"], ["a.pyi", "a.py/b", "apy"]),
        ("a?.{py,md}", ["ab.py", "x/ab.md"], ["a.py", "a/.py", "ab.txt"]),
        ("src/*.py", ["src/a.py"], ["src/lib/a.py", "lib/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/lib/x/a.py"], ["a.py", "lib/src/a.py"]),
        ("**/*.py", ["a.py", "src/lib/a.py"], ["a.pyc"]),
        ("src/**", ["src/a.py", "src/lib/a.md"], ["srcs/a.py"]),
        ("./a.py", ["a.py"], ["src/a.py"]),
        ("{src,lib}/a.py", ["src/a.py", "lib/a.py"], ["a.py"]),
    ],
)
def test_which_files_match(pattern: str, files: list[str], others: list[str]) -> None:
    assert [each for each in (*files, *others) if re.fullmatch(regular_expression(pattern), each)] == files
