"""Units: electron volts, Angstrom and elementary charges."""

EPSILON_0 = 5.526349406e-3
"""Vacuum permittivity in e^2 / (eV Angstrom)."""

GIGAPASCAL = 6.241509074e-3
"""One GPa in eV / Angstrom^3."""
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
