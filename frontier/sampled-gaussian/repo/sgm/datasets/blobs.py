"""Two clouds of points."""


def blobs(rng, size, dimension=2, gap=2.0):
    """Features and labels."""
    labels = rng.integers(2, size=size)
    features = rng.normal(size=(size, dimension)) + gap * (labels[:, None] - 0.5)
    return features, labels


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
