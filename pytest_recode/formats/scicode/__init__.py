"""SciCode (arXiv 2407.13168), read in place from its development set: `problems_dev.jsonl`."""

from pytest_recode.formats.scicode.problem_tasks import FORMAT, load

__all__ = ["FORMAT", "load"]
