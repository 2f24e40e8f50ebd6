"""A link is made while signals come."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.support.processes import search_path

# Calibrating takes seven looks of 0.1 s each at least: the signal comes during the first one.
SCRIPT = """
import signal

from tinygram_bench.links import parse_link, sandbox
from tinygram_bench.links.backends import RELAY, relay

calibrated = relay._calibrated

def signalled(*arguments):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return calibrated(*arguments)

def made(link, handler):
    signal.signal(signal.SIGALRM, handler)
    with RELAY.up(parse_link(link), 1):
        return "made"

def interrupt(*_signal):
    raise KeyboardInterrupt

sandbox.enter()
relay._calibrated = signalled
heard = []
print(made("rtt=1ms", lambda *_signal: heard.append("heard")), *heard)
try:
    made("rtt=2ms", interrupt)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.usefixtures("links_permitted")
def test_a_handler_that_goes_on_does_no_harm_and_one_that_raises_ends_it() -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT],
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "PYTHONPATH": search_path()},
    )
    assert done.stdout.split() == ["made", "heard", "interrupted"]
