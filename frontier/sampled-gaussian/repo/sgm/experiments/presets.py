"""Settings of the study."""

from sgm.settings import Settings

STEPS = 30


def study_settings(size, noise, clip):
    """Lots of a twentieth of the data."""
    return Settings(size=size, lot=size / 20, noise=noise, clip=clip, learning_rate=0.5)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
