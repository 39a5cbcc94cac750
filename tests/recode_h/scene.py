"""The data set of this project's own, and small ones that a test writes, in the layout of RECODE-H."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from pytest_recode.formats.recode_h import FORMAT
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Task
from pytest_recode.verdict import Verdict

DATASET = Path(__file__).parent / "dataset"
ROW = {
    "index": 1,
    "repo_dir_name": "scales",
    "target_file_path": "pkg/scale.py",
    "if_test": True,
    "init_content": "",
    "test_cases": ["test_double", "test_triple"],
}
FILES: Mapping[str, str] = {
    "instruction.txt": "Write pkg/scale.py with double(x) and triple(x).\n",
    "latex.txt": "$2x$ and $3x$.\n",
    "canonical.py": """\
        from .base import times

        def double(x):
            return times(x, 2)

        def triple(x):
            return times(x, 3)
        """,
    "test.py": """\
        from pkg.canonical import double as right_double
        from .canonical import triple as right_triple
        from pkg.scale import double, triple

        def test_double():
            assert double(7) == right_double(7)

        def test_triple():
            assert triple(7) == right_triple(7)
        """,
    "test.sh": """\
        SCRIPT_DIR="$( cd "$( dirname "$0" )" && pwd )"
        TARGET_DIR="${SCRIPT_DIR}/scales"
        conda activate test_common1
        cp "${SCRIPT_DIR}/canonical.py" "${TARGET_DIR}/pkg/."
        cp "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/pkg/."
        cd "${TARGET_DIR}/." || exit
        pytest pkg/test.py --timeout=20
        """,
    "scales/pkg/__init__.py": "",
    "scales/pkg/base.py": "def times(x, factor):\n    return x * factor\n",
    "scales/README": "Scales.\n",
}
RIGHT = "def double(x):\n    return x + x\n\n\ndef triple(x):\n    return x + x + x\n"


def write(root: Path, files: Mapping[str, str | None] | None = None, **row: Any) -> Path:
    """The path of a manifest with one annotation; `files` adds to FILES, None takes one away."""
    values = {**ROW, **row}
    folder = root / "annotations" / f"annotation_{values['index']}"
    for name, text in {**FILES, **(files or {})}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(dedent(text))
    manifest = root / "annotation_meta.jsonl"
    with manifest.open("a") as file:
        file.write(json.dumps(values) + "\n")
    return manifest


def task_of(manifest: Path, index: int = 1) -> Task:
    return next(task for task in FORMAT.load(manifest) if task.id == f"annotation_{index}")


def graded(sandbox: Sandbox, task: Task, answer: str | None = None, **limits: float) -> Verdict:
    """Of the reference where there is no `answer`."""
    parts = task.load()
    task = replace(task, limits=replace(task.limits, **limits))  # type: ignore[arg-type]
    targets = parts.reference if answer is None else {task.targets[0]: dedent(answer).encode()}
    return judge(task, parts, targets, sandbox)


def tree(root: Path) -> Iterator[tuple[str, int, int, bytes]]:
    """All there is below a directory: path, mode, time of the last change, contents."""
    for directory, _, names in sorted(os.walk(root)):
        for path in sorted([Path(directory), *(Path(directory) / name for name in names)]):
            status = path.lstat()
            data = b"" if path.is_dir() else path.read_bytes()
            yield str(path.relative_to(root)), status.st_mode, status.st_mtime_ns, data
