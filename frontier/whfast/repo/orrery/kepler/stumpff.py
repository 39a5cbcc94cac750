"""Stumpff functions c_0 to c_5."""


def stumpff(z: float) -> tuple[float, float, float, float, float, float]:
    """Values c_0(z), ..., c_5(z)."""
    raise NotImplementedError


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
