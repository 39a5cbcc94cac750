"""Texts as chrF sees them."""

from __future__ import annotations


def characters(text: str) -> str:
    """The text without any whitespace, of Unicode too."""
    return "".join(text.split())


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
