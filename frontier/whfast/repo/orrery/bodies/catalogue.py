"""Systems of the catalogue `data/catalogue.json`: elements with angles in degrees, as people write them."""

import math

from orrery.orbits.record import Elements
from orrery.reading.files import read
from orrery.units import GM_SUN

from .hierarchy import chained
from .system import System


def names() -> list[str]:
    """Systems that can be loaded."""
    return sorted(read("catalogue")["systems"])


def load(name: str) -> System:
    """A system by name; masses of the catalogue are in units of that of the Sun."""
    entry = read("catalogue")["systems"][name]
    gm = [GM_SUN * each["mass"] for each in entry["bodies"]]
    orbits = [orbit(each) for each in entry["bodies"][1:]]
    return chained(gm, orbits, t=entry["epoch"], names=[each["name"] for each in entry["bodies"]])


def orbit(entry: dict) -> Elements:
    """Elements in radians."""
    inc, node, peri = (math.radians(entry[key]) for key in ("inc", "node", "peri"))
    return Elements(q=entry["q"], e=entry["e"], inc=inc, node=node, peri=peri, since=entry["since"])


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
