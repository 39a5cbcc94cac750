"""The conformance suite for sandboxes: what every sandbox must do, as checks (`pytest_recode.testing.check_sandbox`)."""

from pytest_recode.sandboxes.conformance.probe import Bench, Probe, marked, running, until
from pytest_recode.sandboxes.conformance.suite import check_sandbox, promised

__all__ = ["Bench", "Probe", "check_sandbox", "marked", "promised", "running", "until"]
