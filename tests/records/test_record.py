"""The published schema of records is that of their type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_recode.records
from docs.generate import record_schema
from tests.metrics.samples import own_run, record, replay


def test_the_published_schema_is_that_of_the_type() -> None:
    """If not: `python -m docs.generate`."""
    path = Path(pytest_recode.records.__file__).parent / "records.schema.json"
    assert path.read_text("utf-8") == record_schema()


@pytest.mark.parametrize(
    "one", [record("a", (1, 4)), record("b", (), outcome="error"), own_run("m", "GPT_4_1")[0], replay(record("a", (1, 4)), 2, 4)]
)  # fmt: skip
def test_the_samples_of_other_tests_are_records(one: dict[str, Any]) -> None:
    jsonschema.validate(one, json.loads(record_schema()))
