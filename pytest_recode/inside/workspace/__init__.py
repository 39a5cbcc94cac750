"""The workspace program (`workspace.workspace_server`): an agent's files and commands."""
