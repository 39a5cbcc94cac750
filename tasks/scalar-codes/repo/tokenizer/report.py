"""How well a network uses its codes."""

from __future__ import annotations

import numpy as np

from .codes import usage
from .network import Network


def report(network: Network, images: np.ndarray, border: int = 0) -> dict[str, float]:
    """Usage and perplexity of the tokens of `images`, those within `border` tokens of the edge left out."""
    tokens = network.tokens(images)
    inner = np.zeros(tokens.shape, dtype=bool)
    inner[:, border : tokens.shape[1] - border, border : tokens.shape[2] - border] = True
    share, perplexity = usage(tokens, network.grid, inner)
    return {"usage": share, "perplexity": perplexity, "bits": float(np.log2(network.grid.size))}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
