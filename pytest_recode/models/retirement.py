"""Models that their provider retires: refused, or announced, before a run starts."""

from __future__ import annotations

import datetime

from pytest_recode.faults import UserError
from pytest_recode.models import catalog
from pytest_recode.wording import any_of

NOTICE = datetime.timedelta(days=42)
"""How long before its date a retirement is announced."""


def check_retirement(name: str, model: str, today: datetime.date) -> str:
    """Returns a warning if `model`, for which `name` stands, is retired soon, else "". Raises `UserError` if it is retired."""
    date, source, successor = retirement(model)
    if date is None or today < date - NOTICE:
        return ""
    near = catalog.nearest(model, successor, max(today, date))
    stated = f" ({source})" if source else ""
    instead = f"use {any_of(near)}" if near else "choose another model"
    if today < date:
        return f"model {name} will be retired on {date}{stated}: for runs after that day, {instead}"
    others = [one.full_name for one in catalog.hosts(model, today) if one.full_name != model]
    host = f"another host may still have it, such as {any_of(others[:2])}" if others else "another host may have it"
    raise UserError(
        f"model {name} was retired on {date}{stated}, and gets no answer any more: {instead}; {host} (its address with"
        " --recode-api-base); results of it, recorded or published, can still be reported: pytest-recode report PATH"
    )


def retirement(model: str) -> tuple[datetime.date | None, str, str]:
    """The day from which a provider no longer answers for `model`, None if unknown; the page that states it; the successor."""
    lacking = catalog.lacking().models.get(catalog.model_name(model), {})
    if "retired" in lacking and lacking["model"].partition("/")[0] == model.partition("/")[0]:
        return lacking["retired"], lacking["retired_source"], lacking.get("successor", "")
    listing = catalog.listed_as(model)
    return (listing.retired, listing.source, listing.successor) if listing is not None else (None, "", "")
