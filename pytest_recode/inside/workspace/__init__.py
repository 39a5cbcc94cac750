"""The workspace program (`workspace.server`): an agent's files and commands."""
