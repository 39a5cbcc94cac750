"""Mechanisms by name."""

from sgm.mechanisms.gaussian import gaussian
from sgm.mechanisms.laplace import laplace
from sgm.mechanisms.response import response
from sgm.mechanisms.tabulated import tabulated

MECHANISMS = {"gaussian": gaussian, "laplace": laplace, "response": response, "tabulated": tabulated}


def one_access(event, orders):
    """Divergence of one access; ValueError for a kind that is not here."""
    if event.kind not in MECHANISMS:
        raise ValueError(f"no mechanism {event.kind!r}; there are {sorted(MECHANISMS)}")
    return MECHANISMS[event.kind](event, orders)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
