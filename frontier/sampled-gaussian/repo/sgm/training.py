"""One step of a private training."""


def sample(rng, size, rate):
    """Indices of the examples that take part in a step."""
    raise NotImplementedError


def clip(gradients, bound):
    """The gradient of one example, of a bounded norm."""
    raise NotImplementedError


def step(parameters, gradient_of, settings, rng):
    """Parameters after one step, and its event."""
    raise NotImplementedError


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
