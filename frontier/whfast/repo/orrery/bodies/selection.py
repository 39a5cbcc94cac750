"""Parts of a system."""

from .system import System


def without(system: System, name: str) -> System:
    """The system without the body of this name."""
    keep = [each for each, other in enumerate(system.names) if other != name]
    return System(
        gm=system.gm[keep], x=system.x[keep], v=system.v[keep], t=system.t, names=[system.names[each] for each in keep]
    )


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
