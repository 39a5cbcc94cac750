"""Drafts a task from a function of an existing repository: licence, modules, recorded calls, hidden tests."""
