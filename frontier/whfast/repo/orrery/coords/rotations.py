"""Rotations."""

import math

import numpy as np


def about_z(angle: float) -> np.ndarray:
    """Counterclockwise."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about_x(angle: float) -> np.ndarray:
    """Counterclockwise."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def perifocal(node: float, inc: float, peri: float) -> np.ndarray:
    """From the plane of an orbit, with the pericentre on the x axis, to space."""
    return about_z(node) @ about_x(inc) @ about_z(peri)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
