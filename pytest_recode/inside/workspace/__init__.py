"""The workspace program (`workspace.workspace_server`): an agent's files and commands. And that which runs a task's scripts over such files."""
