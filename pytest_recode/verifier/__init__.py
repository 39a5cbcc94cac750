"""Judges one answer outside a run: in a container that exists for this answer, with a copy of the modules of this package that it needs.

`python -m pytest_recode.verifier`. The copy is made by `task_export/carried_modules.py`. Imports nothing beyond the standard library.
"""
