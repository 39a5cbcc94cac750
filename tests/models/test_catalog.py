"""Names of models as litellm lists them, in any spelling, and what is said of unknown and retired ones."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pytest_recode.faults import UserError
from pytest_recode.models import ModelContext, catalog
from pytest_recode.models.litellm_client import COMPROMISED, litellm, priced, window
from pytest_recode.models.providers import glance
from pytest_recode.models.retirement import NOTICE, check_retirement, retirement
from pytest_recode.models.table import resolve
from pytest_recode.records.null_ledger import NullLedger
from tests.messages import assert_line

ROOT = Path(__file__).parents[2]
TODAY = datetime.datetime.now(tz=datetime.UTC).date()
MAKERS = catalog.lacking().keys
OF_MAKERS = [one for one in catalog.listings().values() if one.provider in MAKERS and one.mode == "chat"]


def refusal(name: str) -> str:
    with pytest.raises(UserError) as caught:
        glance(ModelContext(name=name, ledger=NullLedger()))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("claude-opus-5.5", "anthropic/claude-opus-5-5"),
        ("Claude-Opus-5.5", "anthropic/claude-opus-5-5"),
        ("anthropic/claude-opus-5.5", "anthropic/claude-opus-5-5"),
        ("gpt-6-sol", "openai/gpt-6-sol"),
        ("openai/gpt-6-sol", "openai/gpt-6-sol"),
        ("GPT_6_1_SOL", "openai/gpt-6.1-sol"),
        ("gemini-3-8-flash", "gemini/gemini-3.8-flash"),  # which litellm's own short name asks of Vertex
        ("kimi-k3", "moonshot/kimi-k3"),
        ("deepseek-v4-pro", "deepseek/deepseek-v4-pro"),
        ("DeepSeek-V3.1", "novita/deepseek/deepseek-v3.1"),  # as RECODE-H publishes it
        ("azure/gpt_6_sol", "azure/gpt_6_sol"),  # a deployment has the name that its user chose
        ("ollama/llama3.1", "ollama/llama3.1"),
    ],
)
def test_a_model_has_a_name_in_any_spelling(name: str, model: str) -> None:
    assert resolve(name, {}).model == model


def test_every_name_of_a_maker_is_found_bare_and_with_its_provider() -> None:
    assert len(OF_MAKERS) > 200
    for one in OF_MAKERS:
        found = [catalog.find(one.name), catalog.find(one.full_name), catalog.find(one.name.replace(".", "-"))]
        # litellm spells some models in two ways
        assert {catalog.plain(each.full_name) for each in found if each is not None} == {catalog.plain(one.full_name)}


def test_only_exact_names_are_recognized_on_a_server_of_the_user() -> None:
    url = "http://127.0.0.1:1/v1"
    assert resolve("claude-opus-5-5", {}, url).model == "anthropic/claude-opus-5-5"
    for name in ("claude-opus-5.5", "deepseek-v3.1", "qwen3-8b", "anthropic/claude-opus-5.5"):
        assert resolve(name, {}, url).model == name
        assert resolve("mine", {"mine": {"model": name, "api_base": url}}).model == name


@pytest.mark.slow
def test_all_that_litellm_lists_is_known_without_importing_it() -> None:
    assert set(litellm().model_cost) <= set(catalog.names())


@pytest.mark.parametrize("name", catalog.lacking().models)
def test_what_litellm_lacks_has_a_source_and_a_host(name: str) -> None:
    fields = catalog.lacking().models[name]
    for key in ("cutoff", "retired"):
        assert (key in fields) == (f"{key}_source" in fields)
        assert fields.get(f"{key}_source", "https://").startswith("https://")
    if "retired" not in fields:
        entry = resolve(name, {})
        assert priced(entry)
        assert litellm().get_llm_provider(entry.model)[1] == entry.model.partition("/")[0]


@pytest.mark.parametrize("provider", MAKERS)
def test_the_variables_of_keys_are_litellms(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN"))]:
        monkeypatch.delenv(name)
    if provider == "zai":  # litellm does not check it
        return
    model = f"{provider}/any"
    assert set(litellm().validate_environment(model)["missing_keys"]) <= set(MAKERS[provider])
    for variable in MAKERS[provider]:
        monkeypatch.setenv(variable, "x")
        assert not litellm().validate_environment(model)["missing_keys"]
        monkeypatch.delenv(variable)


@pytest.mark.parametrize("name", ["gtp-6-sol", "claude-sonet-5", "claude-opus-9", "gemini-flash"])
def test_an_unknown_name_suggests_at_most_five_live_models_the_newest_first(name: str) -> None:
    near = catalog.close(name, (), TODAY)
    assert 1 <= len(near) <= 5
    assert all((found := catalog.find(each)) is not None and found.live(TODAY) for each in near)
    versions = [[int(number) for number in each if number.isdigit()] for each in near]
    assert versions == sorted(versions, reverse=True)
    words = refusal(name)
    assert words.startswith(f"unknown model {name!r} (did you mean {', '.join(near)}?)")
    assert "--recode-api-base" in words
    assert "--recode-models-file" in words


def test_names_of_the_user_are_suggested_first() -> None:
    assert catalog.close("lab-lama", ["lab-llama"], TODAY)[0] == "lab-llama"


def test_a_model_that_only_others_host_needs_its_provider() -> None:
    words = refusal("gpt-oss-20b")
    assert "name its provider, such as " in words
    assert "/gpt-oss-20b" in words


WITHOUT_LITELLM = """\
import sys

