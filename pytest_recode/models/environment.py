"""What the environment adds to every request: a key, proxies and certificates. Checked in the gateway before anything is sent."""

from __future__ import annotations

import os
import ssl
import urllib.request
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.models.no_connection import without_password
from pytest_recode.models.providers import NO_KEY, key_of, no_key
from pytest_recode.models.table import ModelEntry


def usable_key(name: str, entry: ModelEntry) -> tuple[str | None, str]:
    """As `key_of`. Raises `UserError` also for a key that cannot be sent. A server of the user's own needs none."""
    key, variable = key_of(name, entry)
    if key == NO_KEY or not variable:
        return key, variable
    value = os.environ.get(variable, "") if key is None else key
    if not value.strip() and entry.api_base is not None and not entry.api_key_env:
        return NO_KEY, variable
    check_key(name, variable, value)
    return key, variable


def check_key(model: str, variable: str, key: str) -> None:
    """Raise `UserError` for an empty key, and for one that no HTTP header can have, such as one that was copied with a line break."""
    if not key.strip():
        raise UserError(no_key(model, [variable]))
    if key != key.strip() or not key.isprintable():
        wrong = "has a line break, a blank or a control character at an end or inside: set it without"
    elif not key.isascii():
        strange = next(character for character in key if not character.isascii())
        wrong = f"has the character {strange!r}, which no key has, such as the quotation mark of a word processor: set it without"
    else:
        return
    raise UserError(
        f"model {model}: the key in {variable} {wrong}; or try the offline model --recode-model=sim/graduate"
    )


def check_connections() -> None:
    """Raise `UserError` for proxies and certificates of the environment with which no request can be sent."""
    _check_certificates()
    _check_proxies()


def _check_certificates() -> None:
    if not (name := os.environ.get("SSL_CERT_FILE", "")):
        return
    step = "name a file with PEM certificates, or unset it"
    if not Path(name).is_file():
        raise UserError(f"SSL_CERT_FILE={name}: no such file: {step}")
    try:
        ssl.create_default_context(cafile=name)
    except (ssl.SSLError, OSError) as error:
        raise UserError(f"SSL_CERT_FILE={name}: cannot be used ({error.strerror or error}): {step}") from None


def _check_proxies() -> None:
    """Create a client as for a request: it reads all variables, and none is tried."""
    import httpx

    faults = (ImportError, ValueError, httpx.InvalidURL)
    try:
        httpx.Client(verify=False).close()
        return
    except faults as error:
        why = error
    for scheme, address in urllib.request.getproxies().items():
        if scheme == "no" or not address:
            continue
        variable = f"{scheme.upper()}_PROXY={without_password(address)}"
        try:
            httpx.Client(
                verify=False, trust_env=False, proxy=address if "://" in address else f"http://{address}"
            ).close()
        except ImportError:
            raise UserError(
                f"{variable}: a SOCKS proxy needs the package socksio: pip install 'httpx[socks]', or unset the variable"
            ) from None
        except faults as error:
            raise UserError(f"{variable}: is not the address of a proxy ({error}): correct or unset it") from None
    excluded = os.environ.get("NO_PROXY") or os.environ.get("no_proxy", "")
    raise UserError(
        f"NO_PROXY={excluded}: cannot be used ({why}): list host names, addresses such as 127.0.0.1, or domains such as"
        " .example.org; write IPv6 addresses without brackets, and no IPv6 networks"
    )
