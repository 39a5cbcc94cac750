"""How many examples a property tries: few by default, all of them with `--hypothesis-profile=thorough`, as `tox -e slow` runs it."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

QUICK, THOROUGH = "quick", "thorough"
"""Hypothesis profiles, registered in the import of this module; `quick` is the default one."""

settings.register_profile(THOROUGH, settings(deadline=None))  # a limit of time fails on a busy machine
settings.register_profile(QUICK, settings(max_examples=25, deadline=None))
settings.load_profile(QUICK)


def examples(number: int, **other: Any) -> settings:
    """Settings for a property that tries `number` examples in the thorough profile, and an eighth of them in the quick one."""
    thorough = settings.get_current_profile_name() == THOROUGH
    return settings(max_examples=number if thorough else max(number // 8, 15), deadline=None, **other)
