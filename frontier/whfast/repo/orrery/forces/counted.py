"""Functions that count their calls."""


class Counted:
    """Wraps a function."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
