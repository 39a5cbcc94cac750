"""What feedback of each level says, for readers who do not know the levels."""

LEVELS_SAY = {
    "L0": "that tests fail",
    "L1": "which interface fails, and how",
    "L2": "also why",
    "L3": "also what to change",
    "L4": "also the correcting code",
}
