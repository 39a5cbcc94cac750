"""Training and test parts."""


def split(features, labels, part=0.75):
    """The first part to train, the rest to test."""
    cut = int(part * len(labels))
    return (features[:cut], labels[:cut]), (features[cut:], labels[cut:])


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
