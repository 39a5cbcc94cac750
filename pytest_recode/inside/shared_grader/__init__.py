"""The programs of shared judging (`pytest_runner`, `in_repo_runner`, `unittest_runner`): tests and candidate in one process."""
