"""Write the files of a drafted task: repository with stubs, reference, hidden tests, instruction, manifest."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.drafting.code_repository import Closure, Repository, RepositoryModule
from pytest_recode.drafting.licences import Licence
from pytest_recode.drafting.recorded_values import RecordedCall
from pytest_recode.drafting.stubs import docstring, signature, stubbed
from pytest_recode.formats.directory.example import as_yaml

RTOL = 1e-6
_EMPTIED = '"""Emptied: the code of this task uses nothing that the package itself defines."""\n'
_DRAWING = Path(__file__).with_name("drawing.py.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedCase:
    """A recorded call whose inputs are drawn by the function `name` of `source`. `words`: how close they are to the recorded ones.

    `sizes`: for each recorded size of arrays in whose place another is drawn, its expression in `source`.
    """

    name: str
    source: str
    call: RecordedCall
    words: str
    sizes: Mapping[int, str]
    modified: bool


def repository_files(
    closure: Closure, repository: Repository, target: RepositoryModule, licence: Licence, text: str
) -> dict[str, str]:
    """The texts of `repo/` by path, with `text` in the target's place."""
    files = {module.path: module.source for module in closure.modules.values()}
    for package in closure.emptied:
        files[f"{package.replace('.', '/')}/__init__.py"] = _EMPTIED
    files[target.path] = text
    for name in licence.files:
        files[name] = (repository.place / name).read_text("utf-8", "replace")
    return files


