"""What follows from the type of a stored value: its check, its JSON schema, and how it becomes plain JSON and is read again.

A leaf below the values, whose types have rules from here. Runs where files of a run are written and read; imports the standard library alone.
"""
