"""What is printed in the documentation is what there is."""

from __future__ import annotations

from pathlib import Path

from pytest_recode.plugin import options

ROOT = Path(__file__).resolve().parents[1]


def test_options_page_is_generated_from_the_options() -> None:
    assert (ROOT / "docs/options.md").read_text() == options.markdown()
