"""Each option is a setting, and each setting that an episode depends on is in its record."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from pytest_recode import records
from pytest_recode.episode.setup import setup
from pytest_recode.plugin.options import OPTIONS
from pytest_recode.records.setup_record import SettingsRecord
from pytest_recode.settings import FROM_STORED_RUN, NOT_COMPARED, Settings

SCHEMA = json.loads((Path(records.__file__).parent / "records.schema.json").read_text("utf-8"))

IN_OTHER_FIELDS = {
    "models": "model",
    "feedbacks": "feedback",
    "feedback_model": "feedback_model",
    "agent": "agent",
    "attempts": "attempt",
    "shard": "shard",
    "paper": "paper",
    "ablation": "paper",
    "sandbox": "sandbox",
    "docker_hosts": "sandbox_host",
    "seed": "turns",
    "replay_feedback": "replay",
}
"""Settings that other fields of a record have, with the field."""
OF_THE_RUN = {
    "python",
    "environments",
    "out",
    "max_cost",
    "max_cost_of",
    "limits",
    "max_wait",
    "cassette",
    "cassette_mode",
    "progress",
    "models_file",
    "resume",
    "validate",
    "validate_seeds",
    "validate_json",
    "watch",
    "fail_under",
    "baseline",
    "fail_on",
    "markdown",
    "otel",
    "given",
}
"""Settings that an episode does not depend on, or that every machine has its own values of."""


def test_a_setting_has_the_default_of_its_option() -> None:
    names = {"model": "models", "feedback": "feedbacks", "env": "environments", "limit": "limits"}
    names |= {"docker-host": "docker_hosts"}
    own = {each.name: each.default for each in fields(Settings)}
    for option in OPTIONS:
        if option.name in ("no-paper", "with-paper", "max-cost"):  # these have two fields each, or two options one
            continue
        assert own[names.get(option.name, option.name.replace("-", "_"))] == option.default, option.name


def test_a_setting_is_recorded_or_belongs_to_the_run() -> None:
    """Otherwise a run is resumed with another value, and reports pool episodes that differ in it."""
    recorded = set(setup(Settings()))
    unknown = {each.name for each in fields(Settings)} - recorded - IN_OTHER_FIELDS.keys() - OF_THE_RUN
    assert not unknown, "add it to `setup` of episode/setup.py, or say here why not"
    assert set(IN_OTHER_FIELDS.values()) <= SCHEMA["properties"].keys()


def test_recorded_settings_are_one_list() -> None:
    assert (
        set(setup(Settings()))
        == set(SettingsRecord.__annotations__)
        == set(SCHEMA["properties"]["settings"]["properties"])
    )
    assert set(FROM_STORED_RUN) - {"agent", "paper"} <= set(setup(Settings()))
    assert set(setup(Settings())) >= NOT_COMPARED
