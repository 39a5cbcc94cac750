"""Errors of a conserved quantity along a run."""

from .energy import energy


def energy_errors(run, every: int, count: int) -> list[float]:
    """Relative errors of the energy after each of `count` times `every` steps."""
    start = energy(run.readout())
    found = []
    for _ in range(count):
        run.advance(every)
        found.append(energy(run.readout()) / start - 1.0)
    return found


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