from pytest_recode.faults import UserError
from pytest_recode.models import ModelContext
from pytest_recode.models.providers import glance
from pytest_recode.records.null_ledger import NullLedger

for name in ("claude-sonet-4", "claude-sonnet-4", "gpt-6-sol"):
    try:
        glance(ModelContext(name=name, ledger=NullLedger()))
    except UserError as error:
        print(str(error).split()[0:3])
try:
    glance(ModelContext(name="mine", ledger=NullLedger(), api_base="http://127.0.0.1:1/v1", max_cost=1.0))
except UserError as error:
    print(str(error).split()[0:6])
print("litellm" in sys.modules)
"""


def test_unknown_and_retired_models_keys_and_prices_are_checked_without_importing_litellm() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LITELLM], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.splitlines() == [
        "['unknown', 'model', \"'claude-sonet-4'\"]",
        "['model', 'claude-sonnet-4', 'was']",
        "['model', 'gpt-6-sol', 'needs']",
        "['model', 'mine', 'has', 'no', 'known', 'price,']",
        "False",
    ]


@pytest.mark.parametrize("name", ["claude-sonnet-4", "Claude-Sonnet-4", "anthropic/claude-sonnet-4-20250514"])
def test_a_retired_model_is_refused_with_what_can_be_used_instead(name: str) -> None:
    words = refusal(name)
    assert words.startswith(f"model {name} was retired on 2026-06-15 (https://platform.claude.com/")
    instead, _, rest = words.partition(" any more: use ")[2].partition("; another host may still have it, such as ")
    near = instead.replace(" or ", ", ").split(", ")
    assert 1 <= len(near) <= 3
    for each in near:
        listing = catalog.find(each)
        assert listing is not None
        assert listing.live(TODAY)
        assert listing.name.startswith("claude-sonnet-")
    assert "anthropic/claude-sonnet-4" in rest
    assert "--recode-api-base" in rest
    assert "pytest-recode report" in rest


def test_a_retirement_is_announced_and_then_refused() -> None:
    dated = next(one for one in OF_MAKERS if one.retired is not None and one.successor)
    assert dated.retired is not None
    model, day = dated.full_name, datetime.timedelta(days=1)
    assert retirement(model)[0] == dated.retired
    assert check_retirement("mine", model, dated.retired - NOTICE - day) == ""
    warning = check_retirement("mine", model, dated.retired - day)
    assert warning.startswith(f"model mine will be retired on {dated.retired}")
    assert "for runs after that day, use " in warning
    with pytest.raises(UserError, match=f"model mine was retired on {dated.retired}"):
        check_retirement("mine", model, dated.retired)


@pytest.mark.slow
def test_every_retired_model_of_a_maker_has_a_line() -> None:
    past = [one for one in OF_MAKERS if one.retired is not None and not one.live(TODAY)]
    assert len(past) > 20
    for one in past:
        with pytest.raises(UserError, match="was retired on"):
            check_retirement(one.name, one.full_name, TODAY)


def test_a_retired_name_on_a_server_of_the_user_is_no_concern() -> None:
    assert glance(ModelContext(name="claude-sonnet-4", ledger=NullLedger(), api_base="http://127.0.0.1:1/v1")) == ""


@pytest.mark.parametrize(("version", "refused"), [("1.82.8", True), ("1.107.3", True), ("1.106.0", False)])
def test_a_litellm_that_carried_malware_is_never_imported(tmp_path: Path, version: str, refused: bool) -> None:
    info = tmp_path / f"litellm-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: litellm\nVersion: {version}\n")
    (tmp_path / "litellm.py").write_text("print('imported')")
    code = "from pytest_recode.models.litellm_client import litellm; litellm()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert ("imported" in done.stdout) is not refused
    if refused:
        assert_line(done.stderr, f"litellm {version} is refused", "malware", "pip install", "install-safely.md")


def test_the_requirement_excludes_the_same_releases() -> None:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    [required] = [Requirement(each).specifier for each in dependencies if Requirement(each).name == "litellm"]
    assert {str(part) for part in SpecifierSet(COMPROMISED)} == {
        str(part) for part in required if part.operator == "!="
    }


def test_a_context_window_of_a_table_overrides_litellms() -> None:
    assert window(resolve("claude-opus-4-5", {})) == 200_000
    own = {"small": {"model": "claude-opus-4-5", "context": 8192}, "mine": {"model": "openai/mine"}}
    assert [window(resolve(name, own)) for name in own] == [8192, None]
