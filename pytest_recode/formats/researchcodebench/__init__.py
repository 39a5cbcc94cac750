"""ResearchCodeBench (arXiv 2506.02314), read in place from its repository: `pset/papers.yaml` and a folder for each paper."""

from pytest_recode.formats.researchcodebench.papers_yaml import FORMAT, load, owns

__all__ = ["FORMAT", "load", "owns"]
