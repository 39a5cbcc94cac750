"""The last values of a stream."""

from collections import deque


class Window:
    """Of `size` values; `full` once so many came."""

    def __init__(self, size):
        self.values = deque(maxlen=size)

    def push(self, value):
        self.values.append(value)

    def clear(self):
        self.values.clear()

    @property
    def full(self):
        return len(self.values) == self.values.maxlen

    def mean(self):
        return sum(self.values) / len(self.values) if self.values else 0.0
