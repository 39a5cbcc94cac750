"""A linear autoencoder with a quantized bottleneck."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .codes import bound, decode, encode, gradient
from .grid import Grid
from .patches import images_of, patches_of


@dataclass(frozen=True, eq=False)
class Network:
    """Weights `(side**2, d)` of the encoder and `(d, side**2)` of the decoder."""

    encoder: np.ndarray
    decoder: np.ndarray
    side: int
    grid: Grid

    def tokens(self, images: np.ndarray) -> np.ndarray:
        """The tokens of `(N, H, W)` images, `(N, H / side, W / side)` int64."""
        return encode(bound(patches_of(images, self.side) @ self.encoder, self.grid), self.grid)

    def images(self, tokens: np.ndarray) -> np.ndarray:
        """The images that the decoder makes of tokens."""
        return images_of(decode(tokens, self.grid) @ self.decoder, self.side)

    def loss(self, images: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Mean squared error of the reconstruction, and its gradients for the encoder and the decoder."""
        patches = patches_of(images, self.side)
        z = patches @ self.encoder
        codes = decode(encode(bound(z, self.grid), self.grid), self.grid)
        residual = codes @ self.decoder - patches
        upstream = 2.0 * residual / residual.size
        through = gradient(z, upstream @ self.decoder.T, self.grid)
        flat = patches.reshape(-1, patches.shape[-1]).T
        of_encoder = flat @ through.reshape(-1, through.shape[-1])
        of_decoder = codes.reshape(-1, codes.shape[-1]).T @ upstream.reshape(-1, upstream.shape[-1])
        return float(np.mean(residual**2)), of_encoder, of_decoder


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
