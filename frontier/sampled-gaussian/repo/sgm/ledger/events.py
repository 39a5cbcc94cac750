"""Entries of a ledger."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """One kind of access to the data.

    kind: "sampled-gaussian", "moments" or a name in sgm.mechanisms.registry.
    rate: probability with which an example takes part.
    noise: standard deviation of what is added to the sum.
    clip: the largest norm of what one example adds to the sum.
    count: how often this was done. 0 is a plan that was never carried out: it costs nothing.
    curve: pairs of numbers, for the kinds "tabulated" (order, divergence) and "moments" (as sgm.legacy.moments records them).
    """

    kind: str
    rate: float = 1.0
    noise: float = 0.0
    clip: float = 1.0
    count: int = 1
    curve: tuple = ()


def scaled(event, count):
    """The event, as often as `count`."""
    return Event(event.kind, event.rate, event.noise, event.clip, count, event.curve)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
