"""Research-code benchmark tasks as pytest items."""

VERSION = "0.1.0"
