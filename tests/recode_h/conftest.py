from tests.oracle.conftest import (  # noqa: F401
    bare,
    bubblewrap_sandbox,
    docker_sandbox,
    every_sandbox,
    process_sandbox,
    sandbox,
    walls,
)
from tests.plugin.conftest import recode, results, workers  # noqa: F401
