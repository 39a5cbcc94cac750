"""For all tests."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background with Ctrl-C ignored, and every child inherits that: tests that
    # interrupt a session would wait for an end that never comes.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Papers and annotations that tests take to sessions of their own.
collect_ignore = ["papers", "recode_h/dataset"]
