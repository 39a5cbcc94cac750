"""RECODE-H (arXiv 2510.06186), read in place from its data set: `annotation_meta.jsonl` and its `annotations/`."""

from pytest_recode.formats.recode_h.manifest import FORMAT, LIMITS, load, owns

__all__ = ["FORMAT", "LIMITS", "load", "owns"]
