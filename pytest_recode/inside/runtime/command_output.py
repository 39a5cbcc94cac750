"""What a command wrote: the first and the last part of it.

Runs in the process of a persistent program. Called by `command_runner.py`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations


class CommandOutput:
    """`limit`: bytes that are collected."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        head_left = self._half - len(self._head)
        self._head += data[:head_left]
        self._tail += data[head_left:] if head_left > 0 else data
        past = len(self._tail) - self._half
        if past > self._half:  # in steps, so that each byte is moved a bounded number of times
            self._drop(past)

    def _drop(self, past: int) -> None:
        del self._tail[:past]
        self._cut += past

    def note(self, text: str) -> None:
        if self._head and not (self._tail or self._head).endswith(b"\n"):
            text = "\n" + text
        self.add(text.encode())

    def bytes(self) -> bytes:
        past = len(self._tail) - self._half
        if past > 0:
            self._drop(past)
        cut = f"\n[... {self._cut} bytes cut ...]\n".encode() if self._cut else b""
        return bytes(self._head + cut + self._tail)
