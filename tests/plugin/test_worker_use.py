"""The line about workers that mostly waited."""

from __future__ import annotations

import pytest

from pytest_recode.plugin.workers.worker_use import fewer


@pytest.mark.parametrize(
    ("workers", "busy", "seconds", "in_flight", "processors", "options"),
    [
        (16, 3.0, 600.0, 1, 2, "--recode-in-flight=16 without -n"),
        (16, 90.0, 600.0, 1, 8, "-n 5 --recode-in-flight=4"),
        (16, 90.0, 600.0, 1, 2, "-n 2 --recode-in-flight=8"),
        (8, 20.0, 600.0, 4, 2, "--recode-in-flight=32 without -n"),
        (16, 400.0, 600.0, 1, 8, ""),  # they worked
        (2, 3.0, 600.0, 1, 2, ""),  # nothing to save
        (16, 3.0, 30.0, 1, 2, ""),  # too short to tell
        (0, 0.0, 0.0, 1, 2, ""),
    ],
)
def test_what_would_do_the_same_with_fewer(
    workers: int, busy: float, seconds: float, in_flight: int, processors: int, options: str
) -> None:
    line = fewer([(busy, seconds)] * workers, in_flight, processors)
    if not options:
        assert line == ""
    else:
        assert options in line
        assert f"{workers} processes worked {100 * busy / seconds:.0f} % of the time" in line
