"""What `pytest-recode export` costs for 1,000 episodes, by target.

Episodes as in `reports.py`; the endpoint of OpenTelemetry is a server in this process that takes everything and keeps nothing. From the
repository's root; needs the extras `tasks`, `otel` and `inspect`.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from measure import cost, show
from reports import LEVELS, played, repeated

EPISODES = (100, 1_000)


class Sink(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    command = [sys.executable, "-m", "pytest_recode.cli", "export"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    places = {"inspect": "logs", "atif": "trajectories", "otel": f"http://127.0.0.1:{server.server_port}"}
    costs = {}
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        several = played(place / "several", *LEVELS)
        for number in EPISODES:
            run = repeated(several, place / f"of-{number}", number, transcripts=True)
            size = sum(path.stat().st_size for path in (run / "episodes").iterdir()) / 1e6
            print(f"{number} episodes, {size:.0f} MB of transcripts", flush=True)
            for name, output in places.items():
                to = output if name == "otel" else f"{output}-{number}"
                costs[f"{name}, {number}"] = cost([*command, str(run), "--to", name, "-o", to], place)
        show(costs)


if __name__ == "__main__":
    main()
