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
    """Commands that run tests of the repository: first the files that name a function and its module, then those that name a function, and
    then the other ones."""
    tests = [path for path in files if _TEST.fullmatch(path)]
    function = re.compile(rf"\b({'|'.join(map(re.escape, functions))})\b".encode())
    last = re.compile(rf"\b{re.escape(module.rpartition('.')[2])}\b".encode())

    def distance(path: str) -> int:
        named, near = function.search(files[path]), last.search(files[path]) or module.rpartition(".")[2] in path
        return 0 if named and near else 1 if named else 2 if near else 3

    groups = [[path for path in tests if distance(path) == step] for step in range(4)]
    return [(*_PYTEST, *each) for each in groups if each]


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
