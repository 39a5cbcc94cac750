"""What graders and candidates do before they run a task's code: write its files and seed the random generators."""
