"""`--recode-watch`: an author changes a file, and the task is validated again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.messages import assert_message
from tests.plugin.conftest import MakeTask
from tests.plugin.terminals import Terminal

Run = Callable[..., pytest.RunResult]
GIVEN = ("bench", "--recode-validate", "--recode-watch", "--recode-sandbox=process", "-k", "reference", "-q")


@pytest.mark.slow
def test_a_changed_task_is_validated_again_until_ctrl_c(make_task: MakeTask, pytester: pytest.Pytester) -> None:
    task = make_task()
    session = Terminal(pytester.path, *GIVEN)
    session.until("1 passed")
    (pytester.path / "notes.txt").write_text("of no task")
    for name in ("4913", "#answer.py#"):  # by Vim before it writes, and by Emacs now and then
        (task / "reference" / name).touch()
        (task / "reference" / name).unlink()
    right = (task / "reference/answer.py").read_text()
    (task / "reference/answer.py").write_text(right.replace("return", "return 1 +", 1))
    changed = session.until("validating again")
    assert "changed: bench/tiny/reference/answer.py" in changed
    assert not any(name in changed for name in ("notes.txt", "4913", "#"))
    session.until("1 failed")
    (task / "reference/answer.py").write_text(right)
    session.until("1 passed")
    session.ctrl_c()
    assert session.end() == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in session.seen


def test_paths_that_do_not_exist_are_named(recode: Run) -> None:
    result = recode("nowhere", *GIVEN[1:])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if "--recode-watch" in line]
    assert_message(line, "--recode-watch: none of these exists: nowhere", "name a task directory")
