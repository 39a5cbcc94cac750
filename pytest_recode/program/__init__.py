"""The analyser of Python programs: what files define, import and use, and how two versions of them differ. Executes nothing."""
