"""Harbor task directories (https://harborframework.com), run in place: `task.toml`, `instruction.md`, `environment/`, `tests/`, `solution/`."""

from pytest_recode.formats.harbor.task_toml import FORMAT

__all__ = ["FORMAT"]
