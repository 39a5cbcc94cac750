"""Small repositories of research code, as their authors lay them out, for `pytest-recode cut`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

MIT = """\
MIT License

Copyright (c) 2021 The authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files, to deal in the
Software without restriction, subject to the following conditions: The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.
"""
GPL = "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n"
BSD = "Redistribution and use in source and binary forms, with or without modification, are permitted. Neither the name of …\n"

LEVELS = {
    "LICENSE": MIT,
    "pyproject.toml": '[project]\nname = "levels"\nlicense = {file = "LICENSE"}\n',
    "src/levels/__init__.py": "from .plots import draw\nfrom .quantiles import weighted_quantile\n",
    "src/levels/plots.py": "def draw(x):\n    return x\n",
    "src/levels/checks/__init__.py": "",
    "src/levels/checks/weights.py": """\
import numpy as np


def normalised(weights):
    weights = np.asarray(weights, dtype=float)
    if (weights < 0).any():
        raise ValueError("negative weights")
    return weights / weights.sum()
""",
    "src/levels/quantiles.py": '''\
"""Quantiles of weighted samples."""

import numpy as np

from .checks.weights import normalised


def weighted_quantile(
    values,
    weights,
    level=0.5,
):
    """The smallest value at which the cumulative weight reaches `level`."""
    # sort first
    order = np.argsort(values)
    total = np.cumsum(normalised(weights)[order])
    return float(np.asarray(values)[order][min(np.searchsorted(total, level), len(order) - 1)])


def spread(values, weights): return weighted_quantile(values, weights, 0.75) - weighted_quantile(values, weights, 0.25)
''',
    "tests/test_quantiles.py": """\
import numpy as np
import pytest
from levels import weighted_quantile
from levels.quantiles import spread


@pytest.mark.parametrize("count", [5, 12])
def test_equal_weights(count):
    values = np.linspace(-3.0, 4.0, count)
    assert values.min() <= weighted_quantile(values, np.full(count, 1 / count)) <= values.max()


def test_other_weights():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=9), rng.uniform(0.1, 1.0, 9)
    assert weighted_quantile(values, weights, level=0.9) >= weighted_quantile(values, weights, level=0.1)
    assert spread(values, weights) >= 0


def test_negative_weights():
    with pytest.raises(ValueError):
        weighted_quantile(np.ones(2), np.array([-1.0, 2.0]))
""",
}
"""A package in `src/`, with relative imports. Its `__init__` imports what the target does not need."""

UNFIT = {
    "COPYING": BSD,
    "unfit.py": """\
import os

import numpy as np

calls = []


class Model:
    def fit(self, x):
        return x


def counts(x):
    calls.append(x)
    return len(calls)


def draws(x):
    return x + np.random.normal(size=3)


def reseeds(x):
    return x + np.random.default_rng().normal(size=3)


def reads(x):
    with open("factor.txt") as file:
        return x * float(file.read())


def items(x):
    yield from x


async def waits(x):
    return x


def in_place(x):
    x *= 2


def model(x):
    return Model()


def applies(function, x):
    return function(x)


def untested(x):
    return x


def doubled(x, times=2):
    with open(np.__file__):  # as a library does that looks for its plugins
        return times * x


def fragile(x):
    if len(x) != 3:
        os._exit(3)
    while x.min() != 0.0:
        pass
    return x + 1
""",
    "factor.txt": "2.5",
    "test_unfit.py": """\
import numpy as np
import unfit


def test_all():
    x = np.arange(3.0)
    for each in (unfit.counts, unfit.draws, unfit.reseeds, unfit.reads, unfit.in_place, unfit.model, unfit.doubled):
        each(x.copy())
    unfit.fragile(x)
    unfit.applies(lambda x: x, x)
""",
}
"""One module with a function for each reason not to cut one, and one that can be cut."""


def write(place: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, "utf-8")
    return place
