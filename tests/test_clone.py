"""A clone without the extra `dev`: what a user sees there who runs the bundled tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CLONE = Path(__file__).parent.parent
WITHOUT = """
import sys
for name in ("hypothesis", "jsonschema", "pytest_rerunfailures"):
    sys.modules[name] = None
"""


def test_a_path_that_does_not_exist_is_the_only_thing_told(tmp_path: Path) -> None:
    """pytest then loads tests/conftest.py, which is not meant."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "pytest_recode.plugin", "-p", "no:cacheprovider", "tsks/"]
    done = subprocess.run(command, cwd=CLONE, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.strip() == "ERROR: file or directory not found: tsks/"
