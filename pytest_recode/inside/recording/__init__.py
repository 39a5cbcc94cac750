"""Recording of calls while a repository's own tests run, and rehearsal of a drafted task's inputs."""
