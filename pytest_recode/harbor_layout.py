"""Names and paths of a Harbor task directory and of its containers, as Harbor 0.26 uses them: https://harborframework.com."""

SCHEMA_VERSION = "1.4"

CONFIG = "task.toml"
INSTRUCTION = "instruction.md"
ENVIRONMENT = "environment"
TESTS = "tests"
SOLUTION = "solution"
STEPS = "steps"
DOCKERFILE = "Dockerfile"
TEST_SCRIPT = "test.sh"
SOLVE_SCRIPT = "solve.sh"

TESTS_PLACE = "/tests"
"""Where the tests are in the container of the verifier."""
SOLUTION_PLACE = "/solution"
VERIFIER_LOGS = "/logs/verifier"
"""Where the verifier writes its results."""

REWARD_JSON = "reward.json"
REWARD_TEXT = "reward.txt"
CTRF = "ctrf.json"

REWARD = "reward"
"""The key of the reward that Harbor's thresholds, leaderboards and viewer read."""
