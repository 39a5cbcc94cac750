"""`python -m pytest_recode.cli`, the same as `pytest-recode`."""

import sys

from pytest_recode.cli import main

sys.exit(main())
