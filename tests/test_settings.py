"""Each option is a setting, and each setting that an episode depends on is in its record."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from pytest_recode import records
from pytest_recode.episode.setup import setup
from pytest_recode.records.setup_record import SettingsRecord
from pytest_recode.settings import FROM_STORED_RUN, NOT_COMPARED, OPTIONS, Settings

SCHEMA = json.loads((Path(records.__file__).parent / "records.schema.json").read_text("utf-8"))


def test_each_field_is_declared_with_one_option() -> None:
    declared = [option.field for option in OPTIONS.values()]
    assert len(set(declared)) == len(declared)
    assert {each.name for each in fields(Settings)} - set(declared) == {"max_cost_of", "explicit"}
    defaults = {each.name: each.default for each in fields(Settings)}
    assert [option.name for option in OPTIONS.values() if defaults[option.field] != option.default] == []


def test_a_setting_is_recorded_or_belongs_to_the_run() -> None:
    """Otherwise a run is resumed with another value, and reports pool episodes that differ in it."""
    recorded = {option.field for option in OPTIONS.values() if option.recorded == "settings"}
    assert set(setup(Settings())) == recorded | {"version", "researcher_prompt"}, (
        "add it to SettingsRecord, or declare `recorded`"
    )
    elsewhere = {option.recorded for option in OPTIONS.values()} - {None}
    assert elsewhere <= SCHEMA["properties"].keys()


def test_an_option_names_options() -> None:
    for option in OPTIONS.values():
        assert {option.needs, *option.excluded_by} - {""} <= OPTIONS.keys()
        assert all(OPTIONS[name].excludes_because for name in option.excluded_by)


def test_recorded_settings_are_one_list() -> None:
    assert (
        set(setup(Settings()))
        == set(SettingsRecord.__annotations__)
        == set(SCHEMA["properties"]["settings"]["properties"])
    )
    assert set(FROM_STORED_RUN) - {"agents", "paper"} <= set(setup(Settings()))
    assert set(setup(Settings())) >= NOT_COMPARED
