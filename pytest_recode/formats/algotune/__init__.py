"""AlgoTune (Press et al., arXiv:2507.15887): write a solver that is valid and faster than the reference. Read in place."""

from pytest_recode.formats.algotune.tasks import FORMAT

__all__ = ["FORMAT"]
