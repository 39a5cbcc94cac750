"""Models by name."""

from sgm.models.linear import Linear
from sgm.models.logistic import Logistic

MODELS = {"linear": Linear, "logistic": Logistic}


def model_of(name):
    """A model; ValueError if there is none of this name."""
    if name not in MODELS:
        raise ValueError(f"no model {name!r}; there are {sorted(MODELS)}")
    return MODELS[name]()


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