def helpers(sources: Sequence[str]) -> str:
    """The functions of `drawing.py` that these sources use, directly or not."""
    text = _DRAWING.read_text("utf-8")
    tree = ast.parse(text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    needed: set[str] = set()
    pending = list(sources)
    while pending:
        names = {node.id for node in ast.walk(ast.parse(pending.pop())) if isinstance(node, ast.Name)}
        for name in (names & set(functions)) - needed:
            needed.add(name)
            pending.append(ast.get_source_segment(text, functions[name]) or "")
    parts = [ast.get_source_segment(text, node) or "" for name, node in functions.items() if name in needed]
    return "\n\n\n".join(parts)


def drawing_source(sources: Sequence[str]) -> str:
    """A module that can be run with these functions."""
    return "\n\n\n".join(["import numpy as np", helpers(sources), *sources])


def hidden_tests(target: RepositoryModule, cases: Mapping[str, Sequence[DraftedCase]]) -> str:
    """`tests/test_<module>.py`."""
    unmodified = any(not case.modified for each in cases.values() for case in each)
    sources = [case.source.rstrip() for each in cases.values() for case in each]
    head = (
        f'"""Hidden tests of {target.name}. `candidate` is the agent\'s code, `reference` the authors\', `rng` a numpy generator with a secret seed.\n\n'
        "Each function that returns args and kwargs draws inputs like those of a call that was recorded while the repository's own programs ran.\n"
        'Add what no recorded call shows: edge cases, properties, exceptions.\n"""'
    )
    imports = (
        "import numpy as np\nimport pytest\n\n"
        f"from pytest_recode.testing import assert_equivalent{', assert_unmodified' if unmodified else ''}\n\n"
        f"RTOL = {RTOL:g}"
    )
    tests = []
    for function, found in cases.items():
        for modified in (False, True):
            names = [case.name for case in found if case.modified == modified]
            if names:
                tests.append(_test(target.name, function, names, modified=modified))
    return "\n\n\n".join([f"{head}\n\n{imports}", helpers(sources), *sources, *tests]) + "\n"


def _test(module: str, function: str, names: Sequence[str], *, modified: bool) -> str:
    listed = "".join(f"\n        {name}," for name in names)
    asked = f"candidate.{module}.{function}"
    ask = f"{asked}(*args, **kwargs)" if modified else f"assert_unmodified({asked}, *args, **kwargs)"
    what = "equals_the_reference_and_may_modify_its_arguments" if modified else "equals_the_reference"
    return (
        f'@pytest.mark.interface("{module}.{function}")\n'
        f'@pytest.mark.parametrize(\n    "draw",\n    [{listed.replace("        ", "        ")}\n    ],\n)\n'
        f"def test_{function}_{what}(candidate, reference, rng, draw):\n"
        "    args, kwargs = draw(rng)\n"
        f"    found = {ask}\n"
        f"    assert_equivalent(found, reference.{module}.{function}(*args, **kwargs), rtol=RTOL)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a task is written from. `functions`: those that are cut. `versions`: of top-level modules from elsewhere."""

    id: str
    target: RepositoryModule
    repository: Repository
    closure: Closure
    licence: Licence
    cases: Mapping[str, Sequence[DraftedCase]]
    versions: Mapping[str, tuple[str, str] | None]
    checklist: Sequence[str]
    canary: str

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(self.cases)


def task_files(draft: Draft) -> dict[str, str]:
    """All files of the task by path, each with the canary."""
    target = draft.target
    stub = stubbed(target.source, draft.functions)
    repo = repository_files(draft.closure, draft.repository, target, draft.licence, stub)
    files = {f"repo/{path}": text for path, text in repo.items()}
    files[f"reference/{target.path}"] = target.source
    files[f"tests/test_{target.name.rpartition('.')[2]}.py"] = hidden_tests(target, draft.cases)
    files["environment/requirements.txt"] = _requirements(draft)
    files["instruction.md"] = _instruction(draft)
    files["task.yaml"] = _manifest(draft)
    return {path: _marked(path, text, draft.canary) for path, text in files.items()}


def _marked(path: str, text: str, canary: str) -> str:
    if path == "task.yaml":
        return text
    if path.endswith(".md"):
        return f"{text.rstrip()}\n\n<!-- {canary} -->\n"
    if path.endswith((".py", ".yaml", "requirements.txt")):
        return f"{text.rstrip()}\n\n# {canary}\n".lstrip("\n")
    return f"{text.rstrip()}\n\n{canary}\n"


def _requirements(draft: Draft) -> str:
    pinned = {found[0].lower(): f"{found[0]}=={found[1]}" for found in draft.versions.values() if found}
    return "".join(f"{line}\n" for _, line in sorted(pinned.items()))


def _manifest(draft: Draft) -> str:
    module = draft.target.name
    preload = [name for name, required in draft.closure.others.items() if required and draft.versions.get(name)]
    preload = sorted({"numpy", *preload})
    return "\n".join(
        [
            "schema: 1",
            f"id: {as_yaml(draft.id)}",
            "# One line that says which method this is.",
            f"title: {json.dumps(f'{module}: ' + ', '.join(draft.functions))}",
            f"targets: [{json.dumps(draft.target.path)}]",
            f"interfaces: [{', '.join(f'{module}.{name}' for name in draft.functions)}]",
            "# paper: {title: …, authors: […], year: …}",
            "# domain: science",
            "# difficulty: medium",
            "environment:",
            "  requirements: environment/requirements.txt",
            f"  preload: [{', '.join(preload)}]",
            f"license: {draft.licence.name}",
            f"canary: {draft.canary}",
            "",
        ]
    )


def _instruction(draft: Draft) -> str:
    module = draft.target.name
    parts = [f"Implement {_listed([f'`{name}`' for name in draft.functions])} of `{draft.target.path}`."]
    steps = "\n".join(f"- [ ] {each}" for each in draft.checklist)
    parts.append(f"<!-- A draft. What remains to be done, before a model sees it:\n{_in_comment(steps)}\n-->")
    for name in draft.functions:
        parts.append(f"## `{module}.{signature(draft.target.source, name)}`")
        parts.append(docstring(draft.target.source, name) or "<!-- There is no docstring: say what it computes. -->")
        parts.append(
            "<!-- State shapes, dtypes and units, what is returned and its type, exceptions and their conditions, edge cases that are tested, and"
            " what must not be modified. -->"
        )
    return "\n\n".join(parts) + "\n"


def _in_comment(text: str) -> str:
    return re.sub(r"--+>?", "-", text)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
