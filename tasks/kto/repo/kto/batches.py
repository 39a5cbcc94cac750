"""Prompts and completions as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .settings import PAD


def pad(prompts: Sequence[np.ndarray], completions: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens (B, T) int64, each prompt followed by its completion, and the mask (B, T) of the completions.

    Sequences are filled with `PAD` at the end, up to the longest one.
    """
    lengths = [len(prompt) + len(completion) for prompt, completion in zip(prompts, completions, strict=True)]
    tokens = np.full((len(lengths), max(lengths)), PAD, dtype=np.int64)
    mask = np.zeros(tokens.shape, dtype=bool)
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        tokens[row, : len(prompt)] = prompt
        tokens[row, len(prompt) : lengths[row]] = completion
        mask[row, len(prompt) : lengths[row]] = True
    return tokens, mask


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
