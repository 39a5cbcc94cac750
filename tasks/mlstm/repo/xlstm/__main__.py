"""The command `python -m xlstm`: run a random layer, and report how well the forms of its cell agree."""

from __future__ import annotations

import argparse

import numpy as np

from . import initial
from .agreement import agreement
from .gates import KINDS
from .settings import Settings


def main() -> None:
    """Print one line for each form, and one for a layer that goes on token by token."""
    parser = argparse.ArgumentParser(prog="xlstm", description=__doc__)
    parser.add_argument("--length", type=int, default=256, help="tokens of each sequence")
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--forget", choices=KINDS, default=KINDS[0])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if min(options.length, options.chunk) < 1:
        parser.error("--length and --chunk must be at least 1")
    settings = Settings(inputs=16, keys=8, values=12, heads=2, chunk=options.chunk, forget=options.forget)
    rng = np.random.default_rng(options.seed)

    found = agreement(settings, initial.tokens(settings, (3, settings.heads), options.length, rng))
    print(f"parallel   {found.parallel:.1e}")
    print(f"chunkwise  {found.chunkwise:.1e}")
    print(f"state      {found.state:.1e}")

    layer, inputs = initial.layer(settings, rng), rng.normal(size=(3, options.length, settings.inputs))
    whole, _ = layer.run(inputs, settings.chunk)
    _, state = layer.run(inputs[:, :-1], settings.chunk)
    last, _ = layer.decode(inputs[:, -1], state)
    print(f"decoding   {np.max(np.abs(last - whole[:, -1])):.1e}")


if __name__ == "__main__":
    main()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
