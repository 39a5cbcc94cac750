"""Sessions over Harbor tasks end before anything is spent if they cannot be played as asked."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import SandboxContext, bubblewrap
from tests.harbor.scene import lay_out
from tests.messages import assert_line


def test_a_sandbox_that_runs_no_images_is_refused(pytester: pytest.Pytester) -> None:
    if bubblewrap.KIND.check(SandboxContext(run="harbor-session", python="")):
        pytest.skip("bubblewrap is not available")
    options = ("--recode-validate", "--recode-sandbox=bubblewrap", "-p", "no:cacheprovider")
    lay_out(pytester.path / "offline")
    refused = pytester.runpytest_subprocess("offline", *options)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert_line(refused.stderr.str() + refused.stdout.str(), "offline", "--recode-sandbox=docker")


def test_a_directory_beside_another_tool_s_task_toml_has_its_ordinary_tests(pytester: pytest.Pytester) -> None:
    lay_out(pytester.path / "other", {"task.toml": "[tool.other]\nname = 1\n"})
    (pytester.path / "other/tests/test_ordinary.py").write_text("def test_one():\n    pass\n")
    result = pytester.runpytest_subprocess("other", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
