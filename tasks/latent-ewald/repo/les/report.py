"""A report on a system in the units that people compare, and the command `python -m les.report`, which prints one."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from .crystals import repeated, rock_salt
from .ewald import energy, forces, stress
from .settings import Settings
from .system import System
from .units import GIGAPASCAL


@dataclass(frozen=True)
class Report:
    """Long-range properties of a system at constant charges."""

    energy_per_atom: float  # eV
    largest_force: float  # eV/Angstrom
    pressure: float | None  # GPa; None for an isolated system


def report(system: System, settings: Settings) -> Report:
    """Evaluate a system. Its pressure is minus a third of the trace of the stress."""
    return Report(
        energy_per_atom=energy(system, settings) / len(system.positions),
        largest_force=float(np.max(np.linalg.norm(forces(system, settings), axis=1))),
        pressure=None if system.cell is None else float(-np.trace(stress(system, settings)) / 3.0 / GIGAPASCAL),
    )


def main() -> None:
    """Print a report on rock salt whose ions are moved a little."""
    parser = argparse.ArgumentParser(prog="les.report", description=__doc__)
    parser.add_argument("--spacing", type=float, default=2.8, help="distance between neighbours, in Angstrom")
    parser.add_argument("--moved", type=float, default=0.1, help="standard deviation of the displacements, in Angstrom")
    parser.add_argument("--repeat", type=int, default=1, help="cells along each axis")
    options = parser.parse_args()
    crystal = repeated(rock_salt(options.spacing), (options.repeat,) * 3)
    moved = crystal.positions + options.moved * np.random.default_rng(0).normal(size=crystal.positions.shape)
    found = report(System(moved, crystal.charges, crystal.cell), Settings())
    print(f"energy per atom  {found.energy_per_atom:10.4f} eV")
    print(f"largest force    {found.largest_force:10.4f} eV/Angstrom")
    print(f"pressure         {found.pressure:10.4f} GPa")


if __name__ == "__main__":
    main()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
