"""Write the episodes of runs in the formats of other tools. Each target is a module with a `TARGET`, listed in `targets.py`.

Called by `pytest-recode export`. A target imports the packages of its format when it writes, because some take seconds. Values that a record does
not have are left out, never guessed.
"""
