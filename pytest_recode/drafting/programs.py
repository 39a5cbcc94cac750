"""Which programs of a repository are run to record calls: its tests, and what the user names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from pytest_recode.faults import UserError
from pytest_recode.task import Files

_TEST = re.compile(r"(.*/)?(test_[^/]*|[^/]*_tests?|tests?)\.py")
_PYTEST = (
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:recode",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-o",
    "addopts=",
    "--continue-on-collection-errors",
)
"""Without the repository's own options, which may need other plugins, and without this plugin."""


def test_runs(files: Files, module: str, functions: Sequence[str]) -> list[tuple[str, ...]]:
    """Commands that run tests of the repository: first the files that name one of the functions, then the other ones."""
    tests = [path for path in files if _TEST.fullmatch(path)]
    words = re.compile(rf"\b({'|'.join(map(re.escape, functions))})\b".encode())
    naming = [path for path in tests if words.search(files[path])]
    others = [path for path in tests if path not in naming]
    near = [path for path in others if module.rpartition(".")[2] in path]
    rest = [path for path in others if path not in near]
    return [(*_PYTEST, *each) for each in (naming, near, rest) if each]


def given_run(text: str, files: Files) -> tuple[str, ...]:
    """The arguments of Python in a `--run`: "python examples/x.py --fast". Raises `UserError`."""
    advice = 'give a script of the repository or a module, such as --run "python examples/x.py" or --run "python -m package.cli"'
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"--run {text!r}: {error}; {advice}") from None
    if words and re.fullmatch(r"python[\d.]*", words[0]):
        words = words[1:]
    if len(words) > 1 and words[0] == "-m":
        return tuple(words)
    if not words or not words[0].endswith(".py"):
        raise UserError(f"--run {text!r}: is no Python program; {advice}")
    if words[0] not in files:
        raise UserError(f"--run {text!r}: the repository has no file {words[0]}; {advice}")
    return tuple(words)
