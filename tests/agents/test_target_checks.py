from __future__ import annotations

from pytest_recode.agents.target_checks import lost_definitions, not_python, untouched


def test_targets_in_which_nothing_was_written_are_named() -> None:
    repo = {"a.py": b"x = 1\n", "b.py": b"", "unrelated.py": b""}
    assert untouched(["a.py", "b.py"], repo, repo) == "a.py and b.py are still as the repository delivered them."
    assert untouched(["a.py", "b.py"], {**repo, "b.py": b"x"}, repo) == "a.py is still as the repository delivered it."
    assert untouched(["a.py", "new.py"], repo, repo).endswith("delivered it. new.py does not exist.")
    assert untouched(["a.py", "new.py"], {"new.py": b""}, repo) == ""  # one was removed, the other was written


def test_a_clause_says_why_a_target_is_not_python() -> None:
    assert not_python("a.py", "x = 1\ndef f(:\n").startswith("a.py is not valid Python (line 2: ")
    assert not_python("a.py", "") == not_python("a.txt", "def f(:") == ""


def test_a_clause_names_lost_definitions_with_methods() -> None:
    before = "def one(): ...\nclass Two:\n    def three(self): ...\n    def four(self): ...\n"
    after = "from elsewhere import one\nclass Two:\n    def four(self): ...\n"
    assert lost_definitions("a.py", before, after) == "a.py does not define `Two.three` any more"
    assert lost_definitions("a.py", before, "from elsewhere import *\n") == ""
    assert lost_definitions("a.txt", before, "") == lost_definitions("a.py", before, "def f(:") == ""
