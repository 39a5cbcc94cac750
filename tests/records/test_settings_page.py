"""docs/reference/records.md lists every recorded setting."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_type_hints

from pytest_recode.records.setup_record import SettingsRecord

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "records.md"


def test_the_page_of_records_lists_every_setting() -> None:
    [row] = [line for line in PAGE.read_text().splitlines() if line.startswith("| `settings` | other settings")]
    assert set(re.findall(r"`(\w+)`", row)) - {"settings"} == set(get_type_hints(SettingsRecord))
