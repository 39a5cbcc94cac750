"""The format of docs/how-to/add-a-benchmark.md, as printed, for a benchmark of one challenge."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/how-to/add-a-benchmark.md").read_text("utf-8")
FILES = {
    "code/answer.py": "def twice(x):\n    raise NotImplementedError\n",
    "solution/answer.py": "def twice(x):\n    return 2 * x\n",
    "tests/test_answer.py": "def test_twice(candidate):\n    assert candidate.answer.twice(21) == 42\n",
}
ROW = {"name": "double", "question": "Write twice(x).", "file": "answer.py", "function": "answer.twice"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = re.findall(r"^   ```python\n(.*?)^   ```$", PAGE, re.MULTILINE | re.DOTALL)
    module, hook = (re.sub("^   ", "", block, flags=re.MULTILINE) for block in found)
    (tmp_path / "my_format.py").write_text(module)
    (tmp_path / "conftest.py").write_text(hook)
    for path, text in FILES.items():
        (tmp_path / "tasks/double" / path).parent.mkdir(parents=True)
        (tmp_path / "tasks/double" / path).write_text(text)
    (tmp_path / "tasks/challenge.json").write_text(json.dumps([ROW]))
    return tmp_path


def python(place: Path, command: tuple[str, ...], *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{place}:{ROOT}"}
    done = subprocess.run(
        [*command, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_keeps_the_rules_of_formats(place: Path, quick_python: tuple[str, ...]) -> None:
    (place / "check.py").write_text(
        "from pathlib import Path\nfrom my_format import FORMAT\nfrom pytest_recode.testing import check_format\n"
        "check_format(FORMAT, Path('tasks/challenge.json').resolve())\nprint('kept')\n"
    )
    assert python(place, quick_python, "-m", "check") == "kept\n"


@pytest.mark.slow
def test_its_challenge_is_judged(place: Path, quick_python: tuple[str, ...]) -> None:
    validate = ("--recode-validate", "-k", "reference or untouched")
    validated = python(place, quick_python, "-m", "pytest", "-p", "no:cacheprovider", "tasks", *validate)
    assert re.search(r"double +reference +ok", validated)
    assert re.search(r"double +untouched repository +ok", validated)
