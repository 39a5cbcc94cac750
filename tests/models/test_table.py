"""A user's own table of names, and what `check` says of a name before anything is spent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.models import ModelContext
from pytest_recode.models.litellm_ import check
from pytest_recode.models.providers import glance
from pytest_recode.models.table import ModelEntry, Price, load_table, resolve
from pytest_recode.records.null_ledger import NullLedger


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_AUTH_TOKEN")):
            monkeypatch.delenv(name)


def context(name: str, **fields: Any) -> ModelContext:
    return ModelContext(name=name, ledger=NullLedger(), **fields)


def refusal(name: str, **fields: Any) -> str:
    with pytest.raises(UserError) as caught:
        check(context(name, **fields))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_name_that_nobody_lists_stands_for_itself() -> None:
    assert resolve("openai/whatever", {}) == ModelEntry(model="openai/whatever")


def test_a_users_entry_comes_first_and_builds_on_the_model_that_it_names() -> None:
    table = {"gpt-5": {"model": "hosted_vllm/mine"}, "calm": {"model": "claude-opus-5.5", "params": {"temperature": 0}}}
    assert resolve("gpt-5", table) == ModelEntry(model="hosted_vllm/mine")
    calm = resolve("calm", table)
    assert calm.model == "anthropic/claude-opus-5-5"
    assert calm.params == {"max_tokens": 32_000, "temperature": 0}
    assert calm.cutoff == "2026-06"


def loaded(tmp_path: Path, text: str) -> dict[str, dict[str, Any]]:
    path = tmp_path / "models.yaml"
    path.write_text(text, "utf-8")
    return load_table(path)


def test_a_file_with_every_key(tmp_path: Path) -> None:
    table = loaded(
        tmp_path,
        """
        lab/llama: hosted_vllm/llama
        full:
          model: openai/x
          api_base: http://gpu.example:8000/v1
          api_key_env: LAB_KEY
          params: {max_tokens: 100, extra_body: {seed: 3}}
          cutoff: 2024-05-31
          price: {prompt: 0, completion: 1.5}
          tools: true
          context: 8192
        """,
    )
    assert resolve("lab/llama", table) == ModelEntry(model="hosted_vllm/llama")
    assert resolve("full", table) == ModelEntry(
        model="openai/x",
        api_base="http://gpu.example:8000/v1",
        api_key_env="LAB_KEY",
        params={"max_tokens": 100, "extra_body": {"seed": 3}},
        cutoff="2024-05-31",
        price=Price(prompt=0.0, completion=1.5),
        tools=True,
        context=8192,
    )
    assert loaded(tmp_path, "# nothing yet\n") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {model: [", "is not YAML: while parsing"),
        ("- a\n- b\n", "must map aliases to fields, such as `my-model: {model: openai/gpt-6-sol}`"),
        ("7: {model: x}", "7 is not a valid model name: use letters, digits and any of . _ - : / @ +"),
        ("'a b': {model: x}", "'a b' is not a valid model name: use letters, digits and any of . _ - : / @ +"),
        (
            "sim/mine: {model: x}",
            "'sim/mine': names that start with sim/ are reserved for the built-in simulated models: choose another name",
        ),
        (
            "a: 3",
            "a: must be a model's name or a mapping of model, api_base, api_key_env, params, cutoff, price, tools",
        ),
        ("a: {}", "a: missing key 'model': the name of a model such as openai/gpt-6-sol"),
        (
            "a: {model: x, apibase: y}",
            "a: unknown key 'apibase' (did you mean api_base?): "
            "allowed are model, api_base, api_key_env, params, cutoff, price, tools",
        ),
        (
            "a: {model: x, api_key: sk-1}",
            "a: 'api_key' looks like a secret: keys come from the environment only; name the variable with api_key_env",
        ),
        (
            "a: {model: x, params: {extra_headers: {Authorization: Bearer 1}}}",
            "a: params: 'Authorization' looks like a secret: keys come from the environment only; "
            "name the variable with api_key_env",
        ),
        ("a: {model: x, params: {messages: []}}", "a: params: 'messages' is set by the run itself: remove it"),
        ("a: {model: x, params: 3}", "a: params: must be a mapping of request parameters, such as {max_tokens: 32000}"),
        ("a: {model: x, context: 8k}", "a: context: must be a whole number from 1, not '8k'"),
        ("a: {model: ''}", "a: model: must be a text, not ''"),
        (
            "a: {model: x, api_base: gpu}",
            "a: api_base: must be an address such as http://127.0.0.1:8000/v1 (with a port up to 65535), not 'gpu'",
        ),
        (
            "a: {model: x, api_base: 'http://gpu:99999/v1'}",
            "a: api_base: must be an address such as http://127.0.0.1:8000/v1 (with a port up to 65535), not 'http://gpu:99999/v1'",
        ),
        (
            "a: {model: x, api_key_env: sk-123}",
            "a: api_key_env: must be the name of an environment variable, such as MY_API_KEY, not the key itself",
        ),
        ("a: {model: x, cutoff: soon}", "a: cutoff: must be a date such as 2024-05 or 2024-05-31, not 'soon'"),
        (
            "a: {model: x, price: 3}",
            "a: price: must be {prompt: X, completion: Y}, US dollars per million tokens, not 3",
        ),
        (
            "a: {model: x, price: {prompt: -1, completion: 1}}",
            "a: price: must be {prompt: X, completion: Y}, US dollars per million tokens, not {'prompt': -1",
        ),
        ("a: {model: x, tools: maybe}", "a: tools: must be true or false, not 'maybe'"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        loaded(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'models.yaml'}: {words}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    with pytest.raises(UserError) as caught:
        load_table(missing)
    words = "no such file: --recode-models-file takes a YAML file of alias -> fields"
    assert str(caught.value) == f"{missing}: {words}"
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        load_table(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: \xff\xfe")
    with pytest.raises(UserError, match="is not YAML"):
        load_table(binary)


def test_an_alias_for_an_unknown_model_is_named() -> None:
    words = refusal("mine", table={"mine": {"model": "quxx"}})
    assert words.startswith("unknown model 'quxx' (which mine stands for)")


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("claude-opus-5.5", "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"),
        ("gpt-6-sol", "OPENAI_API_KEY"),
        ("openai/gpt-99", "OPENAI_API_KEY"),
        ("gemini-3.8-flash", "GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("deepseek-v3.1", "NOVITA_API_KEY"),
        ("glm-5.3", "ZAI_API_KEY"),
    ],
)
def test_a_missing_key_is_named(name: str, key: str) -> None:
    assert refusal(name) == (
        f"model {name} needs {key}, which is not set: export it, or try the offline model --recode-model=sim/graduate"
    )


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_key_is_named_without_loading_litellm(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", value)
    with pytest.raises(UserError) as caught:
        glance(context("claude-opus-5.5"))
    assert str(caught.value) == (
        "model claude-opus-5.5 needs ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, but ANTHROPIC_API_KEY is empty, "
        "as with a secret that does not exist: give it a value, or try the offline model --recode-model=sim/graduate"
    )
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "x")
    glance(context("claude-opus-5.5"))


@pytest.mark.usefixtures("no_keys")
def test_a_key_that_an_alias_asks_for_is_needed_on_a_server_of_ones_own_as_well() -> None:
    table = {"lab": {"model": "openai/x", "api_base": "http://127.0.0.1:1/v1", "api_key_env": "LAB_KEY_NOT_SET"}}
    assert refusal("lab", table=table).startswith("model lab needs LAB_KEY_NOT_SET, which is not set: export it")


def test_a_key_that_is_there_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "x")
    check(context("gemini-3.8-flash"))


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("name", ["my-local", "Qwen/Qwen3-8B", "gpt-6-sol", "hosted_vllm/x", "claude-sonnet-4"])
def test_a_server_of_ones_own_needs_neither_key_nor_known_name(name: str) -> None:
    check(context(name, api_base="http://127.0.0.1:1/v1"))


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("name", ["ollama/llama3", "bedrock/some.model", "vertex_ai/gemini-99"])
def test_providers_that_sign_in_by_other_means_are_not_held_up(name: str) -> None:
    check(context(name))


@pytest.mark.usefixtures("no_keys")
def test_a_limit_on_costs_needs_a_price() -> None:
    url = "http://127.0.0.1:1/v1"
    assert refusal("my-local", api_base=url, max_cost=0.5) == (
        "model my-local has no known price, so --recode-max-cost=0.5 cannot be enforced: "
        "give its price in --recode-models-file (price: {prompt: X, completion: Y}), or remove --recode-max-cost"
    )
    free = {"my-local": {"model": "openai/x", "price": {"prompt": 0, "completion": 0}}}
    check(context("my-local", api_base=url, max_cost=0.5, table=free))
    check(context("gpt-6-sol", api_base=url, max_cost=0.5))
