"""The command line and the ini file: the options that `pytest_recode/settings.py` declares are added, read and checked.

The command-line default of every option is None, so that its ini value (`recode_*`) applies if the option is not given.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.settings import OPTIONS, Option, Settings

if TYPE_CHECKING:
    from pytest_recode.shard import Shard

_PREFIX = "--recode"
_INI_PREFIX = "recode_"
_FLAGS = ("flag", "off")
_LISTS = ("texts", "environments", "limits", "budgets", "conditions")
_NUMBERS: Mapping[str, type] = {"count": int, "seed": int, "number": float, "percent": float, "seconds": float}


def _by_purpose() -> list[tuple[str, list[Option]]]:
    return [(purpose, list(options)) for purpose, options in groupby(OPTIONS.values(), lambda option: option.group)]


def add(parser: pytest.Parser) -> None:
    for purpose, options in _by_purpose():
        group = parser.getgroup(f"recode: {purpose}", f"pytest-recode: {purpose}")
        for option in options:
            default = f"default: {option.shown_default}; " if option.shown_default else ""
            text = option.help.replace("%", "%%") + f" [{default}ini: {option.ini}]"
            if option.kind in _FLAGS:
                group.addoption(option.flag, action="store_true", default=None, dest=option.ini, help=text)
            else:
                action = "append" if option.kind in _LISTS else "store"
                group.addoption(
                    option.flag, action=action, default=None, dest=option.ini, metavar=option.metavar, help=text
                )
            parser.addini(option.ini, f"Default of {option.flag}.", type=_ini_type(option), default=None)


def _ini_type(option: Option) -> Any:
    """The type of an ini value. pytest 9 reads numbers of TOML files as numbers, and compares them with this type."""
    if option.kind in _LISTS:
        return "linelist"
    if option.kind in _FLAGS:
        return "bool"
    number = _NUMBERS.get(option.kind)
    if number is None or pytest.version_tuple[:2] < (9, 0):
        return "string"
    # With `str`, a text arrives here and is quoted in the message about it; pytest 9.0 and 9.1 know no unions
    return number | str if pytest.version_tuple[:2] >= (9, 2) else number.__name__


def check_names(parser: pytest.Parser, args: Sequence[str]) -> None:
    """Raise `pytest.UsageError` for an unknown option whose name begins as those of this plugin. Other plugins may have such options, too."""
    if not any(arg.startswith(_PREFIX) for arg in args):
        return
    from pytest_recode.wording import guess

    _, unknown = parser.parse_known_and_unknown_args(args)
    for arg in unknown:
        if arg.startswith(_PREFIX):
            flag = arg.partition("=")[0]
            meant = guess(flag.removeprefix(_PREFIX).strip("-"), list(OPTIONS), prefix=f"{_PREFIX}-")
            raise pytest.UsageError(f"{flag}: no such option{meant}; pytest --help lists all of them")


def check_ini_names(config: pytest.Config) -> None:
    """The same for a key of the ini file, which pytest itself only warns of, or ignores."""
    known = [option.ini.removeprefix(_INI_PREFIX) for option in OPTIONS.values()]
    with warnings.catch_warnings():
        # pytest 9.1 deprecates it for `getini`, which needs a name; where it is gone, nothing is checked
        warnings.simplefilter("ignore", DeprecationWarning)
        keys = list(getattr(config, "inicfg", ()))
    for key in keys:
        name = key.removeprefix(_INI_PREFIX)
        if name != key and name not in known and not _is_ini_key(config, key):
            from pytest_recode.wording import guess

            meant = guess(name, known, prefix=_INI_PREFIX)
            raise pytest.UsageError(f"{config.inipath}: {key}: no such key{meant}; pytest --help lists all of them")


def _is_ini_key(config: pytest.Config, key: str) -> bool:
    """Whether another plugin has such a key."""
    try:
        config.getini(key)
    except ValueError:
        return False
    return True


def given(config: pytest.Config) -> bool:
    """Whether the command line or the ini file sets any option of this plugin."""
    return any(_raw(config, option)[0] is not None for option in OPTIONS.values())


def watches(config: pytest.Config) -> bool:
    """Whether `--recode-watch` is set. Imports nothing, because every session asks."""
    return bool(_raw(config, OPTIONS["watch"])[0])


def settings(config: pytest.Config) -> Settings:
    """Read and check all options. Raise `pytest.UsageError` with one line that names the option, the valid values and the given one."""
    from pytest_recode.plugin.run import conflicts

    values = {option.field: _value(config, option) for option in OPTIONS.values()}
    values["python"] = values["python"] or sys.executable
    values["max_cost"], values["max_cost_of"] = values["max_cost"] or (None, ())
    explicit = frozenset(option.field for option in OPTIONS.values() if _raw(config, option)[0] is not None)
    checked = conflicts.checked(config, Settings(**values, explicit=explicit))
    return replace(checked, paper=checked.paper or checked.ablation)


def _raw(config: pytest.Config, option: Option) -> tuple[Any, str]:
    """The raw value, or None, and the name of the option or ini key that gave it."""
    value = config.getoption(option.ini)
    if value is not None:
        return value, option.flag
    try:
        value = config.getini(option.ini)
    except (TypeError, ValueError, pytest.UsageError) as error:  # pytest before 9.2 raises the first two
        raise pytest.UsageError(f"{option.ini} is not {_valid(option)} ({error})") from None
    return (None if value in (None, "", []) else value), option.ini


def _value(config: pytest.Config, option: Option) -> Any:
    raw, name = _raw(config, option)
    if raw is None:
        return option.default
    if option.kind == "off":
        return not raw
    if option.kind in ("text", "path", *_LISTS) and not all(raw if isinstance(raw, list) else [raw]):
        raise pytest.UsageError(f"{name}= is empty: give it a value, or leave it out")
    if option.kind == "texts":
        return tuple(raw)
    if option.kind in ("limits", "budgets"):
        from pytest_recode.plugin.run import model_limits

        return (model_limits.limits if option.kind == "limits" else model_limits.budgets)(raw, name)
    if option.kind == "conditions":
        from pytest_recode.metrics import fail_on
        from pytest_recode.plugin.run.usage_errors import usage_errors

        with usage_errors():
            return tuple(map(str, fail_on.conditions(raw, name)))
    if option.kind == "environments":
        from pytest_recode.plugin.run.environments import read
        from pytest_recode.plugin.run.usage_errors import usage_errors

        with usage_errors():
            return read(raw, name, config.rootpath if name == option.ini else config.invocation_params.dir)
    if option.kind == "path":
        # A path in the ini file is relative to that file, as in pytest; one on the command line to the current directory
        base = config.rootpath if name == option.ini else config.invocation_params.dir
        return base / Path(raw).expanduser()
    if option.kind in _CHECKS:
        convert, accepts, words = _CHECKS[option.kind]
        try:
            value = convert(raw)
        except ValueError:
            value = None
        if value is None or not accepts(value):
            raise pytest.UsageError(f"{name}={raw} is not {words}")
        return value
    return raw


def _valid(option: Option) -> str:
    """The valid values of an option, in words."""
    if option.kind in _LISTS:
        return f'a list of texts, as in ["{option.metavar}"]'
    return "true or false" if option.kind in _FLAGS else _CHECKS[option.kind][2] if option.kind in _CHECKS else "a text"


def _shard(text: str) -> Shard:
    from pytest_recode.shard import parse_shard  # not imported in a session without tasks

    return parse_shard(text)


def _is_address(text: str) -> bool:
    from pytest_recode.models.address import is_address  # not imported in a session without tasks

    return is_address(text)


_CHECKS: dict[str, tuple[Callable[[str], Any], Callable[[Any], bool], str]] = {
    "count": (int, lambda n: 1 <= n <= 10_000, "a whole number from 1 to 10000"),
    "number": (float, lambda x: 0 <= x <= 2, "a number from 0 to 2"),
    "percent": (float, lambda x: x == 0 or 1 <= x <= 100, "a percentage: 0, or from 1 to 100, as in 30 for 30 %"),
    "seconds": (float, lambda x: 0 < x <= 86_400, "a number of seconds above 0, up to 86400"),
    "address": (
        str,
        lambda url: _is_address(url),
        "an address such as http://localhost:8000/v1 (with a port up to 65535)",
    ),
    "researcher": (str, lambda who: who in ("auto", "person", "files"), "auto, person or files"),
    "seed": (int, lambda n: 0 <= n < 2**64, "a whole number from 0 to 2**64 - 1"),
    "shard": (_shard, lambda _: True, "K/N with whole numbers from 1 and K up to N, such as 3/8"),
    "scope": (str, lambda what: what in {"failing", "all"}, "failing or all"),
    "writer": (
        str,
        lambda how: how in {"with-reference", "without-reference"},
        "with-reference or without-reference",
    ),
    "level": (str, lambda level: level in {"L1", "L2", "L3", "L4"}, "L1, L2, L3 or L4"),
    "cassette": (str, lambda mode: mode in {"auto", "record", "replay"}, "auto, record or replay"),
    "progress": (str, lambda where: where in {"auto", "live", "plain", "off"}, "auto, live, plain or off"),
    "output": (str, lambda what: what in {"none", "full"}, "none or full"),
}


def markdown() -> str:
    """Return the text of docs/reference/options.md."""
    lines = [
        "# Options",
        "",
        "For people who look up an option. Every option can also be set in pytest's configuration (`pytest.ini`, `tox.ini`, `pyproject.toml`,",
        "`pytest.toml`) under its ini name; the command line takes precedence. Repeatable options take a list there, one value per line in an",
        'ini file and `["L0", "L4"]` in TOML. `[tool.pytest]` and `pytest.toml` (pytest 9) accept numbers as numbers: `recode_attempts = 2`.',
    ]
    for purpose, options in _by_purpose():
        title = purpose[0].upper() + purpose[1:]
        lines += ["", f"## {title}", "", "| option | ini | default | what it does |", "|---|---|---|---|"]
        lines += map(_row, options)
    return "\n".join(lines) + "\n"


def _row(option: Option) -> str:
    """A row of docs/reference/options.md."""
    flag = option.flag + (f" {option.metavar}" if option.metavar else "")
    shown = f"`{option.shown_default}`" if option.shown_default else ""
    text = option.help.replace("|", "\\|")
    return f"| `{flag}` | `{option.ini}` | {shown} | {text} |"
