"""Projects with tasks for tests that start a program in a directory, without pytester."""

from __future__ import annotations

from pathlib import Path

from tests.plugin.conftest import FILES, MANIFEST


def make_task(place: Path, task: str) -> None:
    """Create the small task of the plugin's tests in `place`/tasks/`task`."""
    for path, text in {"task.yaml": MANIFEST.format(id=task, domain="ml"), **FILES}.items():
        (place / "tasks" / task / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "tasks" / task / path).write_text(text)
