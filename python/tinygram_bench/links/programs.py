"""Runs any programs on the two hosts of a link, with the caller's terminal.

Being in the terminal's foreground, they get its signals directly; other signals to the bench
(SIGTERM, SIGHUP, and SIGINT without a terminal) are passed on. Whatever they leave behind ends with
the bench's PID namespace.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType

from tinygram_bench import _native
from tinygram_bench.host.network import Network
from tinygram_bench.host.network.settings import own_congestion_control, set_congestion_control
from tinygram_bench.links import bring_up
from tinygram_bench.links.backends import Backend
from tinygram_bench.links.facts import described
from tinygram_bench.links.link import FAR_VARIABLE, Link
from tinygram_bench.links.spec import LinkSpec
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import ALLOWED_SYSCTL, UNPACED_CONGESTION_CONTROLS
from tinygram_bench.processes.workers import RunError

_LISTEN_LIMIT_S = 2.0
_STEP_S = 0.005
_GRACE_S = 2.0
_SIGNALLED = 128


def run_over(
    spec: LinkSpec,
    backend: Backend,
    seed: int,
    near: Sequence[str],
    far: Sequence[str],
    *,
    congestion_control: str | None,
    is_quiet: bool,
) -> int:
    """Run `near`, and `far` meanwhile; return `near`'s exit code, or 128 + its ending signal.

    `congestion_control` is that of programs which ask for none; None: CUBIC, or else Reno. The
    link's facts go to stderr, unless `is_quiet`; its warnings always do. `far` is waited for until
    it listens, or for 2 s: it need not listen. Raises UsageError where the link cannot be made,
    RunError when a program did not start, or `far` ended before it listened.
    """
    with ExitStack() as stack:
        try:
            link = stack.enter_context(bring_up(spec, backend, seed))
        except (OSError, RunError) as error:
            raise UsageError(
                f"the link could not be made: {error}; `tinygram emulate --check` tells what this "
                "machine permits"
            ) from error
        control = _set_congestion_control(link, congestion_control)
        if not is_quiet and link.facts is not None:
            print(f"tinygram: {described(link.facts)}; {control}", file=sys.stderr, flush=True)
        programs = stack.enter_context(_Programs(link))
        if far:
            # The terminal's input is the near program's.
            _wait_listening(link.far, programs.start(link.far, far, subprocess.DEVNULL))
        client = programs.start(link.near, near)
        with _signals_passed_on(client):
            status = client.wait()
        _tell_warnings(link)
        return _SIGNALLED - status if status < 0 else status


def _set_congestion_control(link: Link, asked: str | None) -> str:
    """Set the default congestion control on both hosts; return the one that they have then."""
    wanted, *others = UNPACED_CONGESTION_CONTROLS if asked is None else (asked,)
    refusal = _refusal_on_both(link, wanted)
    if refusal is None:
        return wanted
    found = next((name for name in others if _refusal_on_both(link, name) is None), None)
    if found is None:
        with link.near.entered():
            found = own_congestion_control()
    print(
        f"tinygram: programs that choose no congestion control have {found}, not {wanted}: the "
        f"kernel refuses {wanted} to namespaces ({refusal}) unless {ALLOWED_SYSCTL} names it",
        file=sys.stderr,
    )
    return found


def _refusal_on_both(link: Link, name: str) -> str | None:
    """Why a congestion control cannot be set on both hosts; None: it was set."""
    for host in (link.near, link.far):
        with host.entered():
            try:
                set_congestion_control(name)
            except OSError as error:
                return error.strerror
    return None


class _Programs:
    """The started programs; those that still run at the end are terminated, then killed."""

    def __init__(self, link: Link) -> None:
        self._environment = os.environ | {FAR_VARIABLE: link.far_address}
        self._all: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> _Programs:
        return self

    def __exit__(self, *_raised: object) -> None:
        for program in self._all:
            program.terminate()
        give_up_s = time.monotonic() + _GRACE_S
        for program in self._all:
            try:
                program.wait(max(0.0, give_up_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()

    def start(
        self, host: Network, words: Sequence[str], stdin: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program on a host. Raises RunError when that fails."""
        try:
            with host.entered():
                program = subprocess.Popen(words, env=self._environment, stdin=stdin)
        except OSError as error:
            raise RunError(f"cannot run {words[0]}: {error.strerror}") from error
        self._all.append(program)
        return program


def _wait_listening(host: Network, server: subprocess.Popen[bytes]) -> None:
    """Wait until something listens on the host; if nothing does in time, say so and go on.

    Raises RunError when the program ends before that.
    """
    give_up_s = time.monotonic() + _LISTEN_LIMIT_S
    while time.monotonic() < give_up_s:
        with host.entered():
            _, listeners, _ = _native.proc_sockets("/proc/thread-self/net")
        if listeners:
            return
        if server.poll() is not None:
            raise RunError(
                f"the far program ended with status {server.returncode} before it listened"
            )
        time.sleep(_STEP_S)
    print(
        f"tinygram: the far program listens on no TCP port after {_LISTEN_LIMIT_S:g} s; the near "
        "one is started all the same",
        file=sys.stderr,
        flush=True,
    )


@contextmanager
def _signals_passed_on(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass our signals on to `program`, except those that the terminal sends to it, too."""
    has_terminal = os.isatty(0)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGINT or not has_terminal:
            program.send_signal(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _tell_warnings(link: Link) -> None:
    """Print what a run's warnings would be on stderr."""
    try:
        _, warnings, _ = link.take()
    except RunError as failure:
        print(f"tinygram: {failure}", file=sys.stderr)
        return
    for warning in warnings:
        print(f"tinygram: {warning.message}", file=sys.stderr)
