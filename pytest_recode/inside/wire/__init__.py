"""The message format between the host, the graders, the candidate and the workspace: used by each of these programs and by the host."""
