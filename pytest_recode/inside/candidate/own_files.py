"""The candidate's own files, and the places in them that an exception passed.

Runs in the candidate process. Called by `candidate_server.py`. Must not quote a line of another file, such as one of this package.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os

MAX_FRAMES = 20


class OwnFiles:
    """`files`, by path, in `directory`. Reports of exceptions quote lines of these files only."""

    def __init__(self, directory: str, files: dict[str, bytes]) -> None:
        self.directory = directory
        self.files = files

    def path_of(self, filename: str) -> str | None:
        """The path of a file below the working directory; None where it is not the candidate's."""
        if not os.path.isabs(filename):  # `<frozen …>`; and the working directory may be gone
            return None
        path = os.path.relpath(os.path.realpath(filename), self.directory).replace(os.sep, "/")
        return path if path in self.files else None

    def line(self, path: str, number: int) -> str:
        lines = self.files[path].decode("utf-8", "replace").splitlines()
        return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""

    def frames(self, error: BaseException) -> list[str]:
        lines = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            path = self.path_of(code.co_filename)
            if path is not None:
                line = self.line(path, trace.tb_lineno)
                lines.append(f"{path}:{trace.tb_lineno} in {code.co_name}: {line}")
            trace = trace.tb_next
        if isinstance(error, SyntaxError) and error.filename and (path := self.path_of(error.filename)):
            number = error.lineno or 0
            lines.append(f"{path}:{number}: {self.line(path, number)}")
        if len(lines) > MAX_FRAMES:
            left = len(lines) - MAX_FRAMES
            lines[5 : 5 + left] = [f"... {left} more frames ..."]
        return lines
