"""docs/reference/agent-dialects.md says what the gateway speaks."""

from __future__ import annotations

from pathlib import Path

from pytest_recode.gateway.dialects import DIALECTS, adapters

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/agent-dialects.md").read_text("utf-8")


def test_the_page_has_each_dialect_and_the_tested_release() -> None:
    assert all(f"| `{dialect}` |" in PAGE for dialect in DIALECTS)
    assert f"litellm {adapters.TESTED}." in PAGE
