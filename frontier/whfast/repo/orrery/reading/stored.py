"""Results that the authors' program stored, one number for each digit it had."""

import numpy as np

from orrery.bodies.system import System

from .files import read


def system(entry: dict) -> System:
    """A system of a stored result."""
    return System(gm=entry["gm"], x=entry["x"], v=entry["v"], t=entry["t"], names=entry["names"])


def runs() -> list[dict]:
    """Runs: `start` and `end` as systems, `dt`, `steps` and `corrector`."""
    return [{**each, "start": system(each["start"]), "end": system(each["end"])} for each in read("runs")["runs"]]


def jacobi() -> list[dict]:
    """States in Jacobi coordinates: `gm`, inertial `y` and jacobi `rows`."""
    return [{key: np.array(each[key]) for key in ("gm", "y", "rows")} for each in read("jacobi")["states"]]


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
