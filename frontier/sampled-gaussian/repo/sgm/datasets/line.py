"""A line with noise."""


def line(rng, size, slope=1.5, noise=0.1):
    """Features (n, 1) and real targets."""
    features = rng.uniform(-1.0, 1.0, (size, 1))
    return features, slope * features[:, 0] + rng.normal(0.0, noise, size)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
