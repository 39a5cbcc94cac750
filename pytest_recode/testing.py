"""Functions for tests of others: `assert_equivalent`, `assert_unmodified`, `call_and_return_arguments` and `copy_as_sent` for hidden tests, and conformance suites for sandboxes, agents and formats."""

from __future__ import annotations

from pytest_recode.agents.agent_conformance import check_agent
from pytest_recode.agents.command_line.program_conformance import check_command_line_agent
from pytest_recode.formats.format_conformance import check_format
from pytest_recode.inside.grading.copied import copy_as_sent
from pytest_recode.inside.grading.equivalence import assert_equivalent
from pytest_recode.inside.grading.unmodified import assert_unmodified, call_and_return_arguments
from pytest_recode.sandboxes.conformance import check_sandbox

__all__ = [
    "assert_equivalent",
    "assert_unmodified",
    "call_and_return_arguments",
    "check_agent",
    "check_command_line_agent",
    "check_format",
    "check_sandbox",
    "copy_as_sent",
]
