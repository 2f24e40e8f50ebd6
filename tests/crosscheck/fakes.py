"""Programs of the peers' names, which do what a test wants and print what it wants."""

from __future__ import annotations

import sys
from pathlib import Path

SERVES = """
import socket, sys, time
port = int(next(word for word in sys.argv if word.isdigit()))
server = socket.create_server(("127.0.0.1", port))
time.sleep(1000)
"""
SILENT = "import time; time.sleep(1000)"


def prints(output: str, status: int = 0) -> str:
    """A client that prints this at once."""
    return f"import sys; sys.stdout.write({output!r}); sys.exit({status})"


def write_sockperf(folder: Path, *, server: str = SERVES, client: str) -> None:
    """A `sockperf` whose two parts are these programs."""
    body = f"""#!{sys.executable}
import sys
if "--version" in sys.argv:
    print("sockperf, version 3.7-test")
elif sys.argv[1] == "server":
    exec({server!r})
else:
    exec({client!r})
"""
    path = folder / "sockperf"
    path.write_text(body)
    path.chmod(0o755)
