"""Tasks as directories of other tools: a module per tool. Returns and writes files; runs nothing."""
