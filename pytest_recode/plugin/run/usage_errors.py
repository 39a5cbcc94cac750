"""Show an error that the user must correct as one line, without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_recode.faults import RecordsError, SandboxError, UserError


@contextmanager
def usage_errors() -> Iterator[None]:
    """Convert errors that the user must correct to `pytest.UsageError`, of which pytest shows only the message."""
    try:
        yield
    except (UserError, SandboxError, RecordsError) as error:
        raise pytest.UsageError(str(error)) from None
