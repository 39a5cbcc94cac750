"""Writes a small task directory that is right in every part, for tests that then spoil one of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

MANIFEST = """\
schema: 1
id: mean
title: The mean
targets: [stats.py]
"""

FILES: Mapping[str, str] = {
    "instruction.md": "Write `mean(values)`: the mean of a list of numbers.\n",
    "paper.md": "The mean is the sum divided by the number.\n",
    "repo/stats.py": "def mean(values):\n    raise NotImplementedError\n",
    "repo/data.py": "VALUES = [1, 2, 3]\n",
    "reference/stats.py": "def mean(values):\n    return sum(values) / len(values)\n",
    "tests/test_stats.py": "def test_mean(candidate):\n    assert candidate.stats.mean([1, 3]) == 2\n",
}


def write(root: Path, manifest: str = MANIFEST, files: Mapping[str, str | None] | None = None) -> Path:
    """The path of `root`'s task.yaml; `files` adds to FILES, None takes one away."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in {**FILES, **(files or {})}.items():
        if text is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
    (root / "task.yaml").write_text(manifest, encoding="utf-8")
    return root / "task.yaml"
