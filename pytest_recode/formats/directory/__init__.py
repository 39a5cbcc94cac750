"""The project's own task format: a directory with a `task.yaml` (docs/reference/task-format.md, task.schema.json)."""

from pytest_recode.formats.directory.task_yaml import FORMAT, load

__all__ = ["FORMAT", "load"]
